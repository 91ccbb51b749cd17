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
mod tool;

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use switchboard_client::{OnBehalf, Payload};
use switchboard_hub::{Hub, HubCall, Operation, PassedOn};
use switchboard_protocol::Method;
use switchboard_protocol::jsonrpc::{ErrorObject, Notification};
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
use crate::turnstile::Turnstile;
use crate::watches::Watches;

pub(crate) use answers::{Fits, answer_with};
pub(crate) use pursuit::Pursuit;
pub(crate) use tasks::{TaskKey, Tasks};

use answers::error_of;
use caller::LastCaller;
use names::NameTable;
use pursuit::{Failed, Pursued};

/// A hub as a service.
pub(crate) struct Relay(Arc<Inner>);

pub(crate) struct Inner {
    parts: Parts,
    names: NameTable,
    info: Implementation,
    last_caller: LastCaller,
}

/// What calls go through.
pub(crate) struct Parts {
    pub(crate) hub: Hub,
    pub(crate) rooms: Arc<Rooms>,
    pub(crate) opening: Opening,
    pub(crate) lot: Arc<Lot>,
    pub(crate) turnstile: Arc<Turnstile>,
    pub(crate) watches: Arc<Watches>,
    pub(crate) tasks: Arc<Tasks>,
    /// Must callers over HTTP prove who they are?
    pub(crate) is_locked: bool,
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
            last_caller: LastCaller::default(),
        }))
    }

    /// What the calls of a client go through.
    pub(crate) const fn inner(&self) -> &Arc<Inner> {
        &self.0
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
            self.0.turnstile.refusals().note("rooms");
            return tracing::debug!("nothing is watched: there are too many clients");
        };
        for uri in uris {
            // At once if it can be: whoever changes it next has read that this one listens.
            if self.0.watches.join(&room, uri, &connection) {
                continue;
            }
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

    fn told(&self, notification: Notification, caller: Option<&Arc<Caller>>) {
        let room = || caller.and_then(|caller| self.0.rooms.of_caller(caller));
        match notification.method.known() {
            None => self.0.tell_unknown(notification, room()),
            Some(Method::RootsListChanged) => {
                if let Some(room) = room() {
                    tokio::spawn(async move { room.hub.roots_changed().await });
                }
            }
            // What else clients tell concerns one call, or ourselves.
            Some(_) => {}
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
            Some(Method::ToolsCall) => match relay.call_tool(context) {
                Ok(called) => Reply::long(called),
                Err(error) => Reply::Now(Answer::Error(error)),
            },
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
            return Answer::Error(self.turnstile.no_room());
        };
        match self.watches.add(&room, &uri, connection).await {
            Ok(_) => Answer::Result(Payload::empty()),
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

    async fn fill(&self, context: Context) -> Answer {
        if self.names.must_wait_for(&self.opening) {
            self.opening.wait().await;
        }
        let name = params_of(&context).and_then(|params| member_of(params.name(), "name"));
        match name {
            Ok(name) => {
                let name = self.names.prompt(&self.hub.catalog(), name);
                let call = |hub: &Hub| hub.prompt::<String, String>(&name, []);
                self.relay::<_, GetPromptResult>(&context, call).await
            }
            Err(error) => Answer::Error(error),
        }
    }

    async fn read(&self, context: Context) -> Answer {
        match uri_of(&context) {
            Ok(uri) => {
                self.relay::<_, ReadResourceResult>(&context, |hub| hub.read(&uri))
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
                    let name = Cow::Borrowed(prompt.name.as_str());
                    let name = self.names.prompt(&self.hub.catalog(), name);
                    prompt.name = name.into_owned();
                }
                self.relay::<_, CompleteResult>(&context, |hub| hub.complete(params))
                    .await
            }
            Err(error) => Answer::Error(error),
        }
    }

    /// Passes a call on for a client, and says what came of it in the client's words.
    async fn relay<O, T>(&self, context: &Context, call: impl FnOnce(&Hub) -> HubCall<O>) -> Answer
    where
        O: Operation<Output: serde::Serialize + serde::de::DeserializeOwned>,
        T: Fits,
    {
        let returned = match pursuit::may_be_returned(context) {
            true => pursuit::returned(self, context).await,
            false => Ok(None),
        };
        let begun = returned.and_then(|returned| match returned {
            Some(pursued) => Ok(pursued),
            None => self.begin(context, call),
        });
        match begun {
            Ok(mut pursued) => answer_of::<T>(pursued.outcome(self, context).await, context),
            Err(error) => Answer::Error(error),
        }
    }

    /// Passes a call on for a client.
    fn begin<O>(
        &self,
        context: &Context,
        call: impl FnOnce(&Hub) -> HubCall<O>,
    ) -> Result<Pursued<PassedOn<O>>, ErrorObject>
    where
        O: Operation<Output: serde::Serialize + serde::de::DeserializeOwned>,
    {
        let (whom, params) = self.last_caller.of(context);
        self.begin_as(context, params, whom, call)
    }

    /// Passes a call on for a client, with these parameters, and waits for what comes of it.
    async fn pass<O>(
        &self,
        context: &Context,
        params: Payload,
        whom: Arc<OnBehalf>,
        call: impl FnOnce(&Hub) -> HubCall<O>,
    ) -> Result<Payload, Failed>
    where
        O: Operation<Output: serde::Serialize + serde::de::DeserializeOwned>,
    {
        let mut pursued = match pursuit::returned(self, context).await {
            Ok(Some(returned)) => returned,
            Ok(None) => self
                .begin_as(context, params, whom, call)
                .map_err(Failed::Here)?,
            Err(error) => return Err(Failed::Here(error)),
        };
        pursued.outcome(self, context).await
    }

    /// Passes a call on for a client, with these parameters.
    fn begin_as<O>(
        &self,
        context: &Context,
        params: Payload,
        whom: Arc<OnBehalf>,
        call: impl FnOnce(&Hub) -> HubCall<O>,
    ) -> Result<Pursued<PassedOn<O>>, ErrorObject>
    where
        O: Operation<Output: serde::Serialize + serde::de::DeserializeOwned>,
    {
        let room = self
            .rooms
            .of(context)
            .ok_or_else(|| self.turnstile.no_room())?;
        let mut call = call(&room.hub).pass_on(params, whom);
        if let Some(parent) = caller::trace(context) {
            call = call.parent(parent);
        }
        Ok(pursuit::begin(room, call, context))
    }
}

/// What a client is told that came of its call.
fn answer_of<T: Fits>(outcome: Result<Payload, Failed>, context: &Context) -> Answer {
    match outcome {
        Ok(result) => answers::fit::<T>(result, context.revision()),
        Err(failed) => failed.answer(context),
    }
}

fn uri_of(context: &Context) -> Result<String, ErrorObject> {
    let uri = params_of(context).and_then(|params| member_of(params.string_member("uri"), "uri"));
    uri.map(Cow::into_owned)
}

fn params_of(context: &Context) -> Result<&Payload, ErrorObject> {
    let params = context.params();
    params.ok_or_else(|| ErrorObject::invalid_params("there are no parameters"))
}

fn member_of<'a>(value: Option<Cow<'a, str>>, name: &str) -> Result<Cow<'a, str>, ErrorObject> {
    value.ok_or_else(|| ErrorObject::invalid_params(format!("{name} is missing")))
}
