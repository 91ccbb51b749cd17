//! Text with variables, as it stands in a configuration, and what becomes of it.
//!
//! | written | becomes |
//! |---|---|
//! | `${NAME}`, `${env:NAME}` | the environment variable; there must be one |
//! | `${NAME:-text}`, `${env:NAME:-text}` | the text, if there is none or it is empty; the text may hold variables too |
//! | `${file:path}` | what is in the file, without the line ends at its end; `~` is the home folder |
//! | `${cmd:program argument …}` | what the program prints, likewise; quotes keep words together, no shell has a look |
//! | `${keyring:name}`, `${input:id}` | what a keyring holds, what a person was asked for |
//! | `${userHome}`, `${workspaceFolder}`, `${workspaceFolderBasename}`, `${CLAUDE_PROJECT_DIR}` | folders |
//! | `${pathSeparator}`, `${/}` | what stands between folders |
//! | `$$` | a dollar |
//!
//! What looks like a variable and is none of these stays as it is: `${x%y}` may be meant for a
//! shell. [`Template::left_alone`] names such places. Values are not looked through again.
//!
//! How it is read is in `parse`, where values come from in `surroundings`.

mod error;
mod parse;
mod surroundings;
mod system;

use std::fmt;
use std::path::{MAIN_SEPARATOR_STR, Path, PathBuf};

use switchboard_auth::Secret;

use crate::config::{Grammar, Position};

pub use error::VariableError;
pub use surroundings::Surroundings;
pub use system::System;

/// Text in which variables are filled in when a server starts.
///
/// Printed, it shows what it refers to and never a value. Where the text itself may be secret,
/// as in a header, that is hidden too.
///
/// ```
/// use switchboard_hub::{System, Template};
///
/// let text = Template::parse("Bearer ${SOME_TOKEN_NOBODY_HAS:-none}");
/// assert_eq!(text.to_string(), "Bearer ${SOME_TOKEN_NOBODY_HAS:-none}");
/// assert_eq!(text.resolve(&System::new())?.reveal(), "Bearer none");
/// # Ok::<(), switchboard_hub::VariableError>(())
/// ```
#[derive(Clone)]
pub struct Template {
    source: Box<str>,
    pieces: Vec<Piece>,
    shows: Shows,
    position: Position,
}

/// A stretch of a template.
#[derive(Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// Looks like a variable and is none.
    LeftAlone(String),
    Reference {
        written: String,
        reference: Reference,
    },
}

/// What is filled in.
#[derive(Clone, PartialEq, Eq)]
enum Reference {
    Variable {
        name: String,
        default: Option<Vec<Piece>>,
    },
    File(Vec<Piece>),
    Command(Vec<Vec<Piece>>),
    Keyring(String),
    Input(String),
    Home,
    /// A folder of the configuration; none if that came from nowhere.
    Folder(Option<String>),
    Separator,
}

/// How much of the text itself may be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shows {
    All,
    /// A URL: not its user and not what follows its path.
    Address,
    /// What is referred to, and nothing else.
    References,
}

impl Template {
    /// Reads a text with variables.
    pub fn parse(text: &str) -> Self {
        Self::read(text, &Grammar::default(), Shows::All, Position::default())
    }

    /// A text that is taken as it is.
    pub fn literal(text: &str) -> Self {
        Self {
            source: text.into(),
            pieces: vec![Piece::Text(text.to_owned())],
            shows: Shows::All,
            position: Position::default(),
        }
    }

    /// Hides the text when it is printed, but not what it refers to.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.shows = Shows::References;
        self
    }

    pub(crate) fn read(text: &str, grammar: &Grammar, shows: Shows, position: Position) -> Self {
        Self {
            source: text.into(),
            pieces: parse::pieces(text, grammar),
            shows,
            position,
        }
    }

    /// The text, if nothing is to be filled in.
    pub fn as_literal(&self) -> Option<String> {
        let mut whole = String::with_capacity(self.source.len());
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) | Piece::LeftAlone(text) => whole.push_str(text),
                Piece::Reference { .. } => return None,
            }
        }
        Some(whole)
    }

    /// What is to be filled in, as it was written: `${HOME}`.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Reference { written, .. } => Some(written.as_str()),
            _ => None,
        })
    }

    /// What looks like a variable and stays as it is: `${x%y}`.
    pub fn left_alone(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::LeftAlone(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Where it stands in its file.
    pub const fn position(&self) -> Position {
        self.position
    }

    /// Fills everything in.
    ///
    /// This may read files and run programs, so it may take its time: not for a task that others
    /// wait for.
    ///
    /// # Errors
    /// When a value cannot be had: the error names what was referred to, never a value.
    pub fn resolve(&self, surroundings: &dyn Surroundings) -> Result<Secret, VariableError> {
        let mut value = String::new();
        fill(&self.pieces, surroundings, &mut value)?;
        let value = Secret::new(value);
        if value.reveal().contains('\0') {
            return Err(VariableError::HasNul);
        }
        Ok(value)
    }
}

/// Two are equal if they say the same, wherever they stand.
impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        // The pieces too: the same text may mean something else in another file.
        self.source == other.source && self.pieces == other.pieces
    }
}

impl Eq for Template {}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shows {
            Shows::All => f.write_str(&self.source),
            Shows::References => show(&self.pieces, f, &mut |_| String::from(HIDDEN)),
            Shows::Address => {
                let mut is_over = false;
                show(&self.pieces, f, &mut |text| address(text, &mut is_over))
            }
        }
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

