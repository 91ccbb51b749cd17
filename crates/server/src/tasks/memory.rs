//! Tasks in memory: they last as long as the process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::time::Instant;

use super::{
    StoreError, StoreFuture, TaskChange, TaskLimits, TaskOwner, TaskPage, TaskRecord, TaskState,
    TaskStore,
};

/// Tasks in memory. They are gone when their time is over, and when the process is.
pub struct MemoryTasks {
    limits: TaskLimits,
    shelf: Mutex<Shelf>,
}

#[derive(Default)]
struct Shelf {
    tasks: HashMap<Arc<str>, Kept>,
    /// The tasks of each owner, in the order of their creation.
    owned: HashMap<TaskOwner, BTreeMap<u64, Arc<str>>>,
    /// When whose time is over.
    ends: BTreeSet<(Instant, Arc<str>)>,
    last: u64,
    /// Bytes of all results.
    results: usize,
}

struct Kept {
    record: TaskRecord,
    number: u64,
}

impl MemoryTasks {
    /// Keeps no more than this.
    pub fn new(limits: TaskLimits) -> Self {
        Self {
            limits,
            shelf: Mutex::default(),
        }
    }

    /// The tasks, without those whose time is over.
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        // Nothing that runs under the lock leaves it half done.
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.expire(Instant::now());
        shelf
    }

    fn insert(&self, record: TaskRecord) -> Result<(), StoreError> {
        let mut shelf = self.shelf();
        let owned = shelf.owned.get(&record.owner).map_or(0, BTreeMap::len);
        let most = match &record.owner {
            // Any number of clients share this.
            TaskOwner::Anyone => self.limits.total,
            _ => self.limits.per_caller,
        };
        if shelf.tasks.len() >= self.limits.total || owned >= most {
            return Err(StoreError::Full);
        }
        let id: Arc<str> = record.id.as_str().into();
        let now = Instant::now();
        let end = now.checked_add(record.life).unwrap_or(now);
        shelf.last += 1;
        let number = shelf.last;
        let owned = shelf.owned.entry(record.owner.clone()).or_default();
        owned.insert(number, Arc::clone(&id));
        shelf.ends.insert((end, Arc::clone(&id)));
        shelf.tasks.insert(id, Kept { record, number });
        Ok(())
    }

    fn apply(&self, id: &str, change: TaskChange) -> Result<Option<TaskRecord>, StoreError> {
        let mut shelf = self.shelf();
        let bytes = match &change {
            TaskChange::Completed(result) => result.as_str().len(),
            _ => 0,
        };
        let results = shelf.results.saturating_add(bytes);
        let Some(kept) = shelf.tasks.get_mut(id) else {
            return Ok(None);
        };
        if !kept.record.state.is_terminal() && bytes > 0 && results > self.limits.results {
            return Err(StoreError::Full);
        }
        if !kept.record.apply(change, SystemTime::now()) {
            return Ok(None);
        }
        let record = kept.record.clone();
        shelf.results = results;
        Ok(Some(record))
    }

    fn page(
        &self,
        owner: &TaskOwner,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<TaskPage, StoreError> {
        let after = match cursor {
            Some(cursor) => cursor.parse::<u64>().map_err(|_| StoreError::BadCursor)?,
            None => 0,
        };
        let shelf = self.shelf();
        if after > shelf.last {
            return Err(StoreError::BadCursor);
        }
        let Some(owned) = shelf.owned.get(owner) else {
            return Ok(TaskPage::default());
        };
        let mut page = TaskPage::default();
        let mut last = after;
        for (number, id) in owned.range(after.saturating_add(1)..) {
            if page.tasks.len() >= limit.max(1) {
                page.next = Some(last.to_string());
                break;
            }
            last = *number;
            let kept = shelf.tasks.get(id);
            page.tasks.extend(kept.map(|kept| kept.record.clone()));
        }
        Ok(page)
    }
}

