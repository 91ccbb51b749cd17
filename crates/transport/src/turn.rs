//! How long tasks may go on while there is always more to do, and who goes on first.
//!
//! One that wakes itself is run again at once, and as long as somebody is run the runtime seldom
//! looks whether anything has come for others. A peer that floods us would be all that is heard.
//!
//! The tasks of a thread have a round together. When it is over, each waits until the runtime has
//! looked, and the first of them that may go on begins the next round. Who may is decided among
//! [parties](Party), not among tasks: a peer with a hundred connections has as many steps as one
//! with a single one, and who has had fewer than others does not wait at all.
//!
//! ```text
//! number    how many steps a party has had, and at least as many as whoever went on last
//! oldest    the lowest number of those that wait
//! may go on a number that is not far above the oldest, as long as the round is not over
//! near      the few that are next: they ask again after each look
//! far       all others: they are told when they are near
//! ```
//!
//! Those that are near are woken by themselves, and those that are far after a while by their timers, so that
//! one that is forgotten, or is not asked again, is in nobody's way for long.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use switchboard_protocol::jsonrpc::LargeFrame;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::yield_now;
use tokio::time::{Instant, Sleep};

/// One of those who share a thread: a server, or a caller with all its connections.
#[derive(Clone, Debug, Default)]
pub struct Party(Arc<AtomicU64>);

impl Party {
    /// The number of its last step on this thread. That of another says nothing here.
    fn last(&self, round: &Round) -> u64 {
        let last = self.0.load(Ordering::Relaxed);
        match last >> NUMBER_BITS == round.thread {
            true => last & MOST,
            false => 0,
        }
    }

    /// The number of its next step.
    fn next(&self, round: &Round) -> u64 {
        let next = round.reached.max(self.last(round) + 1).min(MOST);
        let on_this_thread = round.thread << NUMBER_BITS;
        self.0.store(on_this_thread | next, Ordering::Relaxed);
        next
    }
}

/// The part of one task.
#[derive(Debug, Default)]
pub struct Turn {
    /// None: all who have no party are one.
    party: Option<Party>,
    /// In a box: nearly nobody waits, and it is large.
    waits: Option<Box<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    /// A number says something on this thread only.
    thread: u64,
    number: u64,
    at: Place,
}

#[derive(Debug)]
enum Place {
    /// It asks again. The look of the runtime after which it asked last.
    Near { look: u64 },
    /// It is told when it is near, and looks for itself if nobody does.
    Far {
        key: Key,
        among: Arc<Far>,
        until: Pin<Box<Sleep>>,
    },
}

/// Those of a thread that are far. Who was moved to another thread is still to be found there.
#[derive(Debug, Default)]
struct Far(Mutex<BTreeMap<Key, Waker>>);

/// The number of a step, and what tells it from others of that number.
type Key = (u64, u64);

#[derive(Clone, Copy)]
struct Round {
    thread: u64,
    look: u64,
    began: Option<Instant>,
    /// The highest number of those that have waited and gone on.
    reached: u64,
    /// The lowest number of those that asked in vain after the last look, and after this one.
    oldest: u64,
    next_oldest: u64,
    /// How many are near, and how many of them have asked in vain after this look.
    near: u64,
    asked: u64,
}

/// Whose the small steps of a thread were lately.
struct Lately {
    /// Who takes most of them, if anybody does.
    most: Option<Party>,
    /// How far he is ahead of all others together, if a step of theirs counts as several of his.
    lead: u32,
    /// How many more steps of his show that nobody else is there.
    beside: u32,
}