fn fill(
    pieces: &[Piece],
    surroundings: &dyn Surroundings,
    value: &mut String,
) -> Result<(), VariableError> {
    for piece in pieces {
        match piece {
            Piece::Text(text) | Piece::LeftAlone(text) => value.push_str(text),
            Piece::Reference { written, reference } => {
                fill_reference(written, reference, surroundings, value)?;
            }
        }
        if value.len() > LONGEST_VALUE {
            return Err(VariableError::TooLong {
                limit: LONGEST_VALUE,
            });
        }
    }
    Ok(())
}

fn fill_reference(
    written: &str,
    reference: &Reference,
    surroundings: &dyn Surroundings,
    value: &mut String,
) -> Result<(), VariableError> {
    match reference {
        Reference::Variable { name, default } => {
            let found = surroundings.variable(name);
            match (found, default) {
                (Some(found), None) => value.push_str(found.reveal()),
                (Some(found), Some(_)) if !found.is_empty() => value.push_str(found.reveal()),
                (_, Some(default)) => fill(default, surroundings, value)?,
                (None, None) => return Err(VariableError::Missing { name: name.clone() }),
            }
        }
        Reference::File(path) => {
            let mut text = String::new();
            fill(path, surroundings, &mut text)?;
            let path = at_home(&text, surroundings)?;
            let content = surroundings.file(&path);
            let content = content.map_err(|source| VariableError::File { path, source })?;
            value.push_str(trimmed(content.reveal()));
        }
        Reference::Command(words) => {
            let mut filled = Vec::with_capacity(words.len());
            for word in words {
                let mut text = String::new();
                fill(word, surroundings, &mut text)?;
                filled.push(text);
            }
            let printed = surroundings.command(&filled);
            let printed = printed.map_err(|source| VariableError::Command {
                program: filled.into_iter().next().unwrap_or_default(),
                source,
            })?;
            value.push_str(trimmed(printed.reveal()));
        }
        Reference::Keyring(name) => {
            let name = || name.clone();
            match surroundings.keyring(&name()) {
                Ok(Some(found)) => value.push_str(found.reveal()),
                Ok(None) => return Err(VariableError::NotInKeyring { name: name() }),
                Err(source) => {
                    return Err(VariableError::Keyring {
                        name: name(),
                        source,
                    });
                }
            }
        }
        Reference::Input(id) => match surroundings.input(id) {
            Ok(Some(found)) => value.push_str(found.reveal()),
            Ok(None) => return Err(VariableError::NotAsked { id: id.clone() }),
            Err(source) => {
                let id = id.clone();
                return Err(VariableError::Input { id, source });
            }
        },
        Reference::Home => {
            let home = surroundings.home().ok_or(VariableError::NoHome)?;
            value.push_str(&home.to_string_lossy());
        }
        Reference::Folder(Some(folder)) => value.push_str(folder),
        Reference::Folder(None) => {
            let written = written.to_owned();
            return Err(VariableError::NoFolder { written });
        }
        Reference::Separator => value.push_str(MAIN_SEPARATOR_STR),
    }
    Ok(())
}

/// A path in which `~` at the beginning is the home folder.
pub(crate) fn at_home(
    text: &str,
    surroundings: &dyn Surroundings,
) -> Result<PathBuf, VariableError> {
    let home = || surroundings.home().ok_or(VariableError::NoHome);
    match text.strip_prefix('~') {
        Some("") => home(),
        Some(rest) if rest.starts_with(['/', '\\']) => {
            Ok(home()?.join(rest.trim_start_matches(['/', '\\'])))
        }
        _ => Ok(Path::new(text).to_owned()),
    }
}

/// Without the mark that editors put in front, and the line ends that they put behind.
fn trimmed(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.trim_end_matches(['\r', '\n'])
}

/// Writes references as they are, and of the text what is left of it.
fn show(
    pieces: &[Piece],
    f: &mut fmt::Formatter<'_>,
    shown: &mut dyn FnMut(&str) -> String,
) -> fmt::Result {
    for piece in pieces {
        match piece {
            Piece::Text(text) | Piece::LeftAlone(text) => f.write_str(&shown(text))?,
            Piece::Reference {
                reference:
                    Reference::Variable {
                        name,
                        default: Some(default),
                    },
                ..
            } => {
                write!(f, "${{{name}:-")?;
                show(default, f, shown)?;
                f.write_str("}")?;
            }
            Piece::Reference { written, .. } => f.write_str(written)?,
        }
    }
    Ok(())
}

/// What may be seen of a stretch of a URL.
fn address(text: &str, is_over: &mut bool) -> String {
    if *is_over {
        return String::from(HIDDEN);
    }
    let end = text.find(['?', '#']).unwrap_or(text.len());
    *is_over = end < text.len();
    let (seen, hidden) = text.split_at_checked(end).unwrap_or((text, ""));
    let seen = match seen.rsplit_once('@') {
        // Between the slashes and the sign are a user and a password.
        Some((before, after)) => match before.split_once("//") {
            Some((scheme, _)) => format!("{scheme}//{HIDDEN}@{after}"),
            None => format!("{HIDDEN}@{after}"),
        },
        None => seen.to_owned(),
    };
    match hidden.chars().next() {
        Some(mark) => format!("{seen}{mark}{HIDDEN}"),
        None => seen,
    }
}

const HIDDEN: &str = "***";
// Keys and certificates are a few KiB; the environment of a process has 2 MiB on Linux.
const LONGEST_VALUE: usize = 1024 * 1024;

#[cfg(test)]
mod tests;
