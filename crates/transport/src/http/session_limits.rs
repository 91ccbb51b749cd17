//! How many sessions there may be, and what is said when there are too many.
//!
//! Counting them is for `legacy`.

use std::fmt;
use std::time::Duration;

use http::{Response, StatusCode};
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject};

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

    /// The name of the limit that is reached.
    pub const fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Total { .. } => Some("sessions"),
            Self::Principal { .. } => Some("sessionsPerCaller"),
            Self::NoRandomness => None,
        }
    }

    /// The response, which says when to try again.
    pub fn response(&self) -> Response<Body> {
        let code = match self {
            Self::Total { .. } => ErrorCode::BUSY,
            Self::Principal { .. } => ErrorCode::TOO_MANY,
            Self::NoRandomness => ErrorCode::INTERNAL_ERROR,
        };
        let reason = match self.limit() {
            Some(limit) => {
                let retry_after = u64::try_from(RETRY_AFTER.as_millis()).ok();
                ErrorObject::over_limit(code, self.to_string(), limit, retry_after)
            }
            None => ErrorObject::new(code, self.to_string()),
        };
        busy(self.status(), reason, RETRY_AFTER)
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
