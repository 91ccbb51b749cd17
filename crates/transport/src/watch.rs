//! A value that changes, and those who wait for that: who came first goes first.
//!
//! As in `tokio::sync::watch`, only the last value counts. There, those who wait are woken in any
//! order; here calls that wait for a server keep theirs, and a run can be had again.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::task::{Context, Poll, Waker};

/// Changes the value.
pub struct Sender<T>(Arc<Inner<T>>);

/// Looks at the value, and waits for another.
pub struct Receiver<T> {
    inner: Arc<Inner<T>>,
    /// The version that was seen last.
    seen: u64,
}

/// Nobody can change the value any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

struct Inner<T> {
    value: RwLock<T>,
    version: AtomicU64,
    is_closed: AtomicBool,
    waiting: Mutex<Waiting>,
}

/// Those who wait, in the order in which they came.
#[derive(Default)]
struct Waiting {
    wakers: BTreeMap<u64, Waker>,
    last: u64,
}

/// A value, and who looks at it.
pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new(value);
    let receiver = sender.subscribe();
    (sender, receiver)
}

impl<T> Sender<T> {
    /// A value that nobody looks at yet.
    pub fn new(value: T) -> Self {
        Self(Arc::new(Inner {
            value: RwLock::new(value),
            version: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            waiting: Mutex::default(),
        }))
    }

    /// The value. Nobody changes it while it is looked at, so that must not take long.
    pub fn borrow(&self) -> RwLockReadGuard<'_, T> {
        self.0.read()
    }

    /// Somebody who has seen the value as it is now.
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver {
            seen: self.0.version.load(Ordering::SeqCst),
            inner: Arc::clone(&self.0),
        }
    }

    /// Sets another value, and gives back the one before.
    pub fn send_replace(&self, value: T) -> T {
        let mut before = value;
        self.send_modify(|value| std::mem::swap(value, &mut before));
        before
    }

    /// Changes the value.
    pub fn send_modify(&self, change: impl FnOnce(&mut T)) {
        {
            let value = self.0.value.write();
            change(&mut value.unwrap_or_else(PoisonError::into_inner));
            self.0.version.fetch_add(1, Ordering::SeqCst);
        }
        self.0.wake();
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.is_closed.store(true, Ordering::SeqCst);
        self.0.wake();
    }
}

impl<T> Receiver<T> {
    /// The value. Nobody changes it while it is looked at, so that must not take long.
    pub fn borrow(&self) -> RwLockReadGuard<'_, T> {
        self.inner.read()
    }

    /// The same, and it is seen.
    pub fn borrow_and_update(&mut self) -> RwLockReadGuard<'_, T> {
        let value = self.inner.read();
        self.seen = self.inner.version.load(Ordering::SeqCst);
        value
    }

    /// Is there a value that was not seen yet?
    ///
    /// # Errors
    /// When there can be none any more.
    pub fn has_changed(&self) -> Result<bool, Closed> {
        match self.inner.is_closed.load(Ordering::SeqCst) {
            true => Err(Closed),
            false => Ok(self.inner.version.load(Ordering::SeqCst) != self.seen),
        }
    }

    /// Waits for a value that was not seen yet. Nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// When there can be none any more.
    pub fn changed(&mut self) -> impl Future<Output = Result<(), Closed>> {
        Change {
            receiver: self,
            place: None,
        }
    }

    /// Waits until this is found in the value. None when it cannot change any more.
    pub async fn find<R>(&mut self, mut look: impl FnMut(&T) -> Option<R>) -> Option<R> {
        loop {
            if let Some(found) = look(&self.borrow_and_update()) {
                return Some(found);
            }
            self.changed().await.ok()?;
        }
    }

    /// Waits until the value is like this.
    ///
    /// # Errors
    /// When it cannot change any more.
    pub async fn wait_for(&mut self, mut is_like: impl FnMut(&T) -> bool) -> Result<(), Closed> {
        let found = self.find(|value| is_like(value).then_some(()));
        found.await.ok_or(Closed)
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            seen: self.seen,
        }
    }
}

