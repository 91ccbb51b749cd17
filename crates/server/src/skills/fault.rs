//! Why a folder of skills, or one skill in it, cannot be served.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use switchboard_skills::FormatFault;

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
    /// It does not follow the format of skills.
    Format(FormatFault),
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
            Self::Format(fault) => fault.fmt(f),
        }
    }
}

impl From<FormatFault> for SkillFault {
    fn from(fault: FormatFault) -> Self {
        Self::Format(fault)
    }
}
