//! The future of a call.
//!
//! Nearly every call is to a server that is ready: found, sent and followed here, in place. What
//! must wait before goes on in a box: a server that sleeps, or a name that nobody has yet.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use switchboard_client::{CallFuture, Class, Error, Payload};

use super::operation::{Answer, Operation, Target};
use super::{HubCall, Witness};
use crate::error::HubError;
use crate::hub::Hub;
use crate::member::InUse;
use crate::trace::{CallTrace, Outcome};

/// The future of a call through the hub. Dropped before its end, it cancels the call at the
/// server.
#[must_use = "a call is made when it is awaited"]
pub struct HubCallFuture<O: Operation>(Stage<O>);

enum Stage<O: Operation> {
    Sent(Box<Sent<O>>),
    /// It waits for its server first, or the hub answers it itself.
    Long(Answer<O::Output>),
    Over,
}

impl<O: Operation> HubCallFuture<O> {
    pub(super) fn new(call: HubCall<O>) -> Self {
        Self(match call.begin() {
            Ok(sent) => Stage::Sent(sent),
            Err(call) => Stage::Long(Box::pin(call.make())),
        })
    }
}

/// Nothing in it is pinned but what has a box.
impl<O: Operation> Unpin for HubCallFuture<O> {}

impl<O: Operation> Future for HubCallFuture<O> {
    type Output = Result<O::Output, HubError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = match &mut self.0 {
            Stage::Sent(sent) => ready!(sent.poll(cx)),
            Stage::Long(long) => ready!(long.as_mut().poll(cx)),
            Stage::Over => return Poll::Pending,
        };
        self.0 = Stage::Over;
        Poll::Ready(outcome)
    }
}

impl<O: Operation> fmt::Debug for HubCallFuture<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubCallFuture").finish_non_exhaustive()
    }
}

/// A call that its server has.
pub(super) struct Sent<O> {
    /// First, so that it is given up before whoever sees it is told of the end.
    pub(super) call: CallFuture<Payload>,
    /// Kept until then.
    pub(super) seen: Option<Seen>,
    pub(super) client: InUse,
    pub(super) trace: Option<CallTrace>,
    /// How large its result may be.
    pub(super) most: Option<usize>,
    pub(super) target: Target,
    pub(super) hub: Hub,
    pub(super) operation: PhantomData<fn() -> O>,
}

impl<O: Operation> Sent<O> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<O::Output, HubError>> {
        let outcome = match &self.trace {
            Some(trace) if !trace.span().is_disabled() => {
                let _within = trace.span().enter();
                ready!(Pin::new(&mut self.call).poll(cx))
            }
            _ => ready!(Pin::new(&mut self.call).poll(cx)),
        };
        let read = self.read(outcome);
        let Some(trace) = self.trace.take() else {
            return Poll::Ready(read.map(|(_, output)| output));
        };
        Poll::Ready(match read {
            Ok((outcome, output)) => {
                trace.end(&outcome);
                Ok(output)
            }
            Err(error) => {
                trace.end(&Outcome::from(&error));
                Err(error)
            }
        })
    }

    /// What came of it, made to fit.
    fn read(&mut self, outcome: Result<Payload, Error>) -> Result<(Outcome, O::Output), HubError> {
        if let Some(seen) = &mut self.seen {
            seen.is_answered = match &outcome {
                Ok(_) => true,
                Err(error) => error.refusal().is_some(),
            };
        }
        let payload = match outcome {
            Ok(payload) => payload,
            Err(error) => {
                match error.class() {
                    Class::Timeout | Class::Connection => self.client.suspect(),
                    _ => self.client.note_answer(),
                }
                return Err(error.into());
            }
        };
        self.client.note_answer();
        let (server, name) = (self.target.server(), self.target.name());
        let size = payload.length();
        if let Some(limit) = self.most.filter(|limit| size > *limit) {
            return Err(HubError::ResultTooLarge {
                server: server.to_string(),
                name: name.to_string(),
                size,
                limit,
            });
        }
        let outcome = Outcome::from(&payload);
        match O::read(payload, &self.hub, server) {
            Ok(output) => Ok((outcome, output)),
            Err(error) => Err(HubError::Unreadable {
                server: server.to_string(),
                name: name.to_string(),
                error,
            }),
        }
    }
}

impl<O: Operation> Future for Sent<O> {
    type Output = Result<O::Output, HubError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().poll(cx)
    }
}

impl<O> Unpin for Sent<O> {}

/// A call that somebody sees, until it ends.
pub(super) struct Seen {
    witness: Arc<dyn Witness>,
    is_answered: bool,
}

impl Seen {
    pub(super) fn begin(witness: Arc<dyn Witness>, server: &Arc<str>, call: u64) -> Self {
        Self {
            witness: witness.begins(server, call),
            is_answered: false,
        }
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        self.witness.ends(self.is_answered);
    }
}
