//! Text of servers without what commands a terminal or hides.

use std::borrow::Cow;

use switchboard_hub::is_invisible;

/// A text of several lines. Tabs and line ends stay; other control characters, and those that
/// nobody sees or that change the direction of text, are left out.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut characters = text.chars().peekable();
    let mut kept = String::with_capacity(text.len());
    while let Some(character) = characters.next() {
        // Alone it would write over what stands before it.
        let ends_line = character == '\r' && characters.peek() == Some(&'\n');
        if ends_line || !is_harmful(character) || joins(&kept, character) {
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
            _ if is_harmful(character) && !joins(&kept, character) => {}
            _ => kept.push(character),
        }
    }
    Cow::Owned(kept)
}

fn is_harmful(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // They tear lines apart.
        '\u{2028}' | '\u{2029}' => true,
        _ => character.is_control() || is_invisible(character),
    }
}

/// Does it make one character of two, as in pictures of families and in scripts that join? Behind
/// others it could only hide something.
fn joins(before: &str, character: char) -> bool {
    let last = before.chars().next_back();
    let joined = last.filter(|last| !last.is_ascii() && !is_invisible(*last));
    match character {
        '\u{200c}' | '\u{200d}' => joined.is_some() || last == Some('\u{fe0f}'),
        // The picture of a sign, also of `1`, `#` and `*`.
        '\u{fe0f}' => joined.is_some() || matches!(last, Some('0'..='9' | '#' | '*')),
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
    fn what_nobody_sees_is_left_out_of_texts() {
        let check = |text: &str, expected: &str| {
            assert_eq!(clean(text), expected, "{text:?}");
            assert_eq!(clean_line(text), expected, "{text:?}");
        };
        // Without width, soft hyphens, fillers, isolates.
        check("de\u{200b}le\u{2060}te\u{feff}", "delete");
        check("pass\u{ad}word", "password");
        check("a\u{2066}b\u{2069}\u{61c}c", "abc");
        // Tags and rows of variation selectors, which carry whole sentences.
        check("hi\u{e0041}\u{e0042}\u{e007f}!", "hi!");
        check("hi\u{fe00}\u{fe01}\u{e0100}\u{e01ef}!", "hi!");
        check("x\u{200d}\u{200d}\u{200c}y", "xy");
        check("💡\u{200d}\u{200d}\u{200d}", "💡\u{200d}");
        // What belongs together stays together.
        check("❤️ 1️⃣ 👩‍👩‍👧 می‌خواهم ක්‍ෂ", "❤️ 1️⃣ 👩‍👩‍👧 می‌خواهم ක්‍ෂ");
        check("🏳️‍🌈", "🏳️‍🌈");
    }

    #[test]
    fn a_line_has_no_line_ends() {
        assert_eq!(clean_line("a\nb\tc\r\nd\n"), "a b c d");
        assert_eq!(clean_line("plain"), "plain");
    }
}
