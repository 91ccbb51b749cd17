//! What servers wrote, as lines of a comment.

use super::shape::Comment;

/// The lines of a text, without what a reader would not see.
pub(super) fn lines(text: &str) -> Vec<String> {
    let text: String = text
        .replace("\r\n", "\n")
        .chars()
        .map(|c| match c {
            '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
            '\t' => ' ',
            c => c,
        })
        .filter(|c| *c == '\n' || !is_hidden(*c))
        .collect();
    let mut lines: Vec<String> = text
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
    lines.drain(..first);
    lines
}

impl Comment {
    /// The lines of the text, then a line for each tag.
    pub(super) fn lines(&self, tag: impl Fn(&str, &str) -> String) -> Vec<String> {
        let mut all = lines(self.text.as_deref().unwrap_or_default());
        for (name, value) in &self.tags {
            let value = lines(value).join(" ");
            all.push(tag(name, &value).trim_end().to_owned());
        }
        all
    }
}

/// Control characters, those without a width, and those that turn the direction: a compiler of
/// Rust refuses them even in comments.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}
