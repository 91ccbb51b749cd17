//! Text of a peer, safe to print.

use std::fmt::{self, Write};

/// Bytes of a peer as text that cannot command a terminal or hide in a log.
///
/// Control characters, those that change the direction of text and those that nobody can see are
/// written out, and so are bytes that are not UTF-8. A tab becomes spaces: it is not harmful and
/// traces are full of them. Line feeds are written out too; whoever wants lines splits first.
///
/// ```
/// use switchboard_transport::Escaped;
///
/// assert_eq!(Escaped(b"\x1b[31mred").to_string(), r"\x1b[31mred");
/// assert_eq!(Escaped("\u{202e}txt".as_bytes()).to_string(), r"\u{202e}txt");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Escaped<'a>(pub &'a [u8]);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                match character {
                    '\t' => f.write_str("    ")?,
                    '\n' => f.write_str("\\n")?,
                    '\r' => f.write_str("\\r")?,
                    _ if character.is_ascii_control() => {
                        write!(f, "\\x{:02x}", u32::from(character))?;
                    }
                    _ if is_hidden(character) => write!(f, "{}", character.escape_unicode())?,
                    _ => f.write_char(character)?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// Is nothing seen of it, or does it change how its neighbours are seen?
///
/// U+FE0F is not among them: it asks for the coloured form of a sign and stands behind every
/// other warning sign that servers print.
fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\u{80}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0e}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(Escaped(bytes).to_string(), expected);
    }

    #[test]
    fn what_can_be_seen_stays() {
        check("Größe ⚠️ 名前 \\n".as_bytes(), "Größe ⚠️ 名前 \\n");
        check(b"\tat main", "    at main");
    }

    #[test]
    fn what_commands_a_terminal_is_written_out() {
        check(b"\x1b]0;x\x07", r"\x1b]0;x\x07");
        check("\u{9b}2J".as_bytes(), r"\u{9b}2J");
        check(b"a\rb\x7f", r"a\rb\x7f");
    }

    #[test]
    fn what_hides_is_written_out() {
        check("a\u{200b}b".as_bytes(), r"a\u{200b}b");
        check("\u{2066}x\u{e0041}".as_bytes(), r"\u{2066}x\u{e0041}");
    }

    #[test]
    fn bytes_that_are_not_text_are_written_out() {
        check(b"a\xff\xc3", r"a\xff\xc3");
    }
}
