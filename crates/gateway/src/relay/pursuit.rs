//! A call on its way through the hub, and the questions that come back.
//!
//! A server of the stateless era asks by its result, which is the client's to answer: nothing is
//! kept here. One of the handshake era asks while its call is open. A client of that era waits,
//! and is asked meanwhile; one of the stateless era is told to come again with the answer, and its
//! call waits in the lot.

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use switchboard_client::Payload;
use switchboard_client::types::ProgressNotificationParams;
use switchboard_hub::{HubCall, HubError, Operation};
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{InputRequests, InputRequiredResult};
use switchboard_protocol::{Era, RawJson};
use switchboard_server::{Context, Progress};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::Inner;
use crate::desk::{Asker, Later, Listener, Question};
use crate::identity::Identity;
use crate::rooms::Room;
use crate::server_host::at_once;
use crate::turnstile;

/// Why there is nothing to tell a client but this.
pub(super) enum Failed {
    Hub(HubError),
    Here(ErrorObject),
}

/// A call that goes on at its server, whoever waits for it. Dropped, it is cancelled there.
pub(crate) struct Pursuit {
    call: Pin<Box<dyn Future<Output = Result<Payload, HubError>> + Send>>,
    questions: mpsc::Receiver<Question>,
    /// Who hears of progress: the client's last request.
    listener: Listener,
    /// What the client was to be asked and cannot be.
    lacks: Arc<OnceLock<ErrorObject>>,
    /// Questions that wait for the client.
    open: BTreeMap<String, Question>,
    asked: u32,
    /// What came of it while nobody listened.
    outcome: Option<Result<Payload, HubError>>,
}

impl Pursuit {
    fn note(&mut self, question: Question) {
        self.asked += 1;
        self.open
            .insert(format!("question-{}", self.asked), question);
    }

    /// Goes on while nobody listens, until the call has ended. What was asked in its name and has
    /// no answer then was about another call, and can be asked there.
    pub(crate) async fn go_on(&mut self) {
        if self.outcome.is_none() {
            self.outcome = Some((&mut self.call).await);
        }
        self.questions.close();
        while self.questions.try_recv().is_ok() {}
        self.open.clear();
    }

    /// A call that failed, and for which the client could not be asked, failed for that.
    fn judge(&self, outcome: Result<Payload, HubError>) -> Result<Payload, Failed> {
        let has_failed = match &outcome {
            Ok(result) => result.member("isError") == Some(b"true"),
            Err(_) => true,
        };
        match self.lacks.get() {
            Some(error) if has_failed => Err(Failed::Here(error.clone())),
            _ => outcome.map_err(Failed::Hub),
        }
    }

    fn heard_by(&self, context: Option<Context>) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        *listener = context;
    }
}

impl fmt::Debug for Pursuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pursuit")
            .field("asked", &self.asked)
            .finish_non_exhaustive()
    }
}

/// The result of a call. It may be one that wants input.
pub(super) async fn pursue<O: Operation<Output = Payload>>(
    relay: &Inner,
    room: &Arc<Room>,
    call: HubCall<O>,
    context: &Context,
) -> Result<Payload, Failed> {
    match context.revision().era() {
        Era::Handshake => {
            let listener = Arc::new(Mutex::new(Some(context.clone())));
            let asker = Asker::Now(context.clone());
            let call = prepared(room, call, context, asker, &listener);
            call.await.map_err(Failed::Hub)
        }
        Era::Stateless => {
            let pursuit = match returned(relay, context).await? {
                Some(pursuit) => pursuit,
                None => begin(room, call, context),
            };
            follow(relay, context, pursuit).await
        }
    }
}

