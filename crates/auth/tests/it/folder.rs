//! A folder for one test, and entries to keep in it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use switchboard_auth::{ClientIdentity, ClientOrigin, Entry, FileStore, Record, Secret, Tokens};

/// Empty at first, removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        let name = format!("{test}-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// A store in a folder that is not there yet.
    pub(crate) fn store(&self) -> FileStore {
        FileStore::new(self.0.join("state").join("logins"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The names in a store's folder, without what makes them unlike each other.
pub(crate) fn kinds(store: &FileStore) -> BTreeSet<String> {
    let files = fs::read_dir(store.folder()).unwrap();
    let kind = |path: PathBuf| path.extension().unwrap().to_str().unwrap().to_owned();
    files.map(|file| kind(file.unwrap().path())).collect()
}

/// The only file of this kind.
pub(crate) fn only(store: &FileStore, kind: &str) -> PathBuf {
    let files = fs::read_dir(store.folder()).unwrap();
    let mut paths = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().unwrap() == kind);
    let path = paths.next().expect("there is one");
    assert_eq!(paths.next(), None);
    path
}

/// An entry that shows whether it is whole: all of it was made from one number.
pub(crate) fn entry(server: &str, number: u64) -> Entry {
    let mut entry = Entry::new(server);
    for issuer in 0..number % 4 + 1 {
        let client = ClientIdentity::new(number.to_string(), ClientOrigin::Registered);
        let issuer = format!("https://issuer{issuer}.example");
        let mut record = Record::new(issuer, server, client);
        let mut tokens = Tokens::new(long(number), number);
        tokens.refresh = Some(Secret::new(long(number)));
        record.tokens = Some(tokens);
        entry.put(record);
    }
    entry
}

/// The number of an entry, which is whole.
pub(crate) fn number_of(found: &Entry) -> u64 {
    let tokens = found.current().unwrap().tokens.as_ref().unwrap();
    let number = tokens.issued_at;
    assert_eq!(found.to_text(), entry(&found.server, number).to_text());
    number
}

/// Between no byte and some pages.
fn long(number: u64) -> String {
    let times = usize::try_from(number * 7919 % 400).unwrap();
    format!("{number}-").repeat(times)
}
