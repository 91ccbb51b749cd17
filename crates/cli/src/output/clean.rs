//! Text of servers without what commands a terminal or hides.

use std::borrow::Cow;

/// A text of several lines. Tabs and line ends stay; other control characters, and those that
/// change the direction of text, are left out.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    let mut characters = text.chars().peekable();
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    while let Some(character) = characters.next() {
        // Alone it would write over what stands before it.
        let ends_line = character == '\r' && characters.peek() == Some(&'\n');
        if ends_line || !is_harmful(character) {
            kept.push(character);
        }
    }
    Cow::Owned(kept)
}

/// A text as a part of one line: line ends and tabs become spaces.
pub(crate) fn clean_line(text: &str) -> Cow<'_, str> {
    let is_break = |character: char| matches!(character, '\n' | '\t' | '\r');
    if !text.chars().any(|c| is_break(c) || is_harmful(c)) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    for character in text.trim_end().chars() {
        match character {
            '\r' => {}
            _ if is_break(character) => kept.push(' '),
            _ if is_harmful(character) => {}
            _ => kept.push(character),
        }
    }
    Cow::Owned(kept)
}

fn is_harmful(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        _ if character.is_control() => true,
        // They change the direction of what stands around them, or tear lines apart.
        '\u{61c}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_left_out_of_texts() {
        let check = |text: &str, expected: &str| assert_eq!(clean(text), expected, "{text:?}");
        check("a\tb\nc\r\nd", "a\tb\nc\r\nd");
        check("over\rwritten", "overwritten");
        check("\x1b[31mred\x1b[0m", "[31mred[0m");
        check("a\u{9b}31mb\u{7f}", "a31mb");
        check("\u{202e}txt.exe", "txt.exe");
        check("größe 漢字 👩‍👩‍👧", "größe 漢字 👩‍👩‍👧");
    }

    #[test]
    fn a_line_has_no_line_ends() {
        assert_eq!(clean_line("a\nb\tc\r\nd\n"), "a b c d");
        assert_eq!(clean_line("plain"), "plain");
    }
}
