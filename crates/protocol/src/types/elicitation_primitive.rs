//! Fields of a form that take a text, a number, or yes and no.
//!
//! Specification: client/elicitation (primitive schemas).

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::types::Extra;

/// Free text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StringSchema {
    #[serde(rename = "type")]
    kind: StringKind,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How short it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_length: Option<Number>,
    /// How long it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<Number>,
    /// What the text is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<StringFormat>,
    /// What it is if the user changes nothing (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What a text is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StringFormat {
    /// An e-mail address.
    Email,
    /// A URI.
    Uri,
    /// A date.
    Date,
    /// A date with a time.
    DateTime,
    /// A word that this crate does not know.
    #[serde(untagged)]
    Other(String),
}

/// A number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NumberSchema {
    /// Whether fractions are allowed.
    #[serde(rename = "type")]
    pub kind: NumberKind,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How small it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Number>,
    /// How large it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<Number>,
    /// What it is if the user changes nothing (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Number>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Whether a number may have a fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NumberKind {
    /// It may.
    #[default]
    Number,
    /// It may not.
    Integer,
}

/// Yes or no.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BooleanSchema {
    #[serde(rename = "type")]
    kind: BooleanKind,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it is if the user changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<bool>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum StringKind {
    #[default]
    #[serde(rename = "string")]
    String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum BooleanKind {
    #[default]
    #[serde(rename = "boolean")]
    Boolean,
}
