//! One call, from a client to its server and back.
//!
//! Of a call only what must be translated is opened: names and URIs. Arguments and results pass as
//! bytes, unless the client's revision has other words for them.

mod answers;
mod caller;
mod lists;
mod names;
mod pursuit;

use std::ops::Deref;
use std::sync::Arc;

use switchboard_client::Payload;
use switchboard_hub::{Hub, HubCall, MemberState, Operation};
use switchboard_protocol::Method;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{
    CallToolResult, CompleteRequestParams, CompleteResult, CompletionReference, GetPromptResult,
    Implementation, PromptsCapability, ReadResourceResult, ResourcesCapability, ServerCapabilities,
    SubscriptionFilter, ToolsCapability,
};
use switchboard_server::{About, Answer, Call, Connection, Context, Reply, Service};

use crate::desk::Desk;
use crate::gateway::Names;
use crate::lot::Lot;
use crate::watches::Watches;

pub(crate) use pursuit::Pursuit;

use answers::{Fits, error_of};
use names::NameTable;

/// A hub as a service.
pub(crate) struct Relay(Arc<Inner>);

struct Inner {
    parts: Parts,
    names: NameTable,
    info: Implementation,
}

/// What calls go through.
pub(crate) struct Parts {
    pub(crate) hub: Hub,
    pub(crate) desk: Arc<Desk>,
    pub(crate) lot: Arc<Lot>,
    pub(crate) watches: Arc<Watches>,
}

impl Deref for Inner {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

impl Relay {
    pub(crate) fn new(parts: Parts, names: Names, info: Implementation) -> Self {
        Self(Arc::new(Inner {
            parts,
            names: NameTable::new(names),
            info,
        }))
    }
}

impl Service for Relay {
    fn about(&self) -> About {
        let mut about = About::new(self.0.info.clone(), self.0.capabilities());
        about.instructions = self.0.instructions();
        about
    }

    fn listening(&self, filter: &SubscriptionFilter, connection: Connection) {
        for uri in filter.resources() {
            let (relay, uri, connection) = (Arc::clone(&self.0), uri.clone(), connection.clone());
            tokio::spawn(async move {
                let added = relay.watches.add(&relay.hub, &uri, connection).await;
                if let Err(error) = added {
                    tracing::debug!("{uri} is not watched: {error}");
                }
            });
        }
    }

    fn call(&self, call: Call<'_>) -> Reply {
        let relay = Arc::clone(&self.0);
        let context = call.context.clone();
        match call.method.known() {
            Some(Method::ToolsList) => Reply::Now(relay.list_tools(&call)),
            Some(Method::PromptsList) => Reply::Now(relay.list_prompts(&call)),
            Some(Method::ResourcesList) => Reply::Now(relay.list_resources(&call)),
            Some(Method::ResourcesTemplatesList) => Reply::Now(relay.list_templates(&call)),
            Some(Method::ToolsCall) => Reply::later(async move { relay.call_tool(context).await }),
            Some(Method::PromptsGet) => Reply::later(async move { relay.fill(context).await }),
            Some(Method::ResourcesRead) => Reply::later(async move { relay.read(context).await }),
            Some(Method::CompletionComplete) => {
                Reply::later(async move { relay.complete(context).await })
            }
            Some(Method::ResourcesSubscribe) => {
                Reply::later(async move { relay.subscribe(context).await })
            }
            Some(Method::ResourcesUnsubscribe) => Reply::Now(relay.unsubscribe(&context)),
            _ => Reply::Now(Answer::Error(ErrorObject::method_not_found(
                call.method.as_str(),
            ))),
        }
    }
}

impl Inner {
    async fn subscribe(&self, context: Context) -> Answer {
        let uri = match uri_of(&context) {
            Ok(uri) => uri,
            Err(error) => return Answer::Error(error),
        };
        let Some(connection) = context.connection() else {
            return Answer::Error(ErrorObject::internal("the call has ended"));
        };
        match self.watches.add(&self.hub, &uri, connection).await {
            Ok(()) => Answer::Result(Payload::empty()),
            Err(error) => Answer::Error(error_of(error, context.method(), context.revision())),
        }
    }

    /// Whoever wants to hear no more need not have heard before.
    fn unsubscribe(&self, context: &Context) -> Answer {
        match uri_of(context) {
            Ok(uri) => {
                if let Some(connection) = context.connection() {
                    self.watches.remove(&uri, &connection);
                }
                Answer::Result(Payload::empty())
            }
            Err(error) => Answer::Error(error),
        }
    }

    async fn call_tool(&self, context: Context) -> Answer {
        match params_of(&context).and_then(|params| member_of(params.name(), "name")) {
            Ok(name) => {
                let catalog = self.hub.catalog();
                let name = self.names.tool(&catalog, &name);
                if let Err(error) = caller::check_headers(&context, &catalog, &name) {
                    return Answer::Error(error);
                }
                let call = self.hub.call(&name);
                self.relay::<_, CallToolResult>(call, context).await
            }
            Err(error) => Answer::Error(error),
        }
    }