impl<T> Inner<T> {
    fn read(&self) -> RwLockReadGuard<'_, T> {
        self.value.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        let wakers = std::mem::take(&mut self.waiting().wakers);
        for waker in wakers.into_values() {
            waker.wake();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a change.
struct Change<'a, T> {
    receiver: &'a mut Receiver<T>,
    /// Where it stands among those who wait.
    place: Option<u64>,
}

impl<T> Change<'_, T> {
    fn look(&mut self) -> Poll<Result<(), Closed>> {
        let version = self.receiver.inner.version.load(Ordering::SeqCst);
        if version != self.receiver.seen {
            self.receiver.seen = version;
            return Poll::Ready(Ok(()));
        }
        match self.receiver.inner.is_closed.load(Ordering::SeqCst) {
            true => Poll::Ready(Err(Closed)),
            false => Poll::Pending,
        }
    }
}

impl<T> Future for Change<'_, T> {
    type Output = Result<(), Closed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(seen) = self.look() {
            return Poll::Ready(seen);
        }
        let place = {
            let mut waiting = self.receiver.inner.waiting();
            let place = self.place.unwrap_or(waiting.last + 1);
            waiting.last = waiting.last.max(place);
            let kept = waiting.wakers.get(&place);
            if !kept.is_some_and(|waker| waker.will_wake(cx.waker())) {
                waiting.wakers.insert(place, cx.waker().clone());
            }
            place
        };
        self.place = Some(place);
        // It may have changed before we stood there.
        self.look()
    }
}

impl<T> Drop for Change<'_, T> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.receiver.inner.waiting().wakers.remove(&place);
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sender").field(&*self.borrow()).finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receiver").field(&*self.borrow()).finish()
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;

    use super::*;

    #[tokio::test]
    async fn who_waits_first_goes_first() {
        let sender = Sender::new(0);
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut waiting = JoinSet::new();
        for number in 0..20 {
            let (mut receiver, order) = (sender.subscribe(), Arc::clone(&order));
            waiting.spawn(async move {
                receiver.wait_for(|value| *value == 2).await.unwrap();
                order.lock().unwrap().push(number);
            });
        }
        for value in 1..=2 {
            tokio::task::yield_now().await;
            sender.send_replace(value);
        }
        while waiting.join_next().await.is_some() {}
        assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn the_last_value_is_seen_and_the_end_too() {
        let (sender, mut receiver) = channel(1);
        assert_eq!(receiver.has_changed(), Ok(false));
        assert_eq!(sender.send_replace(2), 1);
        sender.send_modify(|value| *value += 1);
        assert_eq!(receiver.has_changed(), Ok(true));
        assert_eq!(receiver.changed().await, Ok(()));
        assert_eq!(*receiver.borrow(), 3);
        let mut other = receiver.clone();
        let waiting = tokio::spawn(async move { other.changed().await });
        tokio::task::yield_now().await;
        drop(sender);
        assert_eq!(waiting.await.unwrap(), Err(Closed));
        assert_eq!(
            receiver.find(|value| (*value > 3).then_some(())).await,
            None
        );
        assert_eq!(*receiver.borrow(), 3);
    }

    #[tokio::test]
    async fn who_does_not_wait_any_more_leaves_nothing_behind() {
        let sender = Sender::new(0);
        let mut receiver = sender.subscribe();
        for _ in 0..3 {
            let waiting = tokio::spawn({
                let mut receiver = receiver.clone();
                async move { receiver.changed().await }
            });
            tokio::task::yield_now().await;
            waiting.abort();
            let _ = waiting.await;
        }
        assert!(sender.0.waiting().wakers.is_empty());
        sender.send_replace(1);
        assert_eq!(receiver.changed().await, Ok(()));
    }
}
