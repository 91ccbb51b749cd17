//! A client that is asked by ending its request: it comes again with the answer.
//!
//! Specification: 2026-07-28 basic/patterns/mrtr.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

use switchboard_client::Payload;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{ClientCapabilities, InputRequest};
use switchboard_server::{AskError, Context};
use tokio::sync::oneshot;

use super::{Asker, Open};
use crate::turnstile::Turnstile;

/// How a client is asked that must come again with the answer.
#[derive(Debug)]
pub(crate) struct Later(Mutex<State>);

#[derive(Debug)]
struct State {
    client: Client,
    /// What it was not told yet.
    questions: Vec<Question>,
    /// Whoever tells it.
    reader: Option<Waker>,
    /// Nobody tells it anything any more.
    is_closed: bool,
    /// What it was to be asked and cannot be, as it is told.
    lacks: Option<ErrorObject>,
}

#[derive(Debug)]
enum Client {
    /// Its request waits for the call.
    Waits(Context),
    /// It was told to come again.
    IsAway(Arc<ClientCapabilities>),
}

/// A question for a client that must come again with the answer.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) request: InputRequest,
    pub(crate) answer: oneshot::Sender<Payload>,
}

impl Later {
    /// A client whose request waits for the call.
    pub(crate) const fn new(context: Context) -> Self {
        Self::of(Client::Waits(context))
    }

    /// A client that can do this, and whose request has ended.
    pub(crate) const fn of_one_away(capabilities: Arc<ClientCapabilities>) -> Self {
        Self::of(Client::IsAway(capabilities))
    }

    const fn of(client: Client) -> Self {
        Self(Mutex::new(State {
            client,
            questions: Vec::new(),
            reader: None,
            is_closed: false,
            lacks: None,
        }))
    }

    /// The request that waits for the call, if one does.
    pub(super) fn context(&self) -> Option<Context> {
        match &self.state().client {
            Client::Waits(context) => Some(context.clone()),
            Client::IsAway(_) => None,
        }
    }

    /// What the client can do.
    pub(crate) fn capabilities(&self) -> Arc<ClientCapabilities> {
        match &self.state().client {
            Client::Waits(context) => Arc::new(context.capabilities().clone()),
            Client::IsAway(capabilities) => Arc::clone(capabilities),
        }
    }

    /// The client has come again: this request waits for the call.
    pub(crate) fn came(&self, context: Context) {
        self.state().client = Client::Waits(context);
    }

    /// The client was told to come again. Nobody hears of the call meanwhile.
    pub(crate) fn left(&self) {
        let capabilities = self.capabilities();
        self.state().client = Client::IsAway(capabilities);
    }

    /// Has a question told to the client.
    ///
    /// # Errors
    /// When there are too many, or nobody tells it any more.
    pub(crate) fn push(&self, question: Question, turnstile: &Turnstile) -> Result<(), AskError> {
        let mut state = self.state();
        if state.is_closed {
            return Err(AskError::Ended);
        }
        if state.questions.len() >= turnstile.most_questions() {
            turnstile.refusals().note("questions");
            let reason = "too many questions about one call";
            return Err(AskError::Refused(ErrorObject::internal(reason)));
        }
        state.questions.push(question);
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
        Ok(())
    }

    /// The client was to be asked what it cannot be. The first of it says enough.
    pub(crate) fn note_lack(&self, error: ErrorObject) {
        self.state().lacks.get_or_insert(error);
    }

    /// What it was to be asked and cannot be.
    pub(crate) fn lack(&self) -> Option<ErrorObject> {
        self.state().lacks.clone()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let unheard = std::mem::take(&mut state.questions);
        drop(state);
        // Those who asked hear of it by this.
        drop(unheard);
    }

    fn poll_questions(&self, task: &TaskContext<'_>) -> Poll<Vec<Question>> {
        let mut state = self.state();
        if !state.questions.is_empty() {
            return Poll::Ready(std::mem::take(&mut state.questions));
        }
        match &mut state.reader {
            Some(reader) => reader.clone_from(task.waker()),
            none => *none = Some(task.waker().clone()),
        }
        Poll::Pending
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever tells a client what it is asked about a call. Once this is dropped, nobody does.
#[derive(Debug)]
pub(crate) struct Listening(Arc<Open>);

impl Listening {
    pub(crate) const fn to(open: Arc<Open>) -> Self {
        Self(open)
    }

    pub(crate) const fn open(&self) -> &Arc<Open> {
        &self.0
    }

    pub(crate) fn later(&self) -> Option<&Later> {
        match &self.0.asker {
            Asker::Later(later) => Some(later),
            Asker::Now(_) => None,
        }
    }

    /// Nothing is told any more.
    pub(crate) fn close(&self) {
        if let Some(later) = self.later() {
            later.close();
        }
    }

    /// What the client was not told yet, once there is something.
    pub(crate) fn poll_questions(&self, task: &TaskContext<'_>) -> Poll<Vec<Question>> {
        match self.later() {
            Some(later) => later.poll_questions(task),
            None => Poll::Pending,
        }
    }

    /// What the client was not told yet, once there is something.
    pub(crate) async fn questions(&self) -> Vec<Question> {
        poll_fn(|task| self.poll_questions(task)).await
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::limit::GatewayLimits;

    #[test]
    fn a_client_is_not_told_more_questions_than_fit() {
        let limits = GatewayLimits {
            questions: 3,
            ..GatewayLimits::default()
        };
        let turnstile = Turnstile::new(limits, HashMap::new());
        let later = Later::of_one_away(Arc::default());
        let ask = || {
            let (answer, answered) = oneshot::channel();
            let request = InputRequest::roots();
            let question = Question { request, answer };
            later.push(question, &turnstile).map(|()| answered)
        };
        let asked: Vec<_> = (0..3).map(|_| ask().unwrap()).collect();
        let refused = ask().unwrap_err().to_string();
        assert!(refused.contains("too many questions"), "{refused}");
        assert_eq!(turnstile.refusals().counts()["questions"], 1);
        // What was told makes room.
        let task = TaskContext::from_waker(Waker::noop());
        assert!(later.poll_questions(&task).is_ready());
        assert!(ask().is_ok());
        drop(asked);
    }
}
