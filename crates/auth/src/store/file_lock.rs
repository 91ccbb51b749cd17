//! A lock that holds between processes.
//!
//! The operating system keeps it, so that it ends with whoever holds it, however that ends. It is
//! asked again and again rather than waited for: a thread that waits for a lock cannot be told
//! to stop, and the holder may never let go.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::StoreError;
use super::private::{self, off_thread};

/// Held by this process. The file stays: one that is removed while others wait for it would
/// leave them with a lock that nobody else sees.
#[derive(Debug)]
pub(super) struct FileLock(File);

impl FileLock {
    /// Waits until nobody else holds it, in this process or another.
    pub(super) async fn acquire(path: PathBuf) -> Result<Self, StoreError> {
        let began = Instant::now();
        let mut pause = SHORTEST_PAUSE;
        loop {
            let asked = path.clone();
            if let Some(lock) = off_thread(move || Self::try_acquire(&asked)).await? {
                return Ok(lock);
            }
            let waited = began.elapsed();
            if waited >= LONGEST_WAIT {
                let seconds = LONGEST_WAIT.as_secs();
                let path = path.display();
                let what = format!(
                    "the lock {path} was held by others for {seconds} s: end the program that \
                     holds it, or try again"
                );
                return Err(StoreError::busy(what));
            }
            sleep(pause).await;
            pause = (pause * 2).min((waited / 100).clamp(USUAL_PAUSE, LONGEST_PAUSE));
        }
    }

    fn try_acquire(path: &Path) -> Result<Option<Self>, StoreError> {
        if let Some(folder) = path.parent() {
            private::prepare_folder(folder)?;
        }
        let file = private::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| StoreError::of_file("cannot open the lock", path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(StoreError::of_file("cannot lock", path, error)),
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing would do, but for a child process that was made this moment and has the file
        // too, until it runs its own program.
        let _ = self.0.unlock();
    }
}

// Longer than the longest renewal, with all that may be waited for in it: a program that says who
// we are (30 s), metadata in three places (5 s each), and two issuers that want to be asked twice
// (30 s each time) are 165 s. A login may take longer: see `Shared::lock_for_login`.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(300);

const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

// What the last of ten waits in vain, at most, each time.
const USUAL_PAUSE: Duration = Duration::from_millis(10);

// For whoever waits for a person, a hundredth of what was waited so far is no loss.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
