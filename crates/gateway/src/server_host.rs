//! The application behind each server: the clients of the gateway.
//!
//! Servers of the handshake era ask here in the midst of a call; those of the stateless era ask by
//! their results, which pass through.
//!
//! Specification: client/elicitation, client/sampling, client/roots; 2026-07-28
//! basic/patterns/mrtr.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use switchboard_client::{Abilities, Answering, Asked, Change, Host, Payload, Refusal};
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject, Notification};
use switchboard_protocol::revision::StepDown;
use switchboard_protocol::types::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestParams, ElicitRequestUrlParams, ElicitResult, InputRequest, ListRootsResult,
    LoggingMessageNotificationParams, TASKS_EXTENSION, meta_key,
};
use switchboard_protocol::{Method, Revision};
use switchboard_server::{AskError, Connection, Context};
use tokio::sync::oneshot;

use crate::desk::{Asker, AskingTask, Desk, Later, Open, Question, Waiting};
use crate::relay::TaskKey;

/// The application behind one server.
#[derive(Debug)]
pub(crate) struct ServerHost {
    desk: Arc<Desk>,
    server: Arc<str>,
    abilities: Abilities,
    /// The session of the one client that has the server alone.
    session: Option<Connection>,
}

impl ServerHost {
    /// Behind a server that all clients share: it may ask whatever any of them can be asked, and
    /// one that cannot be refuses then. It is not told when the folders of one of them change: it
    /// would ask for the new ones outside of any call, and there is nobody to ask. So that is not
    /// promised either, and such a server asks in each call.
    pub(crate) fn of_all(desk: &Arc<Desk>, server: &str) -> Self {
        let mut abilities = Abilities::default();
        abilities.forms = true;
        abilities.urls = true;
        abilities.sampling = true;
        abilities.sampling_tools = true;
        abilities.roots = true;
        Self::new(desk, server, abilities)
    }

    /// Behind a server that only one client has, with its session if it has one.
    pub(crate) fn of_one(
        desk: &Arc<Desk>,
        server: &str,
        client: &ClientCapabilities,
        session: Option<Connection>,
    ) -> Self {
        let mut abilities = Abilities::default();
        abilities.forms = client.accepts_form();
        abilities.urls = client.accepts_url();
        abilities.sampling = client.accepts_sampling();
        abilities.sampling_tools = client.accepts_sampling_tools();
        abilities.roots = client.accepts_roots();
        // Only in a session it can say so.
        abilities.root_changes = session.is_some() && client.announces_root_changes();
        // Tasks are for us to follow, in whichever form the client knows them.
        let extensions = client.extensions.iter().flatten();
        abilities.extensions = extensions
            .filter(|(name, _)| *name != TASKS_EXTENSION)
            .map(|(name, settings)| (name.clone(), settings.clone()))
            .collect();
        Self {
            session,
            ..Self::new(desk, server, abilities)
        }
    }

    fn new(desk: &Arc<Desk>, server: &str, abilities: Abilities) -> Self {
        Self {
            desk: Arc::clone(desk),
            server: Arc::from(server),
            abilities,
            session: None,
        }
    }

