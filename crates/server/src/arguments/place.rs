//! From a position in JSON text to the path of the value that stands there.
//!
//! serde_json says where an error was met as line and column. The byte found that way is the
//! end of the scalar or container that was wrong, or the beginning of a container that
//! was not even entered.

use std::fmt::Write as _;
use std::ops::Range;

/// The byte that a line and a column of serde_json mean.
pub(super) fn offset_of(text: &[u8], line: usize, column: usize) -> usize {
    let breaks = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let start = match line.checked_sub(2) {
        Some(before) => breaks.map(|(at, _)| at + 1).nth(before).unwrap_or(0),
        None => 0,
    };
    start.saturating_add(column)
}

/// The path of the value that ends or begins at the byte, or else contains it.
pub(super) fn path_at(text: &[u8], offset: usize) -> String {
    let mut steps: Vec<Step> = Vec::new();
    let mut wants_name = false;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'{' | b'[' if at >= offset => break,
            b'{' => {
                steps.push(Step::Member(0..0));
                wants_name = true;
                at += 1;
            }
            b'[' => {
                steps.push(Step::Item(0));
                wants_name = false;
                at += 1;
            }
            b'}' | b']' => {
                steps.pop();
                wants_name = false;
                at += 1;
                if at >= offset {
                    break;
                }
            }
            b',' if at >= offset => {
                steps.pop();
                break;
            }
            b',' => {
                match steps.last_mut() {
                    Some(Step::Item(index)) => *index += 1,
                    Some(Step::Member(_)) => wants_name = true,
                    None => {}
                }
                at += 1;
            }
            b' ' | b'\t' | b'\r' | b'\n' | b':' => at += 1,
            _ => {
                let end = token_end(text, at);
                if wants_name {
                    wants_name = false;
                    if end >= offset {
                        steps.pop();
                        break;
                    }
                    if let Some(Step::Member(name)) = steps.last_mut() {
                        *name = at..end;
                    }
                } else if end >= offset {
                    break;
                }
                at = end;
            }
        }
    }
    render(text, &steps)
}

/// Adds a member to a path.
pub(crate) fn join(path: &mut String, name: &str) {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
    if !name.is_empty() && name.chars().all(is_plain) {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name);
    } else {
        // As it would stand in JSON, so that no name can pass for a longer path.
        let quoted = serde_json::to_string(name).unwrap_or_default();
        let _ = write!(path, "[{quoted}]");
    }
}

/// Adds an item to a path.
pub(crate) fn join_index(path: &mut String, index: usize) {
    let _ = write!(path, "[{index}]");
}

enum Step {
    /// Where the name stands, with its quotes; empty before it was read.
    Member(Range<usize>),
    Item(usize),
}

fn render(text: &[u8], steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Item(index) => join_index(&mut path, *index),
            Step::Member(name) => {
                let name = text.get(name.clone()).unwrap_or_default();
                if let Ok(name) = serde_json::from_slice::<String>(name) {
                    join(&mut path, &name);
                }
            }
        }
    }
    path
}

/// Where the string, number or word that begins here ends.
fn token_end(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let length = if rest.first() == Some(&b'"') {
        let mut escaped = false;
        let inside = rest.iter().skip(1).position(|byte| {
            let ends = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            ends
        });
        inside.map(|length| length + 2)
    } else {
        rest.iter().position(|byte| b",]}: \t\r\n".contains(byte))
    };
    // At least one byte, so that the walk always ends.
    start + length.unwrap_or(rest.len()).max(1)
}
