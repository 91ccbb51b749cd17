//! Who hears how a task stands.
//!
//! A client of the stateless era says which tasks it wants to hear of; one of 2025-11-25 hears of
//! its own. Whatever a server tells, the client is told in its own words what it would be told if
//! it asked, so the server is asked first.
//!
//! Specification: tasks extension (`notifications/tasks`); 2025-11-25 basic/utilities/tasks
//! (`notifications/tasks/status`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use switchboard_client::Payload;
use switchboard_protocol::jsonrpc::Notification;
use switchboard_protocol::types::{Task, TaskStatus};
use switchboard_protocol::{Era, Method};
use switchboard_server::{Change, Connection};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::Tasks;
use super::name::TaskKey;
use crate::rooms::Room;

/// Who hears how tasks stand.
#[derive(Debug, Default)]
pub(super) struct News(Mutex<HashMap<TaskKey, Heard>>);

/// A task that somebody wants to hear of.
#[derive(Debug)]
struct Heard {
    listeners: Vec<Listener>,
    room: Weak<Room>,
    /// Has the server tell, where it must be asked to.
    _watch: Option<Watch>,
    telling: Telling,
}

/// Somebody who wants to hear of a task.
#[derive(Clone, Debug)]
pub(super) struct Listener {
    pub(super) connection: Connection,
    pub(super) era: Era,
    /// What he calls it.
    pub(super) shown: String,
    /// What he knows.
    last: Known,
}

