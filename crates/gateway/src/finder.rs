//! Two tools in place of all: one finds tools, the other calls them.
//!
//! For models that would read the descriptions of hundreds of tools before they begin. The two never
//! change, so that what a host has cached of its prompt stays good; tools come and go behind them.
//!
//! Specification: server/tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_client::Payload;
use switchboard_protocol::jsonrpc::{ErrorObject, Notification};
use switchboard_protocol::machine::server::Caller;
use switchboard_protocol::types::{
    CallToolResult, ContentBlock, ListToolsResult, SubscriptionFilter,
};
use switchboard_protocol::{Method, RawJson, Revision};
use switchboard_server::{About, Answer, Call, Connection, Context, Reply, Service};

use crate::gate::Gate;
use crate::relay::{Fits, Inner, answer_with};
use crate::turnstile::now;

/// A gate whose tools are found and called by two of its own.
pub(crate) struct Finder(Gate);

impl Finder {
    /// Before a gate.
    pub(crate) const fn new(gate: Gate) -> Self {
        Self(gate)
    }

    fn call_tool(&self, context: &Context) -> Reply {
        let revision = context.revision();
        let wrong = |reason: &str| Reply::Now(Answer::Error(ErrorObject::invalid_params(reason)));
        let Some(params) = context.params() else {
            return wrong("there are no parameters");
        };
        match params.name().as_deref() {
            Some(FIND) => match read::<Find>(params) {
                Ok(find) => self.find(find, context),
                Err(reason) => Reply::Now(failed(&reason, revision)),
            },
            Some(CALL) => match inner(params) {
                Ok(params) => self.0.call(Call::of(&context.with_params(params))),
                Err(reason) => Reply::Now(failed(&reason, revision)),
            },
            Some(name) => wrong(&format!(
                "there is no tool {name:?}: find it with {FIND} and call it with {CALL}"
            )),
            None => wrong("name is missing"),
        }
    }

    /// Finds tools, once the servers have said which they have.
    fn find(&self, find: Find, context: &Context) -> Reply {
        // To search costs more than to look something up.
        let pass = match self.0.turnstile.enter(now, context.principal()) {
            Ok(pass) => pass,
            Err(error) => return Reply::Now(Answer::Error(error)),
        };
        let (relay, revision) = (Arc::clone(self.0.relay.inner()), context.revision());
        if !relay.opening.is_going_on() {
            return Reply::Now(search(&relay, &find, revision));
        }
        Reply::later(async move {
            relay.opening.wait().await;
            let found = search(&relay, &find, revision);
            drop(pass);
            found
        })
    }
}

fn search(relay: &Inner, find: &Find, revision: Revision) -> Answer {
    let catalog = relay.hub.catalog();
    let limit = find.limit.unwrap_or(USUAL).clamp(1, MOST);
    let found = catalog.search(&find.query, limit);
    let tools = found.iter().map(|hit| {
        let tool = catalog.definition(&hit.tool);
        json!({
            "name": relay.shown(&catalog, &hit.tool),
            "description": tool.description,
            "inputSchema": tool.input_schema,
        })
    });
    let tools: Vec<Value> = tools.collect();
    let text = match tools.is_empty() {
        true => format!(
            "No tool fits {:?}. There are {} tools in all; try other words.",
            find.query,
            catalog.tools().len()
        ),
        false => Value::from(tools).to_string(),
    };
    let result = CallToolResult::new(vec![ContentBlock::text(text)]);
    answer_with(result, revision)
}

impl Service for Finder {
    fn about(&self) -> About {
        let mut about = self.0.about();
        let tools = about.capabilities.tools.get_or_insert_default();
        // The list is always the same.
        tools.list_changed = None;
        about
    }

    fn call(&self, call: Call<'_>) -> Reply {
        match call.method.known() {
            Some(Method::ToolsList) => {
                let tools = answer::<ListToolsResult>(&tools(), call.context.revision());
                Reply::Now(tools)
            }
            Some(Method::ToolsCall) => self.call_tool(call.context),
            _ => self.0.call(call),
        }
    }

    fn listening(&self, filter: &SubscriptionFilter, connection: Connection, caller: &Arc<Caller>) {
        self.0.listening(filter, connection, caller);
    }

    fn told(&self, notification: Notification, caller: Option<&Arc<Caller>>) {
        self.0.told(notification, caller);
    }
}

#[derive(Deserialize)]
struct Find {
    query: String,
    limit: Option<usize>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    arguments: Option<RawJson>,
}

/// The parameters of the call that is to be made: those of this one, with another name and other
/// arguments.
fn inner(params: &Payload) -> Result<Payload, String> {
    let wrong = |error: serde_json::Error| error.to_string();
    let named: Named = read(params)?;
    // What is not changed stays byte for byte.
    let mut inner: BTreeMap<String, RawJson> = params.decode().map_err(wrong)?;
    inner.insert(
        "name".to_owned(),
        RawJson::encode(&named.name).map_err(wrong)?,
    );
    match named.arguments {
        Some(arguments) if arguments.is_object() => {
            inner.insert("arguments".to_owned(), arguments);
        }
        Some(arguments) if !arguments.is_null() => {
            return Err("arguments: not an object".to_owned());
        }
        _ => drop(inner.remove("arguments")),
    }
    Payload::encode(&inner).map_err(wrong)
}

fn read<T: serde::de::DeserializeOwned>(params: &Payload) -> Result<T, String> {
    let arguments = params.arguments().unwrap_or(b"{}");
    serde_json::from_slice(arguments).map_err(|error| error.to_string())
}

/// What a model can mend is the result of a tool.
fn failed(reason: &str, revision: Revision) -> Answer {
    let result = json!({"content": [{"type": "text", "text": reason}], "isError": true});
    answer::<CallToolResult>(&result, revision)
}

fn answer<T: Fits>(value: &Value, revision: Revision) -> Answer {
    match T::deserialize(value) {
        Ok(result) => answer_with(result, revision),
        Err(error) => Answer::Error(ErrorObject::internal(error.to_string())),
    }
}

fn tools() -> Value {
    // A day: it never changes.
    json!({"ttlMs": 86_400_000, "cacheScope": "public", "tools": [
        {
            "name": FIND,
            "title": "Find tools",
            "description": "Finds the tools that fit some words best, with their descriptions and \
                            the schemas of their arguments. Call what you find with call_tool.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string",
                        "description": "What you want to do, in a few words: create an issue",
                    },
                    "limit": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MOST,
                        "description": "How many tools at most: 10 if nothing is said",
                    },
                },
                "required": ["query"],
            },
            "annotations": {"readOnlyHint": true, "openWorldHint": false},
        },
        {
            "name": CALL,
            "title": "Call a tool",
            "description": "Calls a tool that find_tools has found, by its name there and with \
                            arguments that fit its schema.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The name of the tool"},
                    "arguments": {
                        "type": "object",
                        "description": "The arguments of the tool, as its inputSchema wants them",
                    },
                },
                "required": ["name"],
            },
        },
    ]})
}

const FIND: &str = "find_tools";
const CALL: &str = "call_tool";
const USUAL: usize = 10;
const MOST: usize = 50;
