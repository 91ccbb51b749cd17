//! Where logins are kept.
//!
//! 1. [`FileStore`]: files that only their user can read; what programs use
//! 2. [`MemoryStore`]: until the program ends
//!
//! A store keeps entries and hands out locks. When to renew, and what, is not its business.

mod entry_file;
mod file;
mod file_lock;
mod file_name;
mod memory;
mod private;
mod text;
mod user_folder;

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;

use crate::record::Entry;

pub use file::FileStore;
pub use memory::MemoryStore;
pub use text::BadEntry;

/// Keeps entries, one for each server. Several processes may share what is behind it.
pub trait Store: Send + Sync + fmt::Debug {
    /// The entry of a server, as it is now: nothing is remembered from an earlier time.
    fn load<'a>(&'a self, server: &'a str) -> Keeping<'a, Option<Entry>>;

    /// Replaces the entry of its server. Whoever reads sees the old one or the new one, never
    /// parts, whatever ends us on the way.
    fn save<'a>(&'a self, entry: &'a Entry) -> Keeping<'a, ()>;

    /// Forgets a server. Was there an entry?
    fn remove<'a>(&'a self, server: &'a str) -> Keeping<'a, bool>;

    /// The servers of all entries, as they were saved. Whoever shows them leaves out what
    /// [`without_query`](crate::without_query) does: there may be a secret in it.
    fn servers(&self) -> Keeping<'_, Vec<String>>;

    /// Waits until nobody else, in any process, holds the lock of this server. It is free again
    /// when it is dropped, or its process has ended.
    ///
    /// A store need not wait for ever: longer than a renewal takes (some minutes) is enough, and
    /// then [`StoreError::busy`] says so. Whoever waits for a login, which may take an hour, asks
    /// again.
    fn lock<'a>(&'a self, server: &'a str) -> Keeping<'a, Lock>;
}

/// What a store answers.
pub type Keeping<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Nobody else renews the tokens of this server.
pub struct Lock {
    _held: Box<dyn Any + Send>,
}

impl Lock {
    /// Held as long as this value lives.
    pub fn new(held: impl Send + 'static) -> Self {
        Self {
            _held: Box::new(held),
        }
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lock")
    }
}

/// Why an entry could not be read or kept.
#[derive(Debug)]
pub struct StoreError {
    what: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    is_busy: bool,
}

impl StoreError {
    /// What could not be done, and why.
    pub fn new(
        what: impl Into<String>,
        source: impl Into<Option<Box<dyn Error + Send + Sync>>>,
    ) -> Self {
        Self {
            what: what.into(),
            source: source.into(),
            is_busy: false,
        }
    }

    /// A lock is held by others, and was for long.
    pub fn busy(what: impl Into<String>) -> Self {
        Self {
            is_busy: true,
            ..Self::new(what, None)
        }
    }

    /// Is it only that others hold a lock?
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// What could not be done with a file.
    fn of_file(what: &str, path: &Path, source: io::Error) -> Self {
        Self::new(format!("{what} {}", path.display()), Some(source.into()))
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}
