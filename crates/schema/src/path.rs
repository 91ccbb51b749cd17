//! The path of a field, and texts that may be long, in words for a model.
//!
//! `switchboard-server` writes the same paths for typed arguments, in `arguments/place.rs`.

use std::fmt::Write as _;

/// Adds a member to a path.
pub(crate) fn join(path: &mut String, name: &str) {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
    if !name.is_empty() && name.chars().all(is_plain) {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name);
    } else {
        // As it would stand in JSON, so that no name can pass for a longer path.
        let quoted = serde_json::to_string(name).unwrap_or_default();
        let _ = write!(path, "[{quoted}]");
    }
}

/// Adds an item to a path.
pub(crate) fn join_index(path: &mut String, index: usize) {
    let _ = write!(path, "[{index}]");
}

/// The beginning of a text that may be long.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.into(),
    }
}
