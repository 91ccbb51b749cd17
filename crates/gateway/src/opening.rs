//! The first moments: who comes before the servers have said what they offer waits for them.
//!
//! Many hosts list tools once, right after they have started what serves them.

use std::sync::Arc;
use std::time::Duration;

use switchboard_transport::watch;
use tokio::time::timeout;

/// Whether servers are being connected for the first time.
#[derive(Clone, Debug)]
pub(crate) struct Opening(Arc<watch::Sender<bool>>);

impl Opening {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Servers are being connected until this is dropped.
    pub(crate) fn begin(&self) -> Connecting {
        self.0.send_replace(true);
        Connecting(self.clone())
    }

    pub(crate) fn is_going_on(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is over, but not for ever: some servers may take long.
    pub(crate) async fn wait(&self) {
        let mut going_on = self.0.subscribe();
        // The sender is here, and whoever has waited long enough sees what there is.
        let _ = timeout(PATIENCE, going_on.wait_for(|going_on| !going_on)).await;
    }
}

/// Servers are being connected.
#[derive(Debug)]
pub(crate) struct Connecting(Opening);

impl Drop for Connecting {
    fn drop(&mut self) {
        self.0.0.send_replace(false);
    }
}

const PATIENCE: Duration = Duration::from_secs(10);
