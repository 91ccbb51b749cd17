//! What was approved, while servers are served: read again when its file changes.

use std::path::PathBuf;

use switchboard_gateway::FileWatch;
use switchboard_hub::{Hub, Lock};

use crate::args::Global;
use crate::args::serve::Serve;
use crate::exit::{Failure, with_causes};
use crate::journal::Journal;
use crate::locking;
use crate::source::Source;

/// The lock that is in force, and its file.
pub(super) struct Locked {
    pub(super) lock: Lock,
    path: PathBuf,
    /// None if only a signal has it read again.
    watch: Option<FileWatch>,
}

impl Locked {
    /// The lock, if one is required.
    ///
    /// # Errors
    /// When there is none then, or it cannot be read.
    pub(super) fn open(
        args: &Serve,
        global: &Global,
        source: &Source,
    ) -> Result<Option<Self>, Failure> {
        if !locking::is_required(global, source) {
            return Ok(None);
        }
        let path = locking::place(global, source);
        // Before it is read, so that nothing is missed.
        let watch = (!args.no_watch).then(|| FileWatch::new(&path));
        Ok(Some(Self {
            lock: Lock::read(&path)?,
            path,
            watch,
        }))
    }

    /// Waits until the file has changed.
    pub(super) async fn changed(&mut self) {
        match &mut self.watch {
            Some(watch) => watch.changed().await,
            None => std::future::pending().await,
        }
    }

    /// Reads it again. If that cannot be done, the last one stays in force.
    pub(super) async fn read_again(&mut self, hub: &Hub, journal: &Journal) {
        let path = self.path.clone();
        let shown = path.display().to_string();
        let read = tokio::task::spawn_blocking(move || Lock::read(path)).await;
        let reason = match read {
            Ok(Ok(lock)) if lock == self.lock => return,
            Ok(Ok(lock)) => {
                hub.set_lock(Some(lock.clone()));
                self.lock = lock;
                journal.note(None, &format!("{shown} is taken over"));
                return;
            }
            Ok(Err(error)) => with_causes(&error),
            Err(error) => error.to_string(),
        };
        journal.warn(None, &format!("{reason}; the last lock stays in force"));
    }
}
