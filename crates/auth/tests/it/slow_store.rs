//! A store in which one reading takes as long as a test wants.

use std::sync::atomic::{AtomicBool, Ordering};

use switchboard_auth::{Entry, Keeping, Lock, MemoryStore, Store};
use tokio::sync::Semaphore;

/// Keeps entries in memory. What is read is as it was when the reading began.
#[derive(Debug)]
pub(crate) struct SlowStore {
    inside: MemoryStore,
    holds_next: AtomicBool,
    began: Semaphore,
    ends: Semaphore,
}

impl SlowStore {
    pub(crate) fn new() -> Self {
        Self {
            inside: MemoryStore::new(),
            holds_next: AtomicBool::new(false),
            began: Semaphore::new(0),
            ends: Semaphore::new(0),
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
}

impl Store for SlowStore {
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
        self.inside.save(entry)
    }

    fn remove<'a>(&'a self, server: &'a str) -> Keeping<'a, bool> {
        self.inside.remove(server)
    }

    fn servers(&self) -> Keeping<'_, Vec<String>> {
        self.inside.servers()
    }

    fn lock<'a>(&'a self, server: &'a str) -> Keeping<'a, Lock> {
        self.inside.lock(server)
    }
}
