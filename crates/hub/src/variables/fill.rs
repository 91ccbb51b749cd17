//! Values in place of what refers to them.

use std::path::{MAIN_SEPARATOR_STR, Path, PathBuf};

use super::{Piece, Reference, Surroundings, VariableError};

/// Appends what the pieces come to.
pub(super) fn fill(
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

// Keys and certificates are a few KiB; the environment of a process has 2 MiB on Linux.
const LONGEST_VALUE: usize = 1024 * 1024;
