//! One at a time; and what came to nothing for one has come to nothing for all who waited.
//!
//! Two hundred requests with a token that has ended wait for one renewal. If that is refused,
//! each of them trying for itself would be two hundred more, one after the other.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Mutex, MutexGuard};

use crate::error::{AuthError, chain};

/// Whose turn it is.
#[derive(Default)]
pub(crate) struct Turn {
    last: Mutex<Option<Failure>>,
    failures: AtomicU64,
}

struct Failure {
    reason: String,
    is_passing: bool,
}

/// It is ours, until this is dropped.
pub(crate) struct Held<'a> {
    turn: &'a Turn,
    last: MutexGuard<'a, Option<Failure>>,
    has_failed: bool,
}

impl Turn {
    /// Waits for it.
    pub(crate) async fn take(&self) -> Held<'_> {
        let before = self.failures.load(Ordering::Acquire);
        let last = self.last.lock().await;
        Held {
            turn: self,
            last,
            has_failed: self.failures.load(Ordering::Acquire) != before,
        }
    }

    /// Takes it if nobody else has it.
    pub(crate) fn try_take(&self) -> Option<Held<'_>> {
        let last = self.last.try_lock().ok()?;
        Some(Held {
            turn: self,
            last,
            has_failed: false,
        })
    }
}

impl Held<'_> {
    /// Did it come to nothing for somebody whom we waited for?
    pub(crate) fn check(&self) -> Result<(), AuthError> {
        match &*self.last {
            Some(failure) if self.has_failed => Err(AuthError::Beside {
                reason: failure.reason.clone(),
                is_passing: failure.is_passing,
            }),
            _ => Ok(()),
        }
    }

    /// Tells those who wait.
    pub(crate) fn fail(mut self, error: AuthError) -> AuthError {
        // That nobody may be asked is found out by everybody at no cost, and is a kind of its own.
        if !matches!(
            error,
            AuthError::LoginRequired { .. } | AuthError::NoInteraction
        ) {
            *self.last = Some(Failure {
                reason: chain(&error),
                is_passing: error.is_passing(),
            });
            self.turn.failures.fetch_add(1, Ordering::Release);
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error() -> AuthError {
        AuthError::Setup {
            reason: "no".to_owned(),
        }
    }

    #[tokio::test]
    async fn who_waited_is_told_and_who_comes_later_is_not() {
        let turn = Turn::default();
        let first = turn.take().await;
        assert!(turn.try_take().is_none());
        let second = turn.take();
        let mut second = std::pin::pin!(second);
        assert!(
            tokio::time::timeout(std::time::Duration::ZERO, &mut second)
                .await
                .is_err()
        );
        first.fail(error());
        let second = second.await;
        assert_eq!(second.check().unwrap_err().to_string(), "no");
        drop(second);
        assert!(turn.take().await.check().is_ok());
        assert!(turn.try_take().unwrap().check().is_ok());
    }

    #[tokio::test]
    async fn a_login_that_is_needed_is_found_out_by_everybody() {
        let turn = Turn::default();
        turn.take().await.fail(AuthError::NoInteraction);
        assert_eq!(turn.failures.load(Ordering::Acquire), 0);
    }
}
