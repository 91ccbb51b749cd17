//! Tables that fit the terminal.
//!
//! The last column may take what is left of the width, and is cut there or goes on in lines of its
//! own; where next to nothing is left, it goes below its row. Without a terminal nothing is cut.

mod cell;

use super::page::{Line, Look, Style};
use cell::Cell;

/// Rows under headings.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Line>>,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    heading: &'static str,
    kind: Kind,
    /// May it be left out where there is no room?
    is_optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Left,
    Right,
    /// Takes what is left. Only the last one.
    Rest,
    /// The same, on as many lines as it needs.
    Whole,
}

impl Kind {
    const fn takes_the_rest(self) -> bool {
        matches!(self, Self::Rest | Self::Whole)
    }
}

impl Column {
    const fn new(heading: &'static str, kind: Kind) -> Self {
        Self {
            heading,
            kind,
            is_optional: false,
        }
    }

    /// Left out where there is no room: of several the last first.
    #[must_use]
    pub(crate) const fn or_none(mut self) -> Self {
        self.is_optional = true;
        self
    }

    pub(crate) const fn left(heading: &'static str) -> Self {
        Self::new(heading, Kind::Left)
    }

    /// For numbers.
    pub(crate) const fn right(heading: &'static str) -> Self {
        Self::new(heading, Kind::Right)
    }

    /// The last one, which takes the width that is left.
    pub(crate) const fn rest(heading: &'static str) -> Self {
        Self::new(heading, Kind::Rest)
    }

    /// The same, but nothing of it is cut: it goes on in the lines below.
    pub(crate) const fn whole(heading: &'static str) -> Self {
        Self::new(heading, Kind::Whole)
    }
}

impl Table {
    pub(crate) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// One more row: as many cells as columns.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Line>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn render(&self, look: Look, text: &mut String) {
        let heading = |column: &Column| (Style::Faint, column.heading.to_owned());
        let headings: Vec<Line> = self
            .columns
            .iter()
            .map(|column| Line {
                spans: vec![heading(column)],
            })
            .collect();
        let rows: Vec<Vec<Cell>> = std::iter::once(&headings)
            .chain(&self.rows)
            .map(|row| row.iter().map(Cell::new).collect())
            .collect();
        let widths = self.widths(&rows, look.width);
        let fixed = self.total(&widths);
        let room = look.width.map(|width| width.saturating_sub(fixed));
        let is_below = room.is_some_and(|room| room < LEAST_REST);
        for (number, row) in rows.iter().enumerate() {
            let mut pending = 0;
            let mut below = None;
            for ((cell, column), width) in row.iter().zip(&self.columns).zip(&widths) {
                if column.kind.takes_the_rest() && is_below {
                    let lines = match column.kind {
                        Kind::Whole => usize::MAX,
                        _ => MOST_BELOW,
                    };
                    below = Some((cell, lines)).filter(|_| number > 0);
                    continue;
                }
                let Some(width) = width else {
                    continue;
                };
                if let (Kind::Whole, Some(room), 1..) = (column.kind, room, cell.width) {
                    text.extend(std::iter::repeat_n(' ', pending));
                    cell.paint_whole(look, room, fixed, text);
                    continue;
                }
                let most = match column.kind.takes_the_rest() {
                    true => room.unwrap_or(usize::MAX),
                    false => *width,
                };
                let used = cell.width.min(most);
                let before = match column.kind {
                    Kind::Right => width.saturating_sub(used),
                    _ => 0,
                };
                if used > 0 {
                    text.extend(std::iter::repeat_n(' ', pending + before));
                    cell.paint(look, most, text);
                    pending = 0;
                } else {
                    pending += before;
                }
                pending += width.saturating_sub(used + before) + GAP;
            }
            text.push('\n');
            if let Some((cell, lines)) = below {
                let most = look.width.unwrap_or(usize::MAX).saturating_sub(INDENT);
                cell.paint_below(look, most, lines, text);
            }
        }
    }

    /// How wide the columns are together that do not take what is left.
    fn total(&self, widths: &[Option<usize>]) -> usize {
        let columns = self.columns.iter().zip(widths);
        let fixed = columns.filter(|(column, _)| !column.kind.takes_the_rest());
        fixed.filter_map(|(_, width)| Some((*width)? + GAP)).sum()
    }

    /// How wide each column is. If all together are too wide, some are left out and wide ones
    /// give way.
    fn widths(&self, rows: &[Vec<Cell>], most: Option<usize>) -> Vec<Option<usize>> {
        let mut widths: Vec<Option<usize>> = vec![Some(0); self.columns.len()];
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(Some(cell.width));
            }
        }
        let Some(most) = most else {
            return widths;
        };
        loop {
            let over = self.total(&widths).saturating_sub(GAP).saturating_sub(most);
            if over == 0 {
                return widths;
            }
            let mut columns = self.columns.iter().zip(&mut widths);
            let optional = columns.rfind(|(column, width)| column.is_optional && width.is_some());
            if let Some((_, width)) = optional {
                *width = None;
                continue;
            }
            let columns = self.columns.iter().zip(&mut widths);
            let texts = columns.filter(|(column, _)| column.kind == Kind::Left);
            let widest = texts
                .filter_map(|(_, width)| width.as_mut())
                .filter(|width| **width > LEAST_COLUMN)
                .max_by_key(|width| **width);
            match widest {
                Some(width) => *width = width.saturating_sub(over).max(LEAST_COLUMN),
                None => return widths,
            }
        }
    }
}

