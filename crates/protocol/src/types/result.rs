//! What every result says of itself, and the result that says no more.
//!
//! Specification: 2026-07-28 basic/index (`resultType`), basic/patterns/mrtr.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::types::{Extra, InputRequiredResult, Meta, Task};

/// What kind of result an answer is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResultType {
    /// The request is done.
    Complete,
    /// The server needs something before it can go on.
    InputRequired,
    /// The request goes on as a task (tasks extension).
    Task,
    /// A kind that this crate does not know; the answer is then invalid.
    #[serde(untagged)]
    Other(String),
}

impl ResultType {
    /// The word on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Complete => "complete",
            Self::InputRequired => "input_required",
            Self::Task => "task",
            Self::Other(text) => text,
        }
    }
}

impl fmt::Display for ResultType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A result that says nothing but that the request is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EmptyResult {
    /// What kind of result this is; absent before 2026-07-28 and then complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A result of the stateless era, read by its `resultType`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Answer<R> {
    /// The request is done.
    Complete(R),
    /// The server needs something before it can go on.
    InputRequired(InputRequiredResult),
    /// The request goes on as a task (tasks extension).
    Task(Box<Task>),
}

impl<R: DeserializeOwned> Answer<R> {
    /// Reads the text of a `result`.
    ///
    /// An absent `resultType` means complete. Whether this method may ask or
    /// become a task is not checked here.
    ///
    /// # Errors
    /// When the kind is unknown or the text does not have the shape of its kind.
    pub fn from_json(text: &str) -> Result<Self, BadAnswer> {
        let head: Head = serde_json::from_str(text).map_err(BadAnswer::Malformed)?;
        match head.result_type {
            None | Some(ResultType::Complete) => serde_json::from_str(text).map(Self::Complete),
            Some(ResultType::InputRequired) => serde_json::from_str(text).map(Self::InputRequired),
            Some(ResultType::Task) => {
                serde_json::from_str(text).map(|task| Self::Task(Box::new(task)))
            }
            Some(ResultType::Other(kind)) => return Err(BadAnswer::UnknownType(kind)),
        }
        .map_err(BadAnswer::Malformed)
    }
}

/// Why a result could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum BadAnswer {
    /// `resultType` is a word that this crate does not know.
    UnknownType(String),
    /// The text does not have the shape of its kind.
    Malformed(serde_json::Error),
}

impl fmt::Display for BadAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownType(kind) => write!(f, "unknown resultType {kind:?}"),
            Self::Malformed(_) => f.write_str("malformed result"),
        }
    }
}

impl std::error::Error for BadAnswer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::UnknownType(_) => None,
            Self::Malformed(error) => Some(error),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    result_type: Option<ResultType>,
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn an_absent_result_type_means_complete() {
        assert!(matches!(
            Answer::<EmptyResult>::from_json("{}"),
            Ok(Answer::Complete(_))
        ));
    }

    #[test]
    fn an_answer_is_read_by_its_result_type() {
        assert!(matches!(
            Answer::<EmptyResult>::from_json(r#"{"resultType":"input_required","requestState":"s"}"#),
            Ok(Answer::InputRequired(result)) if result.request_state.as_deref() == Some("s")
        ));
        assert!(matches!(
            Answer::<EmptyResult>::from_json(
                r#"{"resultType":"task","taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null}"#
            ),
            Ok(Answer::Task(_))
        ));
    }

    #[test]
    fn an_unknown_result_type_is_kept_as_a_value_and_refused_as_an_answer() {
        let read: EmptyResult = serde_json::from_str(r#"{"resultType":"later"}"#).unwrap();
        assert_eq!(read.result_type, Some(ResultType::Other("later".into())));
        assert_eq!(
            serde_json::to_string(&read).unwrap(),
            r#"{"resultType":"later"}"#
        );
        assert!(matches!(
            Answer::<EmptyResult>::from_json(r#"{"resultType":"later"}"#),
            Err(BadAnswer::UnknownType(kind)) if kind == "later"
        ));
    }

    #[test]
    fn a_kind_of_result_is_named_by_its_word_on_the_wire() {
        let check = |kind: ResultType, word: &str| {
            assert_eq!(kind.as_str(), word);
            assert_eq!(kind.to_string(), word);
            assert_eq!(serde_json::to_value(&kind).unwrap(), word);
        };
        check(ResultType::Complete, "complete");
        check(ResultType::InputRequired, "input_required");
        check(ResultType::Task, "task");
        check(ResultType::Other("later".to_owned()), "later");
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let check = |text, expected: &str, has_cause: bool| {
            let error = Answer::<EmptyResult>::from_json(text).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert_eq!(error.source().is_some(), has_cause, "{text}");
        };
        check(
            r#"{"resultType":"later"}"#,
            r#"unknown resultType "later""#,
            false,
        );
        check(r#"{"resultType":"task"}"#, "malformed result", true);
        check("7", "malformed result", true);
    }
}
