//! Texts of any length in items of a bounded one.
//!
//! Windows takes 2560 bytes for a secret, and two tokens are often more. A text that fits is the
//! item of its name. One that does not is cut into pieces, which are items of their own, and the
//! item of its name says which; it is written last, and the pieces of the text before it are
//! removed only then. A reader who is overtaken by two writers finds another number in a piece
//! than it was told, and begins again.
//!
//! ```text
//!  name        pieces:7:3
//!  name#1.0    7:…          the series is the last bit of the number
//!  name#1.1    7:…
//!  name#1.2    7:…
//! ```
//!
//! Writers of the same name take turns: that is left to the caller.

use keyring_core::{CredentialStore, Entry as Item, Error, Result};
use zeroize::Zeroizing;

/// A keyring as a table of texts.
pub(crate) struct Table<'a> {
    pub(crate) keyring: &'a CredentialStore,
    /// The most bytes of an item.
    pub(crate) limit: usize,
}

impl Table<'_> {
    /// None: there is nothing under this name.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>> {
        for _ in 0..ATTEMPTS {
            let Some(first) = self.read_item(name)? else {
                return Ok(None);
            };
            let Some(head) = Head::read(&first) else {
                return Ok(Some(first));
            };
            if let Some(text) = self.join(name, head)? {
                return Ok(Some(text));
            }
        }
        let reason = "a part of it is missing: log in again to replace it";
        Err(Error::BadStoreFormat(reason.to_owned()))
    }

    pub(crate) fn write(&self, name: &str, text: &[u8]) -> Result<()> {
        let old = match self.read_item(name) {
            Ok(first) => first.as_deref().and_then(|first| Head::read(first)),
            // Not written by us, and replaced.
            Err(Error::BadEncoding(_) | Error::BadDataFormat(..)) => None,
            Err(error) => return Err(error),
        };
        if text.len() <= self.limit {
            self.item(name)?.set_secret(text)?;
        } else {
            let number = old.map_or(0, |head| head.number.wrapping_add(1));
            let length = self.limit.saturating_sub(LONGEST_NUMBER).max(1);
            if text.len().div_ceil(length) > MOST_PIECES {
                let most = u32::try_from(length.saturating_mul(MOST_PIECES));
                let most = most.unwrap_or(u32::MAX);
                return Err(Error::TooLong("secret".to_owned(), most));
            }
            // What a writer left there that did not come to its end.
            self.clear(name, number % 2)?;
            let mut count = 0;
            for chunk in text.chunks(length) {
                let mut piece = Zeroizing::new(Vec::with_capacity(self.limit));
                piece.extend_from_slice(format!("{number}:").as_bytes());
                piece.extend_from_slice(chunk);
                self.item(&piece_name(name, number % 2, count))?
                    .set_secret(&piece)?;
                count += 1;
            }
            let head = Head { number, count };
            self.item(name)?.set_secret(head.write().as_bytes())?;
        }
        match old {
            Some(old) => self.clear(name, old.number % 2),
            None => Ok(()),
        }
    }

    /// Was there something?
    pub(crate) fn remove(&self, name: &str) -> Result<bool> {
        let was_there = self.delete(name)?;
        self.clear(name, 0)?;
        self.clear(name, 1)?;
        Ok(was_there)
    }

    /// None: it was replaced meanwhile.
    fn join(&self, name: &str, head: Head) -> Result<Option<Zeroizing<Vec<u8>>>> {
        if head.count > MOST_PIECES {
            return Ok(None);
        }
        let room = self.limit.min(USUAL_LIMIT).saturating_mul(head.count);
        let mut text = Zeroizing::new(Vec::with_capacity(room));
        let mark = format!("{}:", head.number);
        for index in 0..head.count {
            let piece = self.read_item(&piece_name(name, head.number % 2, index))?;
            let Some(part) = piece
                .as_deref()
                .and_then(|piece| piece.strip_prefix(mark.as_bytes()))
            else {
                return Ok(None);
            };
            text.extend_from_slice(part);
        }
        Ok(Some(text))
    }

    fn clear(&self, name: &str, series: u64) -> Result<()> {
        for index in 0..MOST_PIECES {
            if !self.delete(&piece_name(name, series, index))? {
                break;
            }
        }
        Ok(())
    }

    fn item(&self, name: &str) -> Result<Item> {
        self.keyring.build(SERVICE, name, None)
    }

    fn read_item(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>> {
        match self.item(name)?.get_secret() {
            Ok(secret) => Ok(Some(Zeroizing::new(secret))),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn delete(&self, name: &str) -> Result<bool> {
        match self.item(name)?.delete_credential() {
            Ok(()) => Ok(true),
            Err(Error::NoEntry) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// What stands in the place of a text that is in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    number: u64,
    count: usize,
}

impl Head {
    fn read(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (number, count) = text.strip_prefix("pieces:")?.split_once(':')?;
        Some(Self {
            number: number.parse().ok()?,
            count: count.parse().ok()?,
        })
    }

    fn write(self) -> String {
        format!("pieces:{}:{}", self.number, self.count)
    }
}

fn piece_name(name: &str, series: u64, index: usize) -> String {
    format!("{name}#{series}.{index}")
}

/// What people see in the program that shows their keyring.
pub(crate) const SERVICE: &str = "switchboard";

// As many writers overtake one reader at most.
const ATTEMPTS: usize = 8;

// The digits of the largest number and a colon.
const LONGEST_NUMBER: usize = 21;

// That of Windows.
const USUAL_LIMIT: usize = 2560;

// Far more than any login.
const MOST_PIECES: usize = 1024;

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use keyring_core::mock;

    use super::*;

    fn table(keyring: &Arc<CredentialStore>) -> Table<'_> {
        Table {
            keyring: keyring.as_ref(),
            limit: 64,
        }
    }

    fn mock() -> Arc<CredentialStore> {
        mock::Store::new().unwrap()
    }

    /// The names of all items with something in them.
    fn names(keyring: &Arc<CredentialStore>) -> Vec<String> {
        let items = keyring.search(&HashMap::new()).unwrap();
        let has_secret = |item: &&Item| item.get_secret().is_ok();
        let name = |item: &Item| item.get_specifiers().unwrap().1;
        let mut names: Vec<_> = items.iter().filter(has_secret).map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn texts_of_all_lengths_are_read_as_they_were_written() {
        let keyring = mock();
        let table = table(&keyring);
        assert!(table.read("name").unwrap().is_none());
        for length in [0_usize, 1, 63, 64, 65, 43, 86, 87, 1000, 5, 10_000, 65] {
            let text: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            table.write("name", &text).unwrap();
            assert_eq!(*table.read("name").unwrap().unwrap(), text);
            let pieces = if length <= 64 { 0 } else { length.div_ceil(43) };
            assert_eq!(names(&keyring).len(), 1 + pieces, "{length}");
        }
        assert!(table.remove("name").unwrap());
        assert!(!table.remove("name").unwrap());
        assert!(names(&keyring).is_empty());
    }

    #[test]
    fn a_writer_that_stops_anywhere_leaves_the_old_text() {
        let (old, new) = ([b'a'; 200], [b'b'; 300]);
        for item in ["name#1.0", "name#1.3", "name#1.6", "name"] {
            let keyring = mock();
            let table = table(&keyring);
            table.write("name", &old).unwrap();
            // What is asked first of the first is whether something is left there; of the name,
            // what is there now; of the others, to be written. The next number is odd.
            let item = keyring.build(SERVICE, item, None).unwrap();
            let credential: &mock::Cred = item.as_any().downcast_ref().unwrap();
            credential.set_error(Error::NoDefaultStore);
            table.write("name", &new).unwrap_err();
            assert_eq!(*table.read("name").unwrap().unwrap(), old);
            table.write("name", &new).unwrap();
            assert_eq!(*table.read("name").unwrap().unwrap(), new);
            assert_eq!(names(&keyring).len(), 8);
        }
    }

    #[test]
    fn pieces_of_another_writer_are_not_mixed_in() {
        let keyring = mock();
        let table = table(&keyring);
        table.write("name", &[b'a'; 200]).unwrap();
        let piece = keyring.build(SERVICE, "name#0.1", None).unwrap();
        piece.set_secret(b"2:bbbb").unwrap();
        let error = table.read("name").unwrap_err();
        assert!(error.to_string().contains("a part of it is missing"));
        table.write("name", &[b'c'; 200]).unwrap();
        assert_eq!(*table.read("name").unwrap().unwrap(), [b'c'; 200]);
    }

    #[test]
    fn a_head_that_promises_too_much_is_refused() {
        let keyring = mock();
        let table = table(&keyring);
        let head = format!("pieces:{}:{}", u64::MAX, usize::MAX);
        table.write("name", head.as_bytes()).unwrap();
        assert!(table.read("name").is_err());
        let unlimited = Table {
            limit: usize::MAX,
            ..table
        };
        assert!(unlimited.read("name").is_err());
        table.write("name", &[b'c'; 200]).unwrap();
        assert_eq!(*table.read("name").unwrap().unwrap(), [b'c'; 200]);
    }
}
