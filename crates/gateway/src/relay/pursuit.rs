//! A call on its way through the hub, and the questions that come back.
//!
//! A client of the handshake era waits, and is asked meanwhile. One of the stateless era is told
//! to come again with the answer: its call goes on at the server and waits in the lot.

use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_client::Payload;
use switchboard_client::types::ProgressNotificationParams;
use switchboard_hub::{HubCall, HubError, Operation};
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject};
use switchboard_protocol::types::{InputRequests, InputRequiredResult};
use switchboard_protocol::{Era, RawJson};
use switchboard_server::{Context, Progress};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Inner;
use crate::desk::{Asker, Listener, Question, at_once};
use crate::lot::Parked;

/// What came of a call.
pub(super) enum Came {
    Result(Payload),
    /// The client must come again.
    InputRequired(Payload),
}

/// Why there is nothing to tell a client but this.
pub(super) enum Failed {
    Hub(HubError),
    Here(ErrorObject),
}

/// A call that goes on at its server, whoever waits for it.
#[derive(Debug)]
pub(crate) struct Pursuit {
    task: JoinHandle<Result<Payload, HubError>>,
    questions: mpsc::Receiver<Question>,
    /// Who hears of progress: the client's last request.
    listener: Listener,
    asked: u32,
}

/// Nobody waits for it any more: it is cancelled at the server.
impl Drop for Pursuit {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(super) async fn pursue<O: Operation<Output = Payload>>(
    relay: &Inner,
    call: HubCall<O>,
    context: &Context,
) -> Result<Came, Failed> {
    match context.revision().era() {
        Era::Handshake => {
            let listener = Arc::new(Mutex::new(Some(context.clone())));
            let asker = Asker::Now(context.clone());
            let call = prepared(relay, call, asker, &listener);
            Ok(Came::Result(call.await.map_err(Failed::Hub)?))
        }
        Era::Stateless => match returned(relay, context)? {
            Some(pursuit) => follow(relay, context, pursuit).await,
            None => follow(relay, context, begin(relay, call, context)).await,
        },
    }
}

/// The call, with its progress and its questions led to the client.
fn prepared<O: Operation<Output = Payload>>(
    relay: &Inner,
    call: HubCall<O>,
    asker: Asker,
    listener: &Listener,
) -> HubCall<O> {
    let desk = Arc::clone(&relay.desk);
    let listener = Arc::clone(listener);
    call.on_begin(move |server, number| desk.enter(server, number, asker))
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
    relay: &Inner,
    call: HubCall<O>,
    context: &Context,
) -> Pursuit {
    let (asking, questions) = mpsc::channel(MOST_QUESTIONS);
    let capabilities = Arc::new(context.capabilities().clone());
    let listener: Listener = Arc::new(Mutex::new(Some(context.clone())));
    let asker = Asker::Later {
        questions: asking,
        capabilities,
        listener: Arc::clone(&listener),
    };
    let call = prepared(relay, call, asker, &listener);
    Pursuit {
        task: tokio::spawn(call.into_future()),
        questions,
        listener,
        asked: 0,
    }
}

/// The call that a client comes back for, with the answers that it brings.
fn returned(relay: &Inner, context: &Context) -> Result<Option<Pursuit>, Failed> {
    let bad = |message: &str| Failed::Here(ErrorObject::invalid_params(message));
    let Some(params) = context.params() else {
        return Ok(None);
    };
    let Some(state) = params.string_member("requestState") else {
        return Ok(None);
    };
    let number = context
        .unseal(PURPOSE, &state)
        .map_err(|error| bad(&format!("requestState: {error}")))?;
    let number: u64 = serde_json::from_slice(&number).map_err(|_| bad("requestState"))?;
    let ended = "requestState: the call that was to go on has ended, or goes on already; \
                 call again without it";
    let mut parked = relay.lot.take(number).ok_or_else(|| bad(ended))?;
    let answers = params.member("inputResponses").unwrap_or(b"{}");
    let answers: BTreeMap<String, RawJson> = serde_json::from_slice(answers)
        .map_err(|error| bad(&format!("inputResponses: {error}")))?;
    for (name, answer) in answers {
        if let Some(waiting) = parked.waiting.remove(&name)
            && let Ok(answer) = Payload::encode(&answer)
        {
            // The server may have given up waiting.
            let _ = waiting.send(answer);
        }
    }
    // A question without an answer has none: whoever asked is told so by the sender's end.
    drop(parked.waiting);
    *parked
        .pursuit
        .listener
        .lock()
        .unwrap_or_else(PoisonError::into_inner) = Some(context.clone());
    Ok(Some(parked.pursuit))
}

/// Waits for the result, or for a question.
async fn follow(relay: &Inner, context: &Context, mut pursuit: Pursuit) -> Result<Came, Failed> {
    let first = tokio::select! {
        biased;
        outcome = &mut pursuit.task => {
            let outcome = outcome.map_err(|_| ended())?;
            return outcome.map(Came::Result).map_err(Failed::Hub);
        }
        Some(question) = pursuit.questions.recv() => question,
    };
    let mut requests = InputRequests::default();
    let mut waiting = BTreeMap::new();
    let mut next = Some(first);
    while let Some(question) = next {
        pursuit.asked += 1;
        let name = format!("question-{}", pursuit.asked);
        requests.insert(name.clone(), question.request);
        waiting.insert(name, question.answer);
        next = pursuit.questions.try_recv().ok();
    }
    // The request ends here; what gets on meanwhile nobody hears.
    *pursuit
        .listener
        .lock()
        .unwrap_or_else(PoisonError::into_inner) = None;
    let number = relay.lot.park(Parked { pursuit, waiting });
    let number = number.ok_or_else(|| {
        let message = "too many calls wait for answers of clients; try again later";
        Failed::Here(ErrorObject::new(ErrorCode::BUSY, message))
    })?;
    let state = context
        .seal(PURPOSE, number.to_string().as_bytes())
        .map_err(|error| Failed::Here(ErrorObject::internal(error.to_string())))?;
    let mut result = InputRequiredResult::new(requests);
    result.request_state = Some(state);
    Payload::encode(&result)
        .map(Came::InputRequired)
        .map_err(|error| Failed::Here(ErrorObject::internal(error.to_string())))
}

fn ended() -> Failed {
    Failed::Here(ErrorObject::internal("the call has ended"))
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
