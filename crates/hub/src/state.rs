//! Where a server of the hub stands, for whoever wants to watch.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use switchboard_client::{Class, Ready};

/// Where a server of the hub stands.
///
/// ```text
///  Configured ──▶ Starting ──▶ Ready ◀──▶ ListingFailed
///                  ▲  │          │
///      BackingOff ─┘  ├──────────┤ it ended ──▶ BackingOff ── too often ──▶ Failed
///                     │          ├ nobody called ──▶ Asleep ── a call ──▶ Starting
///                     └──────────┴──▶ NeedsLogin
///  disconnect, from any state ──▶ Stopped;  switched off in the configuration: Disabled
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MemberState {
    /// It is known, and nothing was done about it yet.
    Configured,
    /// The configuration says that it is not to be used.
    Disabled,
    /// It is started by the first call.
    Asleep,
    /// It is being started, reached, listed.
    Starting,
    /// Calls are answered.
    Ready(Arc<Ready>),
    /// Calls are answered, but what it offers could not be listed; it will be tried again.
    ListingFailed {
        /// What it said about itself.
        ready: Arc<Ready>,
        /// Why.
        reason: Arc<str>,
        /// Who must act.
        class: Class,
    },
    /// Somebody must log in, and connect it again.
    NeedsLogin {
        /// What the server wants, and what to do.
        reason: Arc<str>,
    },
    /// It has ended, or did not start, and is tried again.
    BackingOff {
        /// Why it ended.
        reason: Arc<str>,
        /// Who must act.
        class: Class,
        /// In how long it is tried again.
        wait: Duration,
        /// How often in a row it has ended.
        ends: u32,
    },
    /// It was disconnected, and stays so until it is connected.
    Stopped,
    /// It is not tried again by itself.
    Failed {
        /// Why.
        reason: Arc<str>,
        /// Who must act.
        class: Class,
    },
}

impl MemberState {
    /// What the server has said of itself, while it can be called.
    pub(crate) const fn ready_mut(&mut self) -> Option<&mut Arc<Ready>> {
        match self {
            Self::Ready(ready) | Self::ListingFailed { ready, .. } => Some(ready),
            _ => None,
        }
    }

    /// Can it be called?
    pub const fn is_ready(&self) -> bool {
        matches!(self, Self::Ready(_) | Self::ListingFailed { .. })
    }

    /// Who must act, if it has failed.
    pub const fn class(&self) -> Option<Class> {
        match self {
            Self::ListingFailed { class, .. }
            | Self::BackingOff { class, .. }
            | Self::Failed { class, .. } => Some(*class),
            Self::NeedsLogin { .. } => Some(Class::Unauthorized),
            _ => None,
        }
    }

    /// Would a person who is shown it see a difference?
    pub(crate) fn looks_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && self.to_string() == other.to_string()
    }
}

impl fmt::Display for MemberState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configured => f.write_str("configured, and not connected yet"),
            Self::Disabled => f.write_str("disabled"),
            Self::Asleep => f.write_str("asleep, started by the first call"),
            Self::Starting => f.write_str("starting"),
            Self::Ready(ready) => write!(f, "ready, revision {}", ready.revision),
            Self::ListingFailed { reason, .. } => write!(f, "ready, but not listed: {reason}"),
            Self::NeedsLogin { reason } => write!(f, "needs login: {reason}"),
            Self::BackingOff {
                reason, wait, ends, ..
            } => write!(
                f,
                "ended {ends} times in a row, tried again in {:.1} s: {reason}",
                wait.as_secs_f64()
            ),
            Self::Stopped => f.write_str("stopped"),
            Self::Failed { reason, .. } => write!(f, "failed: {reason}"),
        }
    }
}
