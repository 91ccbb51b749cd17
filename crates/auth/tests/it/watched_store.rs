//! A store that says who waits for it and what was kept, and is slow or broken when it is told.

use std::sync::atomic::{AtomicBool, Ordering};

use switchboard_auth::{Entry, Keeping, Lock, MemoryStore, Store, StoreError};
use tokio::sync::{Semaphore, watch};

use crate::waiters::Waiters;

/// Keeps entries in memory. What is read is as it was when the reading began.
#[derive(Debug)]
pub(crate) struct WatchedStore {
    inside: MemoryStore,
    holds_next: AtomicBool,
    began: Semaphore,
    ends: Semaphore,
    is_full: AtomicBool,
    saves: watch::Sender<usize>,
    locked_out: Waiters,
}

impl WatchedStore {
    pub(crate) fn new() -> Self {
        Self {
            inside: MemoryStore::new(),
            holds_next: AtomicBool::new(false),
            began: Semaphore::new(0),
            ends: Semaphore::new(0),
            is_full: AtomicBool::new(false),
            saves: watch::Sender::default(),
            locked_out: Waiters::default(),
        }
    }

    /// The next reading does not end before it is released.
    pub(crate) fn hold_next(&self) {
        self.holds_next.store(true, Ordering::SeqCst);
    }

    /// Waits until that reading has begun.
    pub(crate) async fn began(&self) {
        self.began.acquire().await.unwrap().forget();
    }

    pub(crate) fn release(&self) {
        self.ends.add_permits(1);
    }

    /// From now on, can nothing be saved?
    pub(crate) fn is_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::SeqCst);
    }

    /// What was saved from now on can be waited for.
    pub(crate) fn saves(&self) -> watch::Receiver<usize> {
        self.saves.subscribe()
    }

    /// Waits until as many have found a lock to be held by another.
    pub(crate) async fn locked_out(&self, number: usize) {
        self.locked_out.reached(number).await;
    }
}

impl Store for WatchedStore {
    fn load<'a>(&'a self, server: &'a str) -> Keeping<'a, Option<Entry>> {
        Box::pin(async move {
            let entry = self.inside.load(server).await;
            if self.holds_next.swap(false, Ordering::SeqCst) {
                self.began.add_permits(1);
                self.ends.acquire().await.unwrap().forget();
            }
            entry
        })
    }

    fn save<'a>(&'a self, entry: &'a Entry) -> Keeping<'a, ()> {
        Box::pin(async move {
            if self.is_full.load(Ordering::SeqCst) {
                return Err(StoreError::new("there is no room", None));
            }
            self.inside.save(entry).await?;
            self.saves.send_modify(|saves| *saves += 1);
            Ok(())
        })
    }

    fn remove<'a>(&'a self, server: &'a str) -> Keeping<'a, bool> {
        self.inside.remove(server)
    }

    fn servers(&self) -> Keeping<'_, Vec<String>> {
        self.inside.servers()
    }

    fn lock<'a>(&'a self, server: &'a str) -> Keeping<'a, Lock> {
        Box::pin(self.locked_out.count(self.inside.lock(server)))
    }
}
