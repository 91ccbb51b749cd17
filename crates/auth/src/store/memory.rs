//! Logins that are forgotten when the program ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Mutex as Turn;
use tokio::time::timeout;

use super::file_lock::LONGEST_WAIT;
use super::{Keeping, Lock, Store, StoreError};
use crate::place::without_query;
use crate::record::Entry;

/// Keeps entries in this process: for tests, and where nothing may be written down.
#[derive(Debug, Default)]
pub struct MemoryStore {
    entries: Mutex<HashMap<String, Entry>>,
    /// Whose turn it is. One that nobody holds or waits for is gone.
    turns: Mutex<HashMap<String, Weak<Turn<()>>>>,
}

impl MemoryStore {
    /// Empty.
    pub fn new() -> Self {
        Self::default()
    }

    fn turn(&self, server: &str) -> Arc<Turn<()>> {
        let mut turns = open(&self.turns);
        if let Some(turn) = turns.get(server).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::new(Turn::new(()));
        turns.insert(server.to_owned(), Arc::downgrade(&turn));
        turn
    }
}

impl Store for MemoryStore {
    fn load<'a>(&'a self, server: &'a str) -> Keeping<'a, Option<Entry>> {
        Box::pin(async move { Ok(open(&self.entries).get(server).cloned()) })
    }

    fn save<'a>(&'a self, entry: &'a Entry) -> Keeping<'a, ()> {
        Box::pin(async move {
            open(&self.entries).insert(entry.server.clone(), entry.clone());
            Ok(())
        })
    }

    fn remove<'a>(&'a self, server: &'a str) -> Keeping<'a, bool> {
        Box::pin(async move { Ok(open(&self.entries).remove(server).is_some()) })
    }

    fn servers(&self) -> Keeping<'_, Vec<String>> {
        Box::pin(async move {
            let mut servers: Vec<_> = open(&self.entries).keys().cloned().collect();
            servers.sort();
            Ok(servers)
        })
    }

    fn lock<'a>(&'a self, server: &'a str) -> Keeping<'a, Lock> {
        Box::pin(async move {
            match timeout(LONGEST_WAIT, self.turn(server).lock_owned()).await {
                Ok(held) => Ok(Lock::new(held)),
                Err(_) => {
                    let seconds = LONGEST_WAIT.as_secs();
                    let server = without_query(server);
                    let what = format!("the login of {server} was in use for {seconds} s");
                    Err(StoreError::busy(what))
                }
            }
        })
    }
}

/// Nothing that is done with a map open leaves it half done.
fn open<T>(map: &Mutex<T>) -> MutexGuard<'_, T> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn entries_are_kept_replaced_and_forgotten() {
        let store = MemoryStore::new();
        assert!(store.load("b").await.unwrap().is_none());
        store.save(&Entry::new("b")).await.unwrap();
        store.save(&Entry::new("a")).await.unwrap();
        store.save(&Entry::new("b")).await.unwrap();
        assert_eq!(store.load("b").await.unwrap().unwrap().server, "b");
        assert_eq!(store.servers().await.unwrap(), ["a", "b"]);
        assert!(store.remove("b").await.unwrap());
        assert!(!store.remove("b").await.unwrap());
        assert!(store.load("b").await.unwrap().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_lock_keeps_out_others_of_the_same_server_only() {
        let store = MemoryStore::new();
        let held = store.lock("a?key=hidden").await.unwrap();
        store.lock("b").await.unwrap();
        let began = Instant::now();
        let error = store.lock("a?key=hidden").await.unwrap_err();
        assert_eq!(error.to_string(), "the login of a was in use for 300 s");
        assert!(error.is_busy());
        assert_eq!(began.elapsed(), LONGEST_WAIT);
        drop(held);
        store.lock("a?key=hidden").await.unwrap();
        assert_eq!(open(&store.turns).len(), 1);
    }
}
