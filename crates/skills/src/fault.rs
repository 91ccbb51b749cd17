//! Why a `SKILL.md`, or the name of a skill, does not follow the format.

use std::error::Error;
use std::fmt;

/// Why a `SKILL.md`, or the name of a skill, does not follow the format.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatFault {
    /// The `SKILL.md` does not begin with a mapping between two lines `---`.
    NoFrontmatter,
    /// The frontmatter is too long.
    FrontmatterTooLong {
        /// How many bytes may be.
        limit: usize,
    },
    /// The frontmatter is not YAML that JSON can say.
    BadYaml {
        /// The line of the file, from one.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The frontmatter lacks a member, or it is empty.
    Missing {
        /// Which.
        key: &'static str,
    },
    /// A member of the frontmatter is not text.
    NotText {
        /// Which.
        key: &'static str,
    },
    /// A member of the frontmatter is too long.
    TooLong {
        /// Which.
        key: &'static str,
        /// How many characters may be.
        limit: usize,
    },
    /// A skill may not have this name.
    BadName {
        /// The name.
        name: String,
    },
    /// The skill is called otherwise than its folder.
    OtherName {
        /// What the frontmatter calls it.
        name: String,
        /// What its folder is called.
        folder: String,
    },
    /// A key of `metadata` is reserved for extensions of the protocol.
    ReservedKey {
        /// The key.
        key: String,
    },
}

impl fmt::Display for FormatFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFrontmatter => {
                write!(
                    f,
                    "must begin with YAML frontmatter between two lines \"---\""
                )
            }
            Self::FrontmatterTooLong { limit } => {
                write!(f, "the frontmatter has more than {limit} bytes")
            }
            Self::BadYaml { line, reason } => write!(f, "line {line}: {reason}"),
            Self::Missing { key } => write!(f, "the frontmatter needs a {key:?}"),
            Self::NotText { key } => write!(f, "{key:?} in the frontmatter must be text"),
            Self::TooLong { key, limit } => {
                write!(
                    f,
                    "{key:?} in the frontmatter has more than {limit} characters"
                )
            }
            Self::BadName { name } => write!(
                f,
                "{name:?} is no name for a skill: 1 to 64 of a-z, 0-9 and single hyphens inside"
            ),
            Self::OtherName { name, folder } => {
                write!(f, "the skill is called {name:?} but its folder {folder:?}")
            }
            Self::ReservedKey { key } => {
                write!(f, "the metadata key {key:?} is reserved for the protocol")
            }
        }
    }
}

impl Error for FormatFault {}
