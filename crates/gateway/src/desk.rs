//! Which client a server asks: the one that made the call.
//!
//! A server asks by a request in the midst of a call; which call it is about is known by the call's
//! number, or there must be but one that it can be. How the client is asked is in `server_host`.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use switchboard_client::{Asked, MOST_GIVEN_UP, Payload};
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{ClientCapabilities, InputRequest};
use switchboard_server::Context;
use tokio::sync::{mpsc, oneshot};

use crate::identity::Identity;
use crate::relay::Tasks;
use crate::visits::Visits;

/// The calls that servers may ask about.
#[derive(Debug)]
pub(crate) struct Desk {
    /// Tells it from others.
    pub(crate) number: u64,
    /// Who looks after what goes on longer than its call.
    pub(crate) tasks: Arc<Tasks>,
    pub(crate) visits: Visits,
    calls: Mutex<Calls>,
    /// How many questions there were.
    asked: AtomicU64,
}

#[derive(Debug, Default)]
struct Calls {
    open: HashMap<CallName, Open>,
    /// Whose those were that have ended, the last ones, where callers are known.
    ended: VecDeque<(CallName, Identity)>,
}

impl Calls {
    /// May this client hear what a server asks, should it ask about one of these calls?
    fn may_hear(&self, client: &Identity, asked: &Asked) -> bool {
        if client.is_anonymous() {
            return true;
        }
        let may_hear = |call: &u64| {
            let mut ended = self.ended.iter().rev();
            let of = ended.find(|((server, ended), _)| ended == call && *server == asked.server);
            of.is_some_and(|(_, of)| of.has_same_rights(client))
        };
        asked.given_up.len() < MOST_GIVEN_UP && asked.given_up.iter().all(may_hear)
    }
}

/// A call that a server may ask about.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) asker: Asker,
    client: Identity,
    /// The task that it waits for, if it waits for one.
    pub(crate) task: Option<Arc<AskingTask>>,
    /// How many answers the server waits for.
    waits_for: Arc<AtomicUsize>,
    /// The number of the last question about it.
    last_asked: Arc<AtomicU64>,
}

impl Open {
    /// Until it is dropped, the server waits for an answer.
    pub(crate) fn waits(&self) -> Waiting {
        self.waits_for.fetch_add(1, Ordering::Relaxed);
        Waiting(Arc::clone(&self.waits_for))
    }

    /// Has its client given it up, or gone? It may still be here for a moment.
    fn has_ended(&self) -> bool {
        match &self.asker {
            Asker::Now(context) => context.has_ended(),
            Asker::Later(later) => later.questions.is_closed(),
        }
    }

    fn is_waiting(&self) -> bool {
        self.waits_for.load(Ordering::Relaxed) > 0
    }
}

/// A task that a server may ask about.
#[derive(Debug)]
pub(crate) struct AskingTask {
    /// What its server calls it.
    pub(crate) id: String,
    /// What its client calls it.
    pub(crate) shown: String,
}

pub(crate) struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

type CallName = (Arc<str>, u64);

/// Who is asked, and how.
#[derive(Clone, Debug)]
pub(crate) enum Asker {
    /// A client that waits for the call and can be asked meanwhile.
    Now(Context),
    /// A client that is told to come again with the answer.
    Later(Later),
}

/// How a client is asked that must come again with the answer.
#[derive(Clone, Debug)]
pub(crate) struct Later {
    pub(crate) questions: mpsc::Sender<Question>,
    pub(crate) capabilities: Arc<ClientCapabilities>,
    /// The request that waits for the call, while one does.
    pub(crate) listener: Listener,
    /// What it was to be asked and cannot be, as it is told.
    pub(crate) lacks: Arc<OnceLock<ErrorObject>>,
}

/// Who hears of a call.
pub(crate) type Listener = Arc<Mutex<Option<Context>>>;

impl Asker {
    /// The request that waits for the call, if one does.
    fn context(&self) -> Option<Context> {
        match self {
            Self::Now(context) => Some(context.clone()),
            Self::Later(later) => {
                let listener = later.listener.lock();
                listener.unwrap_or_else(PoisonError::into_inner).clone()
            }
        }
    }
}

