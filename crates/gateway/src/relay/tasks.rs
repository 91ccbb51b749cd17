//! Calls that go on after their answer.
//!
//! A task is known here by its server and the server's own name for it, and stays at its server.
//! Where client and server are of one era, what they say of tasks passes through. Where they are
//! not, it is said in the words of the other: `newer` for clients of the stateless era, `older` for
//! those of 2025-11-25.
//!
//! What is kept: who waits for questions of a task (`asking`), who hears of one (`news`), and what
//! came of calls that were over before they could become one (`ended`). All of it is bounded.
//!
//! Specification: tasks extension; 2025-11-25 basic/utilities/tasks.

mod asking;
mod ended;
mod form;
mod name;
mod newer;
mod news;
mod offering;
mod older;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_client::{ErrorKind, OnBehalf, Payload, Ready};
use switchboard_hub::{Hub, HubError, MemberState, ToolEntry};
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject};
use switchboard_protocol::types::{
    ClientCapabilities, SubscriptionFilter, TASKS_EXTENSION, Task, TaskRequestParams,
};
use switchboard_protocol::{Era, Method, RawJson};
use switchboard_server::{Answer, Connection, Context};

use super::{Inner, caller, pursuit};
use crate::desk::{Asker, AskingTask, Open};
use crate::identity::Identity;
use crate::rooms::Room;
use crate::turnstile::Turnstile;
use asking::AskingTasks;
use ended::EndedCalls;
use name::TaskNames;
use news::{Listener, News};
use pursuit::Failed;

pub(crate) use name::TaskKey;
pub(super) use offering::add;

/// What is known of tasks, for all clients.
#[derive(Debug)]
pub(crate) struct Tasks {
    names: TaskNames,
    asking: AskingTasks,
    ended: EndedCalls,
    news: News,
    turnstile: Arc<Turnstile>,
}

impl Tasks {
    /// As many may wait for answers of clients, of all and of one, and so long.
    pub(crate) fn new(
        turnstile: Arc<Turnstile>,
        most: usize,
        most_of_one: usize,
        life: Duration,
    ) -> Arc<Self> {
        Arc::new(Self {
            names: TaskNames::new(),
            asking: AskingTasks::new(most, most_of_one, life),
            ended: EndedCalls::default(),
            news: News::default(),
            turnstile,
        })
    }

    /// Who counts calls, and what was over a limit.
    pub(crate) const fn turnstile(&self) -> &Arc<Turnstile> {
        &self.turnstile
    }

    /// How a task stands, in the words of clients of this era but for its name.
    async fn stands(
        self: &Arc<Self>,
        room: &Arc<Room>,
        key: &TaskKey,
        context: Option<&Context>,
        era: Era,
    ) -> Result<Task, Failed> {
        let task = ask(room, key, Method::TasksGet, whom(context)).await?;
        let server = ready_of(&room.hub, &key.server).map(|ready| ready.revision.era());
        match (server, era) {
            (Some(Era::Handshake), Era::Stateless) => {
                let task = newer::read(&task)?;
                self.in_full(room, key, context, task).await
            }
            (_, Era::Stateless) => {
                newer::read(&form::exposed(task, &room.hub.catalog(), &key.server))
            }
            (_, Era::Handshake) => {
                let mut task = newer::read(&task)?;
                form::to_older(&mut task);
                Ok(task)
            }
        }
    }
}

impl Inner {
    /// A call of a tool that may become a task, or has to. None if it has nothing to do with tasks.
    pub(super) async fn call_as_task(&self, context: &Context) -> Option<Answer> {
        let tool = &self.tool_of(context)?;
        let name = tool.name.as_str();
        let outcome = match context.revision().era() {
            Era::Stateless => {
                let params = self.as_newer_task(context, tool)?;
                let whom = caller::whom(context);
                let passed = self.pass(context, params, whom, |hub| hub.call(name)).await;
                passed.map(|result| match self.newer_task(&result, tool, context) {
                    Some(task) => Answer::Result(task),
                    None => {
                        super::answers::fit::<super::CallToolResult>(result, context.revision())
                    }
                })
            }
            Era::Handshake if self.is_older_task(context, tool) => {
                self.call_as_older_task(context, name, tool).await
            }
            Era::Handshake => return None,
        };
        Some(outcome.unwrap_or_else(|failed| failed.answer(context)))
    }

