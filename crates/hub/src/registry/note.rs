//! What is odd about what a server offers, in words, and not without end.

/// Adds a note, unless there are many already.
pub(crate) fn note(notes: &mut Vec<String>, text: impl FnOnce() -> String) {
    match notes.len() {
        0..MOST_NOTES => notes.push(text()),
        MOST_NOTES => notes.push("and more that is not listed here".to_owned()),
        _ => {}
    }
}

/// A text of a server, short enough for a note.
pub(crate) fn cut(text: &str) -> &str {
    let end = text.char_indices().nth(LONGEST_IN_NOTE);
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

const MOST_NOTES: usize = 64;

const LONGEST_IN_NOTE: usize = 200;
