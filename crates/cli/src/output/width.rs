//! How much room there is, and how much a text takes.

use std::env;

/// How many columns the terminal has.
pub(super) fn of_terminal() -> usize {
    let said = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let columns = said.or_else(asked).filter(|columns| *columns > 0);
    columns.map_or(USUAL, |columns| columns.clamp(NARROWEST, WIDEST))
}

#[cfg(unix)]
fn asked() -> Option<usize> {
    use std::io::{stderr, stdout};

    let size = rustix::termios::tcgetwinsize(stdout());
    let size = size.or_else(|_| rustix::termios::tcgetwinsize(stderr()));
    size.ok().map(|size| usize::from(size.ws_col))
}

#[cfg(not(unix))]
fn asked() -> Option<usize> {
    None
}

/// How many columns a text takes that has no control characters.
pub(super) fn width(text: &str) -> usize {
    match text.is_ascii() {
        true => text.len(),
        false => text.chars().map(columns).sum(),
    }
}

/// The beginning of a text that takes at most so many columns; a sign says that there is more.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for character in text.chars() {
        used += columns(character);
        if used + 1 > most {
            break;
        }
        kept.push(character);
    }
    let end = kept.trim_end().len();
    kept.truncate(end);
    if most > 0 {
        kept.push('…');
    }
    kept
}

/// A text in lines of at most so many columns, broken between words.
pub(super) fn wrap(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && width(&line) + 1 + width(word) > most {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Columns of one character: Chinese, Japanese, Korean signs and pictures take two, marks none.
fn columns(character: char) -> usize {
    match character {
        '\u{300}'..='\u{36f}'
        | '\u{200b}'..='\u{200d}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

const USUAL: usize = 80;
const NARROWEST: usize = 20;
const WIDEST: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_is_cut() {
        let check = |text: &str, most: usize, expected: &str| {
            assert_eq!(shorten(text, most), expected);
            assert!(width(&shorten(text, most)) <= most, "{text} {most}");
        };
        check("short", 5, "short");
        check("shorter", 5, "shor…");
        check("a bcd", 3, "a…");
        check("漢字漢字", 5, "漢字…");
        check("漢字漢字", 4, "漢…");
        check("x", 0, "");
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
        assert!(wrap(" ", 4).is_empty());
    }
}
