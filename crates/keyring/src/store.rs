//! A store over the keyring.
//!
//! The keyring holds the entries. What it cannot do, a folder of files does: locks between
//! processes, and the list of servers, which would else ask the user to unlock everything. No
//! login is in these files; the URLs of the servers are, whole, as in the names of the items.

use std::path::{Path, PathBuf};

use keyring_core::Error;
use switchboard_auth::{BadEntry, Entry, FileStore, Keeping, Lock, Store, StoreError};

use crate::keyring::{Keyring, Subject, Trouble, Unanswered};
use crate::pieces::Table;

/// Keeps each entry as an item of the keyring, under the URL of its server. Any number of
/// processes may use the same folder.
#[derive(Debug)]
pub struct KeyringStore {
    keyring: Keyring,
    /// An entry without records for each server.
    list: FileStore,
}

impl KeyringStore {
    /// The keyring of this user, with locks and the list of servers in a folder that is for this
    /// alone.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            keyring: Keyring::new(),
            list: FileStore::new(folder),
        }
    }

    /// The same, in a folder beside the one of [`FileStore::of_user`].
    ///
    /// # Errors
    /// When this user has no place for it.
    pub fn of_user() -> Result<Self, StoreError> {
        let files = FileStore::of_user()?;
        Ok(Self::new(files.folder().with_file_name("keyring")))
    }

    /// Where the locks and the list are.
    pub fn folder(&self) -> &Path {
        self.list.folder()
    }

    /// Held while an item is replaced: writers take turns.
    async fn saving(&self) -> Result<Lock, StoreError> {
        self.list.lock("saving").await
    }
}

impl Store for KeyringStore {
    fn load<'a>(&'a self, server: &'a str) -> Keeping<'a, Option<Entry>> {
        Box::pin(async move {
            let name = server.to_owned();
            let read = move |table: &Table<'_>| match table.read(&name)? {
                Some(text) => Ok(Some(read_entry(&text, &name)?)),
                None => Ok(None),
            };
            Ok(self.keyring.ask(Subject::Login(server), read).await?)
        })
    }

    fn save<'a>(&'a self, entry: &'a Entry) -> Keeping<'a, ()> {
        Box::pin(async move {
            let server = entry.server.as_str();
            let (name, text) = (server.to_owned(), entry.to_text());
            let saving = self.saving().await?;
            // First the list: no secret is anywhere that is not listed.
            let is_new = !matches!(self.list.load(server).await, Ok(Some(_)));
            if is_new {
                self.list.save(&Entry::new(server)).await?;
            }
            let replace = move |table: &Table<'_>| {
                let _saving = saving;
                check_replaceable(table, &name)?;
                Ok(table.write(&name, text.reveal().as_bytes())?)
            };
            let outcome = self.keyring.ask(Subject::Login(server), replace).await;
            if matches!(outcome, Err(Unanswered::Refused(_))) && is_new {
                // What is said is why it was not kept, rather than why it is still listed.
                let _ = self.list.remove(server).await;
            }
            Ok(outcome?)
        })
    }

    fn remove<'a>(&'a self, server: &'a str) -> Keeping<'a, bool> {
        Box::pin(async move {
            let name = server.to_owned();
            let saving = self.saving().await?;
            let remove = move |table: &Table<'_>| Ok((table.remove(&name)?, saving));
            let (was_there, _saving) = self.keyring.ask(Subject::Login(server), remove).await?;
            self.list.remove(server).await?;
            Ok(was_there)
        })
    }

    fn servers(&self) -> Keeping<'_, Vec<String>> {
        self.list.servers()
    }

    fn lock<'a>(&'a self, server: &'a str) -> Keeping<'a, Lock> {
        self.list.lock(server)
    }
}

fn read_entry(text: &[u8], server: &str) -> Result<Entry, BadEntry> {
    let entry = Entry::from_text(text)?;
    entry.check_server(server)?;
    Ok(entry)
}

/// What a later version wrote is not overwritten; what is broken is.
fn check_replaceable(table: &Table<'_>, name: &str) -> Result<(), Trouble> {
    let text = match table.read(name) {
        Ok(Some(text)) => text,
        Ok(None)
        | Err(Error::BadEncoding(_) | Error::BadDataFormat(..) | Error::BadStoreFormat(_)) => {
            return Ok(());
        }
        // It may be there, and cannot be seen.
        Err(error) => return Err(error.into()),
    };
    match read_entry(&text, name) {
        Err(bad) if !bad.is_replaceable() => Err(bad.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
