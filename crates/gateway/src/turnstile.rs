//! Who may call now: how many calls there are, of each caller and of all.
//!
//! A caller is known by its key or token. Where callers are not known, only what concerns all of
//! them is counted; a connection has limits of its own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use switchboard_protocol::Refusals;
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject};
use switchboard_server::access::Principal;

use crate::limit::GatewayLimits;
use crate::lot::Full;

/// Counts calls, and refuses what is too much.
#[derive(Debug)]
pub(crate) struct Turnstile {
    limits: GatewayLimits,
    refusals: Refusals,
    /// Calls in flight, of all callers.
    calls: AtomicUsize,
    inside: Mutex<Inside>,
}

/// Limits of one caller that are not those of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallerLimits {
    /// Calls in flight.
    pub calls: Option<usize>,
    /// Calls in a minute.
    pub calls_per_minute: Option<u32>,
}

#[derive(Debug, Default)]
struct Inside {
    /// Limits of single callers, by the names of their keys.
    special: HashMap<String, CallerLimits>,
    callers: HashMap<CallerId, Caller>,
}

/// Whom a key or a token stands for: unique for one issuer only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CallerId {
    issuer: Option<String>,
    subject: String,
}

#[derive(Debug)]
struct Caller {
    calls: usize,
    /// How many calls it may still make now, and since when that is so.
    left: f64,
    since: Instant,
}

impl Turnstile {
    pub(crate) fn new(limits: GatewayLimits, special: HashMap<String, CallerLimits>) -> Self {
        Self {
            limits,
            refusals: Refusals::default(),
            calls: AtomicUsize::new(0),
            inside: Mutex::new(Inside {
                special,
                ..Inside::default()
            }),
        }
    }

    /// From now on these callers have limits of their own.
    pub(crate) fn set_special(&self, special: HashMap<String, CallerLimits>) {
        self.inside().special = special;
    }

    /// Where is counted how often limits were reached. Which ones there are is ours to say: what
    /// servers say of theirs does not count.
    pub(crate) const fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    pub(crate) const fn most_questions(&self) -> usize {
        self.limits.questions
    }

    pub(crate) const fn largest_result(&self) -> usize {
        self.limits.result
    }

    /// Lets a call in, until what comes back is dropped.
    ///
    /// # Errors
    /// When there are too many.
    pub(crate) fn enter(
        self: &Arc<Self>,
        now: impl FnOnce() -> Instant,
        principal: Option<&Principal>,
    ) -> Result<Pass, ErrorObject> {
        // It gives its place back when it is dropped, also where it gets no further.
        let mut pass = Pass {
            turnstile: Arc::clone(self),
            caller: None,
        };
        if self.calls.fetch_add(1, Ordering::Relaxed) >= self.limits.calls {
            let all = self.limits.calls;
            let message = format!("all {all} calls that are served at once are taken");
            return Err(self.refuse(ErrorCode::BUSY, &message, "calls", SOON));
        }
        if let Some(principal) = principal {
            let id = self.count(&mut self.inside(), now(), principal)?;
            pass.caller = Some(Box::new(id));
        }
        Ok(pass)
    }

    /// Counts a call of this caller.
    fn count(
        &self,
        inside: &mut Inside,
        now: Instant,
        principal: &Principal,
    ) -> Result<CallerId, ErrorObject> {
        let id = CallerId {
            issuer: principal.issuer.clone(),
            subject: principal.subject.clone(),
        };
        let special = match principal.issuer {
            None => inside.special.get(&principal.subject).copied(),
            Some(_) => None,
        };
        let special = special.unwrap_or_default();
        let most = special.calls.unwrap_or(self.limits.calls_per_caller);
        let rate = special.calls_per_minute.or(self.limits.calls_per_minute);
        if inside.callers.len() >= MOST_CALLERS && !inside.callers.contains_key(&id) {
            // Those of whom nothing needs to be remembered.
            inside.callers.retain(|_, caller| {
                caller.calls > 0 || now.saturating_duration_since(caller.since) < MEMORY
            });
            if inside.callers.len() >= MOST_CALLERS {
                let message = "more callers than can be told apart are calling";
                return Err(self.refuse(ErrorCode::BUSY, message, "callers", SOON));
            }
        }
        let burst = rate.map_or(0.0, burst);
        let caller = inside.callers.entry(id.clone()).or_insert(Caller {
            calls: 0,
            left: burst,
            since: now,
        });
        if caller.calls >= most {
            let message = format!("all {most} calls that this caller may have in flight are taken");
            return Err(self.refuse(ErrorCode::TOO_MANY, &message, "callsPerCaller", SOON));
        }
        if let Some(rate) = rate {
            let a_second = f64::from(rate) / 60.0;
            let passed = now.saturating_duration_since(caller.since).as_secs_f64();
            caller.left = (caller.left + passed * a_second).min(burst);
            caller.since = now;
            if caller.left < 1.0 {
                let wait = Duration::try_from_secs_f64((1.0 - caller.left) / a_second);
                let message = format!("this caller may make {rate} calls in a minute");
                let wait = wait.unwrap_or(SOON);
                return Err(self.refuse(ErrorCode::TOO_MANY, &message, "callsPerMinute", wait));
            }
            caller.left -= 1.0;
        }
        caller.calls += 1;
        Ok(id)
    }

