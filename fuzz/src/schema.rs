//! JSON Schemas of peers: the input is a schema, a line feed and a value.

use serde_json::Value;
use switchboard_schema::{CheckError, Schema};

/// A schema is read or refused; a value is judged within bounds, the same way each time, and
/// however it comes.
pub fn schema(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (schema, value) = text.split_once('\n').unwrap_or((&text, "{}"));
    let read = serde_json::from_str::<Value>(schema);
    let compiled = match Schema::compile(schema) {
        Ok(compiled) => compiled,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            // What holds for everything is a schema.
            assert!(!matches!(&read, Ok(Value::Bool(_))));
            return;
        }
    };
    let read = read.expect("a schema is JSON");
    let verdict = compiled.check(value.as_bytes());
    assert_eq!(
        describe(&verdict),
        describe(&compiled.check(value.as_bytes()))
    );
    match (serde_json::from_str::<Value>(value), &verdict) {
        (Err(_), verdict) => assert!(matches!(verdict, Err(CheckError::NotJson))),
        (Ok(_), Err(CheckError::NotJson)) => panic!("it is JSON"),
        (Ok(value), verdict) => {
            let other = compiled.check_value(&value);
            // How much may be spent depends on how it came.
            if !is_bounded(verdict) && !is_bounded(&other) {
                assert_eq!(other.is_ok(), verdict.is_ok());
            }
            match read {
                Value::Bool(all) if !is_bounded(verdict) => assert_eq!(verdict.is_ok(), all),
                Value::Object(members) if members.is_empty() && !is_bounded(verdict) => {
                    assert!(verdict.is_ok());
                }
                _ => {}
            }
        }
    }
}

fn is_bounded(verdict: &Result<(), CheckError>) -> bool {
    matches!(verdict, Err(CheckError::TooCostly | CheckError::TooDeep))
}

fn describe(verdict: &Result<(), CheckError>) -> String {
    match verdict {
        Ok(()) => "it fits".to_owned(),
        Err(error) => {
            let said = error.describe("the value");
            assert!(said.len() < 64 * 1024, "{} bytes of reasons", said.len());
            said
        }
    }
}