impl Shelf {
    fn expire(&mut self, now: Instant) {
        while let Some((end, id)) = self.ends.first().cloned() {
            if end > now {
                return;
            }
            self.ends.remove(&(end, Arc::clone(&id)));
            let Some(kept) = self.tasks.remove(&id) else {
                continue;
            };
            if let TaskState::Completed(result) = &kept.record.state {
                self.results = self.results.saturating_sub(result.as_str().len());
            }
            if let Some(owned) = self.owned.get_mut(&kept.record.owner) {
                owned.remove(&kept.number);
                if owned.is_empty() {
                    self.owned.remove(&kept.record.owner);
                }
            }
        }
    }
}

impl TaskStore for MemoryTasks {
    fn create(&self, task: TaskRecord) -> StoreFuture<'_, ()> {
        Box::pin(ready(self.insert(task)))
    }

    fn find<'a>(
        &'a self,
        owner: &'a TaskOwner,
        id: &'a str,
    ) -> StoreFuture<'a, Option<TaskRecord>> {
        let found = self.shelf().tasks.get(id).map(|kept| kept.record.clone());
        Box::pin(ready(Ok(found.filter(|record| record.owner == *owner))))
    }

    fn change<'a>(
        &'a self,
        id: &'a str,
        change: TaskChange,
    ) -> StoreFuture<'a, Option<TaskRecord>> {
        Box::pin(ready(self.apply(id, change)))
    }

    fn list<'a>(
        &'a self,
        owner: &'a TaskOwner,
        cursor: Option<&'a str>,
        limit: usize,
    ) -> StoreFuture<'a, TaskPage> {
        Box::pin(ready(self.page(owner, cursor, limit)))
    }
}

impl Default for MemoryTasks {
    fn default() -> Self {
        Self::new(TaskLimits::default())
    }
}

// Results may be anything, and are not for logs.
impl fmt::Debug for MemoryTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTasks")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use switchboard_protocol::RawJson;

    use super::*;

    fn session(name: &str) -> TaskOwner {
        TaskOwner::Session(name.to_owned())
    }

    fn task(id: &str, owner: TaskOwner) -> TaskRecord {
        TaskRecord::new(id.to_owned(), owner, UNIX_EPOCH, Duration::from_secs(10))
    }

    fn small() -> MemoryTasks {
        MemoryTasks::new(TaskLimits {
            total: 3,
            per_caller: 1,
            results: 10,
            ..TaskLimits::default()
        })
    }

    #[tokio::test(start_paused = true)]
    async fn no_caller_has_more_than_his_share() {
        let store = small();
        assert_eq!(store.insert(task("a", session("ann"))), Ok(()));
        let again = store.insert(task("b", session("ann")));
        assert_eq!(again, Err(StoreError::Full));
        assert_eq!(store.insert(task("c", TaskOwner::Anyone)), Ok(()));
        assert_eq!(store.insert(task("d", TaskOwner::Anyone)), Ok(()));
        let full = store.insert(task("e", session("bob")));
        assert_eq!(full, Err(StoreError::Full));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(store.insert(task("f", session("ann"))), Ok(()));
        assert_eq!(store.shelf().tasks.len(), 1);
        assert_eq!(store.shelf().owned.len(), 1);
        assert_eq!(store.shelf().ends.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn results_have_room_for_so_many_bytes() {
        let store = small();
        let result = || TaskChange::Completed(RawJson::parse(r#"{"a":1}"#).unwrap());
        store.insert(task("a", TaskOwner::Anyone)).unwrap();
        store.insert(task("b", TaskOwner::Anyone)).unwrap();
        assert!(store.apply("a", result()).unwrap().is_some());
        assert_eq!(store.apply("a", result()), Ok(None), "it is at its end");
        assert_eq!(store.apply("b", result()), Err(StoreError::Full));
        tokio::time::advance(Duration::from_secs(10)).await;
        store.insert(task("c", TaskOwner::Anyone)).unwrap();
        assert!(store.apply("c", result()).unwrap().is_some());
    }

    #[tokio::test]
    async fn a_task_is_found_by_its_owner_only() {
        let store = small();
        store.insert(task("a", session("ann"))).unwrap();
        let found = store.find(&session("ann"), "a").await.unwrap();
        assert!(found.is_some());
        assert_eq!(store.find(&session("bob"), "a").await, Ok(None));
        assert_eq!(store.find(&TaskOwner::Anyone, "a").await, Ok(None));
    }
}