    /// What is said to a client whose call cannot wait for it.
    pub(crate) fn no_place(&self, full: Full) -> ErrorObject {
        let (code, limit, message) = of_full(full);
        self.refuse(code, &message, limit, LATER)
    }

    /// What is said to a client that comes for a call whose result was too large to wait for it.
    pub(crate) fn not_kept(&self, full: Full) -> ErrorObject {
        let (code, limit, message) = of_full(full);
        self.refusals.note(limit);
        let message =
            format!("the call has ended, and what came of it could not be kept: {message}");
        ErrorObject::over_limit(code, message, limit, None)
    }

    /// What is said to a client that would need servers of its own when there is no room.
    pub(crate) fn no_room(&self) -> ErrorObject {
        let message = "too many clients have servers of their own";
        self.refuse(ErrorCode::BUSY, message, "rooms", LATER)
    }

    /// What is said to a client that is refused for a while.
    fn refuse(
        &self,
        code: ErrorCode,
        message: &str,
        limit: &'static str,
        wait: Duration,
    ) -> ErrorObject {
        self.refusals.note(limit);
        let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
        let seconds = wait.as_secs_f64().max(0.1);
        let message = format!("{message}; try again in {seconds:.1} s");
        ErrorObject::over_limit(code, message, limit, Some(milliseconds))
    }

    /// Calls in flight now.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a call cannot wait for its client.
fn of_full(full: Full) -> (ErrorCode, &'static str, String) {
    match full {
        Full::All(all) => {
            let message = format!("all {all} places for calls that wait for answers are taken");
            (ErrorCode::BUSY, "parked", message)
        }
        Full::Caller(all) => {
            let message = format!("all {all} calls of this caller that may wait for answers do");
            (ErrorCode::TOO_MANY, "parkedPerCaller", message)
        }
        Full::Bytes(all) => {
            let message =
                format!("what is held of calls that wait for answers would be over {all} bytes");
            (ErrorCode::BUSY, "parkedBytes", message)
        }
        Full::CallerBytes(all) => {
            let message = format!(
                "what is held of this caller's calls that wait for answers would be over {all} bytes"
            );
            (ErrorCode::TOO_MANY, "parkedBytesPerCaller", message)
        }
    }
}

/// The time, by the clock of the runtime.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// A call that was let in.
#[derive(Debug)]
pub(crate) struct Pass {
    turnstile: Arc<Turnstile>,
    /// In a box: those without a key are to be small.
    caller: Option<Box<CallerId>>,
}

impl Pass {
    /// Where it was let in.
    pub(crate) const fn turnstile(&self) -> &Arc<Turnstile> {
        &self.turnstile
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.turnstile.calls.fetch_sub(1, Ordering::Relaxed);
        if let Some(id) = &self.caller
            && let Some(caller) = self.turnstile.inside().callers.get_mut(id)
        {
            caller.calls = caller.calls.saturating_sub(1);
        }
    }
}

/// Ten seconds' worth, and at least one.
fn burst(rate: u32) -> f64 {
    (f64::from(rate) / 6.0).max(1.0)
}

// A person takes this long to answer.
const LATER: Duration = Duration::from_secs(30);
// A call that ends makes room; most take less.
const SOON: Duration = Duration::from_secs(1);
// So much is remembered of each that this is a few megabytes.
const MOST_CALLERS: usize = 10_000;
// After a minute a caller has all its calls again.
const MEMORY: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn turnstile(change: impl FnOnce(&mut GatewayLimits)) -> Arc<Turnstile> {
        let mut limits = GatewayLimits::default();
        change(&mut limits);
        let special = CallerLimits {
            calls: Some(1),
            calls_per_minute: Some(600),
        };
        let special = HashMap::from([("special".to_owned(), special)]);
        Arc::new(Turnstile::new(limits, special))
    }

