//! Runs handlers: at once if they are ready, as a task of their own if they must wait, or in that
//! of their connection if they do nothing else.
//!
//! A handler that panics answers with an error. One that waits for a client of the stateless
//! era is dropped, and its question is the answer. One that becomes a task goes on in the
//! background, and the task is the answer. What becomes of the answer is for the
//! driver of the connection.

use std::any::Any;
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use switchboard_protocol::jsonrpc::{ErrorObject, Notification};
use switchboard_protocol::machine::server::{Answer, Caller};

use crate::context::Context;
use crate::service::{AnswerFuture, Call, Reply, Service};

/// What has become of a call after its handler was asked for the first time.
pub(crate) enum Started {
    /// It has an answer.
    Done(Answer),
    /// It must wait.
    Waiting(Running),
    /// It was not asked yet, and will only wait.
    Long(AnswerFuture),
}

/// Hands a call to the service, and polls once.
pub(crate) fn start(service: &dyn Service, context: &Context) -> Started {
    let reply = catch_unwind(AssertUnwindSafe(|| service.call(Call::of(context))));
    let answer = match reply {
        Ok(Reply::Now(answer)) => answer,
        Ok(Reply::Later(future)) => {
            let context = context.clone();
            let mut running = Running { future, context };
            // If it must wait, the task that it becomes polls it again with its own waker.
            match running.poll_answer(&mut TaskContext::from_waker(Waker::noop())) {
                Poll::Ready(answer) => {
                    // It has answered, even if what it leaves behind breaks.
                    running.abandon();
                    answer
                }
                Poll::Pending => return Started::Waiting(running),
            }
        }
        Ok(Reply::Long(future)) => return Started::Long(future),
        Err(panic) => panicked(panic.as_ref()),
    };
    context.end();
    Started::Done(answer)
}

/// Hands the service what a client tells. If it breaks, nobody waits for an answer.
pub(crate) fn tell(service: &dyn Service, told: Notification, caller: Option<&Arc<Caller>>) {
    let _ = catch_unwind(AssertUnwindSafe(|| service.told(told, caller)));
}

/// A handler at work.
pub(crate) struct Running {
    future: AnswerFuture,
    context: Context,
}

impl Running {
    pub(crate) const fn new(future: AnswerFuture, context: Context) -> Self {
        Self { future, context }
    }

    pub(crate) const fn context(&self) -> &Context {
        &self.context
    }

    /// Nobody waits for it any more. If what it leaves behind breaks, nobody else does.
    pub(crate) fn abandon(self) {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(self)));
    }

    pub(crate) fn poll_answer(&mut self, task: &mut TaskContext<'_>) -> Poll<Answer> {
        let future = self.future.as_mut();
        match catch_unwind(AssertUnwindSafe(|| future.poll(task))) {
            Ok(Poll::Ready(answer)) => Poll::Ready(answer),
            Ok(Poll::Pending) => {
                if let Some(begun) = self.context.take_begun() {
                    let context = self.context.clone();
                    let future = std::mem::replace(&mut self.future, Box::pin(pending()));
                    let running = Self { future, context };
                    return Poll::Ready(begun.go_on(running, self.context.revision()));
                }
                match self.context.interruption() {
                    Some(answer) => Poll::Ready(answer),
                    None => Poll::Pending,
                }
            }
            Err(panic) => Poll::Ready(panicked(panic.as_ref())),
        }
    }
}

impl Future for Running {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Answer> {
        self.poll_answer(task)
    }
}

/// The client learns that it was us, not what the handler said: that may be anything.
fn panicked(_panic: &(dyn Any + Send)) -> Answer {
    Answer::Error(ErrorObject::internal("the handler panicked"))
}
