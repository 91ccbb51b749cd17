//! What a file of another syntax holds, with places, as JSON that can be reported there.
//!
//! Each value stands on a line of its own, and for each line it is known where it came from.

use switchboard_hub::Position;

/// A value, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) at: Position,
    pub(super) value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Boolean(bool),
    /// As JSON writes it.
    Number(String),
    Text(String),
    List(Vec<Node>),
    /// Each key with its place.
    Object(Vec<(String, Position, Node)>),
}

impl Node {
    pub(super) const fn new(at: Position, value: Value) -> Self {
        Self { at, value }
    }

    /// Is there something at the top under this key?
    pub(super) fn has(&self, key: &str) -> bool {
        match &self.value {
            Value::Object(members) => members.iter().any(|(known, ..)| known == key),
            _ => false,
        }
    }

    /// As JSON, and where each of its lines stands.
    pub(super) fn to_json(&self) -> (String, Vec<Position>) {
        let mut text = String::new();
        let mut places = vec![self.at];
        self.write(&mut text, &mut places);
        (text, places)
    }

    fn write(&self, text: &mut String, places: &mut Vec<Position>) {
        match &self.value {
            Value::Null => text.push_str("null"),
            Value::Boolean(true) => text.push_str("true"),
            Value::Boolean(false) => text.push_str("false"),
            Value::Number(number) => text.push_str(number),
            Value::Text(words) => text.push_str(&quoted(words)),
            Value::List(items) => {
                text.push('[');
                for (index, item) in items.iter().enumerate() {
                    begin(index, item.at, text, places);
                    item.write(text, places);
                }
                text.push(']');
            }
            Value::Object(members) => {
                text.push('{');
                for (index, (key, at, value)) in members.iter().enumerate() {
                    begin(index, *at, text, places);
                    text.push_str(&quoted(key));
                    text.push(':');
                    // A value that is wrong is reported where it is, not where its key is.
                    text.push('\n');
                    places.push(value.at);
                    value.write(text, places);
                }
                text.push('}');
            }
        }
    }
}

fn begin(index: usize, at: Position, text: &mut String, places: &mut Vec<Position>) {
    if index > 0 {
        text.push(',');
    }
    text.push('\n');
    places.push(at);
}

/// A text as JSON writes it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
