//! The file of an entry: read with suspicion, replaced whole.
//!
//! Who may write when is not decided here.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tracing::info;
use zeroize::Zeroizing;

use super::StoreError;
use super::file_name::file_name;
use super::private;
use super::text::BadEntry;
use crate::record::Entry;
use crate::secret::Secret;

/// What there is of one server.
pub(super) struct EntryFile {
    folder: PathBuf,
    name: String,
    server: String,
}

impl EntryFile {
    pub(super) fn new(folder: &Path, server: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            name: file_name(server),
            server: server.to_owned(),
        }
    }

    pub(super) fn path(&self, kind: &str) -> PathBuf {
        // Not `set_extension`: a name has dots of its own.
        self.folder.join(format!("{}.{kind}", self.name))
    }

    /// None: there is no entry.
    pub(super) fn read(&self) -> Result<Option<Entry>, Unread> {
        if !private::close_folder(&self.folder)? {
            return Ok(None);
        }
        let path = self.path("json");
        let entry = read_entry(&path)?;
        if let Some(entry) = &entry {
            let checked = entry.check_server(&self.server);
            checked.map_err(|bad| Unread::bad(&path, &bad))?;
        }
        Ok(entry)
    }

    /// Only by whoever holds the lock for saving.
    pub(super) fn replace(&self, text: &Secret) -> Result<(), StoreError> {
        let path = self.path("json");
        match self.read() {
            Ok(_) => {}
            Err(unread) if unread.is_broken => {
                let aside = self.path("broken");
                info!(file = %aside.display(), "a broken login is moved aside");
                fs::rename(&path, &aside).map_err(|error| {
                    StoreError::of_file("cannot move aside what is broken:", &path, error)
                })?;
            }
            Err(unread) => return Err(unread.error),
        }
        let next = self.path("tmp");
        let outcome = write_private(&next, text).and_then(|()| {
            fs::rename(&next, &path)
                .map_err(|error| StoreError::of_file("cannot replace", &path, error))
        });
        if outcome.is_err() {
            // What there is of it is a secret nobody needs.
            let _ = fs::remove_file(&next);
        }
        outcome?;
        self.sync()
    }

    /// Only by whoever holds the lock for saving. Its own lock stays: somebody may be waiting for
    /// it. Was there an entry?
    pub(super) fn remove(&self) -> Result<bool, StoreError> {
        let mut was_there = false;
        for kind in ["tmp", "broken", "json"] {
            let path = self.path(kind);
            match fs::remove_file(&path) {
                Ok(()) => was_there |= kind == "json",
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(StoreError::of_file("cannot remove", &path, error)),
            }
        }
        self.sync()?;
        Ok(was_there)
    }

    fn sync(&self) -> Result<(), StoreError> {
        private::sync_folder(&self.folder)
            .map_err(|error| StoreError::of_file("cannot bring to the disk:", &self.folder, error))
    }
}

/// Why a file is not read.
pub(super) struct Unread {
    pub(super) error: StoreError,
    /// Is nothing lost when it is moved out of the way?
    is_broken: bool,
}

impl Unread {
    fn bad(path: &Path, bad: &BadEntry) -> Self {
        let what = format!("{} is not used, {bad}", path.display());
        Self {
            error: StoreError::new(what, None),
            is_broken: bad.is_replaceable(),
        }
    }
}

impl From<StoreError> for Unread {
    fn from(error: StoreError) -> Self {
        Self {
            error,
            is_broken: false,
        }
    }
}

impl From<Unread> for StoreError {
    fn from(unread: Unread) -> Self {
        unread.error
    }
}

pub(super) fn read_entry(path: &Path) -> Result<Option<Entry>, Unread> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::of_file("cannot open", path, error).into()),
    };
    private::close_file(&file, path)?;
    let unread = |error| StoreError::of_file("cannot read", path, error);
    let length = file.metadata().map_err(unread)?.len();
    if length > LARGEST {
        return Err(Unread::bad(path, &BadEntry::TooLarge));
    }
    // With room to spare, so that no copy stays behind in memory.
    let room = usize::try_from(length).unwrap_or_default() + 64;
    let mut bytes = Zeroizing::new(Vec::with_capacity(room));
    file.take(LARGEST).read_to_end(&mut bytes).map_err(unread)?;
    let entry = Entry::from_text(&bytes).map_err(|bad| Unread::bad(path, &bad))?;
    Ok(Some(entry))
}

fn write_private(path: &Path, text: &Secret) -> Result<(), StoreError> {
    let unwritten = |error| StoreError::of_file("cannot write", path, error);
    let mut file = private::options()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
        .map_err(unwritten)?;
    // One that was left behind may have had any mode; nothing is in it yet.
    private::close_file(&file, path)?;
    file.write_all(text.reveal().as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(unwritten)
}

// Sixteen logins with long tokens are a tenth of it.
const LARGEST: u64 = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_larger_than_any_login_is_not_read() {
        let name = format!("switchboard-large-login-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let file = File::create(&path).unwrap();
        // A hole on the disk, of zeros.
        file.set_len(LARGEST + 1).unwrap();
        let unread = StoreError::from(read_entry(&path).unwrap_err());
        std::fs::remove_file(&path).unwrap();
        let reason = crate::error::chain(&unread);
        assert!(reason.contains("larger than any login"), "{reason}");
    }
}
