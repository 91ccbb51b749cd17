//! Text of a peer in our own sentences.

use switchboard_transport::Escaped;

/// A text of a peer, safe to print and at most `most` characters of it.
pub(crate) fn plain(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => {
            let beginning = text.get(..end).unwrap_or_default();
            format!("{}…", Escaped(beginning.as_bytes()))
        }
        None => Escaped(text.as_bytes()).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(plain("abcdef", 3), "abc…");
        assert_eq!(plain("abc", 3), "abc");
        assert_eq!(plain("ab\u{1b}c", 3), "ab\\x1b…");
    }
}
