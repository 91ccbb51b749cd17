//! One call, from a client to its server and back.
//!
//! Of a call only what must be translated is opened: names and URIs. Arguments and results pass as
//! bytes, unless the client's revision has other words for them.

mod answers;
mod lists;
mod names;
mod pursuit;

use std::sync::Arc;

use switchboard_client::Payload;
use switchboard_hub::{Hub, HubCall, MemberState, Operation};
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{
    CallToolResult, CompleteRequestParams, CompleteResult, CompletionReference, GetPromptResult,
    Implementation, PromptsCapability, ReadResourceResult, ResourcesCapability, ServerCapabilities,
    ToolsCapability,
};
use switchboard_protocol::{Method, RawJson};
use switchboard_server::{About, Answer, Call, Context, Reply, Service};

use crate::desk::Desk;
use crate::gateway::Names;
use crate::lot::Lot;

pub(crate) use pursuit::Pursuit;

use answers::{Fits, error_of};
use names::NameTable;

/// A hub as a service.
pub(crate) struct Relay(Arc<Inner>);

struct Inner {
    hub: Hub,
    desk: Arc<Desk>,
    lot: Arc<Lot>,
    names: NameTable,
    info: Implementation,
}

impl Relay {
    pub(crate) fn new(
        hub: Hub,
        desk: Arc<Desk>,
        lot: Arc<Lot>,
        names: Names,
        info: Implementation,
    ) -> Self {
        Self(Arc::new(Inner {
            hub,
            desk,
            lot,
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
            _ => Reply::Now(Answer::Error(ErrorObject::method_not_found(
                call.method.as_str(),
            ))),
        }
    }
}

impl Inner {
    async fn call_tool(&self, context: Context) -> Answer {
        let name = match params_of(&context).and_then(|params| member_of(params.name(), "name")) {
            Ok(name) => name,
            Err(error) => return Answer::Error(error),
        };
        let arguments = context.params().and_then(Payload::arguments);
        let arguments = arguments.and_then(|text| std::str::from_utf8(text).ok());
        let arguments = match arguments.map(RawJson::parse).transpose() {
            Ok(arguments) => arguments,
            Err(error) => return invalid(format!("arguments: {error}")),
        };
        let catalog = self.hub.catalog();
        let mut call = self.hub.call(&self.names.tool(&catalog, &name));
        if let Some(arguments) = arguments {
            call = call.args(&arguments);
        }
        self.relay::<_, CallToolResult>(call, context).await
    }

    async fn fill(&self, context: Context) -> Answer {
        let name = match params_of(&context).and_then(|params| member_of(params.name(), "name")) {
            Ok(name) => name,
            Err(error) => return Answer::Error(error),
        };
        let arguments = context
            .params()
            .and_then(|params| params.member("arguments"));
        let arguments: std::collections::BTreeMap<String, String> =
            match arguments.map(serde_json::from_slice).transpose() {
                Ok(arguments) => arguments.unwrap_or_default(),
                Err(error) => return invalid(format!("arguments: {error}")),
            };
        let catalog = self.hub.catalog();
        let call = self
            .hub
            .prompt(&self.names.prompt(&catalog, &name), arguments);
        self.relay::<_, GetPromptResult>(call, context).await
    }

    async fn read(&self, context: Context) -> Answer {
        let uri =
            params_of(&context).and_then(|params| member_of(params.string_member("uri"), "uri"));
        match uri {
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
                params.meta = None;
                let call = self.hub.complete(params);
                self.relay::<_, CompleteResult>(call, context).await
            }
            Err(error) => Answer::Error(error),
        }
    }

    /// Makes a call for a client, and says what came of it in the client's words.
    async fn relay<O, T>(&self, call: HubCall<O>, context: Context) -> Answer
    where
        O: Operation<Output: serde::Serialize + serde::de::DeserializeOwned>,
        T: Fits,
    {
        let revision = context.revision();
        let outcome = pursuit::pursue(self, call.raw(), &context).await;
        match outcome {
            Ok(pursuit::Came::Result(result)) => answers::fit::<T>(result, revision),
            Ok(pursuit::Came::InputRequired(result)) => Answer::InputRequired(result),
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
            capabilities.resources = Some(resources);
        }
        if self.completions {
            capabilities.completions = Some(serde_json::Map::new());
        }
        capabilities
    }
}

fn params_of(context: &Context) -> Result<&Payload, ErrorObject> {
    let params = context.params();
    params.ok_or_else(|| ErrorObject::invalid_params("there are no parameters"))
}

fn member_of(value: Option<std::borrow::Cow<'_, str>>, name: &str) -> Result<String, ErrorObject> {
    let value = value.map(std::borrow::Cow::into_owned);
    value.ok_or_else(|| ErrorObject::invalid_params(format!("{name} is missing")))
}

fn invalid(message: String) -> Answer {
    Answer::Error(ErrorObject::invalid_params(message))
}
