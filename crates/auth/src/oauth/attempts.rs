//! How often tokens were got lately, for what: a server that is never satisfied is given up.
//!
//! Specification: basic/authorization, "Step-Up Authorization Flow" (retry limits).

use crate::error::AuthError;
use crate::scope::Scopes;

/// What was got within the last minutes.
#[derive(Debug, Default)]
pub(super) struct Attempts(Vec<Got>);

/// How often tokens were got for the same scopes.
#[derive(Debug)]
struct Got {
    scopes: Scopes,
    times: u32,
    since: u64,
}

impl Attempts {
    /// Counts one more for these scopes.
    ///
    /// # Errors
    /// When it is one too many.
    pub(super) fn count(&mut self, scopes: &Scopes, now: u64) -> Result<(), AuthError> {
        self.0.retain(|got| got.since.saturating_add(WINDOW) > now);
        let in_all: u32 = self.0.iter().map(|got| got.times).sum();
        let known = self.0.iter_mut().find(|got| got.scopes == *scopes);
        let times = known.as_ref().map_or(0, |got| got.times);
        if times >= MOST_TIMES {
            return Err(AuthError::ScopesExhausted {
                scopes: scopes.clone(),
                attempts: times,
            });
        }
        // A server may want something else each time, and never be satisfied either.
        if in_all >= MOST_IN_ALL {
            return Err(AuthError::ScopesExhausted {
                scopes: Scopes::default(),
                attempts: in_all,
            });
        }
        match known {
            Some(got) => got.times += 1,
            None => self.0.push(Got {
                scopes: scopes.clone(),
                times: 1,
                since: now,
            }),
        }
        Ok(())
    }

    /// Takes back what was counted last for these scopes.
    pub(super) fn uncount(&mut self, scopes: &Scopes) {
        if let Some(got) = self.0.iter_mut().find(|got| got.scopes == *scopes) {
            got.times = got.times.saturating_sub(1);
        }
        self.0.retain(|got| got.times > 0);
    }

    /// Forgets all of it: somebody means it.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

// A server that is not satisfied by then never will be.
const MOST_TIMES: u32 = 3;
// Nobody goes through more steps than this in so short a time.
const MOST_IN_ALL: u32 = 10;
const WINDOW: u64 = 600;

#[cfg(test)]
mod tests {
    use super::*;

    fn count(attempts: &mut Attempts, scopes: &str, now: u64) -> bool {
        attempts.count(&Scopes::parse(scopes), now).is_ok()
    }

    #[test]
    fn three_times_for_the_same_are_enough_for_a_while() {
        let mut attempts = Attempts::default();
        for _ in 0..3 {
            assert!(count(&mut attempts, "a", 1000));
        }
        assert!(!count(&mut attempts, "a", 1000));
        assert!(count(&mut attempts, "a b", 1000));
        assert!(!count(&mut attempts, "a", 1599));
        assert!(count(&mut attempts, "a", 1600));
    }

    #[test]
    fn ten_times_for_whatever_are_enough_too() {
        let mut attempts = Attempts::default();
        for number in 0..10 {
            assert!(count(&mut attempts, &number.to_string(), 1000));
        }
        assert!(!count(&mut attempts, "another", 1000));
        attempts.clear();
        assert!(count(&mut attempts, "another", 1000));
    }

    #[test]
    fn what_is_taken_back_does_not_count() {
        let mut attempts = Attempts::default();
        for _ in 0..20 {
            assert!(count(&mut attempts, "a", 1000));
            attempts.uncount(&Scopes::parse("a"));
        }
        attempts.uncount(&Scopes::parse("b"));
    }
}
