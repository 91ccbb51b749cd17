//! What every verb is given: what was said for all of them, where its words go, and who ends the
//! servers that it started.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_hub::Hub;

use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::host::Desk;
use crate::output::Output;

/// What every verb is given.
#[derive(Debug)]
pub(crate) struct App {
    /// What was said that is for all verbs.
    pub(crate) global: Global,
    /// The only way to print.
    pub(crate) output: Arc<Output>,
    /// Who answers what servers ask.
    pub(crate) desk: Arc<Desk>,
    /// What is to be closed in the end.
    hubs: Mutex<Vec<Hub>>,
}

impl App {
    pub(crate) fn new(global: Global) -> Self {
        let output = Arc::new(Output::new(&global));
        let desk = Arc::new(Desk::new(&global, Arc::clone(&output)));
        Self {
            global,
            output,
            desk,
            hubs: Mutex::default(),
        }
    }

    /// Sees to it that the servers of a hub are ended before the process is.
    pub(crate) fn adopt(&self, hub: &Hub) {
        let mut hubs = self.hubs.lock().unwrap_or_else(PoisonError::into_inner);
        hubs.push(hub.clone());
    }

    /// Lets a verb do its work, and ends its servers.
    ///
    /// Ctrl-C drops the work, which cancels calls at their servers; the next one does not wait for
    /// the servers either.
    pub(crate) async fn run<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let done = tokio::select! {
            // What is done is done.
            biased;
            done = work => done,
            () = interrupt() => Err(interrupted()),
        };
        self.finish(done).await
    }

    /// The same for a verb that is told itself when it is to end.
    pub(crate) async fn run_on<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let done = work.await;
        self.finish(done).await
    }

    /// Ends what was started.
    async fn finish<T>(&self, done: Result<T, Failure>) -> Result<T, Failure> {
        let _status = match &done {
            Err(failure) if failure.exit == Exit::Interrupted => {
                Some(self.output.status("ending; Ctrl-C again does not wait"))
            }
            _ => None,
        };
        tokio::select! {
            biased;
            () = self.close() => done,
            () = interrupt() => Err(interrupted()),
        }
    }

    async fn close(&self) {
        self.desk.give_up();
        let hubs = std::mem::take(&mut *self.hubs.lock().unwrap_or_else(PoisonError::into_inner));
        for hub in hubs {
            hub.close().await;
        }
    }
}

fn interrupted() -> Failure {
    Failure::new(Exit::Interrupted, "interrupted")
}

/// Ready when the user does not want to wait, or somebody else wants us to end.
async fn interrupt() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        let Ok(mut other) = signal(SignalKind::terminate()) else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = other.recv() => {}
        }
    }
    #[cfg(not(unix))]
    let _ = tokio::signal::ctrl_c().await;
}