    /// Asks the client of the call that this is about. Where that can only be guessed, it may have been
    /// about another one of that client: if the call ends before there is an answer, if the client says
    /// that it is over, and if one that is to come again with the answer does not for long.
    async fn ask<T, F: Future<Output = Result<T, AskError>>>(
        &self,
        asked: &Asked,
        ask: impl Fn(Arc<Open>) -> F,
    ) -> Result<T, Refusal> {
        let mut tried: Vec<Arc<Open>> = Vec::new();
        let mut asking: Vec<Asking<F>> = Vec::new();
        let mut refused = None;
        let is_guessed = asked.call.is_none() && asked.task.is_none();
        loop {
            match self.desk.asks_about(asked, &tried) {
                // Nobody is asked for ever, also if he comes for none of his calls.
                Some(_) if tried.len() > MOST_GUESSES && !asking.is_empty() => {}
                Some(open) if tried.iter().all(|one| one.client().is_same(open.client())) => {
                    tried.push(Arc::clone(&open));
                    asking.push(Asking {
                        _waiting: open.waits(),
                        comes_again: is_guessed && matches!(open.asker, Asker::Later(_)),
                        answer: Box::pin(ask(open)),
                    });
                }
                Some(_) if asking.is_empty() => {
                    return Err(refusal(refused.unwrap_or(AskError::Ended)));
                }
                None if asking.is_empty() => {
                    let method = asked.method;
                    let message = format!("{method}: it is not known which call this is about");
                    let unknown = Refusal::from(ErrorObject::invalid_request(message));
                    return Err(refused.map_or(unknown, refusal));
                }
                _ => {}
            }
            let all_come_again = asking.iter().all(|one| one.comes_again);
            let outcome = match all_come_again {
                true => tokio::time::timeout(COMES_AGAIN, first(&mut asking)).await,
                false => Ok(first(&mut asking).await),
            };
            let error = match outcome {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) if asked.call.is_none() && is_over(&error) => error,
                Ok(Err(error)) => return Err(refusal(error)),
                Err(_) => continue,
            };
            if tried.len() > MOST_GUESSES {
                self.desk.turnstile().refusals().note("guesses");
                return Err(refusal(error));
            }
            refused.get_or_insert(error);
        }
    }

    async fn elicit(
        &self,
        asked: Asked,
        params: ElicitRequestParams,
    ) -> Result<ElicitResult, Refusal> {
        let asking = |open| self.elicit_about(open, params.clone());
        self.ask(&asked, asking).await
    }

    async fn elicit_about(
        &self,
        open: Arc<Open>,
        mut params: ElicitRequestParams,
    ) -> Result<ElicitResult, AskError> {
        match &open.asker {
            Asker::Now(context) => {
                if let ElicitRequestParams::Url(visit) = &params
                    && let Some(id) = &visit.elicitation_id
                {
                    let refusals = self.desk.turnstile().refusals();
                    self.desk.visits.note(&self.server, id, context, refusals);
                }
                if let Some(task) = &open.task {
                    let params = encode(&params)?;
                    return put(context, Method::ElicitationCreate, Some(&params), task).await;
                }
                context.elicit_with(NAME, params).await
            }
            Asker::Later(later) => {
                let declared = later.capabilities();
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
                later
                    .ask(InputRequest::elicitation(&params), &self.desk)
                    .await
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
            let asking = |open| sample(&self.desk, open, request.clone());
            self.ask(&asked, asking).await
        })
    }

    fn list_roots(&self, asked: Asked) -> Answering<'_, ListRootsResult> {
        Box::pin(async move {
            // A server asks for them when it has begun, and when it heard that there are others: it need
            // not work on anything then. Whoever has it alone knows that he is meant.
            if let Some(client) = &self.session
                && self.desk.is_idle(&asked.server)
            {
                let roots = client.roots().await;
                return roots.map(ListRootsResult::new).map_err(refusal);
            }
            let asking = |open| list_roots(&self.desk, open);
            self.ask(&asked, asking).await
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

/// A client that is being asked.
struct Asking<F> {
    _waiting: Waiting,
    /// Whether it is to come again with the answer. Then nobody hears of it if it gives up the call.
    comes_again: bool,
    answer: Pin<Box<F>>,
}

/// What came of the first of them, which is asked no more.
async fn first<F: Future>(asking: &mut Vec<Asking<F>>) -> F::Output {
    poll_fn(|task| {
        for at in 0..asking.len() {
            let Some(one) = asking.get_mut(at) else {
                break;
            };
            if let Poll::Ready(outcome) = one.answer.as_mut().poll(task) {
                asking.swap_remove(at);
                return Poll::Ready(outcome);
            }
        }
        Poll::Pending
    })
    .await
}

/// Is there no answer because the call has ended? A client that has given it up may say so before
/// we hear of that.
fn is_over(error: &AskError) -> bool {
    match error {
        AskError::Ended => true,
        AskError::Refused(error) => error.code == ErrorCode::INVALID_REQUEST,
        _ => false,
    }
}

/// Puts a question to a client that waits for a task, and says which it is of.
async fn put<T: DeserializeOwned>(
    context: &Context,
    method: Method,
    params: Option<&Payload>,
    task: &AskingTask,
) -> Result<T, AskError> {
    let meta = json!({meta_key::RELATED_TASK: {"taskId": task.shown}});
    let meta = meta.as_object().cloned().unwrap_or_default();
    let params = Payload::with_meta(params, &meta);
    let answer = context.put(method, Some(params)).await?;
    answer
        .decode()
        .map_err(|error| AskError::BadAnswer(error.to_string()))
}

fn encode(params: &impl serde::Serialize) -> Result<Payload, AskError> {
    Payload::encode(params).map_err(|error| AskError::BadQuestion(error.to_string()))
}

async fn sample(
    desk: &Desk,
    open: Arc<Open>,
    mut request: CreateMessageRequestParams,
) -> Result<CreateMessageResult, AskError> {
    match &open.asker {
        Asker::Now(context) => {
            if let Some(task) = &open.task {
                let params = encode(&request)?;
                let method = Method::SamplingCreateMessage;
                return put(context, method, Some(&params), task).await;
            }
            context.sample(NAME, request).await
        }
        Asker::Later(later) => {
            let declared = later.capabilities();
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
            later.ask(InputRequest::sampling(&request), desk).await
        }
    }
}

async fn list_roots(desk: &Desk, open: Arc<Open>) -> Result<ListRootsResult, AskError> {
    match &open.asker {
        Asker::Now(context) => {
            if let Some(task) = &open.task {
                return put(context, Method::RootsList, None, task).await;
            }
            context.roots(NAME).await.map(ListRootsResult::new)
        }
        Asker::Later(later) => {
            let can = later.capabilities().accepts_roots();
            later.check(can, Method::RootsList, json!({"roots": {}}))?;
            later.ask(Ok(InputRequest::roots()), desk).await
        }
    }
}

impl Later {
    /// Can the client be asked this? If not, it is told what it would have to declare, should the
    /// call fail for it.
    fn check(&self, can: bool, method: Method, wanted: Value) -> Result<(), AskError> {
        if can {
            return Ok(());
        }
        let wanted: ClientCapabilities = serde_json::from_value(wanted).unwrap_or_default();
        self.note_lack(ErrorObject::missing_capabilities(wanted));
        Err(AskError::NotDeclared(method))
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        question: Result<InputRequest, serde_json::Error>,
        desk: &Desk,
    ) -> Result<T, AskError> {
        let request = question.map_err(|error| AskError::BadQuestion(error.to_string()))?;
        let (answer, answered) = oneshot::channel();
        self.push(Question { request, answer }, desk.turnstile())?;
        let answer = answered.await.map_err(|_| AskError::Ended)?;
        answer
            .decode()
            .map_err(|error| AskError::BadAnswer(error.to_string()))
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

/// More calls than end in the time that a client takes to answer.
const MOST_GUESSES: usize = 16;
/// Longer than most take to answer, and shorter than most wait for a call.
const COMES_AGAIN: Duration = Duration::from_secs(20);

/// Clients of the handshake era do not see it.
const NAME: &str = "question";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desk::tests::{desk, enter, question};

    #[tokio::test(start_paused = true)]
    async fn who_says_that_his_call_is_over_is_asked_about_the_next() {
        let desk = desk();
        let host = ServerHost::of_all(&desk, "s");
        let _first = enter(&desk, 1, Some("ada"));
        // We have not heard that this one was given up.
        let _second = enter(&desk, 2, Some("ada"));
        let refuse = || {
            Err(AskError::Refused(ErrorObject::invalid_request(
                "it is over",
            )))
        };
        let asked = std::sync::atomic::AtomicU64::new(0);
        let ask = |_: Arc<Open>| {
            let before = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            async move { if before == 0 { refuse() } else { Ok(7) } }
        };
        assert_eq!(host.ask(&question(), ask).await.unwrap(), 7);
        // Where there is no other, that is its answer.
        let refused = host.ask(&question(), |_| async { refuse() }).await;
        let refused: Result<i32, Refusal> = refused;
        assert!(refused.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_is_not_passed_from_call_to_call_for_ever() {
        let desk = desk();
        let host = ServerHost::of_all(&desk, "s");
        let calls = (1..=30).map(|call| enter(&desk, call, Some("ada")));
        let calls = std::sync::Mutex::new(calls.collect::<Vec<_>>());
        let ask = |_: Arc<Open>| {
            let newest = calls.lock().unwrap().pop();
            async move {
                drop(newest);
                Err(AskError::Ended)
            }
        };
        let refused: Result<(), Refusal> = host.ask(&question(), ask).await;
        assert!(refused.is_err());
        let asked = 30 - calls.lock().unwrap().len();
        assert_eq!(asked, 1 + MOST_GUESSES);
        assert_eq!(desk.turnstile().refusals().counts()["guesses"], 1);
    }

    #[tokio::test]
    async fn a_question_goes_to_the_next_call_when_the_one_that_was_taken_for_it_ends() {
        let desk = desk();
        let host = ServerHost::of_all(&desk, "s");
        let (_first, first_asked) = enter(&desk, 1, Some("ada"));
        let (second, second_asked) = enter(&desk, 2, Some("ada"));
        let schema = switchboard_client::RawJson::encode(&json!({"type": "object"})).unwrap();
        let form = ElicitRequestFormParams::new("Who?", schema);
        let asking = host.fill_form(form, question());
        let answering = async {
            // The newest is taken for the one that asks. It is given up before it is answered.
            let taken = second_asked.questions().await;
            drop((second, second_asked, taken));
            let again = first_asked.questions().await.remove(0);
            let answer = switchboard_client::Payload::encode(&json!({"action": "decline"}));
            again.answer.send(answer.unwrap()).unwrap();
        };
        let (answer, ()) = tokio::join!(asking, answering);
        assert_eq!(
            answer.unwrap().action,
            switchboard_client::types::ElicitAction::Decline
        );
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_come_again_is_asked_by_another_of_his_calls() {
        let desk = desk();
        let host = ServerHost::of_all(&desk, "s");
        let (_first, first_asked) = enter(&desk, 1, Some("ada"));
        let (_second, second_asked) = enter(&desk, 2, Some("ada"));
        let asked = question();
        let asking = host.list_roots(asked);
        let begun = tokio::time::Instant::now();
        let answering = async {
            // Nobody hears that the client has given this one up.
            let taken = second_asked.questions().await;
            let again = first_asked.questions().await.remove(0);
            assert_eq!(begun.elapsed(), COMES_AGAIN);
            // He may still come, but need not.
            assert!(!taken[0].answer.is_closed());
            let answer = switchboard_client::Payload::encode(&json!({"roots": []}));
            again.answer.send(answer.unwrap()).unwrap();
            taken
        };
        let (answer, taken) = tokio::join!(asking, answering);
        assert!(answer.unwrap().roots.is_empty());
        assert!(taken[0].answer.is_closed());
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_for_none_of_his_calls_is_not_asked_by_all_of_them() {
        let desk = desk();
        let host = ServerHost::of_all(&desk, "s");
        let calls: Vec<_> = (1..=30).map(|at| enter(&desk, at, Some("ada"))).collect();
        let asking = tokio::time::timeout(60 * COMES_AGAIN, host.list_roots(question()));
        assert!(asking.await.is_err());
        let listening = calls.into_iter().map(|(_, listening)| listening);
        let mut asked = 0;
        for one in listening {
            let questions = tokio::time::timeout(Duration::ZERO, one.questions()).await;
            asked += questions.map_or(0, |questions| questions.len());
        }
        assert_eq!(asked, 1 + MOST_GUESSES);
    }
}