/// The call, with its progress and its questions led to the client.
fn prepared<O: Operation<Output = Payload>>(
    room: &Arc<Room>,
    call: HubCall<O>,
    context: &Context,
    asker: Asker,
    listener: &Listener,
) -> HubCall<O> {
    let room = Arc::clone(room);
    let client = Identity::of(context);
    let listener = Arc::clone(listener);
    call.on_begin(move |server, number| room.desk(server).enter(server, number, asker, client))
        .on_progress(move |progress| {
            let context = listener
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            if let Some(context) = context {
                tell_progress(&context, &progress);
            }
        })
}

fn begin<O: Operation<Output = Payload>>(
    room: &Arc<Room>,
    call: HubCall<O>,
    context: &Context,
) -> Pursuit {
    let (asking, questions) = mpsc::channel(MOST_QUESTIONS);
    let capabilities = Arc::new(context.capabilities().clone());
    let listener: Listener = Arc::new(Mutex::new(Some(context.clone())));
    let lacks = Arc::default();
    let asker = Asker::Later(Later {
        questions: asking,
        capabilities,
        listener: Arc::clone(&listener),
        lacks: Arc::clone(&lacks),
    });
    let call = prepared(room, call, context, asker, &listener);
    Pursuit {
        call: call.into_future(),
        questions,
        listener,
        lacks,
        open: BTreeMap::new(),
        asked: 0,
        outcome: None,
    }
}

/// The call that a client comes back for, with the answers that it brings. None if what it brings
/// is not ours: then it is for the server.
async fn returned(relay: &Inner, context: &Context) -> Result<Option<Pursuit>, Failed> {
    let bad = |message: &str| Failed::Here(ErrorObject::invalid_params(message));
    let Some(params) = context.params() else {
        return Ok(None);
    };
    let Some(state) = params.string_member("requestState") else {
        return Ok(None);
    };
    let Ok(number) = context.unseal(PURPOSE, &state) else {
        return Ok(None);
    };
    let number: u64 = serde_json::from_slice(&number).map_err(|_| bad("requestState"))?;
    let ended = "requestState: the call that was to go on has ended, or goes on already; \
                 call again without it";
    let answers = params.member("inputResponses").unwrap_or(b"{}");
    let answers: BTreeMap<String, RawJson> = serde_json::from_slice(answers)
        .map_err(|error| bad(&format!("inputResponses: {error}")))?;
    let mut pursuit = relay.lot.take(number).await.ok_or_else(|| bad(ended))?;
    for (name, answer) in answers {
        if let Some(question) = pursuit.open.remove(&name)
            && let Ok(answer) = Payload::encode(&answer)
        {
            // The server may have given up waiting.
            let _ = question.answer.send(answer);
        }
    }
    pursuit.heard_by(Some(context.clone()));
    Ok(Some(pursuit))
}

/// Waits for the result, or for a question. One that the client has not answered is asked again.
async fn follow(relay: &Inner, context: &Context, mut pursuit: Pursuit) -> Result<Payload, Failed> {
    if let Some(outcome) = pursuit.outcome.take() {
        return pursuit.judge(outcome);
    }
    // A server may give up waiting.
    pursuit
        .open
        .retain(|_, question| !question.answer.is_closed());
    if pursuit.open.is_empty() {
        tokio::select! {
            biased;
            outcome = &mut pursuit.call => return pursuit.judge(outcome),
            Some(question) = pursuit.questions.recv() => pursuit.note(question),
        }
    }
    // Those that come together are asked together.
    while let Ok(Some(question)) = timeout(TOGETHER, pursuit.questions.recv()).await {
        pursuit.note(question);
    }
    let mut requests = InputRequests::default();
    for (name, question) in &pursuit.open {
        requests.insert(name.clone(), question.request.clone());
    }
    // The request ends here; what gets on meanwhile nobody hears.
    pursuit.heard_by(None);
    let number = relay.lot.park(pursuit, context.principal());
    let number = number.map_err(|full| Failed::Here(turnstile::no_place(full)))?;
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
const MOST_QUESTIONS: usize = 8;
/// Longer than a server needs between two questions, and nothing to somebody who reads them.
const TOGETHER: Duration = Duration::from_millis(10);