    async fn fill(&self, context: Context) -> Answer {
        match params_of(&context).and_then(|params| member_of(params.name(), "name")) {
            Ok(name) => {
                let name = self.names.prompt(&self.hub.catalog(), &name);
                let call = self.hub.prompt::<String, String>(&name, []);
                self.relay::<_, GetPromptResult>(call, context).await
            }
            Err(error) => Answer::Error(error),
        }
    }

    async fn read(&self, context: Context) -> Answer {
        match uri_of(&context) {
            Ok(uri) => {
                let call = self.hub.read(&uri);
                self.relay::<_, ReadResourceResult>(call, context).await
            }
            Err(error) => Answer::Error(error),
        }
    }

    async fn complete(&self, context: Context) -> Answer {
        let params = params_of(&context).and_then(|params| {
            params
                .decode::<CompleteRequestParams>()
                .map_err(|error| ErrorObject::invalid_params(error.to_string()))
        });
        match params {
            Ok(mut params) => {
                if let CompletionReference::Prompt(prompt) = &mut params.reference {
                    prompt.name = self.names.prompt(&self.hub.catalog(), &prompt.name);
                }
                let call = self.hub.complete(params);
                self.relay::<_, CompleteResult>(call, context).await
            }
            Err(error) => Answer::Error(error),
        }
    }

    /// Passes a call on for a client, and says what came of it in the client's words.
    async fn relay<O, T>(&self, call: HubCall<O>, context: Context) -> Answer
    where
        O: Operation<Output: serde::Serialize + serde::de::DeserializeOwned>,
        T: Fits,
    {
        let revision = context.revision();
        let params = context.params().cloned().unwrap_or_else(Payload::empty);
        let parent = caller::trace(&params);
        let mut call = call.pass_on(params, caller::whom(&context));
        if let Some(parent) = parent {
            call = call.parent(parent);
        }
        match pursuit::pursue(self, call, &context).await {
            Ok(result) => answers::fit::<T>(result, revision),
            Err(pursuit::Failed::Hub(error)) => {
                Answer::Error(error_of(error, context.method(), revision))
            }
            Err(pursuit::Failed::Here(error)) => Answer::Error(error),
        }
    }

    /// What can be served. As long as a server is not known, it may be anything.
    fn capabilities(&self) -> ServerCapabilities {
        let mut has = Offered::default();
        for server in self.hub.servers() {
            match server.state {
                MemberState::Ready(ready) | MemberState::ListingFailed { ready, .. } => {
                    let capabilities = &ready.capabilities;
                    has.tools |= capabilities.has_tools();
                    has.prompts |= capabilities.prompts.is_some();
                    has.resources |= capabilities.resources.is_some();
                    has.completions |= capabilities.completions.is_some();
                }
                MemberState::Disabled => {}
                _ => has = Offered::ALL,
            }
        }
        has.capabilities()
    }

    /// What models should know, server by server.
    fn instructions(&self) -> Option<String> {
        let mut all = String::new();
        for server in self.hub.servers() {
            let (MemberState::Ready(ready) | MemberState::ListingFailed { ready, .. }) =
                &server.state
            else {
                continue;
            };
            if let Some(instructions) = &ready.instructions {
                if !all.is_empty() {
                    all.push_str("\n\n");
                }
                all.push_str(&format!("# {}\n\n{instructions}", server.name));
            }
        }
        (!all.is_empty()).then_some(all)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Offered {
    tools: bool,
    prompts: bool,
    resources: bool,
    completions: bool,
}

impl Offered {
    const ALL: Self = Self {
        tools: true,
        prompts: true,
        resources: true,
        completions: true,
    };

    fn capabilities(self) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::default();
        capabilities.logging = Some(serde_json::Map::new());
        if self.tools {
            let mut tools = ToolsCapability::default();
            tools.list_changed = Some(true);
            capabilities.tools = Some(tools);
        }
        if self.prompts {
            let mut prompts = PromptsCapability::default();
            prompts.list_changed = Some(true);
            capabilities.prompts = Some(prompts);
        }
        if self.resources {
            let mut resources = ResourcesCapability::default();
            resources.list_changed = Some(true);
            resources.subscribe = Some(true);
            capabilities.resources = Some(resources);
        }
        if self.completions {
            capabilities.completions = Some(serde_json::Map::new());
        }
        capabilities
    }
}

fn uri_of(context: &Context) -> Result<String, ErrorObject> {
    params_of(context).and_then(|params| member_of(params.string_member("uri"), "uri"))
}

fn params_of(context: &Context) -> Result<&Payload, ErrorObject> {
    let params = context.params();
    params.ok_or_else(|| ErrorObject::invalid_params("there are no parameters"))
}

fn member_of(value: Option<std::borrow::Cow<'_, str>>, name: &str) -> Result<String, ErrorObject> {
    let value = value.map(std::borrow::Cow::into_owned);
    value.ok_or_else(|| ErrorObject::invalid_params(format!("{name} is missing")))
}
