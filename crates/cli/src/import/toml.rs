//! TOML with places: the file of Codex.

use std::ops::Range;

use switchboard_hub::Position;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::place::{BadSyntax, Places};
use super::tree::{Node, Value};

/// Reads a document.
pub(super) fn read(text: &str) -> Result<Node, BadSyntax> {
    let places = Places::new(text);
    let table = DeTable::parse(text).map_err(|error| BadSyntax {
        position: places.of(error.span().map_or(0, |span| span.start)),
        reason: error.message().to_owned(),
    })?;
    object(table.get_ref(), Position::new(1, 1), &places)
}

fn object(table: &DeTable<'_>, at: Position, places: &Places) -> Result<Node, BadSyntax> {
    let mut members = Vec::with_capacity(table.len());
    for (key, value) in table {
        members.push((key, value));
    }
    // The map is sorted by its keys; people know the order of their file.
    members.sort_by_key(|(key, _)| key.span().start);
    let members = members.into_iter().map(|(key, value)| {
        let at = place(key.span(), places);
        let value = node(value, at, places)?;
        Ok((key.get_ref().to_string(), at, value))
    });
    Ok(Node::new(
        at,
        Value::Object(members.collect::<Result<_, _>>()?),
    ))
}

fn node(value: &Spanned<DeValue<'_>>, key: Position, places: &Places) -> Result<Node, BadSyntax> {
    let at = place(value.span(), places);
    let bad = |reason: &str| BadSyntax {
        position: at,
        reason: reason.to_owned(),
    };
    Ok(Node::new(
        at,
        match value.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => {
                let parsed = i64::from_str_radix(number.as_str(), number.radix());
                let parsed = parsed.map_err(|_| bad("the number is too large"))?;
                Value::Number(parsed.to_string())
            }
            DeValue::Float(number) => {
                let parsed: Option<f64> = number.as_str().parse().ok();
                let parsed = parsed.and_then(serde_json::Number::from_f64);
                let parsed = parsed.ok_or_else(|| bad("the number has no JSON form"))?;
                Value::Number(parsed.to_string())
            }
            DeValue::Boolean(boolean) => Value::Boolean(*boolean),
            DeValue::Datetime(time) => Value::Text(time.to_string()),
            DeValue::Array(items) => {
                let items = items.iter().map(|item| node(item, at, places));
                Value::List(items.collect::<Result<_, _>>()?)
            }
            // A table is where its name is.
            DeValue::Table(table) => return object(table, key, places),
        },
    ))
}

fn place(span: Range<usize>, places: &Places) -> Position {
    places.of(span.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> (String, Vec<Position>) {
        let node = read(text).unwrap_or_else(|bad| panic!("{bad:?}"));
        node.to_json()
    }

    #[test]
    fn every_line_knows_its_place() {
        let (text, places) = json("b = 1\n[x.y]\na = [true, 'z']\n[x.\"q r\"]\n");
        assert_eq!(
            text,
            "{\n\"b\":\n1,\n\"x\":\n{\n\"y\":\n{\n\"a\":\n[\ntrue,\n\"z\"]},\n\"q r\":\n{}}}"
        );
        let place = |line: u32, column: u32| Position::new(line, column);
        assert_eq!(places[1..3], [place(1, 1), place(1, 5)]);
        assert_eq!(places[3], place(2, 2));
        assert_eq!(places[5], place(2, 4));
        assert_eq!(
            places[7..11],
            [place(3, 1), place(3, 5), place(3, 6), place(3, 12)]
        );
        assert_eq!(places[11], place(4, 4));
    }

    #[test]
    fn what_is_not_toml_is_refused_with_its_place() {
        let bad = read("a = 1\nb = \n").unwrap_err();
        assert_eq!(bad.position.line, 2);
        assert!(!bad.reason.is_empty());
        assert!(read("a = inf").is_err());
        assert!(read("a = 99999999999999999999999").is_err());
    }
}
