//! A call on its way through the hub, and the questions that come back.
//!
//! A server of the stateless era asks by its result, which is the client's to answer: nothing is
//! kept here. One of the handshake era asks while its call is open. A client of that era waits,
//! and is asked meanwhile; one of the stateless era is told to come again with the answer, and its
//! call waits in the lot.

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Duration;

use switchboard_client::Payload;
use switchboard_client::types::ProgressNotificationParams;
use switchboard_hub::{HubCall, HubCallFuture, HubError, Operation};
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{InputRequests, InputRequiredResult};
use switchboard_protocol::{Era, RawJson};
use switchboard_server::{Answer, Context, Progress, SealError};
use tokio::time::timeout;

use super::{Inner, error_of};
use crate::desk::{Asker, Later, Listening, Open, Question};
use crate::rooms::Room;
use crate::server_host::at_once;

/// Why there is nothing to tell a client but this.
pub(super) enum Failed {
    Hub(HubError),
    Here(ErrorObject),
}

impl Failed {
    /// The same in the words of the client that made the call.
    pub(super) fn answer(self, context: &Context) -> Answer {
        Answer::Error(match self {
            Self::Hub(error) => error_of(error, context.method(), context.revision()),
            Self::Here(error) => error,
        })
    }
}

/// A call on its way.
pub(super) enum Pursued<O: Operation<Output = Payload>> {
    /// The client waits, and is asked meanwhile.
    Waited(HubCallFuture<O>),
    /// The client may have to come again.
    Followed(Pursuit<Way<O>>),
    Over,
}

/// A call that its client may have to come again for.
pub(super) enum Way<O: Operation<Output = Payload>> {
    /// It has not come again yet.
    First(HubCallFuture<O>),
    Again(Pin<Box<Anything>>),
}

impl<O: Operation<Output = Payload>> Future for Way<O> {
    type Output = Result<Payload, HubError>;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::First(call) => Pin::new(call).poll(task),
            Self::Again(call) => call.as_mut().poll(task),
        }
    }
}

/// A call that goes on at its server, whoever waits for it. Dropped, it is cancelled there.
pub(crate) struct Pursuit<F = Pin<Box<Anything>>> {
    call: F,
    /// What the client is to be asked.
    listening: Listening,
    /// In a box: nearly no call has any, and it is large.
    talk: Option<Box<Talk>>,
}

/// What is between a call and its client.
#[derive(Default)]
struct Talk {
    /// Questions that wait for the client.
    questions: BTreeMap<String, Question>,
    asked: u32,
    /// What came of it while nobody listened.
    outcome: Option<Result<Payload, HubError>>,
    /// Why that is not here.
    lost: Option<ErrorObject>,
}

/// A call of any kind.
type Anything = dyn Future<Output = Result<Payload, HubError>> + Send;

impl<F> Pursuit<F> {
    fn note(&mut self, questions: Vec<Question>) {
        let talk = self.talk.get_or_insert_default();
        for question in questions {
            talk.asked += 1;
            let name = format!("question-{}", talk.asked);
            talk.questions.insert(name, question);
        }
    }

    /// A call that failed, and for which the client could not be asked, failed for that.
    fn judge(&self, outcome: Result<Payload, HubError>) -> Result<Payload, Failed> {
        let has_failed = match &outcome {
            Ok(result) => result.is_error(),
            Err(_) => true,
        };
        if has_failed && let Some(error) = self.listening.later().and_then(Later::lack) {
            return Err(Failed::Here(error));
        }
        outcome.map_err(Failed::Hub)
    }
}

impl Pursuit {
    /// Goes on while nobody listens, until the call has ended. What was asked in its name and has
    /// no answer then was about another call, and can be asked there.
    pub(crate) async fn go_on(&mut self) {
        let talk = self.talk.get_or_insert_default();
        if talk.outcome.is_none() {
            talk.outcome = Some((&mut self.call).await);
        }
        self.listening.close();
        talk.questions.clear();
    }

    /// How many bytes are held of it: of what is asked about it, or of what came of it.
    pub(crate) fn size(&self) -> usize {
        let Some(talk) = &self.talk else {
            return 0;
        };
        let asked = talk.questions.values().map(|question| {
            let params = question.request.params.as_ref();
            params.map_or(0, |params| params.as_str().len())
        });
        let outcome = match &talk.outcome {
            Some(Ok(result)) => result.length(),
            _ => 0,
        };
        asked.sum::<usize>() + outcome
    }

