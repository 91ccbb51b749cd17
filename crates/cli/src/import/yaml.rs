//! YAML with places: the file of Goose.
//!
//! Plain words mean what the core schema of YAML 1.2 says, as far as JSON has it. An alias copies
//! what it names, so every node is paid for out of one budget.
//!
//! Specification: YAML 1.2.2 section 10.3 (core schema).

use std::collections::HashMap;

use granit_parser::{Event, Marker, Parser, ScalarStyle};
use switchboard_hub::Position;

use super::place::BadSyntax;
use super::tree::{Node, Value};

/// Reads the one document of a text.
pub(super) fn read(text: &str) -> Result<Node, BadSyntax> {
    let options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut builder = Builder::default();
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|error| BadSyntax {
            position: place(error.marker()),
            reason: error.info(),
        })?;
        let at = place(&span.start);
        builder.handle(event, at).map_err(|reason| BadSyntax {
            position: at,
            reason: reason.to_owned(),
        })?;
    }
    let nothing = Node::new(Position::new(1, 1), Value::Object(Vec::new()));
    Ok(builder.document.unwrap_or(nothing))
}

/// Puts the events of a parser together.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, (Node, usize)>,
    document: Option<Node>,
    documents: usize,
    spent: usize,
}

/// A list or an object whose end has not come yet.
struct Open {
    at: Position,
    anchor: usize,
    /// What had been spent before it began.
    before: usize,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    /// The members so far, and the key that waits for its value.
    Object(Vec<(String, Position, Node)>, Option<(String, Position)>),
}

type Done = Result<(), &'static str>;

impl Builder {
    fn handle(&mut self, event: Event<'_>, at: Position) -> Done {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                match self.documents {
                    1 => Ok(()),
                    _ => Err("there is a second document"),
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let before = self.spent;
                self.spend(text.len() + 1)?;
                let is_text = style != ScalarStyle::Plain
                    || tag.is_some_and(|tag| tag.core_suffix() == Some("str"));
                let value = match is_text {
                    true => Value::Text(text.clone().into_owned()),
                    false => plain(&text),
                };
                let node = Node::new(at, value);
                self.keep(anchor, before, &node)?;
                match self.wants_key() {
                    true => self.key(text.into_owned(), at),
                    false => self.place(node),
                }
            }
            Event::SequenceStart(_, anchor, _) => self.begin(anchor, at, Content::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => {
                self.begin(anchor, at, Content::Object(Vec::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else {
                    return Err("something ends that never began");
                };
                let value = match open.content {
                    Content::List(items) => Value::List(items),
                    Content::Object(members, _) => Value::Object(members),
                };
                let node = Node::new(open.at, value);
                self.keep(open.anchor, open.before, &node)?;
                self.place(node)
            }
            Event::Alias(anchor) => {
                let Some((_, cost)) = self.anchors.get(&anchor) else {
                    return Err("an alias stands inside of what it names");
                };
                // Paid before it is copied.
                self.spend(*cost)?;
                if self.wants_key() {
                    return Err("a key must be a plain word or text");
                }
                match self.anchors.get(&anchor).map(|(node, _)| node.clone()) {
                    Some(mut node) => {
                        node.at = at;
                        self.place(node)
                    }
                    None => Ok(()),
                }
            }
            // The stream's own marks.
            _ => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, at: Position, content: Content) -> Done {
        if self.wants_key() {
            return Err("a key must be a plain word or text");
        }
        let before = self.spent;
        self.spend(1)?;
        self.open.push(Open {
            at,
            anchor,
            before,
            content,
        });
        Ok(())
    }

    /// Does an object wait for its next key?
    fn wants_key(&self) -> bool {
        let content = self.open.last().map(|open| &open.content);
        matches!(content, Some(Content::Object(_, None)))
    }

    fn key(&mut self, text: String, at: Position) -> Done {
        if let Some(Content::Object(_, key)) = self.open.last_mut().map(|open| &mut open.content) {
            *key = Some((text, at));
        }
        Ok(())
    }

    fn place(&mut self, node: Node) -> Done {
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.document = Some(node),
            Some(Content::List(items)) => items.push(node),
            Some(Content::Object(members, key)) => {
                let Some((key, at)) = key.take() else {
                    return Err("a key must be a plain word or text");
                };
                members.push((key, at, node));
            }
        }
        Ok(())
    }

    /// Keeps a copy of what has an anchor.
    fn keep(&mut self, anchor: usize, before: usize, node: &Node) -> Done {
        if anchor != 0 {
            let cost = self.spent.saturating_sub(before);
            self.spend(cost)?;
            self.anchors.insert(anchor, (node.clone(), cost));
        }
        Ok(())
    }

    fn spend(&mut self, cost: usize) -> Done {
        self.spent = self.spent.saturating_add(cost);
        match self.spent > MAX_COST {
            true => Err("its aliases copy too much; write the values out"),
            false => Ok(()),
        }
    }
}

/// What a word without quotes means.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Boolean(true),
        "false" | "False" | "FALSE" => Value::Boolean(false),
        // What else YAML takes for a number nobody writes into such a file.
        _ => match serde_json::from_str::<serde_json::Number>(text) {
            Ok(number) => Value::Number(number.to_string()),
            Err(_) => Value::Text(text.to_owned()),
        },
    }
}

/// Lines are counted from one already, columns are not.
fn place(marker: &Marker) -> Position {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Position::new(
        number(marker.line()),
        number(marker.col().saturating_add(1)),
    )
}

// Deeper than anyone writes by hand, far below what a reader of JSON refuses.
const MAX_DEPTH: usize = 32;
// Bytes of text plus one for each node, copies included. Such files have a few KiB.
const MAX_COST: usize = 2 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        let node = read(text).unwrap_or_else(|bad| panic!("{bad:?}"));
        node.to_json().0.replace('\n', "")
    }

    #[test]
    fn plain_words_have_types_and_others_are_text() {
        assert_eq!(
            json("a: 1\nb: '1'\nc: yes\nd: ~\ne: true\nf: 1.5\ng: |\n  x\n  y\n"),
            r#"{"a":1,"b":"1","c":"yes","d":null,"e":true,"f":1.5,"g":"x\ny\n"}"#
        );
        assert_eq!(
            json("a: &x {b: [1]}\nc: *x\n"),
            r#"{"a":{"b":[1]},"c":{"b":[1]}}"#
        );
        assert_eq!(json("a: !!str 1"), r#"{"a":"1"}"#);
        assert_eq!(json("# nothing\n"), "{}");
    }

    #[test]
    fn every_line_knows_its_place() {
        let node = read("a:\n  b: x\n").unwrap();
        let (_, places) = node.to_json();
        let lines: Vec<String> = places.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["1:1", "1:1", "2:3", "2:3", "2:6"]);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_place() {
        let line = |text: &str| read(text).unwrap_err().position.line;
        assert_eq!(line("a: 1\nb: [\n"), 2);
        assert_eq!(line("a: 1\n...\n---\nb: 2"), 3);
        assert_eq!(line("a: &x [*x]"), 1);
        assert_eq!(line("{a: 1}: 2"), 1);
        assert!(read(&"[".repeat(1000)).is_err());
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let below = vec![format!("*a{}", level - 1); 9].join(", ");
            bomb += &format!("a{level}: &a{level} [{below}]\n");
        }
        assert!(read(&bomb).unwrap_err().reason.contains("copy too much"));
    }
}
