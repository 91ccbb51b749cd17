//! Which client a server asks: the one that made the call.
//!
//! A server asks by a request in the midst of a call; which call it is about is known by the call's
//! number, or there must be but one that it can be. How the client is asked is in `server_host`.
//! Nearly all calls are never asked about, so all that they do here is to come and to go.

mod later;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use switchboard_client::Asked;
use switchboard_hub::Witness;
use switchboard_server::Context;
use tokio::time::Instant;

use crate::identity::Identity;
use crate::relay::Tasks;
use crate::rooms::Room;
use crate::turnstile::Turnstile;
use crate::visits::Visits;

pub(crate) use later::{Later, Listening, Question};

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
    places: Vec<Option<Entry>>,
    free: Vec<usize>,
    /// Who has given up calls lately.
    left: VecDeque<Leaver>,
    /// When the last one left of those who are forgotten, as there were too many.
    crowded: Option<Instant>,
}

/// Somebody who does not wait any more for a call that its server may still be at.
#[derive(Debug)]
struct Leaver {
    server: Arc<str>,
    client: Identity,
    when: Instant,
}

impl Calls {
    /// The calls at a server, with their numbers.
    fn at(&self, server: &Arc<str>) -> impl Iterator<Item = (u64, &Arc<Open>)> + Clone {
        let entries = self.places.iter().flatten();
        let here = entries.filter(move |entry| entry.server == *server);
        here.map(|entry| (entry.call, &entry.open))
    }

    fn find(&self, server: &Arc<str>, call: u64) -> Option<Arc<Open>> {
        let mut here = self.at(server);
        let (_, open) = here.find(|(number, _)| *number == call)?;
        Some(Arc::clone(open))
    }

    /// May this client hear what a server asks, should it ask about a call that was given up?
    fn may_hear(&self, asked: &Asked, client: &Identity) -> bool {
        let is_late = |when: Instant| when.elapsed() < memory_of(asked);
        let mut left = self.left.iter().filter(|left| is_late(left.when));
        !self.is_crowded(asked)
            && left.all(|left| left.server != asked.server || left.client.has_same_rights(client))
    }

    /// May it be about somebody who was forgotten?
    fn is_crowded(&self, asked: &Asked) -> bool {
        let crowded = self.crowded;
        crowded.is_some_and(|when| when.elapsed() < memory_of(asked))
    }

    /// A call was given up. Its server may ask about it before it hears of that.
    fn leave(&mut self, server: &Arc<str>, client: &Identity) {
        // Of those with the same rights the last one is enough.
        self.left.retain(|left| {
            let is_known = left.server == *server && left.client.has_same_rights(client);
            left.when.elapsed() < DEAF_FOR && !is_known
        });
        if self.left.len() >= MOST_LEFT {
            self.crowded = self.left.pop_front().map(|left| left.when);
        }
        self.left.push_back(Leaver {
            server: Arc::clone(server),
            client: client.clone(),
            when: Instant::now(),
        });
    }
}

/// A call that a server may ask about.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) asker: Asker,
    /// The task that it waits for, if it waits for one.
    pub(crate) task: Option<AskingTask>,
    /// Where its servers ask.
    room: Arc<Room>,
    /// Found out when somebody wants to know it.
    client: OnceLock<Identity>,
    /// Its place at the desk, once it is on its way.
    place: AtomicUsize,
    /// Whether that is the desk of the servers that its client has alone.
    is_at_own: AtomicBool,
    /// How many answers the server waits for.
    waits_for: AtomicUsize,
    /// The number of the last question about it.
    last_asked: AtomicU64,
}

/// A call and where it is on its way to.
#[derive(Debug)]
struct Entry {
    open: Arc<Open>,
    server: Arc<str>,
    call: u64,
}

impl Open {
    /// A call of whoever is asked so.
    pub(crate) fn new(asker: Asker, room: Arc<Room>) -> Arc<Self> {
        Arc::new(Self {
            asker,
            task: None,
            room,
            client: OnceLock::new(),
            place: AtomicUsize::new(NOWHERE),
            is_at_own: AtomicBool::new(false),
            waits_for: AtomicUsize::new(0),
            last_asked: AtomicU64::new(0),
        })
    }

