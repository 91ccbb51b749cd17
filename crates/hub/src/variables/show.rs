//! What may be seen of a template.

use std::fmt;

use super::{Piece, Reference};

/// Writes references as they are, and of the text what is left of it.
pub(super) fn show(
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
pub(super) fn address(text: &str, is_over: &mut bool) -> String {
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

/// In place of what nobody is shown.
pub(super) const HIDDEN: &str = "***";
