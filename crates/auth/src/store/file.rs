//! Logins in files that only their user can read.
//!
//! ```text
//! logins/                                0700
//!   saving.lock                          held while one of the others is replaced
//!   example.com-mcp-0f1e….json           the entry, 0600
//!   example.com-mcp-0f1e….lock           held while the entry is changed: tokens are renewed
//!   example.com-mcp-login-2d3c….lock     held while somebody logs in, which may take minutes
//!   example.com-mcp-0f1e….tmp            the next entry, until it is whole
//!   example.com-mcp-0f1e….broken         what was found in place of an entry
//! ```
//!
//! An entry is written beside the old one, brought to the disk, and renamed: whenever we or the
//! machine end, one of the two is there. Because saves come one after the other, what one left
//! behind is overwritten by the next.

use std::fs;
use std::path::{Path, PathBuf};

use tracing::info;

use super::entry_file::{EntryFile, read_entry};
use super::file_lock::FileLock;
use super::private::{self, off_thread};
use super::user_folder::user_folder;
use super::{Keeping, Lock, Store, StoreError};
use crate::record::Entry;

/// Keeps each entry in a file. Any number of processes may use the same folder.
#[derive(Clone, Debug)]
pub struct FileStore {
    folder: PathBuf,
}

impl FileStore {
    /// In a folder for logins alone; it is made, and made private, when it is needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Where the user's programs keep what they need between runs:
    ///
    /// - `$XDG_STATE_HOME` or `~/.local/state`, below it `switchboard/logins`
    /// - on macOS `~/Library/Application Support`
    /// - on Windows `%LOCALAPPDATA%`
    ///
    /// # Errors
    /// When this user has no such place.
    pub fn of_user() -> Result<Self, StoreError> {
        match user_folder() {
            Some(folder) => Ok(Self::new(folder.join("switchboard").join("logins"))),
            None => Err(StoreError::new(
                "there is no home folder to keep logins in: set HOME, or name a folder",
                None,
            )),
        }
    }

    /// Where the entries are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn file(&self, server: &str) -> EntryFile {
        EntryFile::new(&self.folder, server)
    }

    /// Held while files are replaced: what is left behind has one name, and one writer.
    async fn saving(&self) -> Result<FileLock, StoreError> {
        FileLock::acquire(self.folder.join("saving.lock")).await
    }
}

impl Store for FileStore {
    fn load<'a>(&'a self, server: &'a str) -> Keeping<'a, Option<Entry>> {
        let file = self.file(server);
        Box::pin(off_thread(move || Ok(file.read()?)))
    }

    fn save<'a>(&'a self, entry: &'a Entry) -> Keeping<'a, ()> {
        Box::pin(async move {
            let file = self.file(&entry.server);
            let text = entry.to_text();
            let saving = self.saving().await?;
            // It is done whole even if nobody waits for it any more.
            let work = move || {
                let _saving = saving;
                file.replace(&text)
            };
            off_thread(work).await
        })
    }

    fn remove<'a>(&'a self, server: &'a str) -> Keeping<'a, bool> {
        Box::pin(async move {
            let file = self.file(server);
            let folder = self.folder.clone();
            if !off_thread(move || private::close_folder(&folder)).await? {
                return Ok(false);
            }
            let saving = self.saving().await?;
            let work = move || {
                let _saving = saving;
                file.remove()
            };
            off_thread(work).await
        })
    }

    fn servers(&self) -> Keeping<'_, Vec<String>> {
        let folder = self.folder.clone();
        Box::pin(off_thread(move || list(&folder)))
    }

    fn lock<'a>(&'a self, server: &'a str) -> Keeping<'a, Lock> {
        let path = self.file(server).path("lock");
        Box::pin(async move { Ok(Lock::new(FileLock::acquire(path).await?)) })
    }
}

fn list(folder: &Path) -> Result<Vec<String>, StoreError> {
    let mut servers = Vec::new();
    if !private::close_folder(folder)? {
        return Ok(servers);
    }
    let unlisted = |error| StoreError::of_file("cannot list", folder, error);
    for file in fs::read_dir(folder).map_err(unlisted)? {
        let path = file.map_err(unlisted)?.path();
        if path.extension().is_none_or(|kind| kind != "json") {
            continue;
        }
        match read_entry(&path) {
            Ok(Some(entry)) => servers.push(entry.server),
            // Removed since it was listed.
            Ok(None) => {}
            // Whoever asks for its server is told; the others are no worse for it.
            Err(unread) => info!(error = %unread.error, "a login is left out of the list"),
        }
    }
    servers.sort();
    Ok(servers)
}