    /// A call of this client that waits for what comes of a task.
    pub(crate) fn for_task(
        asker: Asker,
        room: Arc<Room>,
        client: Identity,
        task: AskingTask,
    ) -> Arc<Self> {
        Arc::new(Self {
            asker,
            task: Some(task),
            room,
            client: OnceLock::from(client),
            place: AtomicUsize::new(NOWHERE),
            is_at_own: AtomicBool::new(false),
            waits_for: AtomicUsize::new(0),
            last_asked: AtomicU64::new(0),
        })
    }

    /// Whose it is.
    pub(crate) fn client(&self) -> &Identity {
        self.client.get_or_init(|| match self.asker.context() {
            Some(context) => Identity::of(&context),
            None => Identity::nobody(),
        })
    }

    /// Until it is dropped, the server waits for an answer.
    pub(crate) fn waits(self: &Arc<Self>) -> Waiting {
        self.waits_for.fetch_add(1, Ordering::Relaxed);
        Waiting(Arc::clone(self))
    }

    /// Has its client given it up, or gone? It may still be here for a moment.
    fn has_ended(&self) -> bool {
        match &self.asker {
            Asker::Now(context) => context.has_ended(),
            Asker::Later(later) => later.is_closed(),
        }
    }

    fn is_waiting(&self) -> bool {
        self.waits_for.load(Ordering::Relaxed) > 0
    }
}

impl Witness for Open {
    fn begins(self: Arc<Self>, server: &Arc<str>, call: u64) -> Arc<dyn Witness> {
        let is_own = self.room.has_alone(server);
        let mut calls = self.room.desk(is_own).calls();
        let place = calls.free.pop().unwrap_or_else(|| {
            calls.places.push(None);
            calls.places.len() - 1
        });
        // It begins once, and who looks for it has the lock.
        self.place.store(place, Ordering::Relaxed);
        self.is_at_own.store(is_own, Ordering::Relaxed);
        if let Some(free) = calls.places.get_mut(place) {
            *free = Some(Entry {
                open: Arc::clone(&self),
                server: Arc::clone(server),
                call,
            });
        }
        drop(calls);
        self
    }

    fn ends(&self, is_answered: bool) {
        // It has begun, and whoever began it ends it.
        let place = self.place.load(Ordering::Relaxed);
        let left = (!is_answered).then(|| self.client());
        let is_own = self.is_at_own.load(Ordering::Relaxed);
        let mut calls = self.room.desk(is_own).calls();
        let Some(entry) = calls.places.get_mut(place).and_then(Option::take) else {
            return;
        };
        calls.free.push(place);
        if let Some(client) = left {
            calls.leave(&entry.server, client);
        }
        drop(calls);
        // What else there is of it may take longer than others are to wait.
        drop(entry);
    }
}

/// The place of a call that has none.
const NOWHERE: usize = usize::MAX;

/// A task that a server may ask about.
#[derive(Debug)]
pub(crate) struct AskingTask {
    /// What its server calls it.
    pub(crate) id: String,
    /// What its client calls it.
    pub(crate) shown: String,
}

