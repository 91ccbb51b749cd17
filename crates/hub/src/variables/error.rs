//! Why a variable has no value.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a text could not be filled in. It never says what a value is.
#[derive(Debug)]
#[non_exhaustive]
pub enum VariableError {
    /// No such environment variable, and no default.
    Missing {
        /// Its name.
        name: String,
    },
    /// A file that cannot be read.
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program that gave nothing. Its arguments may be secret and are not repeated.
    Command {
        /// Which one.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The keyring has nothing of this name.
    NotInKeyring {
        /// The name.
        name: String,
    },
    /// The keyring cannot be asked.
    Keyring {
        /// The name that it was to be asked for.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// A person was to be asked, and nobody was.
    NotAsked {
        /// What for.
        id: String,
    },
    /// A person cannot be asked.
    Input {
        /// What for.
        id: String,
        /// Why.
        source: io::Error,
    },
    /// Nobody knows where the home folder is.
    NoHome,
    /// A folder of the configuration was meant, and that was not read from a file.
    NoFolder {
        /// As it was written.
        written: String,
    },
    /// The whole is larger than anything that is passed to a program or a server.
    TooLong {
        /// How many bytes it may have.
        limit: usize,
    },
    /// A value holds a zero byte, which neither arguments nor variables nor headers can.
    HasNul,
}

impl fmt::Display for VariableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { name } => write!(
                f,
                "the environment variable {name:?} is not set, set it or write ${{{name}:-default}}"
            ),
            Self::File { path, .. } => write!(f, "the file {path:?} cannot be read"),
            Self::Command { program, .. } => write!(f, "the program {program:?} gave no value"),
            Self::NotInKeyring { name } => write!(f, "the keyring holds nothing called {name:?}"),
            Self::Keyring { name, .. } => write!(f, "the keyring cannot be asked for {name:?}"),
            Self::NotAsked { id } => write!(
                f,
                "nobody can be asked for the input {id:?} here, use a variable or the keyring instead"
            ),
            Self::Input { id, .. } => write!(f, "nobody could be asked for the input {id:?}"),
            Self::NoHome => f.write_str("the home folder is not known, write the path in full"),
            Self::NoFolder { written } => write!(
                f,
                "{written:?} has a meaning only in a file, write the path in full"
            ),
            Self::TooLong { limit } => write!(f, "the value is longer than {limit} bytes"),
            Self::HasNul => f.write_str("the value holds a zero byte"),
        }
    }
}

impl Error for VariableError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::File { source, .. }
            | Self::Command { source, .. }
            | Self::Keyring { source, .. }
            | Self::Input { source, .. } => Some(source),
            _ => None,
        }
    }
}
