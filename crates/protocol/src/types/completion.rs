//! Completion: values that fit what the user has typed so far.
//!
//! Specification: server/utilities/completion.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;

use crate::method::Method;
use crate::types::tagged;
use crate::types::{Extra, Meta, Request, ResultType};

/// `completion/complete`
#[derive(Clone, Copy, Debug)]
pub struct Complete;

impl Request for Complete {
    const METHOD: Method = Method::CompletionComplete;
    type Params = CompleteRequestParams;
    type Result = CompleteResult;
}

/// What to complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompleteRequestParams {
    /// Whose argument it is.
    #[serde(rename = "ref")]
    pub reference: CompletionReference,
    /// The argument and what is typed.
    pub argument: CompletionArgument,
    /// What is already chosen (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<CompletionContext>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CompleteRequestParams {
    /// Completes an argument.
    pub fn new(reference: CompletionReference, argument: CompletionArgument) -> Self {
        Self {
            reference,
            argument,
            context: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// Whose argument is completed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CompletionReference {
    /// An argument of a prompt.
    Prompt(PromptReference),
    /// A variable of a resource template.
    ResourceTemplate(ResourceTemplateReference),
}

impl CompletionReference {
    /// An argument of the prompt with this name.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(PromptReference::new(name))
    }

    /// A variable of this URI template.
    pub fn resource_template(uri: impl Into<String>) -> Self {
        Self::ResourceTemplate(ResourceTemplateReference::new(uri))
    }
}

impl Serialize for CompletionReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Prompt(reference) => reference.serialize(serializer),
            Self::ResourceTemplate(reference) => reference.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for CompletionReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = tagged::object(deserializer)?;
        match &*tagged::kind(&raw)? {
            "ref/prompt" => tagged::decode(&raw).map(Self::Prompt),
            "ref/resource" => tagged::decode(&raw).map(Self::ResourceTemplate),
            other => Err(D::Error::unknown_variant(
                other,
                &["ref/prompt", "ref/resource"],
            )),
        }
    }
}

/// A prompt by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptReference {
    #[serde(rename = "type")]
    kind: PromptKind,
    /// Its name for programs.
    pub name: String,
    /// Its name for people (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl PromptReference {
    /// The prompt with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            kind: PromptKind::default(),
            name: name.into(),
            title: None,
            extra: Extra::default(),
        }
    }
}

/// A resource template by its text; named `ResourceReference` before 2025-06-18.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceTemplateReference {
    #[serde(rename = "type")]
    kind: ResourceKind,
    /// The URI or URI template.
    pub uri: String,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ResourceTemplateReference {
    /// The template with this text.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            kind: ResourceKind::default(),
            uri: uri.into(),
            extra: Extra::default(),
        }
    }
}

/// An argument and what is typed of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompletionArgument {
    /// The argument.
    pub name: String,
    /// What is typed so far.
    pub value: String,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CompletionArgument {
    /// This much is typed of this argument.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            extra: Extra::default(),
        }
    }
}

/// What is already chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompletionContext {
    /// Arguments with their values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<BTreeMap<String, String>>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Values that fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompleteResult {
    /// The values.
    pub completion: Completion,
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

impl CompleteResult {
    /// These values.
    pub fn new(completion: Completion) -> Self {
        Self {
            completion,
            result_type: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// Values that fit, best first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Completion {
    /// At most 100 of them.
    pub values: Vec<String>,
    /// How many there are in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    /// Whether there are more than these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Completion {
    /// These values; past the hundredth they are counted and left out.
    pub fn new(mut values: Vec<String>) -> Self {
        let total = values.len();
        values.truncate(MAX_VALUES);
        let cut = total > MAX_VALUES;
        Self {
            values,
            total: cut.then(|| Number::from(total)),
            has_more: cut.then_some(true),
            extra: Extra::default(),
        }
    }
}

/// The schema's limit of values in one answer.
const MAX_VALUES: usize = 100;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum PromptKind {
    #[default]
    #[serde(rename = "ref/prompt")]
    Prompt,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum ResourceKind {
    #[default]
    #[serde(rename = "ref/resource")]
    Resource,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_past_the_hundredth_are_counted_and_left_out() {
        let many = Completion::new(vec!["x".to_owned(); 101]);
        assert_eq!(many.values.len(), 100);
        assert_eq!(many.total, Some(101.into()));
        assert_eq!(many.has_more, Some(true));
        let few = Completion::new(vec!["x".to_owned(); 100]);
        assert_eq!(
            (few.values.len(), few.total, few.has_more),
            (100, None, None)
        );
    }

    #[test]
    fn an_unknown_kind_of_reference_is_refused() {
        let read = serde_json::from_str::<CompletionReference>;
        assert!(read(r#"{"type":"ref/prompt","name":"p"}"#).is_ok());
        assert!(read(r#"{"type":"ref/tool","name":"p"}"#).is_err());
    }
}
