//! What is wrong with a configuration, and where.
//!
//! No text here holds a value of a variable, a header, a token or the like.

use std::fmt;
use std::sync::Arc;

use super::page::Position;

/// Something that is wrong, or odd, in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The file, as it was called.
    pub file: Arc<str>,
    /// Where in it.
    pub position: Position,
    /// The server that it is about.
    pub server: Option<String>,
    /// What it is.
    pub kind: ProblemKind,
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// For whoever checks a file: nothing follows from it.
    Note,
    /// It works, and probably not as it was meant.
    Warning,
    /// The server cannot be used.
    Error,
}

/// `file:line:column: server "name": what is wrong`.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file, self.position)?;
        if let Some(server) = &self.server {
            write!(f, "server {}: ", Quoted(server))?;
        }
        self.kind.fmt(f)
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// A key that nobody here knows. It is kept.
    UnknownKey {
        /// The key.
        key: String,
        /// What was probably meant.
        near: Option<&'static str>,
    },
    /// Another kind of value than expected.
    WrongType {
        /// The key, with those around it. Empty for the server itself.
        key: String,
        /// What was expected.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// A value that means nothing here.
    WrongValue {
        /// The key, with those around it.
        key: String,
        /// What was expected.
        expected: &'static str,
    },
    /// A word that is none of those that there are.
    UnknownWord {
        /// The key, with those around it.
        key: String,
        /// The word.
        word: String,
        /// Those that there are.
        expected: &'static str,
    },
    /// The same key twice in an object.
    DuplicateKey {
        /// The key, with those around it.
        key: String,
        /// Where it is for the first time.
        first: Position,
    },
    /// The same server twice: the first one counts.
    DuplicateServer {
        /// Where it is for the first time.
        first: Position,
    },
    /// A name that no server may have.
    BadName,
    /// Two keys that mean the same.
    Synonyms {
        /// One.
        one: String,
        /// The other.
        other: String,
    },
    /// Two keys that say the opposite: what is more careful counts.
    Contradiction {
        /// The one that counts.
        one: String,
        /// The other.
        other: String,
    },
    /// A program and a URL, and nothing that says which.
    TwoTransports,
    /// Neither a program nor a URL.
    NoTransport,
    /// A type without what it needs.
    Incomplete {
        /// The type.
        kind: &'static str,
        /// The key that is not there.
        key: &'static str,
    },
    /// Something that other programs have and this one does not.
    Unsupported {
        /// What it is.
        what: String,
    },
    /// A key that has no use where it is.
    Unused {
        /// The key.
        key: String,
        /// Where it would have one.
        because: &'static str,
    },
    /// A URL that nobody can connect to.
    BadUrl {
        /// Why.
        reason: &'static str,
    },
    /// What looks like a variable and is none stays as it is.
    LeftAlone {
        /// The key, with those around it.
        key: String,
    },
    /// A time so short that seconds were probably meant.
    ShortTime {
        /// The key, with those around it.
        key: String,
        /// How short.
        milliseconds: u64,
    },
    /// A command that looks like a line for a shell.
    SpacesInCommand,
    /// No servers are to be found.
    NoServers {
        /// A key that looks like the one under which they should be.
        near: Option<String>,
    },
    /// Servers under a second key, which are not read.
    SecondContainer {
        /// The key that is read.
        read: &'static str,
        /// The one that is not.
        other: &'static str,
    },
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey { key, near: None } => {
                write!(f, "unknown key {}", Quoted(key))
            }
            Self::UnknownKey {
                key,
                near: Some(near),
            } => {
                write!(f, "unknown key {}, did you mean \"{near}\"?", Quoted(key))
            }
            Self::WrongType {
                key,
                expected,
                found,
            } if key.is_empty() => {
                write!(f, "expected {expected}, found {found}")
            }
            Self::WrongType {
                key,
                expected,
                found,
            } => {
                write!(f, "{} expects {expected}, found {found}", Quoted(key))
            }
            Self::WrongValue { key, expected } => {
                write!(f, "{} expects {expected}", Quoted(key))
            }
            Self::UnknownWord {
                key,
                word,
                expected,
            } => {
                let (key, word) = (Quoted(key), Quoted(word));
                write!(f, "{key} expects {expected}, found {word}")
            }
            Self::DuplicateKey { key, first } => {
                write!(f, "{} is there already at {first}", Quoted(key))
            }
            Self::DuplicateServer { first } => {
                write!(
                    f,
                    "a server of this name is there already at {first}, which counts"
                )
            }
            Self::BadName => f.write_str(
                "the name of a server has 1 to 64 visible characters, and no space at its ends",
            ),
            Self::Synonyms { one, other } => {
                let (one, other) = (Quoted(one), Quoted(other));
                write!(f, "{one} and {other} mean the same, keep one of them")
            }
            Self::Contradiction { one, other } => {
                let (one, other) = (Quoted(one), Quoted(other));
                write!(f, "{one} and {other} say the opposite, {one} counts")
            }
            Self::TwoTransports => {
                f.write_str("has both \"command\" and \"url\", say which with \"type\"")
            }
            Self::NoTransport => f.write_str("has neither a \"command\" nor a \"url\""),
            Self::Incomplete { kind, key } => write!(f, "type \"{kind}\" needs a \"{key}\""),
            Self::Unsupported { what } => write!(f, "{} is not supported here", Quoted(what)),
            Self::Unused { key, because } => {
                write!(f, "{} has no use here: {because}", Quoted(key))
            }
            Self::BadUrl { reason } => write!(f, "\"url\" cannot be connected to: {reason}"),
            Self::LeftAlone { key } => write!(
                f,
                "{} holds what looks like a variable and is none, it stays as it is",
                Quoted(key)
            ),
            Self::ShortTime { key, milliseconds } => write!(
                f,
                "{} is {milliseconds} ms, write \"{milliseconds}s\" if seconds were meant",
                Quoted(key)
            ),
            Self::SpacesInCommand => {
                f.write_str("\"command\" has spaces in it, arguments belong in \"args\"")
            }
            Self::NoServers { near: None } => {
                f.write_str("no servers found, expected them under \"mcpServers\"")
            }
            Self::NoServers { near: Some(near) } => write!(
                f,
                "no servers found, expected them under \"mcpServers\", not {}",
                Quoted(near)
            ),
            Self::SecondContainer { read, other } => {
                write!(
                    f,
                    "servers under \"{other}\" are not read, those under \"{read}\" are"
                )
            }
        }
    }
}

/// A text of the file in our own sentences: in quotes, safe to print, not endless.
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(LONGEST_QUOTE) {
            Some((end, _)) => write!(f, "{:?}…", self.0.get(..end).unwrap_or_default()),
            None => write!(f, "{:?}", self.0),
        }
    }
}

const LONGEST_QUOTE: usize = 80;
