//! Where something is in a text, and where that is not what its name says.

use switchboard_hub::Position;

/// Where a text is not what its name says, and why.
#[derive(Clone, Debug)]
pub(crate) struct BadSyntax {
    pub(super) position: Position,
    pub(super) reason: String,
}

/// Where in a text a byte is, for many bytes.
pub(super) struct Places {
    /// Where lines begin.
    lines: Vec<usize>,
    text: String,
}

impl Places {
    pub(super) fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self {
            lines: std::iter::once(0)
                .chain(ends.map(|(end, _)| end + 1))
                .collect(),
            text: text.to_owned(),
        }
    }

    pub(super) fn of(&self, offset: usize) -> Position {
        let line = self.lines.partition_point(|begin| *begin <= offset);
        let begin = self.lines.get(line.saturating_sub(1)).copied();
        let before = self.text.get(begin.unwrap_or_default()..offset);
        let column = before.unwrap_or_default().chars().count();
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Position::new(number(line), number(column.saturating_add(1)))
    }
}
