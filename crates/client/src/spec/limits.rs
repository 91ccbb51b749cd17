//! How long things may take, and how much there may be of everything.

use std::time::Duration;

use switchboard_protocol::jsonrpc::Limits as MessageLimits;
use switchboard_protocol::machine::client::Timeouts as CallTimeouts;
use switchboard_transport::process::Patience;

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// From the start of the process, or the first packet, to the end of the handshake.
    pub connect: Duration,
    /// How long the question for the era may stay unanswered before the handshake is tried too.
    pub probe: Duration,
    /// A call without an answer or progress.
    pub idle: Option<Duration>,
    /// A call in all.
    pub total: Option<Duration>,
    /// All pages of a list.
    pub list: Duration,
    /// A question that is with the host.
    pub question: Duration,
    /// A stream of the handshake era that is silent, not even a comment, is opened anew.
    pub silence: Duration,
    /// Ending the session when we close.
    pub farewell: Duration,
    /// Ending a process.
    pub stop: Patience,
}

impl Timeouts {
    pub(crate) const fn call(&self) -> CallTimeouts {
        CallTimeouts::new(self.idle, self.total)
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        let call = CallTimeouts::default();
        Self {
            // Package runners download before they start anything.
            connect: Duration::from_secs(30),
            probe: Duration::from_secs(2),
            idle: call.idle,
            total: call.total,
            list: Duration::from_secs(30),
            question: Duration::from_secs(600),
            silence: Duration::from_secs(300),
            farewell: Duration::from_secs(2),
            stop: Patience::default(),
        }
    }
}

/// How much there may be of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// One message.
    pub message: MessageLimits,
    /// Calls in flight together.
    pub calls: usize,
    /// Questions about one call that are with the host. On a pipe, where nothing tells which call
    /// they are about, this many and one more for each call.
    pub questions: usize,
    /// How often one call may come back for more input.
    pub rounds: u32,
    /// Bytes that wait for a server that does not read; calls wait beyond.
    pub queued: usize,
    /// Pages of one list.
    pub pages: usize,
    /// Items of one list.
    pub items: usize,
    /// Bytes of all pages of one list.
    pub list_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: MessageLimits::default(),
            calls: 1024,
            questions: 64,
            rounds: 10,
            queued: 16 * 1024 * 1024,
            pages: 1000,
            items: 10_000,
            list_bytes: 64 * 1024 * 1024,
        }
    }
}
