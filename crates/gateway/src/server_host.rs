//! The application behind each server: the clients of the gateway.
//!
//! Servers of the handshake era ask here in the midst of a call; those of the stateless era ask by
//! their results, which pass through.
//!
//! Specification: client/elicitation, client/sampling, client/roots; 2026-07-28
//! basic/patterns/mrtr.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context as TaskContext, Waker};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use switchboard_client::{Abilities, Answering, Asked, Change, Host, Payload, Refusal};
use switchboard_protocol::jsonrpc::{ErrorObject, Notification};
use switchboard_protocol::revision::StepDown;
use switchboard_protocol::types::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestParams, ElicitRequestUrlParams, ElicitResult, InputRequest, ListRootsResult,
    LoggingMessageNotificationParams, TASKS_EXTENSION, meta_key,
};
use switchboard_protocol::{Method, Revision};
use switchboard_server::{AskError, Context};
use tokio::sync::oneshot;

use crate::desk::{Asker, AskingTask, Desk, Later, Open, Question};
use crate::relay::TaskKey;

/// The application behind one server.
#[derive(Debug)]
pub(crate) struct ServerHost {
    desk: Arc<Desk>,
    server: Arc<str>,
    abilities: Abilities,
}

impl ServerHost {
    /// Behind a server that all clients share: it may ask whatever any of them can be asked, and
    /// one that cannot be refuses then.
    pub(crate) fn of_all(desk: &Arc<Desk>, server: &str) -> Self {
        let mut abilities = Abilities::default();
        abilities.forms = true;
        abilities.urls = true;
        abilities.sampling = true;
        abilities.sampling_tools = true;
        abilities.roots = true;
        Self::new(desk, server, abilities)
    }

    /// Behind a server that only one client has.
    pub(crate) fn of_one(desk: &Arc<Desk>, server: &str, client: &ClientCapabilities) -> Self {
        let mut abilities = Abilities::default();
        abilities.forms = client.accepts_form();
        abilities.urls = client.accepts_url();
        abilities.sampling = client.accepts_sampling();
        abilities.sampling_tools = client.accepts_sampling_tools();
        abilities.roots = client.accepts_roots();
        // Tasks are for us to follow, in whichever form the client knows them.
        let extensions = client.extensions.iter().flatten();
        abilities.extensions = extensions
            .filter(|(name, _)| *name != TASKS_EXTENSION)
            .map(|(name, settings)| (name.clone(), settings.clone()))
            .collect();
        Self::new(desk, server, abilities)
    }

    fn new(desk: &Arc<Desk>, server: &str, abilities: Abilities) -> Self {
        Self {
            desk: Arc::clone(desk),
            server: Arc::from(server),
            abilities,
        }
    }

    fn asks_about(&self, asked: &Asked) -> Result<Open, Refusal> {
        self.desk.asks_about(asked).ok_or_else(|| {
            let method = asked.method;
            let message = format!("{method}: it is not known which call this is about");
            Refusal::from(ErrorObject::invalid_request(message))
        })
    }

    async fn elicit(
        &self,
        asked: Asked,
        mut params: ElicitRequestParams,
    ) -> Result<ElicitResult, Refusal> {
        let open = self.asks_about(&asked)?;
        let _waiting = open.waits();
        match &open.asker {
            Asker::Now(context) => {
                if let ElicitRequestParams::Url(visit) = &params
                    && let Some(id) = &visit.elicitation_id
                {
                    self.desk.visits.note(&self.server, id, context);
                }
                if let Some(task) = &open.task {
                    let params = encode(&params)?;
                    return put(context, Method::ElicitationCreate, Some(&params), task).await;
                }
                context.elicit_with(NAME, params).await.map_err(refusal)
            }
            Asker::Later(later) => {
                let declared = &later.capabilities;
                let (can, wanted) = match &mut params {
                    ElicitRequestParams::Url(visit) => {
                        // The stateless era has none.
                        visit.elicitation_id = None;
                        let wanted = json!({"elicitation": {"url": {}}});
                        (declared.accepts_url(), wanted)
                    }
                    _ => {
                        let wanted = json!({"elicitation": {"form": {}}});
                        (declared.accepts_form(), wanted)
                    }
                };
                later.check(can, Method::ElicitationCreate, wanted)?;
                params.step_down(Revision::LATEST);
                later.ask(InputRequest::elicitation(&params)).await
            }
        }
    }
}

impl Host for ServerHost {
    fn abilities(&self) -> Abilities {
        self.abilities.clone()
    }

