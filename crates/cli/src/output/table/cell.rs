//! What is in one place of a table: clean, measured, cut to fit.

use crate::output::clean::clean_line;
use crate::output::page::{Line, Look, Style};
use crate::output::width::{shorten, width, wrap};

/// What is in a place of a table, clean and measured.
pub(super) struct Cell {
    spans: Vec<(Style, String)>,
    pub(super) width: usize,
}

impl Cell {
    pub(super) fn new(line: &Line) -> Self {
        let spans: Vec<(Style, String)> = line
            .spans
            .iter()
            .map(|(style, words)| (*style, clean_line(words).into_owned()))
            .collect();
        let width = spans.iter().map(|(_, words)| width(words)).sum();
        Self { spans, width }
    }

    pub(super) fn paint(&self, look: Look, most: usize, text: &mut String) {
        if self.width <= most {
            for (style, words) in &self.spans {
                style.paint(look, words, text);
            }
            return;
        }
        let mut room = most;
        for (style, words) in &self.spans {
            let own = width(words);
            if own < room {
                style.paint(look, words, text);
                room -= own;
            } else {
                // One more, so that the sign is there also where this one fits exactly.
                let cut = match own == room {
                    true => shorten(&format!("{words} …"), room),
                    false => shorten(words, room),
                };
                style.paint(look, &cut, text);
                return;
            }
        }
    }

    /// On as many lines as it needs, all but the first indented.
    pub(super) fn paint_whole(&self, look: Look, most: usize, indent: usize, text: &mut String) {
        let whole: String = self.spans.iter().map(|(_, words)| words.as_str()).collect();
        let style = self.spans.first().map_or(Style::Plain, |(style, _)| *style);
        for (place, line) in wrap(&whole, most).iter().enumerate() {
            if place > 0 {
                text.push('\n');
                text.extend(std::iter::repeat_n(' ', indent));
            }
            style.paint(look, &shorten(line, most), text);
        }
    }

    /// On lines of its own, so many at most.
    pub(super) fn paint_below(&self, look: Look, most: usize, count: usize, text: &mut String) {
        let whole: String = self.spans.iter().map(|(_, words)| words.as_str()).collect();
        let style = self.spans.first().map_or(Style::Plain, |(style, _)| *style);
        let lines = wrap(&whole, most);
        let more = lines.len() > count;
        for (place, line) in lines.into_iter().take(count).enumerate() {
            text.push_str("    ");
            let line = match more && place + 1 == count {
                true => shorten(&format!("{line} …"), most),
                false => shorten(&line, most),
            };
            style.paint(look, &line, text);
            text.push('\n');
        }
    }
}