    fn check(refused: Result<Pass, ErrorObject>, code: ErrorCode, limit: &str) -> u64 {
        let error = refused.unwrap_err();
        assert_eq!(error.code, code, "{error:?}");
        let data: serde_json::Value = error.data.unwrap().decode().unwrap();
        assert_eq!(data["limit"], limit);
        data["retryAfterMs"].as_u64().unwrap()
    }

    #[test]
    fn there_are_only_so_many_calls_at_once() {
        let (turnstile, now) = (turnstile(|limits| limits.calls = 2), Instant::now());
        let ada = Principal::new("ada");
        let first = turnstile.enter(|| now, None).unwrap();
        let _second = turnstile.enter(|| now, Some(&ada)).unwrap();
        check(turnstile.enter(|| now, None), ErrorCode::BUSY, "calls");
        drop(first);
        assert!(turnstile.enter(|| now, None).is_ok());
    }

    #[test]
    fn a_caller_has_only_so_many_of_them() {
        let now = Instant::now();
        let turnstile = turnstile(|limits| limits.calls_per_caller = 1);
        let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
        let mut other_ada = ada.clone();
        other_ada.issuer = Some("https://login.example.com".to_owned());
        let _first = turnstile.enter(|| now, Some(&ada)).unwrap();
        let again = turnstile.enter(|| now, Some(&ada));
        check(again, ErrorCode::TOO_MANY, "callsPerCaller");
        assert!(turnstile.enter(|| now, Some(&bob)).is_ok());
        assert!(turnstile.enter(|| now, Some(&other_ada)).is_ok());
        // Nobody knows who these are.
        assert!((0..10).all(|_| turnstile.enter(|| now, None).is_ok()));
    }

    #[test]
    fn a_caller_makes_only_so_many_in_a_minute() {
        let start = Instant::now();
        let turnstile = turnstile(|limits| limits.calls_per_minute = Some(60));
        let ada = Principal::new("ada");
        for _ in 0..10 {
            turnstile.enter(|| start, Some(&ada)).unwrap();
        }
        let refused = turnstile.enter(|| start, Some(&ada));
        assert_eq!(check(refused, ErrorCode::TOO_MANY, "callsPerMinute"), 1_000);
        let later = start + Duration::from_millis(1_001);
        assert!(turnstile.enter(|| later, Some(&ada)).is_ok());
        assert!(turnstile.enter(|| later, Some(&ada)).is_err());
        let much_later = start + Duration::from_secs(600);
        let all = (0..60).filter(|_| turnstile.enter(|| much_later, Some(&ada)).is_ok());
        assert_eq!(all.count(), 10);
    }

    #[test]
    fn a_key_may_have_limits_of_its_own() {
        let (turnstile, now) = (turnstile(|_| ()), Instant::now());
        let special = Principal::new("special");
        let pass = turnstile.enter(|| now, Some(&special)).unwrap();
        let again = turnstile.enter(|| now, Some(&special));
        check(again, ErrorCode::TOO_MANY, "callsPerCaller");
        drop(pass);
        for _ in 0..99 {
            turnstile.enter(|| now, Some(&special)).unwrap();
        }
        let again = turnstile.enter(|| now, Some(&special));
        check(again, ErrorCode::TOO_MANY, "callsPerMinute");
    }

    #[test]
    fn callers_are_forgotten_before_there_are_too_many() {
        let (turnstile, now) = (turnstile(|_| ()), Instant::now());
        let caller = |number: usize| Principal::new(number.to_string());
        for number in 0..MOST_CALLERS {
            turnstile.enter(|| now, Some(&caller(number))).unwrap();
        }
        let one_more = turnstile.enter(|| now, Some(&caller(MOST_CALLERS)));
        check(one_more, ErrorCode::BUSY, "callers");
        assert!(
            turnstile
                .enter(|| now + MEMORY, Some(&caller(MOST_CALLERS)))
                .is_ok()
        );
        assert_eq!(turnstile.inside().callers.len(), 1);
    }
}
