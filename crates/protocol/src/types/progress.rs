//! Progress of a request: its token and the notification.
//!
//! Which tokens are live, and that progress grows, is kept by the machines.
//!
//! Specification: basic/patterns/progress (basic/utilities/progress before 2026-07-28).

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;

use crate::method::Method;
use crate::types::{Extra, Meta, Notification};

/// `notifications/progress`
#[derive(Clone, Copy, Debug)]
pub struct ProgressNotification;

impl Notification for ProgressNotification {
    const METHOD: Method = Method::Progress;
    type Params = ProgressNotificationParams;
}

/// How far a request has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ProgressNotificationParams {
    /// The token that the request carried.
    pub progress_token: ProgressToken,
    /// How far it is; grows with every notification.
    pub progress: Number,
    /// Where it ends, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    /// What is being done, for people (since 2025-03-26).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ProgressNotificationParams {
    /// Progress under a token.
    pub fn new(progress_token: ProgressToken, progress: Number) -> Self {
        Self {
            progress_token,
            progress,
            total: None,
            message: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// The token that links progress to the request that asked for it.
///
/// A string or an integer, compared with its type: `1` is not `"1"`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ProgressToken {
    /// An integer.
    Integer(i64),
    /// A string.
    Text(String),
}

impl fmt::Display for ProgressToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl From<i64> for ProgressToken {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<&str> for ProgressToken {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Serialize for ProgressToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Integer(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for ProgressToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TokenVisitor)
    }
}

struct TokenVisitor;

impl Visitor<'_> for TokenVisitor {
    type Value = ProgressToken;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or an integer")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<ProgressToken, E> {
        Ok(ProgressToken::Integer(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<ProgressToken, E> {
        i64::try_from(number)
            .map(ProgressToken::Integer)
            .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ProgressToken, E> {
        Ok(ProgressToken::Text(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<ProgressToken, E> {
        Ok(ProgressToken::Text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_a_string_or_an_integer() {
        let read = serde_json::from_str::<ProgressToken>;
        assert_eq!(read("1").unwrap(), ProgressToken::Integer(1));
        assert_eq!(read("-1").unwrap(), ProgressToken::Integer(-1));
        assert_eq!(read("\"1\"").unwrap(), ProgressToken::from("1"));
        for bad in ["1.0", "1e2", "null", "true", "{}", "[]"] {
            let error = read(bad).unwrap_err().to_string();
            assert!(error.contains("expected a string or an integer"), "{error}");
        }
        assert_eq!(ProgressToken::from(1).to_string(), "1");
        assert_eq!(ProgressToken::from("a").to_string(), "a");
    }

    #[test]
    fn whole_numbers_are_not_rewritten_as_fractions() {
        let text = r#"{"progressToken":"t","progress":50,"total":100.5}"#;
        let params: ProgressNotificationParams = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&params).unwrap(), text);
    }
}