const GAP: usize = 2;
const INDENT: usize = 4;
/// Lines below a row, of what would have been cut beside it.
const MOST_BELOW: usize = 2;
/// With less room a description says nothing.
const LEAST_REST: usize = 24;
const LEAST_COLUMN: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        table_with(Column::rest("DESCRIPTION"))
    }

    fn table_with(last: Column) -> Table {
        let mut table = Table::new([
            Column::left("NAME"),
            Column::right("TOKENS").or_none(),
            last,
        ]);
        table.row([
            "add".into(),
            "7".into(),
            "Adds two numbers, whatever they are".into(),
        ]);
        table.row(["multiply".into(), "12".into(), "".into()]);
        table
    }

    fn render(width: Option<usize>) -> String {
        let mut text = String::new();
        let look = Look {
            has_colour: false,
            width,
        };
        table().render(look, &mut text);
        text
    }

    #[test]
    fn without_a_terminal_nothing_is_cut() {
        assert_eq!(
            render(None),
            "NAME      TOKENS  DESCRIPTION\n\
             add            7  Adds two numbers, whatever they are\n\
             multiply      12\n"
        );
    }

    #[test]
    fn the_last_column_is_cut_to_fit() {
        assert_eq!(
            render(Some(44)),
            "NAME      TOKENS  DESCRIPTION\n\
             add            7  Adds two numbers, whateve…\n\
             multiply      12\n"
        );
    }

    #[test]
    fn a_column_that_is_whole_goes_on_below() {
        let look = |width| Look {
            has_colour: false,
            width: Some(width),
        };
        let table = table_with(Column::whole("DESCRIPTION"));
        let mut text = String::new();
        table.render(look(44), &mut text);
        assert_eq!(
            text,
            "NAME      TOKENS  DESCRIPTION\n\
             add            7  Adds two numbers, whatever\n                  they are\n\
             multiply      12\n"
        );
        text.clear();
        table.render(look(20), &mut text);
        let below = "    Adds two\n    numbers,\n    whatever they\n    are\n";
        assert_eq!(
            text,
            format!("NAME      TOKENS\nadd            7\n{below}multiply      12\n")
        );
    }

    #[test]
    fn on_a_narrow_terminal_the_last_column_goes_below() {
        assert_eq!(
            render(Some(30)),
            "NAME      TOKENS\n\
             add            7\n    Adds two numbers, whatever\n    they are\n\
             multiply      12\n"
        );
    }

    #[test]
    fn where_there_is_no_room_columns_are_left_out_and_cut() {
        let mut text = String::new();
        let look = Look {
            has_colour: false,
            width: Some(8),
        };
        table().render(look, &mut text);
        assert_eq!(text, "NAME\nadd\n    Adds\n    two…\nmultiply\n");
    }
}