impl Lately {
    /// Notes a step. Has this party taken nearly all, beside others?
    fn is_too_much_of(&mut self, party: &Party) -> bool {
        match &self.most {
            Some(most) if Arc::ptr_eq(&most.0, &party.0) => {
                self.lead = (self.lead + 1).min(2 * LEAD);
                self.beside = self.beside.saturating_sub(1);
                self.lead >= LEAD && self.beside > 0
            }
            Some(_) if self.lead > STEPS_OF_OTHERS => {
                self.lead -= STEPS_OF_OTHERS;
                self.beside = LATELY_STEPS;
                false
            }
            most => {
                self.beside = most.as_ref().map_or(0, |_| LATELY_STEPS);
                self.lead = 1;
                self.most = Some(party.clone());
                false
            }
        }
    }
}

thread_local! {
    static ROUND: Cell<Round> = Cell::new(Round {
        thread: THREADS.fetch_add(1, Ordering::Relaxed) & (u64::MAX >> NUMBER_BITS),
        look: 0,
        began: None,
        reached: 1,
        oldest: 0,
        next_oldest: u64::MAX,
        near: 0,
        asked: 0,
    });
    static FAR: Arc<Far> = Arc::default();
    static LATELY: RefCell<Lately> = const { RefCell::new(Lately { most: None, lead: 0, beside: 0 }) };
    /// All who have no party of their own.
    static ANYBODY: Party = Party::default();
}

impl Turn {
    /// That of a task which does something for this party.
    pub fn of(party: &Party) -> Self {
        Self {
            party: Some(party.clone()),
            waits: None,
        }
    }