    /// There is no room for what came of it.
    pub(crate) fn lose_outcome(&mut self, why: ErrorObject) {
        let talk = self.talk.get_or_insert_default();
        (talk.outcome, talk.lost) = (None, Some(why));
    }
}

impl<F> fmt::Debug for Pursuit<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pursuit")
            .field("asked", &self.talk.as_ref().map_or(0, |talk| talk.asked))
            .finish_non_exhaustive()
    }
}

/// Has a call made for a client, with its progress and its questions led there.
pub(super) fn begin<O: Operation<Output = Payload>>(
    room: Arc<Room>,
    call: HubCall<O>,
    context: &Context,
) -> Pursued<O> {
    match context.revision().era() {
        Era::Handshake => {
            let open = Open::new(Asker::Now(context.clone()), room);
            let mut call = call.seen_by(open);
            if context.wants_progress() {
                let context = context.clone();
                call = call.on_progress(move |progress| tell_progress(&context, &progress));
            }
            Pursued::Waited(call.into_future())
        }
        Era::Stateless => {
            let open = Open::new(Asker::Later(Later::new(context.clone())), room);
            let mut call = call.seen_by(Arc::clone(&open) as _);
            if context.wants_progress() {
                // One who comes again hears of it by his new request.
                let open = Arc::clone(&open);
                call = call.on_progress(move |progress| {
                    if let Some(context) = open.asker.context() {
                        tell_progress(&context, &progress);
                    }
                });
            }
            Pursued::Followed(Pursuit {
                call: Way::First(call.into_future()),
                listening: Listening::to(open),
                talk: None,
            })
        }
    }
}

/// How far a call has come.
pub(super) enum Stop {
    Outcome(Result<Payload, Failed>),
    /// Its client is to be [asked](ask) before it goes on.
    Asks(Box<Pursuit>),
}

impl<O: Operation<Output = Payload>> Pursued<O> {
    /// The result of the call. It may be one that wants input.
    pub(super) async fn outcome(
        &mut self,
        relay: &Inner,
        context: &Context,
    ) -> Result<Payload, Failed> {
        match poll_fn(|task| self.poll(task)).await {
            Stop::Outcome(outcome) => outcome,
            Stop::Asks(pursuit) => Box::pin(ask(relay, context, *pursuit)).await,
        }
    }

    /// Follows it.
    pub(super) fn poll(&mut self, task: &mut TaskContext<'_>) -> Poll<Stop> {
        let outcome = match self {
            Self::Waited(call) => {
                let outcome = ready!(Pin::new(call).poll(task));
                outcome.map_err(Failed::Hub)
            }
            Self::Followed(pursuit) => match ready!(pursuit.poll(task)) {
                Some(outcome) => pursuit.judge(outcome),
                None => return Poll::Ready(self.stop()),
            },
            Self::Over => Err(Failed::Hub(HubError::Cancelled)),
        };
        Poll::Ready(Stop::Outcome(outcome))
    }

    /// Its client is to be asked.
    #[cold]
    fn stop(&mut self) -> Stop {
        match std::mem::replace(self, Self::Over) {
            Self::Followed(pursuit) => Stop::Asks(Box::new(pursuit.boxed())),
            _ => Stop::Outcome(Err(Failed::Hub(HubError::Cancelled))),
        }
    }
}

impl<O: Operation<Output = Payload>> Pursuit<Way<O>> {
    /// The call's outcome. None if its client is to be asked before.
    fn poll(&mut self, task: &mut TaskContext<'_>) -> Poll<Option<Result<Payload, HubError>>> {
        if let Some(talk) = &mut self.talk {
            if let Some(outcome) = talk.outcome.take() {
                return Poll::Ready(Some(outcome));
            }
            // A server may give up waiting.
            let questions = &mut talk.questions;
            questions.retain(|_, question| !question.answer.is_closed());
            // One that the client has not answered is asked again.
            if !questions.is_empty() {
                return Poll::Ready(None);
            }
        }
        if let Poll::Ready(outcome) = Pin::new(&mut self.call).poll(task) {
            return Poll::Ready(Some(outcome));
        }
        let questions = ready!(self.listening.poll_questions(task));
        self.note(questions);
        Poll::Ready(None)
    }

    fn boxed(self) -> Pursuit {
        Pursuit {
            call: match self.call {
                Way::First(call) => Box::pin(call),
                Way::Again(call) => call,
            },
            listening: self.listening,
            talk: self.talk,
        }
    }
}