/// A question for a client that must come again with the answer.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) request: InputRequest,
    pub(crate) answer: oneshot::Sender<Payload>,
}

impl Desk {
    pub(crate) fn new(tasks: Arc<Tasks>) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self {
            number: LAST.fetch_add(1, Ordering::Relaxed) + 1,
            tasks,
            visits: Visits::default(),
            calls: Mutex::default(),
            asked: AtomicU64::default(),
        }
    }

    /// The same for a call that waits for what comes of a task.
    pub(crate) fn enter_for_task(
        self: &Arc<Self>,
        server: &Arc<str>,
        call: u64,
        asker: Asker,
        client: Identity,
        task: AskingTask,
    ) -> Entered {
        let entered = self.enter(server, call, asker, client);
        if let Some(open) = self.calls().open.get_mut(&entered.name) {
            open.task = Some(Arc::new(task));
        }
        entered
    }

    /// A call is on its way to this server, under this number, until the guard is dropped.
    pub(crate) fn enter(
        self: &Arc<Self>,
        server: &Arc<str>,
        call: u64,
        asker: Asker,
        client: Identity,
    ) -> Entered {
        let name = (Arc::clone(server), call);
        let open = Open {
            asker,
            client,
            task: None,
            waits_for: Arc::default(),
            last_asked: Arc::default(),
        };
        self.calls().open.insert(name.clone(), open);
        Entered {
            desk: Arc::clone(self),
            name,
        }
    }

    /// The call that a server asks about. On a pipe it does not say which one, and nobody must hear
    /// what is meant for somebody else, also if that one has just given up its call.
    pub(crate) fn asks_about(&self, asked: &Asked) -> Option<Open> {
        let calls = self.calls();
        if let Some(call) = asked.call {
            let name = (Arc::clone(&asked.server), call);
            return calls.open.get(&name).cloned();
        }
        let here = calls
            .open
            .iter()
            .filter(|((server, _), _)| *server == asked.server)
            .map(|((_, call), open)| (*call, open));
        if let Some(task) = &asked.task {
            let is_its = |open: &Open| open.task.as_ref().is_some_and(|one| one.id == *task);
            let its = here.clone().filter(|(_, open)| is_its(open));
            if let Some((_, last)) = its.max_by_key(|(call, _)| *call) {
                return Some(last.clone());
            }
        }
        let found = likely(here.filter(|(_, open)| open.task.is_none()))?.clone();
        if !calls.may_hear(&found.client, asked) {
            return None;
        }
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        found.last_asked.store(number, Ordering::Relaxed);
        Some(found)
    }

    /// The call that a server's log belongs to. On a pipe it does not say; but if all calls that it
    /// works on there are of one connection, it is for nobody else.
    pub(crate) fn listener(&self, server: &Arc<str>, call: Option<u64>) -> Option<Context> {
        let calls = self.calls();
        let open = &calls.open;
        if let Some(call) = call {
            return open.get(&(Arc::clone(server), call))?.asker.context();
        }
        let here = open
            .iter()
            .filter(|((of, _), open)| of == server && open.task.is_none());
        let mut here = here.map(|(_, open)| open);
        let any = here.clone().next()?;
        if !here.all(|open| open.client.has_same_rights(&any.client)) {
            return None;
        }
        drop(here);
        let busy = open
            .iter()
            .filter(|((of, _), open)| of == server && open.task.is_none() && !open.is_waiting());
        let mut contexts = busy.map(|(_, open)| open.asker.context());
        let first = contexts.next()??;
        let connection = first.connection()?;
        contexts
            .all(|other| {
                let other = other.and_then(|other| other.connection());
                other.is_some_and(|other| other.is_same(&connection))
            })
            .then_some(first)
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The call that a question is likely to be about, of those whose clients may know of each other:
/// one that does not wait for an answer already, if all such are of one client; if there is none,
/// the one that was asked about last, as servers ask several things at once.
fn likely<'a>(calls: impl Iterator<Item = (u64, &'a Open)> + Clone) -> Option<&'a Open> {
    let (_, any) = calls.clone().next()?;
    let mut all = calls.clone();
    if !all.all(|(_, open)| open.client.has_same_rights(&any.client)) {
        return None;
    }
    let calls = calls.filter(|(_, open)| !open.has_ended());
    let busy = || calls.clone().filter(|(_, open)| !open.is_waiting());
    let Some((_, last)) = busy().max_by_key(|(call, _)| *call) else {
        let asked = calls.max_by_key(|(_, open)| open.last_asked.load(Ordering::Relaxed));
        return asked.map(|(_, open)| open);
    };
    busy()
        .all(|(_, open)| open.client.is_same(&last.client))
        .then_some(last)
}

