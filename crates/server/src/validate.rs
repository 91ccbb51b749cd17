//! Checks raw arguments and structured results against their schemas.
//!
//! The check itself, and what it may cost, is `switchboard-schema`, behind the cargo feature
//! `validate`. Without it [`Validator`] takes every schema and every value, so that callers
//! do not ask which it is.
//!
//! Specification: basic (JSON Schema usage), server/tools.

use std::fmt;

use switchboard_protocol::RawJson;

/// Says whether values fit a schema. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Validator {
    #[cfg(feature = "validate")]
    schema: switchboard_schema::Schema,
}

#[cfg(feature = "validate")]
impl Validator {
    /// Reads a schema.
    ///
    /// # Errors
    /// When it is no schema that can be used, at a bounded cost.
    pub(crate) fn compile(schema: &RawJson) -> Result<Self, Refused> {
        switchboard_schema::Schema::compile(schema.as_str())
            .map(|schema| Self { schema })
            .map_err(|error| Refused(error.to_string()))
    }

    /// Checks a value, which is JSON text.
    ///
    /// # Errors
    /// When it does not fit the schema: the first few reasons, a line each.
    pub(crate) fn check(&self, text: &[u8]) -> Result<(), Refused> {
        self.schema
            .check(text)
            .map_err(|error| Refused(error.describe("arguments")))
    }
}

#[cfg(not(feature = "validate"))]
#[expect(
    clippy::unnecessary_wraps,
    clippy::unused_self,
    reason = "the one that checks may refuse"
)]
impl Validator {
    /// Takes the schema unread.
    ///
    /// # Errors
    /// Never.
    pub(crate) fn compile(_schema: &RawJson) -> Result<Self, Refused> {
        Ok(Self {})
    }

    /// Takes the value unread.
    ///
    /// # Errors
    /// Never.
    pub(crate) fn check(&self, _text: &[u8]) -> Result<(), Refused> {
        Ok(())
    }
}

/// Why a schema cannot be used or a value does not fit, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

#[cfg(feature = "validate")]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_of_our_own_compile_and_take_what_serde_writes() {
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        struct Tree {
            /// What it says.
            label: Option<String>,
            /// Below.
            children: Vec<Self>,
        }
        let tree = Tree {
            label: None,
            children: vec![Tree {
                label: Some("a".into()),
                children: Vec::new(),
            }],
        };
        let text = serde_json::to_string(&tree).unwrap();
        let output = crate::schema::output_schema::<Tree>().unwrap();
        let validator = Validator::compile(&output.schema).unwrap();
        assert_eq!(validator.check(text.as_bytes()), Ok(()));
        assert!(validator.check(br#"{"label":1,"children":[]}"#).is_err());
    }

    #[test]
    fn what_is_wrong_is_said_in_lines_and_the_whole_is_called_arguments() {
        let schema = RawJson::parse(r#"{"type":"object","required":["a","b"]}"#).unwrap();
        let validator = Validator::compile(&schema).unwrap();
        let check = |value: &str, expected: &str| {
            let refused = validator.check(value.as_bytes()).unwrap_err();
            assert_eq!(refused.to_string(), expected);
        };
        check("[]", "arguments: expected object, found an array");
        check("{}", "a: required, but missing\nb: required, but missing");
        check("{", "not valid JSON");
        let remote = RawJson::parse(r#"{"$ref":"https://example.com"}"#).unwrap();
        assert_eq!(
            Validator::compile(&remote).unwrap_err().to_string(),
            "`$ref` to `https://example.com` leads outside the schema; put the definition into `$defs`"
        );
    }
}

#[cfg(not(feature = "validate"))]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_feature_every_schema_and_value_is_taken() {
        let validator = Validator::compile(&RawJson::parse("false").unwrap()).unwrap();
        assert_eq!(validator.check(b"1"), Ok(()));
    }
}
