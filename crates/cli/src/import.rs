//! Configurations of other programs: reading them whatever their syntax, and bringing them over.
//!
//! 1. `read_any`: a file by its syntax; `tree`, `toml`, `yaml`: what is not JSON becomes JSON with
//!    places, so that what the words mean has one home, in the hub
//! 2. `client`: the programs that are known, and where their files are
//! 3. `merge`: which of their servers are new, the same, or others of the same name

mod client;
mod error;
mod merge;
mod place;
mod toml;
mod tree;
mod yaml;

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use switchboard_hub::{Config, Dialect, Origin, Position};

pub(crate) use client::{Client, Folders, Scope};
pub(crate) use error::ReadError;
pub(crate) use merge::{Arrival, Fate, Incoming, merge};
pub(crate) use place::BadSyntax;

/// Reads a configuration, whatever its syntax is: TOML, YAML, or JSON with comments.
///
/// # Errors
/// When it cannot be read, or is not what its name says.
pub(crate) fn read_any(path: &Path) -> Result<Config, ReadError> {
    read_as(path, &Reading::default())
}

/// What is known about a file beside its name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// In whose words it is written.
    pub(crate) dialect: Option<Dialect>,
    /// Where its servers run, if not where it is.
    pub(crate) folder: Option<PathBuf>,
}

/// Reads a configuration of which something is known.
pub(crate) fn read_as(path: &Path, reading: &Reading) -> Result<Config, ReadError> {
    let text = read_text(path)?;
    read_text_as(path, &text, reading)
}

pub(crate) fn read_text_as(
    path: &Path,
    text: &str,
    reading: &Reading,
) -> Result<Config, ReadError> {
    let mut origin = Origin::file(path);
    if let Ok(whole) = std::path::absolute(path) {
        // Relative paths of servers begin where the file is, wherever we are.
        origin = Origin::file(whole).named(&path.to_string_lossy());
    }
    if let Some(folder) = &reading.folder {
        origin = origin.folder(folder);
    }
    if let Some(dialect) = reading.dialect {
        origin = origin.dialect(dialect);
    }
    let syntax = Syntax::of(path);
    let node = match syntax {
        Syntax::Json => return Ok(Config::read(text, &origin)?),
        Syntax::Toml => toml::read(text),
        Syntax::Yaml => yaml::read(text),
    };
    let node = node.map_err(|bad| ReadError::Syntax {
        file: path.to_owned(),
        syntax,
        bad,
    })?;
    let own = match syntax {
        Syntax::Toml => ("mcp_servers", Dialect::Codex),
        _ => ("extensions", Dialect::Goose),
    };
    origin = match node.has(own.0) {
        true => origin.dialect(own.1),
        false => origin.dialect(Dialect::Standard),
    };
    let (text, places) = node.to_json();
    Ok(Config::read(&text, &origin.places(places))?)
}

/// The text of a file that is not endless.
pub(crate) fn read_text(path: &Path) -> Result<String, ReadError> {
    let unread = |source| ReadError::File {
        file: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unread)?;
    let mut file = file.take(LARGEST + 1);
    file.read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > LARGEST {
        return Err(unread(std::io::Error::other("it is larger than 32 MiB")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let bytes = error.into_bytes();
        let good = String::from_utf8_lossy(bytes.get(..good).unwrap_or_default());
        let position = Position::of(&good, good.len());
        ReadError::Text {
            file: path.to_owned(),
            position,
        }
    })
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    Json,
    Toml,
    Yaml,
}

impl Syntax {
    /// By the name of the file.
    pub(crate) fn of(path: &Path) -> Self {
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension.map(str::to_ascii_lowercase).as_deref() {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            _ => Self::Json,
        }
    }
}

impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
        })
    }
}

// Claude Code keeps its whole history in the file that has the servers.
const LARGEST: u64 = 32 * 1024 * 1024;

#[cfg(test)]
mod tests;
