//! Answers that were written down before: `--answers FILE`.
//!
//! An object of fields answers every form; a list answers one question after the other, and its
//! last goes on being the answer. Instead of fields there may be `"accept"`, `"decline"` or
//! `"cancel"`. Members called `${input:id}`, of any object, are for configurations.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::{Map, Value};
use switchboard_client::types::{ElicitAction, ElicitResult, ElicitSchema};

use super::form;

/// Answers, read when they are first needed.
#[derive(Debug)]
pub(super) struct Answers {
    file: Option<PathBuf>,
    read: Option<Read>,
}

#[derive(Debug)]
struct Read {
    /// For servers.
    answers: Vec<Value>,
    /// For configurations, by what is written there.
    inputs: HashMap<String, String>,
}

impl Answers {
    pub(super) const fn later(file: Option<PathBuf>) -> Self {
        Self { file, read: None }
    }

    /// The next answer. None, if there is no file.
    pub(super) fn next(&mut self) -> Result<Option<Value>, String> {
        let Some(Read { answers, .. }) = self.read()? else {
            return Ok(None);
        };
        Ok(match answers.len() {
            0 => None,
            1 => answers.first().cloned(),
            _ => Some(answers.remove(0)),
        })
    }

    /// The answer to what a configuration asks for.
    pub(super) fn input(&mut self, id: &str) -> Result<Option<String>, String> {
        let read = self.read()?;
        Ok(read.and_then(|read| read.inputs.get(&format!("${{input:{id}}}")).cloned()))
    }

    fn read(&mut self) -> Result<Option<&mut Read>, String> {
        let Some(file) = &self.file else {
            return Ok(None);
        };
        if self.read.is_none() {
            let shown = file.display();
            let text = std::fs::read_to_string(file);
            let text = text.map_err(|error| format!("the answers {shown}: {error}"))?;
            let answers = match serde_json::from_str(&text) {
                Ok(Value::Array(answers)) => answers,
                Ok(one) => vec![one],
                Err(error) => return Err(format!("the answers {shown}: {error}")),
            };
            self.read = Some(Read::new(answers));
        }
        Ok(self.read.as_mut())
    }
}

impl Read {
    /// Takes apart what is for configurations and what is for servers.
    fn new(mut answers: Vec<Value>) -> Self {
        let mut inputs = HashMap::new();
        answers.retain_mut(|answer| {
            let Value::Object(fields) = answer else {
                return true;
            };
            let before = fields.len();
            fields.retain(|name, value| {
                if !name.starts_with("${input:") {
                    return true;
                }
                let value = match value {
                    Value::String(text) => std::mem::take(text),
                    other => other.to_string(),
                };
                inputs.insert(name.clone(), value);
                false
            });
            // One that is for configurations alone answers no server.
            fields.len() == before || !fields.is_empty()
        });
        Self { answers, inputs }
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
    fn what_is_for_configurations_answers_no_server() {
        let check = |written: Value, servers: Value, tok: Option<&str>| {
            let mut answers = Answers {
                file: Some(PathBuf::new()),
                read: Some(Read::new(match written {
                    Value::Array(answers) => answers,
                    one => vec![one],
                })),
            };
            assert_eq!(answers.input("tok").unwrap().as_deref(), tok);
            assert_eq!(answers.next().unwrap().unwrap_or_default(), servers);
        };
        let name = json!({"name": "Ann"});
        check(name.clone(), name.clone(), None);
        check(json!({"${input:tok}": "t"}), Value::Null, Some("t"));
        check(
            json!({"name": "Ann", "${input:tok}": "t"}),
            name.clone(),
            Some("t"),
        );
        check(json!([{"${input:tok}": 7}, name]), name, Some("7"));
        check(json!({}), json!({}), None);
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