    /// Ready when it may take another step. Otherwise the task is woken when the runtime has looked
    /// whether something has come for others.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = Instant::now();
        let mut round = ROUND.get();
        if self
            .waits
            .as_ref()
            .is_some_and(|it| it.thread != round.thread)
        {
            // It was moved to this thread, where it is a new one.
            self.give_up();
        }
        let may_go_on = match &mut self.waits {
            Some(waiting) => {
                match &mut waiting.at {
                    Place::Near { look } if *look == round.look => round.look_again(),
                    Place::Near { .. } => {}
                    Place::Far { key, among, until } => {
                        if among.has(*key, until.as_mut(), cx) {
                            return Poll::Pending;
                        }
                        round.near += 1;
                        waiting.at = Place::Near { look: round.look };
                    }
                }
                // In this order: the round begins with the first that goes on, however long others
                // have asked in vain before it.
                round.is_next(waiting.number) && round.has_time(now)
            }
            None => round.has_time(now) || self.is_behind(&round),
        };
        if may_go_on {
            if let Some(waiting) = self.waits.take() {
                round.reached = round.reached.max(waiting.number);
                round.near = round.near.saturating_sub(1);
                call_nearer(1);
            }
            ROUND.set(round);
            return Poll::Ready(());
        }
        let is_new = self.waits.is_none();
        let number = match &self.waits {
            Some(waiting) => waiting.number,
            None => self.with_party(|party| party.next(&round)),
        };
        if is_new && round.near >= FEW && !round.is_next(number) {
            self.waits = Some(Box::new(Waiting::far(&round, number, cx)));
            return Poll::Pending;
        }
        round.near += u64::from(is_new);
        round.asked += 1;
        round.next_oldest = round.next_oldest.min(number);
        ROUND.set(round);
        let at = Place::Near { look: round.look };
        match &mut self.waits {
            Some(waiting) => waiting.at = at,
            None => {
                let thread = round.thread;
                self.waits = Some(Box::new(Waiting { thread, number, at }));
            }
        }
        pin!(yield_now()).poll(cx)
    }

    /// Waits until it may take another step.
    pub async fn wait(&mut self) {
        poll_fn(|cx| self.poll(cx)).await;
    }

    /// The same before a step so small that asking is dear: it asks only if nearly all such steps
    /// were of its party lately, but not all, and not where other threads are there for others.
    pub async fn wait_beside_others(&mut self) {
        let is_alone = || Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
        if self.is_beside_others() && is_alone() {
            self.wait().await;
        }
    }

    fn is_beside_others(&self) -> bool {
        LATELY.with_borrow_mut(|lately| self.with_party(|party| lately.is_too_much_of(party)))
    }

    /// Looks through a large frame, a piece in each step.
    pub async fn look_through(&mut self, frame: &mut LargeFrame) {
        while !frame.step() {
            self.wait().await;
        }
    }

    /// Has its party had fewer steps than others? Then it has had one more.
    fn is_behind(&self, round: &Round) -> bool {
        self.with_party(|party| {
            let is_behind = party.last(round) < round.reached;
            if is_behind {
                party.next(round);
            }
            is_behind
        })
    }

    fn with_party<T>(&self, what: impl FnOnce(&Party) -> T) -> T {
        match &self.party {
            Some(party) => what(party),
            None => ANYBODY.with(what),
        }
    }

    /// It does not wait any more.
    fn give_up(&mut self) {
        match self.waits.take().map(|waiting| waiting.at) {
            None => {}
            Some(Place::Near { .. }) => call_nearer(1),
            Some(Place::Far { key, among, .. }) => drop(among.remove(key)),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl Waiting {
    /// One of whom others go first.
    fn far(round: &Round, number: u64, cx: &mut Context<'_>) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let key = (number, LAST.fetch_add(1, Ordering::Relaxed));
        let mut until = Box::pin(tokio::time::sleep(LONG_AGO));
        // It is not over yet.
        let _ = until.as_mut().poll(cx);
        let among = FAR.with(Arc::clone);
        among.lock().insert(key, cx.waker().clone());
        Self {
            thread: round.thread,
            number,
            at: Place::Far { key, among, until },
        }
    }
}

// What is dropped may belong to a task that ends with it, and has a turn of its own: never under the lock.
impl Far {
    /// Is this one still far?
    fn has(&self, key: Key, until: Pin<&mut Sleep>, cx: &mut Context<'_>) -> bool {
        if until.poll(cx).is_ready() {
            drop(self.remove(key));
            return false;
        }
        let mut waker = cx.waker().clone();
        match self.lock().get_mut(&key) {
            Some(known) => std::mem::swap(known, &mut waker),
            None => return false,
        }
        true
    }

    fn remove(&self, key: Key) -> Option<Waker> {
        self.lock().remove(&key)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Waker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells so many of those that are far that they are near.
fn call_nearer(count: u64) {
    for _ in 0..count {
        // At the end of a thread there is nobody left to be told.
        let first = FAR.try_with(|far| far.lock().pop_first());
        let Ok(Some((_, waker))) = first else {
            return;
        };
        waker.wake();
    }
}

impl Round {
    /// The runtime has looked for others: the next that goes on begins a round.
    fn look_again(&mut self) {
        self.look = self.look.wrapping_add(1);
        self.began = None;
        self.oldest = self.next_oldest;
        self.next_oldest = u64::MAX;
        self.near = self.asked;
        self.asked = 0;
        call_nearer(FEW.saturating_sub(self.near));
    }

    /// Is this number among the next?
    const fn is_next(&self, number: u64) -> bool {
        number <= self.oldest.saturating_add(FEW)
    }

    /// Is it not over? One that has been over for long is another: nobody was busy.
    fn has_time(&mut self, now: Instant) -> bool {
        let began = self
            .began
            .and_then(|began| now.checked_duration_since(began));
        match began {
            Some(age) if age < LONG_AGO => age < LONGEST,
            _ => {
                self.began = Some(now);
                true
            }
        }
    }
}

/// What somebody else's call waits for, a few times. Shorter ones would be spent on asking for
/// what has come.
const LONGEST: Duration = Duration::from_micros(100);
/// Whoever is busy has begun another round by then, and whoever is far is near.
const LONG_AGO: Duration = Duration::from_millis(5);
/// How many steps more than another a party may have had and still go on in the same round.
const FEW: u64 = 8;
/// A caller who calls once in a few milliseconds is there, beside one who floods.
const LATELY_STEPS: u32 = 512;
/// Who has three of four steps, or less, is one of many who have much to do.
const STEPS_OF_OTHERS: u32 = 3;
/// More than what one who is not alone asks for at once.
const LEAD: u32 = 128;
/// Of the number of a step; the bits above say on which thread it was.
const NUMBER_BITS: u32 = 48;
const MOST: u64 = (1 << NUMBER_BITS) - 1;

static THREADS: AtomicU64 = AtomicU64::new(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks once.
    async fn asks(turn: &mut Turn) -> bool {
        poll_fn(|cx| Poll::Ready(turn.poll(cx).is_ready())).await
    }

    /// How often it waited before it could go on.
    async fn waits(turn: &mut Turn) -> usize {
        let mut waits = 0;
        poll_fn(|cx| {
            let outcome = turn.poll(cx);
            waits += usize::from(outcome.is_pending());
            outcome
        })
        .await;
        waits
    }

    async fn pass(time: Duration) {
        tokio::time::advance(time).await;
    }

    /// A party that has had as many steps as anybody.
    async fn busy() -> Party {
        busy_for(3).await
    }

    async fn busy_for(steps: usize) -> Party {
        let party = Party::default();
        let mut turn = Turn::of(&party);
        for _ in 0..steps {
            turn.wait().await;
            pass(LONGEST).await;
        }
        party
    }

    /// So many of a party, all of which wait.
    async fn waiting(party: &Party, count: usize) -> Vec<Turn> {
        let mut turns: Vec<Turn> = (0..count).map(|_| Turn::of(party)).collect();
        for turn in &mut turns {
            assert!(!asks(turn).await);
        }
        turns
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_goes_on_for_long_waits_once() {
        let mut turn = Turn::of(&busy().await);
        for _ in 0..10 {
            assert_eq!(waits(&mut turn).await, 1);
            assert_eq!(waits(&mut turn).await, 0);
            pass(LONGEST).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_was_idle_does_not_wait() {
        let mut turn = Turn::of(&busy().await);
        pass(LONG_AGO).await;
        assert_eq!(waits(&mut turn).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_had_less_than_others_goes_first() {
        let mut turns = waiting(&busy().await, 64).await;
        // Somebody else comes, and the runtime has not even looked.
        let neighbour = Party::default();
        assert!(asks(&mut Turn::of(&neighbour)).await);
        // If he wants more, that is soon: he does not wait for all others.
        let mut next = Turn::of(&neighbour);
        let mut before = 0;
        while !asks(&mut next).await {
            for turn in &mut turns {
                if turn.waits.is_some() && asks(turn).await {
                    before += 1;
                    pass(LONGEST / 4).await;
                }
            }
        }
        assert!(before <= FEW + 1, "{before}");
    }

    #[tokio::test(start_paused = true)]
    async fn all_of_a_party_have_their_step_in_the_order_in_which_they_came() {
        let turns = waiting(&busy().await, 64).await;
        let mut turns: Vec<(usize, Turn)> = turns.into_iter().enumerate().collect();
        let mut order = Vec::new();
        while !turns.is_empty() {
            // Those that wait are woken in any order.
            turns.reverse();
            let mut still = Vec::new();
            for (at, mut turn) in turns {
                if asks(&mut turn).await {
                    order.push(at);
                    pass(LONGEST / 4).await;
                } else {
                    still.push((at, turn));
                }
            }
            turns = still;
        }
        for (place, at) in order.iter().enumerate() {
            assert!(place.abs_diff(*at) <= 2 * FEW as usize, "{order:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn small_steps_of_one_who_takes_nearly_all_wait_while_others_take_some() {
        /// Asks once.
        async fn goes_on(turn: &mut Turn) -> bool {
            poll_fn(|cx| Poll::Ready(pin!(turn.wait_beside_others()).poll(cx).is_ready())).await
        }
        let (flood, neighbour) = (busy().await, Party::default());
        let mut busy = Turn::of(&flood);
        assert!(!asks(&mut busy).await);
        busy.wait().await;
        pass(LONGEST).await;
        for _ in 0..2 * LEAD {
            assert!(goes_on(&mut busy).await, "there is nobody else");
        }
        assert!(goes_on(&mut Turn::of(&neighbour)).await);
        assert!(!goes_on(&mut busy).await);
        busy.wait().await;
        for _ in 0..LATELY_STEPS {
            busy.wait_beside_others().await;
        }
        pass(LONGEST).await;
        assert!(goes_on(&mut busy).await, "nobody else was there lately");
        // If others have as much to do, nobody is asked to wait.
        for _ in 0..2 * LEAD {
            for party in [&flood, &neighbour] {
                busy = Turn::of(party);
                busy.wait_beside_others().await;
            }
        }
        pass(LONGEST).await;
        assert!(goes_on(&mut Turn::of(&flood)).await && goes_on(&mut Turn::of(&neighbour)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_forgotten_is_in_nobodys_way() {
        let party = busy().await;
        let mut forgotten = Turn::of(&party);
        assert!(!asks(&mut forgotten).await);
        let mut turn = Turn::of(&party);
        for _ in 0..10 {
            assert!(waits(&mut turn).await <= 2);
            pass(LONGEST).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_goes_on_though_others_come_again_and_again() {
        let first = busy().await;
        let mut waiting = waiting(&first, 4).await;
        let second = busy().await;
        for _ in 0..100 {
            // They ask first each time, and take up all the time there is.
            for party in [&first, &second] {
                if asks(&mut Turn::of(party)).await {
                    pass(LONGEST).await;
                }
            }
            let mut still = Vec::new();
            for mut turn in waiting {
                if !asks(&mut turn).await {
                    still.push(turn);
                }
            }
            waiting = still;
        }
        assert!(waiting.is_empty(), "{} wait", waiting.len());
    }

    #[tokio::test(start_paused = true)]
    async fn somebody_goes_on_however_long_it_takes_to_ask() {
        let mut turns = waiting(&busy().await, 64).await;
        // All that were far look for themselves, and the first is always the last to ask.
        pass(LONG_AGO).await;
        turns.reverse();
        let mut went_on = 0;
        for _ in 0..20 {
            for turn in &mut turns {
                went_on += usize::from(asks(turn).await);
                pass(LONGEST / 2).await;
            }
        }
        assert!(went_on >= 10, "{went_on}");
    }

    #[test]
    fn who_is_moved_to_another_thread_is_a_new_one_there() {
        let runtime = || {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            builder.enable_time().start_paused(true).build().unwrap()
        };
        let here = runtime();
        let mut turns = here.block_on(async { waiting(&busy_for(10_000).await, 64).await });
        let mut moved = turns.pop().unwrap();
        let there = std::thread::spawn(move || {
            runtime().block_on(async {
                let mut others = waiting(&busy().await, 4).await;
                let mut before = 0;
                while !asks(&mut moved).await {
                    for turn in &mut others {
                        before += usize::from(asks(turn).await);
                        pass(LONGEST / 4).await;
                    }
                    assert!(before <= 3 * FEW as usize, "others have had {before} steps");
                }
            });
        });
        there.join().unwrap();
        drop(turns);
        assert!(FAR.with(|far| far.lock().is_empty()));
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_are_far_go_on_though_all_that_are_near_are_forgotten() {
        let party = busy().await;
        let forgotten = waiting(&party, 64).await;
        let is_far = |turn: &&Turn| {
            let waiting = turn.waits.as_ref();
            waiting.is_some_and(|waiting| matches!(waiting.at, Place::Far { .. }))
        };
        assert!(forgotten.iter().filter(is_far).count() > 32);
        let mut last = Turn::of(&party);
        let begun = Instant::now();
        last.wait().await;
        assert!(begun.elapsed() <= 2 * LONG_AGO, "{:?}", begun.elapsed());
        // Nobody is left behind when they are dropped.
        drop(forgotten);
        assert!(FAR.with(|far| far.lock().is_empty()));
    }
}