/// May a client come back for a call with this one?
pub(super) fn may_be_returned(context: &Context) -> bool {
    let is_said = |params: &Payload| params.member("requestState").is_some();
    context.revision().era() == Era::Stateless && context.params().is_some_and(is_said)
}

/// The call that a client comes back for, with the answers that it brings. None if what it brings
/// is not ours: then it is for the server.
///
/// # Errors
/// When it was given to somebody else, or for another call, or the call does not wait any more, or
/// there was no room for what came of it.
pub(super) async fn returned<O: Operation<Output = Payload>>(
    relay: &Inner,
    context: &Context,
) -> Result<Option<Pursued<O>>, ErrorObject> {
    let bad = |message: &str| ErrorObject::invalid_params(message);
    let Some(params) = context.params() else {
        return Ok(None);
    };
    let Some(state) = params.string_member("requestState") else {
        return Ok(None);
    };
    let number = match context.unseal(PURPOSE, &state) {
        Ok(number) => number,
        Err(SealError::Malformed | SealError::Foreign | SealError::TooLarge { .. }) => {
            return Ok(None);
        }
        // It is ours, and so for no server: one that does not look at it would run what is called.
        Err(_) => return Err(bad(NOT_HERE)),
    };
    let number: u64 = serde_json::from_slice(&number).map_err(|_| bad("requestState"))?;
    let ended = "requestState: the call that was to go on has ended, or goes on already; \
                 call again without it";
    let answers = params.member("inputResponses").unwrap_or(b"{}");
    let answers: BTreeMap<String, RawJson> = serde_json::from_slice(answers)
        .map_err(|error| bad(&format!("inputResponses: {error}")))?;
    let mut pursuit = relay.lot.take(number).await.ok_or_else(|| bad(ended))?;
    let talk = pursuit.talk.get_or_insert_default();
    if let Some(lost) = talk.lost.take() {
        return Err(lost);
    }
    for (name, answer) in answers {
        if let Some(question) = talk.questions.remove(&name)
            && let Ok(answer) = Payload::encode(&answer)
        {
            // The server may have given up waiting.
            let _ = question.answer.send(answer);
        }
    }
    if let Some(later) = pursuit.listening.later() {
        later.came(context.clone());
    }
    Ok(Some(Pursued::Followed(Pursuit {
        call: Way::Again(pursuit.call),
        listening: pursuit.listening,
        talk: pursuit.talk,
    })))
}

/// Has the client asked what the server wants to know, and lets the call wait for it.
pub(super) async fn ask(
    relay: &Inner,
    context: &Context,
    mut pursuit: Pursuit,
) -> Result<Payload, Failed> {
    // Those that come together are asked together.
    while let Ok(more) = timeout(TOGETHER, pursuit.listening.questions()).await {
        pursuit.note(more);
    }
    // The request ends here; what gets on meanwhile nobody hears, but whose it is stays known.
    pursuit.listening.open().client();
    if let Some(later) = pursuit.listening.later() {
        later.left();
    }
    let mut requests = InputRequests::default();
    let questions = pursuit.talk.iter().flat_map(|talk| &talk.questions);
    for (name, question) in questions {
        requests.insert(name.clone(), question.request.clone());
    }
    let number = relay.lot.park(pursuit, context.principal());
    let number = number.map_err(|full| Failed::Here(relay.turnstile.no_place(full)))?;
    let state = context
        .seal(PURPOSE, number.to_string().as_bytes())
        .map_err(|error| Failed::Here(ErrorObject::internal(error.to_string())))?;
    let mut result = InputRequiredResult::new(requests);
    result.request_state = Some(state);
    Payload::encode(&result).map_err(|error| Failed::Here(ErrorObject::internal(error.to_string())))
}

/// Says how far a call has come, without waiting for a client that is slow to read.
fn tell_progress(context: &Context, progress: &ProgressNotificationParams) {
    if !context.wants_progress() {
        return;
    }
    let mut said = Progress::from(progress.progress.as_f64().unwrap_or_default());
    if let Some(total) = progress.total.as_ref().and_then(serde_json::Number::as_f64) {
        said = Progress::of(progress.progress.as_f64().unwrap_or_default(), total);
    }
    if let Some(message) = &progress.message {
        said = said.message(message);
    }
    at_once(context.progress(said));
}

const PURPOSE: &str = "requestState";
const NOT_HERE: &str = "requestState: it was not given to this caller for this very call, or too long \
                        ago; call again without it";
/// Longer than a server needs between two questions, and nothing to somebody who reads them.
const TOGETHER: Duration = Duration::from_millis(10);
