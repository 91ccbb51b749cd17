//! Answers that were written down before: `--answers FILE`.
//!
//! An object of fields answers every form; a list answers one question after the other, and its
//! last goes on being the answer. Instead of fields there may be `"accept"`, `"decline"` or
//! `"cancel"`.

use std::path::PathBuf;

use serde_json::{Map, Value};
use switchboard_client::types::{ElicitAction, ElicitResult, ElicitSchema};

use super::form;

/// Answers, read when they are first needed.
#[derive(Debug)]
pub(super) struct Answers {
    file: Option<PathBuf>,
    read: Option<Vec<Value>>,
}

impl Answers {
    pub(super) const fn later(file: Option<PathBuf>) -> Self {
        Self { file, read: None }
    }

    /// The next answer. None, if there is no file.
    pub(super) fn next(&mut self) -> Result<Option<Value>, String> {
        let Some(file) = &self.file else {
            return Ok(None);
        };
        let answers = match &mut self.read {
            Some(answers) => answers,
            None => {
                let shown = file.display();
                let text = std::fs::read_to_string(file);
                let text = text.map_err(|error| format!("the answers {shown}: {error}"))?;
                let answers = match serde_json::from_str(&text) {
                    Ok(Value::Array(answers)) => answers,
                    Ok(one) => vec![one],
                    Err(error) => return Err(format!("the answers {shown}: {error}")),
                };
                self.read.insert(answers)
            }
        };
        Ok(match answers.len() {
            0 => None,
            1 => answers.first().cloned(),
            _ => Some(answers.remove(0)),
        })
    }
}

/// An answer to a form: the fields that it has, each checked.
pub(super) fn to_form(answer: Value, schema: &ElicitSchema) -> Result<ElicitResult, String> {
    let mut fields = match answer {
        Value::Object(fields) => fields,
        Value::String(word) if word != "accept" => {
            return Ok(ElicitResult::new(to_visit(&Value::String(word))));
        }
        _ => Map::new(),
    };
    let mut content = Map::new();
    for (name, field) in &schema.properties {
        let value = fields.remove(name).or_else(|| form::default(field));
        match value {
            Some(value) => {
                form::check(&value, field).map_err(|problem| format!("{name}: {problem}"))?;
                content.insert(name.clone(), value);
            }
            None if schema.is_required(name) => return Err(format!("{name} is missing")),
            None => {}
        }
    }
    Ok(ElicitResult::accept(content))
}

/// An answer to whether somebody visits a page.
pub(super) fn to_visit(answer: &Value) -> ElicitAction {
    match answer.as_str() {
        Some("decline") => ElicitAction::Decline,
        Some("cancel") => ElicitAction::Cancel,
        _ => ElicitAction::Accept,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> ElicitSchema {
        serde_json::from_value(json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 2},
                "size": {"type": "string", "enum": ["s", "m"], "default": "m"},
            },
            "required": ["name"],
        }))
        .unwrap()
    }

    #[test]
    fn an_answer_fills_the_fields_of_a_form() {
        let check = |answer: Value, expected: Result<Value, &str>| {
            let result = to_form(answer.clone(), &schema());
            let result = result.map(|result| serde_json::to_value(&result).unwrap());
            assert_eq!(result, expected.map_err(str::to_owned), "{answer}");
        };
        let accepted = json!({"action": "accept", "content": {"name": "Ann", "size": "m"}});
        check(json!({"name": "Ann", "other": 1}), Ok(accepted));
        check(json!("decline"), Ok(json!({"action": "decline"})));
        check(json!({}), Err("name is missing"));
        check(json!({"name": "A"}), Err("name: at least 2 characters"));
        check(
            json!({"name": "Ann", "size": "l"}),
            Err("size: one of s, m"),
        );
    }
}