pub(crate) struct Waiting(Arc<Open>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waits_for.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Who is asked, and how.
#[derive(Debug)]
pub(crate) enum Asker {
    /// A client that waits for the call and can be asked meanwhile.
    Now(Context),
    /// A client that is told to come again with the answer.
    Later(Later),
}

impl Asker {
    /// The request that waits for the call, if one does.
    pub(crate) fn context(&self) -> Option<Context> {
        match self {
            Self::Now(context) => Some(context.clone()),
            Self::Later(later) => later.context(),
        }
    }
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

    /// The call that a server asks about. On a pipe it does not say which one, and nobody must hear
    /// what is meant for somebody else, also if that one has just given up its call.
    ///
    /// It is none of those that were tried.
    pub(crate) fn asks_about(&self, asked: &Asked, tried: &[Arc<Open>]) -> Option<Arc<Open>> {
        let is_new = |open: &Arc<Open>| !tried.iter().any(|tried| Arc::ptr_eq(tried, open));
        let calls = self.calls();
        if let Some(call) = asked.call {
            return calls.find(&asked.server, call).filter(is_new);
        }
        let here = calls.at(&asked.server);
        if let Some(task) = &asked.task {
            let is_its = |open: &Open| open.task.as_ref().is_some_and(|one| one.id == *task);
            let its = here
                .clone()
                .filter(|(_, open)| is_its(open) && is_new(open));
            if let Some((_, last)) = its.max_by_key(|(call, _)| *call) {
                return Some(Arc::clone(last));
            }
        }
        let found = likely(here.filter(|(_, open)| open.task.is_none()), is_new)?;
        if !calls.may_hear(asked, found.client()) {
            if calls.is_crowded(asked) {
                self.turnstile().refusals().note("left");
            }
            return None;
        }
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        found.last_asked.store(number, Ordering::Relaxed);
        Some(Arc::clone(found))
    }

    /// The call that a server's log belongs to. On a pipe it does not say; but if all calls that it
    /// works on there are of one connection, it is for nobody else.
    pub(crate) fn listener(&self, server: &Arc<str>, call: Option<u64>) -> Option<Context> {
        let calls = self.calls();
        if let Some(call) = call {
            return calls.find(server, call)?.asker.context();
        }
        let here = calls.at(server).filter(|(_, open)| open.task.is_none());
        let (_, any) = here.clone().next()?;
        let mut all = here.clone();
        if !all.all(|(_, open)| open.client().has_same_rights(any.client())) {
            return None;
        }
        let busy = here.filter(|(_, open)| !open.is_waiting());
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

    /// Who counts what was over a limit.
    pub(crate) fn turnstile(&self) -> &Turnstile {
        self.tasks.turnstile()
    }

    /// Are there no calls at this server?
    pub(crate) fn is_idle(&self, server: &Arc<str>) -> bool {
        self.calls().at(server).next().is_none()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.calls().places.iter().flatten().count()
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The call that a question is likely to be about, of those whose clients may know of each other:
/// one that does not wait for an answer already, if all such are of one client; if there is none
/// and all are of one client, or of nobody in particular, the one that was asked about last, as
/// servers ask several things at once.
fn likely<'a>(
    calls: impl Iterator<Item = (u64, &'a Arc<Open>)> + Clone,
    is_new: impl Fn(&Arc<Open>) -> bool + Copy,
) -> Option<&'a Arc<Open>> {
    let (_, any) = calls.clone().next()?;
    let mut all = calls.clone();
    if !all.all(|(_, open)| open.client().has_same_rights(any.client())) {
        return None;
    }
    let calls = calls.filter(|(_, open)| !open.has_ended() && is_new(open));
    let busy = || calls.clone().filter(|(_, open)| !open.is_waiting());
    let Some((_, last)) = busy().max_by_key(|(call, _)| *call) else {
        let asked = calls.clone();
        let asked = asked.max_by_key(|(_, open)| open.last_asked.load(Ordering::Relaxed));
        let (_, last) = asked?;
        let mut all = calls;
        let is_one = all.all(|(_, open)| open.client().may_stand_for(last.client()));
        return is_one.then_some(last);
    };
    busy()
        .all(|(_, open)| open.client().is_same(last.client()))
        .then_some(last)
}

/// For how long a server may still ask about a call that was given up.
const fn memory_of(asked: &Asked) -> Duration {
    match asked.is_unheard {
        true => DEAF_FOR,
        false => HEARD_BY_THEN,
    }
}

/// Servers that have heard that a call was given up may still ask about it for so long.
const HEARD_BY_THEN: Duration = Duration::from_secs(60);
/// A server that answers nothing for longer than this after a call was given up is taken to have
/// heard of it.
const DEAF_FOR: Duration = Duration::from_secs(600);
/// Who left before them is forgotten, and nobody is asked as long as it may be about him.
const MOST_LEFT: usize = 1_024;

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashMap;

    use switchboard_hub::Hub;

    use super::*;
    use crate::limit::GatewayLimits;
    use crate::rooms::Rooms;

    pub(crate) fn desk() -> Arc<Desk> {
        let turnstile = Arc::new(Turnstile::new(GatewayLimits::default(), HashMap::new()));
        Arc::new(Desk::new(Tasks::new(turnstile, 1, 1, Duration::ZERO)))
    }

    /// A call that ends when this is dropped.
    pub(crate) struct Entered(Arc<Open>);

    impl Drop for Entered {
        fn drop(&mut self) {
            self.0.ends(false);
        }
    }

    /// A call of somebody with this key, and where it hears what it is asked.
    pub(crate) fn enter(desk: &Arc<Desk>, call: u64, key: Option<&str>) -> (Entered, Listening) {
        enter_as(desk, call, Identity::with_key(key))
    }

    fn enter_as(desk: &Arc<Desk>, call: u64, client: Identity) -> (Entered, Listening) {
        let capabilities = serde_json::from_str(r#"{"elicitation": {"form": {}}, "roots": {}}"#);
        let later = Later::of_one_away(Arc::new(capabilities.unwrap()));
        let rooms = Rooms::new(Hub::new(), Arc::clone(desk), 1);
        let mut open = Open::new(Asker::Later(later), Arc::clone(rooms.hall()));
        Arc::get_mut(&mut open).unwrap().client = OnceLock::from(client);
        Arc::clone(&open).begins(&Arc::from("s"), call);
        (Entered(Arc::clone(&open)), Listening::to(open))
    }

    /// A question on a pipe.
    pub(crate) fn question() -> Asked {
        Asked::by("s", "elicitation/create")
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_asked_about_a_call_that_somebody_else_gave_up() {
        let desk = desk();
        let first = enter(&desk, 1, Some("ada"));
        let _second = enter(&desk, 2, Some("bob"));
        // Of two, it is not known which one.
        assert!(desk.asks_about(&question(), &[]).is_none());
        drop(first);
        assert!(desk.asks_about(&question(), &[]).is_none());
        // Once the server must have heard of it, there is only one that it can be.
        tokio::time::advance(HEARD_BY_THEN).await;
        assert!(desk.asks_about(&question(), &[]).is_some());
        // A server that has answered nothing since may not have.
        let mut unheard = question();
        unheard.is_unheard = true;
        assert!(desk.asks_about(&unheard, &[]).is_none());
    }

    #[test]
    fn whose_call_was_answered_keeps_nobody_from_being_asked() {
        let desk = desk();
        let (first, _) = enter(&desk, 1, Some("ada"));
        let _second = enter(&desk, 2, Some("bob"));
        first.0.ends(true);
        std::mem::forget(first);
        assert!(desk.asks_about(&question(), &[]).is_some());
    }

    #[test]
    fn whoever_gave_up_a_call_is_asked_about_the_next() {
        for key in [Some("ada"), None] {
            let desk = desk();
            let first = enter(&desk, 1, key);
            let _second = enter(&desk, 2, key);
            drop(first);
            assert!(desk.asks_about(&question(), &[]).is_some(), "{key:?}");
        }
    }

    #[test]
    fn when_too_many_have_left_to_be_told_apart_nobody_is_asked() {
        let desk = desk();
        let _asking = enter(&desk, 0, Some("ada"));
        for call in 1..=MOST_LEFT + 1 {
            drop(enter(&desk, call as u64, Some(&call.to_string())));
        }
        desk.calls().left.clear();
        assert!(desk.asks_about(&question(), &[]).is_none());
        assert_eq!(desk.turnstile().refusals().counts()["left"], 1);
        // However often, one client is one.
        for call in 1..=MOST_LEFT + 1 {
            desk.calls().crowded = None;
            drop(enter(&desk, call as u64, Some("ada")));
        }
        assert!(desk.asks_about(&question(), &[]).is_some());
        assert_eq!(desk.calls().left.len(), 1);
    }

    #[test]
    fn several_things_are_asked_at_once_though_others_wait_who_are_nobody_in_particular() {
        for (key, is_asked) in [(None, true), (Some("ada"), false)] {
            let desk = desk();
            let away = enter_as(&desk, 1, Identity::named(key, "gone for good"));
            let _waits = away.0.0.waits();
            let _here = enter(&desk, 2, key);
            let found = desk.asks_about(&question(), &[]).unwrap();
            let _waits = found.waits();
            let again = desk.asks_about(&question(), &[]);
            assert_eq!(
                again.is_some_and(|again| Arc::ptr_eq(&again, &found)),
                is_asked
            );
        }
    }

    #[test]
    fn a_call_that_has_ended_is_not_taken_for_the_one_that_asks() {
        let desk = desk();
        let _first = enter(&desk, 1, Some("ada"));
        let (_second, asked) = enter(&desk, 2, Some("ada"));
        drop(asked);
        // The newest would be, but nobody hears what it is asked.
        let found = desk.asks_about(&question(), &[]).unwrap();
        assert!(!found.has_ended());
        // It counts all the same: what is asked may be meant for whoever left it.
        let (_third, asked) = enter(&desk, 3, Some("bob"));
        drop(asked);
        assert!(desk.asks_about(&question(), &[]).is_none());
    }
}
