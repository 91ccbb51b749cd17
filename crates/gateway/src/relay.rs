//! One call, from a client to its server and back.
//!
//! Of a call only what must be translated is opened: names and URIs. Arguments and results pass as
//! bytes, unless the client's revision has other words for them.

mod about;
mod answers;
mod caller;
mod extension;
mod lists;
mod names;
mod pursuit;
mod subject;
mod tasks;

use std::ops::Deref;
use std::sync::Arc;

use switchboard_client::Payload;
use switchboard_hub::{Hub, HubCall, Operation, Whom};
use switchboard_protocol::Method;
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject, Notification};
use switchboard_protocol::machine::server::Caller;
use switchboard_protocol::types::{
    CallToolResult, CompleteRequestParams, CompleteResult, CompletionReference, GetPromptResult,
    Implementation, ReadResourceResult, SubscriptionFilter,
};
use switchboard_server::{About, Answer, Call, Connection, Context, Reply, Service};

use crate::gateway::Names;
use crate::lot::Lot;
use crate::opening::Opening;
use crate::rooms::Rooms;
use crate::watches::Watches;

pub(crate) use answers::{Fits, answer_with};
pub(crate) use pursuit::Pursuit;
pub(crate) use tasks::{TaskKey, Tasks};

use answers::error_of;
use names::{NameTable, Named};

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
    pub(crate) rooms: Arc<Rooms>,
    pub(crate) opening: Opening,
    pub(crate) lot: Arc<Lot>,
    pub(crate) watches: Arc<Watches>,
    pub(crate) tasks: Arc<Tasks>,
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

    fn listening(&self, filter: &SubscriptionFilter, connection: Connection, caller: &Arc<Caller>) {
        self.0.listen_to_tasks(filter, &connection);
        let uris = filter.resources();
        if uris.is_empty() {
            return;
        }
        let Some(room) = self.0.rooms.of_listener(&connection, caller) else {
            return tracing::debug!("nothing is watched: there are too many clients");
        };
        for uri in uris {
            let (relay, uri, connection) = (Arc::clone(&self.0), uri.clone(), connection.clone());
            let room = Arc::clone(&room);
            tokio::spawn(async move {
                let added = relay.watches.add_late(&room, &uri, connection).await;
                if let Err(error) = added {
                    tracing::debug!("{uri} is not watched: {error}");
                }
            });
        }
    }

    fn told(&self, notification: Notification, _: Option<&Arc<Caller>>) {
        if notification.method.known().is_none() {
            self.0.tell_unknown(notification);
        }
    }

    fn call(&self, call: Call<'_>) -> Reply {
        let relay = Arc::clone(&self.0);
        let context = call.context.clone();
        match call.method.known() {
            Some(Method::ToolsList) => relay.when_open(context, Inner::list_tools),
            Some(Method::PromptsList) => relay.when_open(context, Inner::list_prompts),
            Some(Method::ResourcesList) => relay.when_open(context, Inner::list_resources),
            Some(Method::ResourcesTemplatesList) => relay.when_open(context, Inner::list_templates),
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
            Some(
                Method::TasksGet | Method::TasksUpdate | Method::TasksCancel | Method::TasksResult,
            ) => Reply::later(async move { relay.relay_task(context).await }),
            None => Reply::later(async move { relay.relay_unknown(context).await }),
            Some(_) => Reply::Now(Answer::Error(ErrorObject::method_not_found(
                call.method.as_str(),
            ))),
        }
    }
}

impl Inner {
    /// Lists what there is, once the servers have said it.
    fn when_open(self: Arc<Self>, context: Context, list: fn(&Self, &Context) -> Answer) -> Reply {
        if !self.opening.is_going_on() {
            return Reply::Now(list(&self, &context));
        }
        Reply::later(async move {
            self.opening.wait().await;
            list(&self, &context)
        })
    }

    async fn subscribe(&self, context: Context) -> Answer {
        let uri = match uri_of(&context) {
            Ok(uri) => uri,
            Err(error) => return Answer::Error(error),
        };
        let Some(connection) = context.connection() else {
            return Answer::Error(ErrorObject::internal("the call has ended"));
        };
        let Some(room) = self.rooms.of(&context) else {
            return Answer::Error(too_many_rooms());
        };
        match self.watches.add(&room, &uri, connection).await {
            Ok(()) => Answer::Result(Payload::empty()),
            Err(error) => Answer::Error(error_of(error, context.method(), context.revision())),
        }
    }

