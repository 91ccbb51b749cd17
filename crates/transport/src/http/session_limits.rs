//! How many sessions there may be, and what is said when there are too many.
//!
//! Counting them is for `legacy`.

use std::fmt;
use std::time::Duration;

use http::{Response, StatusCode};

use super::Body;
use super::answer::busy;

/// How many sessions there may be, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionLimits {
    /// In all.
    pub total: usize,
    /// Of one caller, where callers are known.
    pub per_principal: usize,
    /// How long one may go unused.
    pub idle: Duration,
    /// How long one may live, used or not.
    pub life: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            total: 10_000,
            per_principal: 100,
            idle: Duration::from_secs(30 * 60),
            life: Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// Why there is no new session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Full {
    /// There are too many: 503.
    Total {
        /// How many there may be.
        limit: usize,
    },
    /// The caller has too many: 429.
    Principal {
        /// How many it may have.
        limit: usize,
    },
    /// The system gives no random bits: 503.
    NoRandomness,
}

impl Full {
    /// The status to answer with.
    pub const fn status(&self) -> StatusCode {
        match self {
            Self::Total { .. } | Self::NoRandomness => StatusCode::SERVICE_UNAVAILABLE,
            Self::Principal { .. } => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    /// The response, which says when to try again.
    pub fn response(&self) -> Response<Body> {
        busy(self.status(), &self.to_string(), RETRY_AFTER)
    }
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Total { limit } => {
                write!(f, "all {limit} sessions are taken, try again later")
            }
            Self::Principal { limit } => {
                write!(f, "all {limit} sessions of this caller are taken, end one")
            }
            Self::NoRandomness => f.write_str("no session id can be made, try again later"),
        }
    }
}

impl std::error::Error for Full {}

// Long enough for idle sessions to lapse or be ended, short enough for a person to wait.
const RETRY_AFTER: Duration = Duration::from_secs(30);