    /// An answer to a call of a tool that [goes on](goes_on): with the name that a task has here if
    /// the call became one, and with what came of it in the end if the server makes tasks only and
    /// the client knows none.
    pub(super) async fn followed(&self, answer: Answer, context: &Context) -> Answer {
        let Some(tool) = self.tool_of(context) else {
            return answer;
        };
        match answer {
            Answer::Result(result) => Answer::Result(self.named(&result, &tool, context)),
            Answer::Error(_) => {
                let name = tool.name.as_str();
                let outcome = self.call_and_wait(context, name, &tool).await;
                outcome.unwrap_or_else(|failed| failed.answer(context))
            }
            other => other,
        }
    }

    fn named(&self, result: &Payload, tool: &ToolEntry, context: &Context) -> Payload {
        let key = |task: &str| TaskKey::new(&*tool.server, task);
        let made = result.part("task");
        let id = made
            .as_ref()
            .and_then(|task| task.string_member(form::TASK_ID));
        if let Some(id) = id.filter(|_| older::has_tasks(context.revision())) {
            self.listen_to_own(context, &key(&id), Era::Handshake);
        }
        form::named(result, |task| {
            self.tasks.names.shown(&key(task), context.principal())
        })
    }

    /// The task that a client calls so.
    pub(super) fn task_called(&self, id: &str, context: &Context) -> Option<TaskKey> {
        self.tasks.names.parse(id, context.principal())
    }

    /// A call that is for a task.
    pub(super) async fn relay_task(&self, context: Context) -> Answer {
        let outcome = self.call_for_task(&context).await;
        outcome.map_or_else(|failed| failed.answer(&context), Answer::Result)
    }

    async fn call_for_task(&self, context: &Context) -> Result<Payload, Failed> {
        let era = context.revision().era();
        if era == Era::Stateless && !context.capabilities().has_extension(TASKS_EXTENSION) {
            return Err(Failed::Here(undeclared()));
        }
        let id = context
            .params()
            .and_then(|params| params.string_member(form::TASK_ID));
        let missing = || Failed::Here(ErrorObject::invalid_params("taskId is missing"));
        let id = id.ok_or_else(missing)?;
        let key = self.task_called(&id, context);
        let key = key.ok_or_else(|| Failed::Here(unknown()))?;
        if key.server == older::HERE && era == Era::Handshake {
            return self.call_for_ended(context, &key);
        }
        let room = self.rooms.of(context);
        let room = room.ok_or_else(|| Failed::Here(self.turnstile.no_room()))?;
        let key = key.within(&room);
        let server = reach(&self.hub, &key.server).await;
        match (era, server.ok_or_else(|| Failed::Here(unknown()))?) {
            (Era::Stateless, Era::Handshake) => {
                self.call_for_older_task(context, &room, &key).await
            }
            (Era::Handshake, Era::Stateless) => {
                self.call_for_newer_task(context, &room, &key).await
            }
            _ => self.pass_task(context, &room, &key).await,
        }
    }

    /// Passes a call on that is for a task, to a server of the client's own era.
    async fn pass_task(
        &self,
        context: &Context,
        room: &Arc<Room>,
        key: &TaskKey,
    ) -> Result<Payload, Failed> {
        let params = context.params().cloned().unwrap_or_else(Payload::empty);
        let task = serde_json::Value::from(&*key.task).to_string();
        // The TypeScript SDK 1.x says with whatever concerns a task that it is to be one.
        let params = params.passed_on(&[(form::TASK_ID, Some(task.as_bytes())), ("task", None)]);
        let params = params
            .decode::<RawJson>()
            .map_err(|error| Failed::Here(ErrorObject::invalid_params(error.to_string())))?;
        let names = &self.tasks.names;
        let mut call = room
            .hub
            .request_on(&key.server, context.method().as_str(), Some(&params))
            .on_behalf(caller::whom(context));
        if context.method().known() == Some(Method::TasksResult) {
            // Whoever waits for it is asked what the task asks.
            let client = Identity::of(context);
            let asker = Asker::Now(context.clone());
            let task = AskingTask {
                id: key.task.clone(),
                shown: names.shown(key, context.principal()),
            };
            call = call.seen_by(Open::for_task(asker, Arc::clone(room), client, task));
            // It comes when the task is at its end, however long that takes.
            call = call.idle_timeout(None).deadline(None);
        }
        let result = form::exposed(call.await?, &self.hub.catalog(), &key.server);
        let shown =
            |task: &str| names.shown(&TaskKey::new(&*key.server, task), context.principal());
        Ok(form::named(&result, shown))
    }