/// What somebody knows of a task: nothing is told twice.
type Known = (TaskStatus, Option<String>, Vec<String>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Telling {
    No,
    /// It is being told.
    Yes,
    /// Something has happened since.
    Again,
}

#[derive(Debug)]
struct Watch(AbortHandle);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Listener {
    pub(super) const fn new(connection: Connection, era: Era, shown: String) -> Self {
        Self {
            connection,
            era,
            shown,
            last: (TaskStatus::Working, None, Vec::new()),
        }
    }

    /// Tells him.
    fn tell(&self, mut task: Task) {
        task.task_id.clone_from(&self.shown);
        // It is no result here.
        task.result_type = None;
        task.meta = None;
        let Ok(params) = Payload::encode(&task) else {
            return;
        };
        match self.era {
            Era::Stateless => {
                let id = self.shown.clone();
                self.connection.tell(&Change::Task { id, params });
            }
            Era::Handshake => {
                let told = Notification::new(Method::TaskStatusChanged, Some(params));
                self.connection.notify(told);
            }
        }
    }
}

impl News {
    fn heard(&self) -> MutexGuard<'_, HashMap<TaskKey, Heard>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does somebody want to hear of it?
    pub(super) fn is_wanted(&self, key: &TaskKey) -> bool {
        let all = self.heard();
        let listeners = all.get(key).map(|heard| heard.listeners.iter());
        let mut listeners = listeners.into_iter().flatten();
        listeners.any(|one| one.connection.is_open())
    }

    /// Is it to be told now? Not if nobody wants to hear of it, or if somebody tells it already.
    fn begins(&self, key: &TaskKey) -> bool {
        let mut all = self.heard();
        let Some(heard) = all.get_mut(key) else {
            return false;
        };
        let begins = heard.telling == Telling::No;
        heard.telling = if begins { Telling::Yes } else { Telling::Again };
        begins
    }

    /// Where the server is, and whether clients of the older and of the newer kind are to be told.
    fn room(&self, key: &TaskKey) -> Option<(Arc<Room>, [bool; 2])> {
        let mut all = self.heard();
        let heard = all.get_mut(key)?;
        heard.listeners.retain(|one| one.connection.is_open());
        heard.telling = Telling::Yes;
        let has = |era| heard.listeners.iter().any(|one| one.era == era);
        let eras = [has(Era::Handshake), has(Era::Stateless)];
        Some((heard.room.upgrade()?, eras))
    }

    /// Those of this era who do not know this yet. They do from now on.
    fn ignorant(&self, key: &TaskKey, era: Era, task: &Task) -> Vec<Listener> {
        let questions = task.input_requests.iter().flatten();
        let questions = questions.map(|(name, _)| name.clone()).collect();
        let now: Known = (task.status, task.status_message.clone(), questions);
        let mut all = self.heard();
        let listeners = all.get_mut(key).map(|heard| heard.listeners.iter_mut());
        let listeners = listeners.into_iter().flatten();
        let ignorant = listeners.filter(|one| one.era == era && one.last != now);
        ignorant
            .map(|one| {
                one.last = now.clone();
                one.clone()
            })
            .collect()
    }

    /// All were told. Is there more to tell by now?
    fn end(&self, key: &TaskKey, is_over: bool) -> bool {
        let mut all = self.heard();
        let Some(heard) = all.get_mut(key) else {
            return false;
        };
        if is_over || heard.listeners.is_empty() {
            all.remove(key);
            return false;
        }
        let is_more = heard.telling == Telling::Again;
        heard.telling = if is_more { Telling::Yes } else { Telling::No };
        is_more
    }
}

impl Tasks {
    /// Somebody wants to hear of a task of a server of this era, from now on. Nobody must be told,
    /// so when there are too many nobody is.
    pub(super) fn listen(
        self: &Arc<Self>,
        room: &Arc<Room>,
        key: &TaskKey,
        server: Era,
        listener: Listener,
    ) {
        let mut all = self.news.heard();
        if all.len() >= MOST_HEARD {
            all.retain(|_, heard| {
                let mut listeners = heard.listeners.iter();
                listeners.any(|one| one.connection.is_open())
            });
        }
        if all.len() >= MOST_HEARD && !all.contains_key(key) {
            return self.turnstile.refusals().note("heardTasks");
        }
        let heard = all.entry(key.clone()).or_insert_with(|| Heard {
            listeners: Vec::new(),
            room: Arc::downgrade(room),
            _watch: (server == Era::Stateless).then(|| self.watch(room, key)),
            telling: Telling::No,
        });
        heard.listeners.retain(|one| one.connection.is_open());
        let is_same = |one: &Listener| {
            one.connection.is_same(&listener.connection) && one.shown == listener.shown
        };
        if heard.listeners.iter().any(is_same) {
            return;
        }
        if heard.listeners.len() >= MOST_LISTENERS {
            return self.turnstile.refusals().note("taskListeners");
        }
        heard.listeners.push(listener);
    }

    /// Has a server of the stateless era tell of a task.
    fn watch(self: &Arc<Self>, room: &Arc<Room>, key: &TaskKey) -> Watch {
        let (tasks, room, key) = (Arc::downgrade(self), Arc::clone(room), key.clone());
        let watching = tokio::spawn(async move {
            let Ok(Some(mut watch)) = room.hub.watch_task(&key.server, &key.task).await else {
                return;
            };
            drop(room);
            // What has happened before is not told any more.
            if let Some(tasks) = tasks.upgrade() {
                tasks.hear(&key);
            }
            // The server is kept running for it, so not longer than somebody wants it.
            while timeout(LOOKS, watch.ended()).await.is_err() {
                match tasks.upgrade() {
                    Some(tasks) if tasks.news.is_wanted(&key) => {}
                    Some(tasks) => return drop(tasks.news.heard().remove(&key)),
                    None => return,
                }
            }
        });
        Watch(watching.abort_handle())
    }

    /// A task may stand elsewhere now: whoever wants to hear of it does.
    pub(crate) fn hear(self: &Arc<Self>, key: &TaskKey) {
        if self.news.begins(key) {
            let (tasks, key) = (Arc::clone(self), key.clone());
            tokio::spawn(async move { while tasks.tell(&key).await {} });
        }
    }

    /// Tells all who want to hear how a task stands. Says whether there is more to tell.
    async fn tell(self: &Arc<Self>, key: &TaskKey) -> bool {
        let Some((room, [older, newer])) = self.news.room(key) else {
            return self.news.end(key, true);
        };
        let mut is_over = false;
        for (era, is_wanted) in [(Era::Handshake, older), (Era::Stateless, newer)] {
            if !is_wanted {
                continue;
            }
            // A server that does not know it any more will not tell of it either.
            let Ok(task) = self.stands(&room, key, None, era).await else {
                return self.news.end(key, true);
            };
            is_over |= task.status.is_terminal();
            for listener in self.news.ignorant(key, era, &task) {
                listener.tell(task.clone());
            }
        }
        self.news.end(key, is_over)
    }
}

/// Tasks that somebody hears of.
const MOST_HEARD: usize = 4_096;
/// Those who hear of one.
const MOST_LISTENERS: usize = 16;
/// How often to look whether they are still there.
const LOOKS: Duration = Duration::from_secs(10);
