//! Why a server was not started.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::escape::Escaped;

/// Why a server was not started. Nothing runs and nothing is left.
#[derive(Debug)]
#[non_exhaustive]
pub enum SpawnError {
    /// The name of the program is empty.
    NoProgram,
    /// There is no such program.
    NotFound {
        /// As it was asked for.
        program: OsString,
        /// Where it was looked for: one path, or every directory of `PATH`.
        searched: Searched,
    },
    /// The only file of that name cannot be run.
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// It is a directory.
        is_directory: bool,
    },
    /// The working directory is none.
    Directory {
        /// As it was asked for.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system did not start it.
    Refused {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It was started, but its streams cannot be waited for; it has been killed.
    Streams(io::Error),
    /// A server can only be started within a runtime of tokio with I/O and time.
    NoRuntime,
}

/// Where a program was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Searched {
    /// At one place, for what was asked for is a path.
    At(PathBuf),
    /// In the directories of this `PATH`.
    Path(OsString),
    /// In the directories of the system, for no `PATH` is set.
    System,
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgram => write!(f, "no program is named"),
            Self::NotFound { program, searched } => match searched {
                Searched::At(path) => write!(f, "program {path:?} does not exist"),
                Searched::Path(path) => {
                    let path = shorten(path);
                    write!(f, "program {program:?} was not found in PATH ({path})")
                }
                Searched::System => write!(
                    f,
                    "program {program:?} was not found and PATH is not set; give its full path"
                ),
            },
            Self::NotExecutable {
                path,
                is_directory: true,
            } => write!(f, "{path:?} is a directory and not a program"),
            Self::NotExecutable { path, .. } => {
                write!(f, "{path:?} is not executable; chmod +x would allow it")
            }
            Self::Directory { directory, .. } => {
                write!(f, "the working directory {directory:?} cannot be used")
            }
            Self::Refused { path, source } => {
                write!(f, "the system did not start {path:?}")?;
                match source.kind() {
                    // The file is there, so it is something that the file needs.
                    io::ErrorKind::NotFound => write!(f, ": its interpreter or loader is missing"),
                    _ if cfg!(unix) && source.raw_os_error() == Some(NOT_A_PROGRAM) => {
                        write!(f, ": it is no program for this machine and has no #! line")
                    }
                    _ => Ok(()),
                }
            }
            Self::Streams(_) => write!(f, "the streams of the server cannot be waited for"),
            Self::NoRuntime => write!(f, "a server is started within a runtime of tokio"),
        }
    }
}

impl Error for SpawnError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Directory { source, .. } | Self::Refused { source, .. } => Some(source),
            Self::Streams(source) => Some(source),
            Self::NoProgram
            | Self::NotFound { .. }
            | Self::NotExecutable { .. }
            | Self::NoRuntime => None,
        }
    }
}

/// As many directories as fit into a message, and how many there are besides.
fn shorten(path: &OsString) -> String {
    let (mut text, mut left_out) = (String::new(), 0_usize);
    for directory in std::env::split_paths(path) {
        let directory = Escaped(directory.as_os_str().as_encoded_bytes()).to_string();
        if left_out > 0 || text.len() + directory.len() > PATH_SHOWN {
            left_out += 1;
            continue;
        }
        if !text.is_empty() {
            text.push(if cfg!(windows) { ';' } else { ':' });
        }
        text.push_str(&directory);
    }
    if left_out > 0 {
        text.push_str(&format!(" and {left_out} more"));
    }
    text
}

/// A message stays below 400 characters.
const PATH_SHOWN: usize = 240;

/// `ENOEXEC`, which has no kind of its own.
const NOT_A_PROGRAM: i32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_is_shortened_between_directories() {
        let path = OsString::from(["/a/long/directory"; 100].join(":"));
        let error = SpawnError::NotFound {
            program: "npx".into(),
            searched: Searched::Path(path),
        };
        let text = error.to_string();
        assert!(text.starts_with("program \"npx\" was not found in PATH (/a/long/directory:"));
        assert!(text.ends_with("/a/long/directory and 87 more)"), "{text}");
        assert!(text.len() < 400);
    }
}
