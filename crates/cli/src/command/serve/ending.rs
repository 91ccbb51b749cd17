//! Signals: when a gateway is to end, and when it is to read its file again.

use std::io;
use std::time::Duration;

use tokio::sync::watch;

use crate::output::Output;

/// What the process is told from outside, from the moment that this is made.
pub(super) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Ok(Self {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
            })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// Waits for the next one that wants an end.
    async fn end(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        #[cfg(not(unix))]
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Has what is under way finished at the first one, and is ready at the second.
    pub(super) async fn watch(
        mut self,
        output: &Output,
        drain: Duration,
        ending: &watch::Sender<bool>,
    ) {
        self.end().await;
        output.note(&format!(
            "ending: calls in flight have {} s; the next signal does not wait",
            drain.as_secs_f64()
        ));
        ending.send_replace(true);
        self.end().await;
    }
}

/// Ready when the end has begun.
pub(super) async fn begun(mut ending: watch::Receiver<bool>) {
    if ending.wait_for(|is_ending| *is_ending).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// SIGHUP, which wants the file to be read again.
pub(super) struct Hangups {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl Hangups {
    pub(super) fn new() -> Self {
        Self {
            #[cfg(unix)]
            signal: {
                use tokio::signal::unix::{SignalKind, signal};
                signal(SignalKind::hangup()).ok()
            },
        }
    }

    pub(super) async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal
            && signal.recv().await.is_some()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}
