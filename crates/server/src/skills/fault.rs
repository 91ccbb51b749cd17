//! Why a folder of skills, or one skill in it, cannot be served.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Something in a folder of skills that cannot be served.
#[derive(Debug)]
#[non_exhaustive]
pub struct SkillError {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub fault: SkillFault,
}

impl SkillError {
    pub(super) fn new(path: &Path, fault: SkillFault) -> Self {
        Self {
            path: path.to_owned(),
            fault,
        }
    }
}

impl fmt::Display for SkillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.fault)
    }
}

impl Error for SkillError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.fault {
            SkillFault::Unreadable(error) => Some(error),
            _ => None,
        }
    }
}

/// What is wrong with a file or folder.
#[derive(Debug)]
#[non_exhaustive]
pub enum SkillFault {
    /// The system did not let it be read.
    Unreadable(io::Error),
    /// A `SKILL.md` lies in the folder of skills itself, where it has no name.
    NotInAFolder,
    /// A file is nearly called `SKILL.md`.
    Misspelled,
    /// A name is not UTF-8.
    NameNotUtf8,
    /// A link leads out of the folder of skills.
    LeadsOut,
    /// A link leads to a hidden file or folder.
    LeadsToHidden,
    /// A link leads back to a folder above it.
    LeadsInCircles,
    /// It is neither a file nor a folder, or not the one that it must be.
    NotAFile,
    /// Folders are nested too deeply.
    TooDeep {
        /// How many levels may be.
        limit: usize,
    },
    /// The folder of skills holds too many files and folders.
    TooManyEntries {
        /// How many may be.
        limit: usize,
    },
    /// The folder holds too many skills.
    TooManySkills {
        /// How many may be.
        limit: usize,
    },
    /// The skill has too many files.
    TooManyFiles {
        /// How many may be, `SKILL.md` included.
        limit: usize,
    },
    /// The files of the skill have too many bytes.
    TooManyBytes {
        /// How many may be.
        limit: u64,
    },
    /// All skills together have too many bytes.
    TooManyBytesInAll {
        /// How many may be.
        limit: u64,
    },
    /// The `SKILL.md` is not UTF-8.
    NotUtf8,
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

impl fmt::Display for SkillFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The cause is the source.
            Self::Unreadable(_) => write!(f, "cannot be read"),
            Self::NotInAFolder => write!(f, "move it into a folder that has the skill's name"),
            Self::Misspelled => write!(f, "rename it to SKILL.md, in capitals"),
            Self::NameNotUtf8 => write!(f, "the name is not UTF-8; rename it"),
            Self::LeadsOut => {
                write!(
                    f,
                    "the link leads out of the folder of skills; put a copy in its place"
                )
            }
            Self::LeadsToHidden => write!(f, "the link leads to a hidden file or folder"),
            Self::LeadsInCircles => write!(f, "the link leads back to a folder above it"),
            Self::NotAFile => write!(f, "is not a file that can be served"),
            Self::TooDeep { limit } => write!(f, "lies deeper than {limit} folders"),
            Self::TooManyEntries { limit } => {
                write!(
                    f,
                    "holds more than {limit} files and folders; is it the right folder?"
                )
            }
            Self::TooManySkills { limit } => write!(f, "holds more than {limit} skills"),
            Self::TooManyFiles { limit } => write!(f, "the skill has more than {limit} files"),
            Self::TooManyBytes { limit } => {
                write!(f, "the files of the skill have more than {limit} bytes")
            }
            Self::TooManyBytesInAll { limit } => {
                write!(
                    f,
                    "with this skill, all skills have more than {limit} bytes"
                )
            }
            Self::NotUtf8 => write!(f, "the text is not UTF-8"),
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
