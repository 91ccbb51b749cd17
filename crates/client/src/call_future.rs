//! The future of a call.
//!
//! Nearly every call is one request and its answer. Those are followed here, in place. What takes
//! more goes on in a box: a connection that is not ready, tools that must be listed first, a
//! task that is to be waited for.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use switchboard_protocol::{Era, Payload};

use crate::call::Call;
use crate::error::{Error, ErrorKind};

/// The future of a call. Dropped before its end, it cancels the call at the server.
#[must_use = "a call is made when it is awaited"]
pub struct CallFuture<T> {
    /// None once it is over, or goes on in the box.
    call: Option<Call<T>>,
    /// The era in which its one request is out.
    sent: Option<Era>,
    long: Option<LongCall<T>>,
}

/// A call that takes more than one request.
type LongCall<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

impl<T: Send + 'static> CallFuture<T> {
    #[inline]
    pub(crate) const fn new(call: Call<T>) -> Self {
        Self {
            call: Some(call),
            sent: None,
            long: None,
        }
    }

    /// Follows a call that takes more than one request.
    fn go_on<F>(
        &mut self,
        cx: &mut Context<'_>,
        rest: impl FnOnce(Call<T>) -> F,
    ) -> Poll<Result<T, Error>>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let Some(call) = self.call.take() else {
            return Poll::Pending;
        };
        let long = self.long.insert(Box::pin(rest(call)));
        long.as_mut().poll(cx)
    }
}

impl<T: Send + 'static> Future for CallFuture<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(long) = &mut self.long {
            return long.as_mut().poll(cx);
        }
        let Self { call, sent, .. } = &mut *self;
        let Some(call) = call else {
            // It is over.
            return Poll::Pending;
        };
        let era = match *sent {
            Some(era) => era,
            None => match call.begin(cx) {
                // Whoever brings the outcome wakes us.
                Some(Ok(era)) if call.options.waits_for_outcome_only() => {
                    *sent = Some(era);
                    return Poll::Pending;
                }
                Some(Ok(era)) => *sent.insert(era),
                Some(Err(kind)) => {
                    let error = call.fail(kind);
                    self.call = None;
                    return Poll::Ready(Err(error));
                }
                None => return self.go_on(cx, Call::run),
            },
        };
        let result = match ready!(call.options.poll_outcome(cx)) {
            Ok(payload) if call.body.is_all(era, &payload) => call.read_result(payload),
            outcome => {
                let outcome = outcome.map_err(ErrorKind::from);
                let shared = call.options.client.shared();
                if !call.body.is_over(shared, era, &outcome) {
                    return self.go_on(cx, |call| call.run_on(era, outcome));
                }
                call.finish(outcome)
            }
        };
        self.call = None;
        Poll::Ready(result)
    }
}

impl<T> Call<T> {
    /// Makes the one request that nearly every call is: in which era, or why not. `None` if this
    /// call is one that takes more, or cannot be made yet.
    fn begin(&mut self, cx: &Context<'_>) -> Option<Result<Era, ErrorKind>> {
        let era = self.options.client.shared().era_now()?;
        let Self { body, options, .. } = self;
        let sent = options.depart(cx, |request, shared| {
            let filled = body.fill(request, shared, era);
            filled.ok_or(None)?.map_err(Some)
        });
        match sent {
            Ok(()) => Some(Ok(era)),
            Err(kind) => kind.map(Err),
        }
    }

    /// The whole of it, whatever it takes.
    async fn run(mut self) -> Result<T, Error> {
        let outcome = self.body.run(&mut self.options).await;
        self.finish(outcome)
    }

    /// What is left to be done after the first request.
    async fn run_on(mut self, era: Era, outcome: Result<Payload, ErrorKind>) -> Result<T, Error> {
        let outcome = self.body.run_on(&mut self.options, era, outcome).await;
        self.finish(outcome)
    }
}

impl<T> fmt::Debug for CallFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallFuture")
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}
