//! What people are shown: lines, tables and texts.
//!
//! Everything is cleaned when it is rendered, whoever wrote it.

use super::clean::{clean, clean_line};
use super::table::Table;
use super::width::wrap;

/// What people are shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
enum Block {
    Line(Line),
    /// Several lines, as they are.
    Text(String),
    /// Words, broken into lines that fit; all but the first further in.
    Words(Style, usize, String),
    Table(Table),
    Blank,
}

/// One line, parts of which may be stressed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pub(super) spans: Vec<(Style, String)>,
}

/// What a part of a line is. Never the only sign of anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    #[default]
    Plain,
    /// A name that is looked for.
    Strong,
    /// Beside the point.
    Faint,
    Good,
    Bad,
    Notable,
}

/// How a stream looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) has_colour: bool,
    /// How wide it is, if that is known.
    pub(super) width: Option<usize>,
}

impl Page {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// One more line.
    #[must_use]
    pub(crate) fn line(mut self, line: impl Into<Line>) -> Self {
        self.blocks.push(Block::Line(line.into()));
        self
    }

    /// A text of one or more lines.
    #[must_use]
    pub(crate) fn text(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Text(text.into()));
        self
    }

    /// Words that are broken where the line ends, so far in.
    #[must_use]
    pub(crate) fn words(mut self, style: Style, indent: usize, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Words(style, indent, text.into()));
        self
    }

    #[must_use]
    pub(crate) fn table(mut self, table: Table) -> Self {
        self.blocks.push(Block::Table(table));
        self
    }

    /// All that is on another.
    #[must_use]
    pub(crate) fn append(mut self, mut other: Self) -> Self {
        self.blocks.append(&mut other.blocks);
        self
    }

    /// An empty line, unless it would be the first.
    #[must_use]
    pub(crate) fn blank(mut self) -> Self {
        if !self.blocks.is_empty() {
            self.blocks.push(Block::Blank);
        }
        self
    }

    pub(super) fn render(&self, look: Look) -> String {
        let mut text = String::new();
        for block in &self.blocks {
            match block {
                Block::Line(line) => {
                    line.render(look, &mut text);
                    text.push('\n');
                }
                Block::Text(words) => {
                    let words = clean(words);
                    text.push_str(&words);
                    if !words.is_empty() && !words.ends_with('\n') {
                        text.push('\n');
                    }
                }
                Block::Words(style, indent, words) => {
                    let words = clean_line(words);
                    let room = look
                        .width
                        .map(|width| width.saturating_sub(indent + HANGING));
                    for (place, line) in wrap(&words, room.unwrap_or(usize::MAX)).iter().enumerate()
                    {
                        let further = if place == 0 { 0 } else { HANGING };
                        text.extend(std::iter::repeat_n(' ', indent + further));
                        style.paint(look, line, &mut text);
                        text.push('\n');
                    }
                }
                Block::Table(table) => table.render(look, &mut text),
                Block::Blank => text.push('\n'),
            }
        }
        text
    }
}

impl Line {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub(crate) fn styled(mut self, style: Style, text: impl Into<String>) -> Self {
        self.spans.push((style, text.into()));
        self
    }

    #[must_use]
    pub(crate) fn plain(self, text: impl Into<String>) -> Self {
        self.styled(Style::Plain, text)
    }

    #[must_use]
    pub(crate) fn strong(self, text: impl Into<String>) -> Self {
        self.styled(Style::Strong, text)
    }

    #[must_use]
    pub(crate) fn faint(self, text: impl Into<String>) -> Self {
        self.styled(Style::Faint, text)
    }

    #[must_use]
    pub(crate) fn good(self, text: impl Into<String>) -> Self {
        self.styled(Style::Good, text)
    }

    #[must_use]
    pub(crate) fn bad(self, text: impl Into<String>) -> Self {
        self.styled(Style::Bad, text)
    }

    #[must_use]
    pub(crate) fn notable(self, text: impl Into<String>) -> Self {
        self.styled(Style::Notable, text)
    }

    fn render(&self, look: Look, text: &mut String) {
        for (style, words) in &self.spans {
            style.paint(look, &clean_line(words), text);
        }
    }
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Self::new().plain(text)
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Self::new().plain(text)
    }
}

impl Style {
    /// Appends words that are clean already.
    pub(super) fn paint(self, look: Look, words: &str, text: &mut String) {
        let code = match self {
            Self::Plain => None,
            Self::Strong => Some("1"),
            Self::Faint => Some("2"),
            Self::Good => Some("32"),
            Self::Bad => Some("31"),
            Self::Notable => Some("33"),
        };
        match code.filter(|_| look.has_colour && !words.is_empty()) {
            Some(code) => {
                text.push_str("\x1b[");
                text.push_str(code);
                text.push('m');
                text.push_str(words);
                text.push_str("\x1b[0m");
            }
            None => text.push_str(words),
        }
    }
}

/// How much further in the lines are that go on.
const HANGING: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Look = Look {
        has_colour: false,
        width: None,
    };

    #[test]
    fn colours_are_only_there_if_they_are_wanted() {
        let page = Page::new().line(Line::new().bad("error:").plain(" no"));
        assert_eq!(page.render(PLAIN), "error: no\n");
        let look = Look {
            has_colour: true,
            ..PLAIN
        };
        assert_eq!(page.render(look), "\x1b[31merror:\x1b[0m no\n");
    }

    #[test]
    fn what_servers_write_commands_no_terminal() {
        let page = Page::new().line("a\x1b[2Jb\nc").text("x\x1b]0;y\x07\nz");
        assert_eq!(page.render(PLAIN), "a[2Jb c\nx]0;y\nz\n");
    }

    #[test]
    fn a_text_ends_with_one_line_end() {
        assert_eq!(Page::new().text("a\n").render(PLAIN), "a\n");
        assert_eq!(Page::new().text("a").render(PLAIN), "a\n");
        assert_eq!(Page::new().text("").render(PLAIN), "");
    }
}
