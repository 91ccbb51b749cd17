//! Text of a peer in our own sentences.

/// A text of a peer, safe to print: at most `most` characters, and what a terminal would obey
/// or not show is written out.
pub(crate) fn plain(text: &str, most: usize) -> String {
    let mut plain = String::with_capacity(text.len().min(most));
    for (count, character) in text.chars().enumerate() {
        if count == most {
            plain.push('…');
            break;
        }
        if is_hidden(character) {
            plain.extend(character.escape_default());
        } else {
            plain.push(character);
        }
    }
    plain
}

/// Would a terminal act on it, or show nothing?
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_written_out() {
        assert_eq!(plain("a\u{1b}[31mb\n", 99), "a\\u{1b}[31mb\\n");
        assert_eq!(plain("x\u{202e}y\u{e0041}", 99), "x\\u{202e}y\\u{e0041}");
        assert_eq!(plain("grün → ok", 99), "grün → ok");
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(plain("abcdef", 3), "abc…");
        assert_eq!(plain("abc", 3), "abc");
    }
}
