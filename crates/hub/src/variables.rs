//! Text with variables, as it stands in a configuration, and what becomes of it.
//!
//! | written | becomes |
//! |---|---|
//! | `${NAME}`, `${env:NAME}` | the environment variable; there must be one |
//! | `${NAME:-text}`, `${env:NAME:-text}` | the text, if there is none or it is empty; the text may hold variables too |
//! | `${file:path}` | what is in the file, without the line ends at its end; `~` is the home folder |
//! | `${cmd:program argument …}` | what the program prints, likewise; quotes keep words together, no shell has a look |
//! | `${keyring:service/account}` | what the keyring holds there; without a service it is `switchboard` |
//! | `${input:id}` | what a person was asked for |
//! | `${userHome}`, `${workspaceFolder}`, `${workspaceFolderBasename}`, `${CLAUDE_PROJECT_DIR}` | folders |
//! | `${pathSeparator}`, `${/}` | what stands between folders |
//! | `$$` | a dollar |
//!
//! What looks like a variable and is none of these stays as it is: `${x%y}` may be meant for a
//! shell. [`Template::left_alone`] names such places. Values are not looked through again.
//!
//! 1. `parse`: how it is read
//! 2. `fill`: what becomes of it; `surroundings`, `system`: where values come from
//! 3. `show`: what is printed of it; `written`: the same in our own words

mod error;
mod fill;
mod parse;
mod show;
mod surroundings;
mod system;
mod written;

use std::fmt;

use switchboard_auth::Secret;

use crate::config::{Grammar, Position};
use fill::fill;
use show::{HIDDEN, address, show};

pub use error::VariableError;
pub(crate) use fill::at_home;
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
#[derive(Clone)]
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

    /// What a variable holds, by its name.
    pub(crate) fn variable(name: &str, position: Position) -> Self {
        let written = format!("${{env:{name}}}");
        Self {
            source: written.as_str().into(),
            pieces: vec![Piece::Reference {
                written,
                reference: Reference::Variable {
                    name: name.to_owned(),
                    default: None,
                },
            }],
            shows: Shows::References,
            position,
        }
    }

    /// Hides the text when it is printed, but not what it refers to.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.shows = Shows::References;
        self
    }

    /// Hides what of a URL may be secret when it is printed, unless all of it is hidden.
    #[must_use]
    pub(crate) const fn address(mut self) -> Self {
        if matches!(self.shows, Shows::All) {
            self.shows = Shows::Address;
        }
        self
    }

    pub(crate) fn read(text: &str, grammar: &Grammar, shows: Shows, position: Position) -> Self {
        Self {
            source: text.into(),
            pieces: match grammar.has_variables() {
                true => parse::pieces(text, grammar),
                false => vec![Piece::Text(text.to_owned())],
            },
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

    /// The same in the grammar of our own files. What refers to the folder of its own file is
    /// filled in, if that is not the folder of the file that it is written to.
    pub(crate) fn written(&self, keeps_folder: bool) -> String {
        written::written(&self.pieces, keeps_folder)
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

/// In whose words something is referred to makes no difference.
impl PartialEq for Piece {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::LeftAlone(one), Self::LeftAlone(other)) => one == other,
            (
                Self::Reference { reference, .. },
                Self::Reference {
                    reference: other, ..
                },
            ) => reference == other,
            _ => false,
        }
    }
}

impl Eq for Piece {}

/// Two are equal if they say the same, wherever they stand.
impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        // Not the text: it may mean something else in another file.
        self.pieces == other.pieces
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

#[cfg(test)]
mod tests;
