//! What happens in a hub, as it happens.
//!
//! A listener that does not listen loses the oldest, and is told how many: nobody waits for it.

use std::sync::Arc;

use switchboard_client::types::{LoggingMessageNotificationParams, ProgressNotificationParams};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::hub::View;
use crate::metrics::Metrics;
use crate::policy::Denial;
use crate::registry::Changes;
use crate::state::MemberState;

/// Something that happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A server stands elsewhere now.
    State {
        /// The server.
        server: Arc<str>,
        /// Where it stands.
        state: MemberState,
    },
    /// What can be seen of the catalogue is another.
    Catalog {
        /// The server because of which.
        server: Arc<str>,
        /// Its version.
        version: u64,
        /// What of it.
        changes: Changes,
    },
    /// Something that a server offers is not as it was approved, and is not offered on.
    Refused {
        /// The server.
        server: Arc<str>,
        /// What, and why; the first of it, if it is much.
        denials: Arc<[Denial]>,
        /// How much it is.
        count: usize,
    },
    /// A call gets on.
    Progress {
        /// The server.
        server: Arc<str>,
        /// The number of the call, which no other of the process has.
        call: u64,
        /// How far it is.
        progress: Arc<ProgressNotificationParams>,
    },
    /// A server logs something.
    Log {
        /// The server.
        server: Arc<str>,
        /// What.
        message: Arc<LoggingMessageNotificationParams>,
    },
    /// A line that a server's process wrote to its standard error, safe to print.
    Stderr {
        /// The server.
        server: Arc<str>,
        /// The line.
        line: Arc<str>,
    },
}

impl Event {
    /// The server that it is about.
    pub fn server(&self) -> &Arc<str> {
        match self {
            Self::State { server, .. }
            | Self::Catalog { server, .. }
            | Self::Refused { server, .. }
            | Self::Progress { server, .. }
            | Self::Log { server, .. }
            | Self::Stderr { server, .. } => server,
        }
    }
}

/// What happens from now on.
#[derive(Debug)]
pub struct Events {
    receiver: broadcast::Receiver<Event>,
    missed: u64,
    metrics: Metrics,
    /// Held by all who want to hear of progress.
    progress: Option<Arc<()>>,
    /// Whose events are heard. None: all.
    view: Option<Arc<View>>,
}

impl Events {
    pub(crate) const fn new(
        receiver: broadcast::Receiver<Event>,
        metrics: Metrics,
        progress: Arc<()>,
        view: Option<Arc<View>>,
    ) -> Self {
        Self {
            receiver,
            missed: 0,
            metrics,
            progress: Some(progress),
            view,
        }
    }

    /// The same without [`Event::Progress`]: calls of which nobody wants to hear are cheaper.
    #[must_use]
    pub fn without_progress(mut self) -> Self {
        self.progress = None;
        self
    }

    /// The next one. None after the last, when the hub is gone.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            match self.receiver.recv().await {
                Ok(Event::Progress { .. }) if self.progress.is_none() => {}
                Ok(event) => match &self.view {
                    Some(view) if !view.has_server(event.server()) => {}
                    _ => return Some(event),
                },
                Err(RecvError::Lagged(missed)) => {
                    self.missed = self.missed.saturating_add(missed);
                    self.metrics.missed_events(missed);
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// How many came too quickly to be seen.
    pub const fn missed(&self) -> u64 {
        self.missed
    }
}

/// As many are kept for somebody who is slow.
pub(crate) const KEPT: usize = 1024;
