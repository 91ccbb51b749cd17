//! A value that one side changes and the other waits for.
//!
//! A short lock and one waker: whoever changes the value wakes whoever found nothing in it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A value with one who waits for it.
#[derive(Debug, Default)]
pub(crate) struct Watched<T>(Mutex<State<T>>);

#[derive(Debug, Default)]
struct State<T> {
    value: T,
    waker: Option<Waker>,
}

impl<T> Watched<T> {
    /// Changes the value and wakes who waits.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let (changed, waker) = {
            let mut state = self.lock();
            (change(&mut state.value), state.waker.take())
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        changed
    }

    /// Takes what is looked for, or waits for the next change.
    pub(crate) fn poll<R>(
        &self,
        cx: &Context<'_>,
        take: impl FnOnce(&mut T) -> Option<R>,
    ) -> Poll<R> {
        let mut state = self.lock();
        if let Some(taken) = take(&mut state.value) {
            return Poll::Ready(taken);
        }
        keep_waker(&mut state.waker, cx);
        Poll::Pending
    }

    /// Looks at the value.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&mut T) -> R) -> R {
        look(&mut self.lock().value)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task that is polled now is the one to be woken.
#[inline]
pub(crate) fn keep_waker(kept: &mut Option<Waker>, cx: &Context<'_>) {
    let waker = cx.waker();
    if !kept.as_ref().is_some_and(|old| old.will_wake(waker)) {
        *kept = Some(waker.clone());
    }
}