/// A call that a server may ask about.
#[derive(Debug)]
pub(crate) struct Entered {
    desk: Arc<Desk>,
    name: CallName,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut calls = self.desk.calls();
        let Some(ended) = calls.open.remove(&self.name) else {
            return;
        };
        if !ended.client.is_anonymous() {
            if calls.ended.len() >= MOST_ENDED {
                calls.ended.pop_front();
            }
            let name = (Arc::clone(&self.name.0), self.name.1);
            calls.ended.push_back((name, ended.client));
        }
        drop(calls);
        // What else there is of it may take longer than others are to wait.
        drop(ended.asker);
    }
}

/// Enough for those that were given up in the last moments; of others nobody knows, and nobody is
/// asked.
const MOST_ENDED: usize = 1_024;

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;

    pub(crate) fn desk() -> Arc<Desk> {
        Arc::new(Desk::new(Tasks::new(1, 1, Duration::ZERO)))
    }

    /// A call of somebody with this key, and where it hears what it is asked.
    pub(crate) fn enter(
        desk: &Arc<Desk>,
        call: u64,
        key: Option<&str>,
    ) -> (Entered, mpsc::Receiver<Question>) {
        let (questions, asked) = mpsc::channel(1);
        let capabilities = serde_json::from_str(r#"{"elicitation": {"form": {}}}"#);
        let asker = Asker::Later(Later {
            questions,
            capabilities: Arc::new(capabilities.unwrap()),
            listener: Listener::default(),
            lacks: Arc::default(),
        });
        let entered = desk.enter(&Arc::from("s"), call, asker, Identity::with_key(key));
        (entered, asked)
    }

    /// A question on a pipe, after these calls were given up.
    pub(crate) fn question(given_up: &[u64]) -> Asked {
        let mut asked = Asked::by("s", "elicitation/create");
        asked.given_up = given_up.to_vec();
        asked
    }

    #[test]
    fn nobody_is_asked_about_a_call_that_somebody_else_gave_up() {
        let desk = desk();
        let first = enter(&desk, 1, Some("ada"));
        let _second = enter(&desk, 2, Some("bob"));
        // Of two, it is not known which one.
        assert!(desk.asks_about(&question(&[])).is_none());
        drop(first);
        assert!(desk.asks_about(&question(&[1])).is_none());
        // Once the server must have heard of it, there is only one that it can be.
        assert!(desk.asks_about(&question(&[])).is_some());
    }

    #[test]
    fn whoever_gave_up_a_call_is_asked_about_the_next() {
        for key in [Some("ada"), None] {
            let desk = desk();
            let first = enter(&desk, 1, key);
            let _second = enter(&desk, 2, key);
            drop(first);
            assert!(desk.asks_about(&question(&[1])).is_some(), "{key:?}");
            // Nobody knows whose that was: where there are keys, it may have been anybody's.
            let is_asked = desk.asks_about(&question(&[1, 99])).is_some();
            assert_eq!(is_asked, key.is_none());
        }
    }

    #[test]
    fn a_call_that_has_ended_is_not_taken_for_the_one_that_asks() {
        let desk = desk();
        let _first = enter(&desk, 1, Some("ada"));
        let (_second, asked) = enter(&desk, 2, Some("ada"));
        drop(asked);
        // The newest would be, but nobody hears what it is asked.
        let found = desk.asks_about(&question(&[])).unwrap();
        assert!(!found.has_ended());
        // It counts all the same: what is asked may be meant for whoever left it.
        let (_third, asked) = enter(&desk, 3, Some("bob"));
        drop(asked);
        assert!(desk.asks_about(&question(&[])).is_none());
    }
}