    fn fill_form(
        &self,
        form: ElicitRequestFormParams,
        asked: Asked,
    ) -> Answering<'_, ElicitResult> {
        Box::pin(self.elicit(asked, ElicitRequestParams::Form(form)))
    }

    fn visit_url(
        &self,
        visit: ElicitRequestUrlParams,
        asked: Asked,
    ) -> Answering<'_, ElicitResult> {
        Box::pin(self.elicit(asked, ElicitRequestParams::Url(visit)))
    }

    fn sample(
        &self,
        request: CreateMessageRequestParams,
        asked: Asked,
    ) -> Answering<'_, CreateMessageResult> {
        Box::pin(async move {
            let open = self.asks_about(&asked)?;
            let _waiting = open.waits();
            let mut request = request;
            match &open.asker {
                Asker::Now(context) => {
                    if let Some(task) = &open.task {
                        let params = encode(&request)?;
                        let method = Method::SamplingCreateMessage;
                        return put(context, method, Some(&params), task).await;
                    }
                    context.sample(NAME, request).await.map_err(refusal)
                }
                Asker::Later(later) => {
                    let declared = &later.capabilities;
                    let wants_tools = request.tools.is_some() || request.tool_choice.is_some();
                    let (can, wanted) = match wants_tools {
                        true => (
                            declared.accepts_sampling_tools(),
                            json!({"sampling": {"tools": {}}}),
                        ),
                        false => (declared.accepts_sampling(), json!({"sampling": {}})),
                    };
                    later.check(can, Method::SamplingCreateMessage, wanted)?;
                    request.step_down(Revision::LATEST);
                    later.ask(InputRequest::sampling(&request)).await
                }
            }
        })
    }

    fn list_roots(&self, asked: Asked) -> Answering<'_, ListRootsResult> {
        Box::pin(async move {
            let open = self.asks_about(&asked)?;
            let _waiting = open.waits();
            match &open.asker {
                Asker::Now(context) => {
                    if let Some(task) = &open.task {
                        return put(context, Method::RootsList, None, task).await;
                    }
                    let roots = context.roots(NAME).await.map_err(refusal)?;
                    Ok(ListRootsResult::new(roots))
                }
                Asker::Later(later) => {
                    let can = later.capabilities.accepts_roots();
                    later.check(can, Method::RootsList, json!({"roots": {}}))?;
                    later.ask(Ok(InputRequest::roots())).await
                }
            }
        })
    }

    fn hear_change(&self, change: Change) {
        match change {
            Change::Task(task) => {
                let key = TaskKey::new(&*self.server, task).at(&self.desk);
                self.desk.tasks.hear(&key);
            }
            Change::Visit(id) => self.desk.visits.end(&self.server, &id),
            // What is listed and what is read the hub hears of, and tells.
            _ => {}
        }
    }

    /// What we do not know is for whoever has the only calls there, as a log is.
    fn hear(&self, notification: Notification) {
        let listener = self.desk.listener(&self.server, None);
        let connection = listener.and_then(|context| context.connection());
        if let Some(connection) = connection
            && notification.method.known().is_none()
        {
            connection.notify(notification);
        }
    }

    fn hear_log(&self, message: LoggingMessageNotificationParams, call: Option<u64>) {
        if let Some(context) = self.desk.listener(&self.server, call) {
            at_once(context.log_message(&message));
        }
    }
}

/// Puts a question to a client that waits for a task, and says which it is of.
async fn put<T: DeserializeOwned>(
    context: &Context,
    method: Method,
    params: Option<&Payload>,
    task: &AskingTask,
) -> Result<T, Refusal> {
    let meta = json!({meta_key::RELATED_TASK: {"taskId": task.shown}});
    let meta = meta.as_object().cloned().unwrap_or_default();
    let params = Payload::with_meta(params, &meta);
    let answer = context.put(method, Some(params)).await.map_err(refusal)?;
    answer
        .decode()
        .map_err(|error| refusal(AskError::BadAnswer(error.to_string())))
}

fn encode(params: &impl serde::Serialize) -> Result<Payload, Refusal> {
    Payload::encode(params).map_err(|error| Refusal::bad_question(error.to_string()))
}

impl Later {
    /// Can the client be asked this? If not, it is told what it would have to declare, should the
    /// call fail for it.
    fn check(&self, can: bool, method: Method, wanted: Value) -> Result<(), Refusal> {
        if can {
            return Ok(());
        }
        let wanted: ClientCapabilities = serde_json::from_value(wanted).unwrap_or_default();
        // The first thing that it lacks says enough.
        let _ = self.lacks.set(ErrorObject::missing_capabilities(wanted));
        Err(refusal(AskError::NotDeclared(method)))
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        question: Result<InputRequest, serde_json::Error>,
    ) -> Result<T, Refusal> {
        let request = question.map_err(|error| Refusal::bad_question(error.to_string()))?;
        let (answer, answered) = oneshot::channel();
        let gone = || refusal(AskError::Ended);
        let asked = self.questions.send(Question { request, answer }).await;
        asked.map_err(|_| gone())?;
        let answer = answered.await.map_err(|_| gone())?;
        answer
            .decode()
            .map_err(|error| refusal(AskError::BadAnswer(error.to_string())))
    }
}

/// Does what can be done at once, and does not wait for a client that is slow to read.
pub(crate) fn at_once(telling: impl Future<Output = ()>) {
    let telling = std::pin::pin!(telling);
    let _ = telling.poll(&mut TaskContext::from_waker(Waker::noop()));
}

/// What the server is told when its question has no answer.
fn refusal(error: AskError) -> Refusal {
    match error {
        AskError::Refused(error) => error.into(),
        AskError::NotDeclared(method) => ErrorObject::method_not_found(method.name()).into(),
        AskError::BadQuestion(_) | AskError::NotRepresentable(_) => {
            Refusal::bad_question(error.to_string())
        }
        other => Refusal::broken(other.to_string()),
    }
}

/// Clients of the handshake era do not see it.
const NAME: &str = "question";