    /// A client of the stateless era wants to hear of tasks.
    pub(super) fn listen_to_tasks(&self, filter: &SubscriptionFilter, connection: &Connection) {
        let caller = connection.principal();
        for shown in filter.tasks() {
            let Some(key) = self.tasks.names.parse(shown, caller.as_deref()) else {
                continue;
            };
            // A server that does not run has nothing to tell.
            let Some(ready) = ready_of(&self.hub, &key.server) else {
                continue;
            };
            let listener = Listener::new(connection.clone(), Era::Stateless, shown.clone());
            let room = self.tasks.asking.room_of(&key);
            let room = room.unwrap_or_else(|| Arc::clone(self.rooms.hall()));
            let key = key.within(&room);
            self.tasks
                .listen(&room, &key, ready.revision.era(), listener);
        }
    }
}

/// May a call of a tool have to do with tasks? Most have not, and are looked at no further.
pub(super) fn may_be_one(context: &Context) -> bool {
    let says = |params: &Payload| params.member("task").is_some();
    let is_said = || context.params().is_some_and(says);
    match context.revision().era() {
        Era::Stateless => context.capabilities().has_extension(TASKS_EXTENSION) || is_said(),
        Era::Handshake => older::has_tasks(context.revision()) && is_said(),
    }
}

/// Is this answer to a call of a tool not the end of it?
pub(super) fn goes_on(answer: &Answer, context: &Context) -> bool {
    match answer {
        Answer::Result(result) => is_one(result),
        Answer::Error(error) => wants_tasks(error, context),
        _ => false,
    }
}

/// Asks a server about a task.
async fn ask(
    room: &Arc<Room>,
    key: &TaskKey,
    method: Method,
    whom: Arc<OnBehalf>,
) -> Result<Payload, HubError> {
    let params = TaskRequestParams::new(&*key.task);
    let call = room
        .hub
        .request_on(&key.server, method.name(), Some(&params));
    call.on_behalf(whom).await
}

/// For whom a server is asked about a task: for somebody who knows tasks.
fn whom(context: Option<&Context>) -> Arc<OnBehalf> {
    match context {
        Some(context) => caller::whom_with_tasks(context),
        None => {
            let can = json!({"extensions": {TASKS_EXTENSION: {}}});
            let can = RawJson::encode(&can).expect("invariant: this is JSON");
            let mut whom = OnBehalf::new(can);
            whom.is_asked_himself = true;
            Arc::new(whom)
        }
    }
}

/// The era of a server, which is started if it sleeps. None if there is none.
async fn reach(hub: &Hub, server: &str) -> Option<Era> {
    if let Some(ready) = ready_of(hub, server) {
        return Some(ready.revision.era());
    }
    let servers = hub.servers();
    let status = servers.iter().find(|status| *status.name == *server)?;
    if matches!(status.state, MemberState::Disabled | MemberState::Stopped) {
        return None;
    }
    hub.connect(server).await.ok()?;
    ready_of(hub, server).map(|ready| ready.revision.era())
}

/// What a server has said of itself, if it runs.
fn ready_of(hub: &Hub, server: &str) -> Option<Arc<Ready>> {
    let servers = hub.servers();
    let status = servers.iter().find(|status| *status.name == *server)?;
    ready(&status.state).cloned()
}

const fn ready(state: &MemberState) -> Option<&Arc<Ready>> {
    match state {
        MemberState::Ready(ready) | MemberState::ListingFailed { ready, .. } => Some(ready),
        _ => None,
    }
}

/// What a server has refused, if that is why a call failed.
fn refused(error: &HubError) -> Option<&ErrorObject> {
    match error {
        HubError::Call(error) => match error.kind() {
            ErrorKind::Refused(error) => Some(error),
            _ => None,
        },
        _ => None,
    }
}

/// Was a call refused because the client has not declared that it knows tasks of the extension,
/// which it cannot declare?
fn wants_tasks(error: &ErrorObject, context: &Context) -> bool {
    let data = error.data.as_ref();
    context.revision().era() == Era::Handshake
        && data.is_some_and(|data| {
            memchr::memmem::find(data.text(), b"requiredCapabilities").is_some()
                && memchr::memmem::find(data.text(), TASKS_EXTENSION.as_bytes()).is_some()
        })
}

/// Has a call become a task?
fn is_one(result: &Payload) -> bool {
    result.result_type().as_deref() == Some("task") || result.member("task").is_some()
}

fn unknown() -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, "there is no such task")
}

fn undeclared() -> ErrorObject {
    let mut required = ClientCapabilities::default();
    let extensions = required.extensions.get_or_insert_default();
    extensions.insert(TASKS_EXTENSION.to_owned(), json!({}));
    ErrorObject::missing_capabilities(required)
}
