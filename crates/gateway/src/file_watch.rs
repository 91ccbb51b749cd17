//! Notices that a file has changed: a configuration that an editor has written.
//!
//! It looks once a second, at times that no editor notices and on every file system. A file that is
//! written in steps, or replaced by another, is waited for until it stays the same. What is in it
//! is for others.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// Watches one file, from the moment that it is made.
#[derive(Debug)]
pub struct FileWatch {
    path: PathBuf,
    seen: Option<Stamp>,
}

impl FileWatch {
    /// Watches this file. Make it before the file is read, so that nothing is missed.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let seen = Stamp::of(&path);
        Self { path, seen }
    }

    /// Waits until the file is another than before, and stays so for a moment. It can be dropped
    /// and called again.
    ///
    /// A file that is gone counts as changed once it has been gone for long enough to be no part
    /// of a replacement.
    pub async fn changed(&mut self) {
        loop {
            sleep(LOOK).await;
            if self.look().await != self.seen {
                self.seen = self.settled().await;
                return;
            }
        }
    }

    /// How the file is, once it does not change any more.
    async fn settled(&self) -> Option<Stamp> {
        let mut last = self.look().await;
        let mut missing = 0;
        loop {
            sleep(SETTLE).await;
            let next = self.look().await;
            missing = match next {
                Some(_) => 0,
                None => missing + 1,
            };
            if next == last && (next.is_some() || missing >= GONE) {
                return next;
            }
            last = next;
        }
    }

    async fn look(&self) -> Option<Stamp> {
        let path = self.path.clone();
        // A file system may take its time.
        spawn_blocking(move || Stamp::of(&path))
            .await
            .ok()
            .flatten()
    }
}

/// What tells one state of a file from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    /// The file itself, where there is such a thing: one that replaces another may be as long, and
    /// as old.
    identity: Option<(u64, u64)>,
    /// When anything about it was changed: a copy may keep the time of its original.
    changed: Option<(i64, i64)>,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        #[cfg(unix)]
        let (identity, changed) = {
            use std::os::unix::fs::MetadataExt;
            (
                Some((found.dev(), found.ino())),
                Some((found.ctime(), found.ctime_nsec())),
            )
        };
        #[cfg(not(unix))]
        let (identity, changed) = (None, None);
        Some(Self {
            modified: found.modified().ok(),
            length: found.len(),
            identity,
            changed,
        })
    }
}

// A person who saves a file waits about as long for anything to happen.
const LOOK: Duration = Duration::from_secs(1);
// Editors write a file, or move another over it, within a few milliseconds.
const SETTLE: Duration = Duration::from_millis(100);
// Looks in a row: two seconds.
const GONE: u32 = 20;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            static NUMBER: AtomicUsize = AtomicUsize::new(0);
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("switchboard-watch-{}-{number}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn write(&self, name: &str, text: &str) -> PathBuf {
            let path = self.0.join(name);
            fs::write(&path, text).unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    async fn is_quiet(watch: &mut FileWatch) -> bool {
        let minute = Duration::from_secs(60);
        tokio::time::timeout(minute, watch.changed()).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_is_written_has_changed_once() {
        let folder = Folder::new();
        let path = folder.write("mcp.json", "{}");
        let mut watch = FileWatch::new(&path);
        assert!(is_quiet(&mut watch).await);
        folder.write("mcp.json", "{ }");
        watch.changed().await;
        assert!(is_quiet(&mut watch).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_is_replaced_has_changed_though_it_is_as_long() {
        let folder = Folder::new();
        let path = folder.write("mcp.json", "{\"a\":1}");
        let mut watch = FileWatch::new(&path);
        let new = folder.write("mcp.json.new", "{\"a\":2}");
        fs::rename(new, &path).unwrap();
        watch.changed().await;
        assert!(is_quiet(&mut watch).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_is_gone_has_changed_after_a_while_and_again_when_it_is_back() {
        let folder = Folder::new();
        let path = folder.write("mcp.json", "{}");
        let mut watch = FileWatch::new(&path);
        fs::remove_file(&path).unwrap();
        let began = tokio::time::Instant::now();
        watch.changed().await;
        assert!(began.elapsed() >= SETTLE * GONE);
        assert!(is_quiet(&mut watch).await);
        folder.write("mcp.json", "{}");
        watch.changed().await;
    }
}