    /// Whoever wants to hear no more need not have heard before.
    fn unsubscribe(&self, context: &Context) -> Answer {
        match uri_of(context) {
            Ok(uri) => {
                let room = self.rooms.of(context);
                if let (Some(room), Some(connection)) = (room, context.connection()) {
                    self.watches.remove(&room, &uri, &connection);
                }
                Answer::Result(Payload::empty())
            }
            Err(error) => Answer::Error(error),
        }
    }

    async fn call_tool(&self, context: Context) -> Answer {
        match params_of(&context).and_then(|params| member_of(params.name(), "name")) {
            Ok(name) => {
                self.names.wait_for(&self.opening).await;
                let catalog = self.hub.catalog();
                let name = self.names.known(Named::Tool, &catalog, &name);
                if let Err(error) = caller::check_headers(&context, &catalog, &name) {
                    return Answer::Error(error);
                }
                if let Some(answer) = self.call_as_task(&context, &name).await {
                    return answer;
                }
                let call = |hub: &Hub| hub.call(&name);
                let answer = self.relay::<_, CallToolResult>(context.clone(), call).await;
                self.followed(answer, &context, &name).await
            }
            Err(error) => Answer::Error(error),
        }
    }

    async fn fill(&self, context: Context) -> Answer {
        match params_of(&context).and_then(|params| member_of(params.name(), "name")) {
            Ok(name) => {
                self.names.wait_for(&self.opening).await;
                let name = self.names.known(Named::Prompt, &self.hub.catalog(), &name);
                let call = |hub: &Hub| hub.prompt::<String, String>(&name, []);
                self.relay::<_, GetPromptResult>(context, call).await
            }
            Err(error) => Answer::Error(error),
        }
    }

    async fn read(&self, context: Context) -> Answer {
        match uri_of(&context) {
            Ok(uri) => {
                self.relay::<_, ReadResourceResult>(context, |hub| hub.read(&uri))
                    .await
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
                    prompt.name =
                        self.names
                            .known(Named::Prompt, &self.hub.catalog(), &prompt.name);
                }
                self.relay::<_, CompleteResult>(context, |hub| hub.complete(params))
                    .await
            }
            Err(error) => Answer::Error(error),
        }
    }

    /// Passes a call on for a client, and says what came of it in the client's words.
    async fn relay<O, T>(&self, context: Context, call: impl FnOnce(&Hub) -> HubCall<O>) -> Answer
    where
        O: Operation<Output: serde::Serialize + serde::de::DeserializeOwned>,
        T: Fits,
    {
        let revision = context.revision();
        let params = context.params().cloned().unwrap_or_else(Payload::empty);
        let whom = caller::whom(&context);
        match self.pass(&context, params, whom, call).await {
            Ok(result) => answers::fit::<T>(result, revision),
            Err(pursuit::Failed::Hub(error)) => {
                Answer::Error(error_of(error, context.method(), revision))
            }
            Err(pursuit::Failed::Here(error)) => Answer::Error(error),
        }
    }

    /// Passes a call on for a client, with these parameters.
    async fn pass<O>(
        &self,
        context: &Context,
        params: Payload,
        whom: Whom,
        call: impl FnOnce(&Hub) -> HubCall<O>,
    ) -> Result<Payload, pursuit::Failed>
    where
        O: Operation<Output: serde::Serialize + serde::de::DeserializeOwned>,
    {
        let room = self.rooms.of(context);
        let room = room.ok_or_else(|| pursuit::Failed::Here(too_many_rooms()))?;
        let mut call = call(&room.hub).pass_on(params, whom);
        if let Some(parent) = caller::trace(context) {
            call = call.parent(parent);
        }
        pursuit::pursue(self, &room, call, context).await
    }
}

fn uri_of(context: &Context) -> Result<String, ErrorObject> {
    params_of(context).and_then(|params| member_of(params.string_member("uri"), "uri"))
}

fn too_many_rooms() -> ErrorObject {
    let message = "too many clients have servers of their own; try again later";
    ErrorObject::new(ErrorCode::BUSY, message)
}

fn params_of(context: &Context) -> Result<&Payload, ErrorObject> {
    let params = context.params();
    params.ok_or_else(|| ErrorObject::invalid_params("there are no parameters"))
}

fn member_of(value: Option<std::borrow::Cow<'_, str>>, name: &str) -> Result<String, ErrorObject> {
    let value = value.map(std::borrow::Cow::into_owned);
    value.ok_or_else(|| ErrorObject::invalid_params(format!("{name} is missing")))
}
