//! An entry as the text that a store keeps.
//!
//! `{"version":1,"server":"…","records":[…]}`. Whoever writes a store of their own uses the same
//! form, and gets its rules: what a later version wrote is recognized and not overwritten, what is
//! broken is, and nothing that is read is quoted in an error, because it may be a part of a secret.

use std::error::Error;
use std::fmt;
use std::io;
use std::mem;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::record::Entry;
use crate::secret::Secret;

impl Entry {
    /// The text that a store keeps. All secrets are in it, so it is one itself.
    pub fn to_text(&self) -> Secret {
        let mut text = Wiped::default();
        let kept = Kept {
            version: VERSION,
            entry: self,
        };
        serde_json::to_writer(&mut text, &kept)
            .expect("invariant: an entry is texts and numbers under names, and memory takes all");
        let text = String::from_utf8(mem::take(&mut *text.0));
        Secret::new(text.expect("invariant: JSON is written as UTF-8"))
    }

    /// Reads what [`Entry::to_text`] wrote.
    ///
    /// # Errors
    /// When it is no such text, or that of a later version.
    pub fn from_text(text: &[u8]) -> Result<Self, BadEntry> {
        let text = std::str::from_utf8(text).map_err(|_| BadEntry::NotText)?;
        let not_an_entry = |error: serde_json::Error| BadEntry::NotAnEntry {
            line: error.line(),
            column: error.column(),
        };
        let Version { version } = serde_json::from_str(text).map_err(not_an_entry)?;
        if version != VERSION {
            return Err(BadEntry::Version { found: version });
        }
        serde_json::from_str(text).map_err(not_an_entry)
    }

    /// Is it what was kept for this server? Else somebody moved it, and its tokens are not for it.
    ///
    /// # Errors
    /// When it is that of another.
    pub fn check_server(&self, server: &str) -> Result<(), BadEntry> {
        match self.server == server {
            true => Ok(()),
            false => Err(BadEntry::OtherServer),
        }
    }
}

/// Why a text is not read as an entry, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadEntry {
    /// It is no entry: broken, or something else.
    NotAnEntry {
        /// Where it stops being one, counted from one.
        line: usize,
        /// The byte in that line.
        column: usize,
    },
    /// It is not UTF-8.
    NotText,
    /// It is larger than any login.
    TooLarge,
    /// It is an entry, and was kept for another server.
    OtherServer,
    /// A later version of this library wrote it.
    Version {
        /// The version of the form.
        found: u64,
    },
}

impl BadEntry {
    /// Is nothing lost when it is replaced?
    pub fn is_replaceable(&self) -> bool {
        !matches!(self, Self::Version { .. })
    }
}

impl fmt::Display for BadEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnEntry { line, column } => {
                write!(f, "it is no login from line {line}, column {column} on")?;
            }
            Self::NotText => f.write_str("it is not text")?,
            Self::TooLarge => f.write_str("it is larger than any login")?,
            Self::OtherServer => f.write_str("it is the login of another server")?,
            Self::Version { found } => write!(
                f,
                "it has the form {found} and only the form {VERSION} is known here"
            )?,
        }
        f.write_str(match self.is_replaceable() {
            true => ": log in again to replace it",
            false => ": use the newer program that wrote it, or remove the login",
        })
    }
}

impl Error for BadEntry {}

#[derive(Serialize)]
struct Kept<'a> {
    version: u64,
    #[serde(flatten)]
    entry: &'a Entry,
}

#[derive(Deserialize)]
struct Version {
    version: u64,
}

/// Bytes that leave no copy behind when they grow.
#[derive(Default)]
struct Wiped(Zeroizing<Vec<u8>>);

impl io::Write for Wiped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.0.len().saturating_add(bytes.len());
        if length > self.0.capacity() {
            let mut larger = Zeroizing::new(Vec::with_capacity(length.saturating_mul(2)));
            larger.extend_from_slice(&self.0);
            self.0 = larger;
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const VERSION: u64 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{ClientIdentity, ClientOrigin, Record, Tokens};

    fn entry() -> Entry {
        let client = ClientIdentity::new("client", ClientOrigin::Registered);
        let mut record = Record::new("https://issuer", "https://example.com", client);
        record.tokens = Some(Tokens::new("acc3ss", 7));
        let mut entry = Entry::new("https://example.com");
        entry.put(record);
        entry
    }

    fn refused(text: &str) -> BadEntry {
        Entry::from_text(text.as_bytes()).unwrap_err()
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let text = entry().to_text();
        assert!(
            text.reveal()
                .starts_with(r#"{"version":1,"server":"https://example.com","records":["#)
        );
        let read = Entry::from_text(text.reveal().as_bytes()).unwrap();
        assert_eq!(read.to_text(), text);
        read.check_server("https://example.com").unwrap();
        let bad = read.check_server("https://example.com/").unwrap_err();
        assert_eq!(bad, BadEntry::OtherServer);
    }

    #[test]
    fn members_of_later_days_are_no_reason_to_refuse() {
        let text = r#"{"server":"s","later":[1],"version":1,"records":[]}"#;
        assert_eq!(Entry::from_text(text.as_bytes()).unwrap().server, "s");
    }

    #[test]
    fn a_later_form_is_recognized_whatever_else_is_in_it() {
        let bad = refused(r#"{"version":2,"records":"elsewhere"}"#);
        assert_eq!(bad, BadEntry::Version { found: 2 });
        assert_eq!(
            bad.to_string(),
            "it has the form 2 and only the form 1 is known here: use the newer program that wrote \
             it, or remove the login"
        );
        assert!(!bad.is_replaceable());
    }

    #[test]
    fn every_beginning_of_an_entry_is_refused() {
        let text = entry().to_text();
        let text = text.reveal();
        for length in 0..text.len() {
            let bad = refused(text.get(..length).unwrap());
            assert!(matches!(bad, BadEntry::NotAnEntry { .. }), "{length}");
            assert!(bad.is_replaceable());
            assert!(bad.to_string().ends_with(": log in again to replace it"));
        }
        assert_eq!(Entry::from_text(b"\xff").unwrap_err(), BadEntry::NotText);
    }

    #[test]
    fn what_was_read_is_not_quoted() {
        let bad = refused(r#"{"version":1,"server":"s","records":["t0ken"]}"#);
        assert!(!format!("{bad} {bad:?}").contains("t0ken"));
        let bad = refused(r#"{"version":"t0ken"}"#);
        assert!(!format!("{bad} {bad:?}").contains("t0ken"));
    }
}
