//! Fields of a form that let the user choose among values.
//!
//! Four ways to write them, and the one used before 2025-11-25.
//!
//! Specification: client/elicitation (enum schemas).

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::types::Extra;
use crate::types::elicitation_primitive::StringKind;

/// One of several values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UntitledSingleSelectEnumSchema {
    #[serde(rename = "type")]
    kind: StringKind,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The values.
    #[serde(rename = "enum")]
    pub values: Vec<String>,
    /// What it is if the user changes nothing (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl UntitledSingleSelectEnumSchema {
    /// One of these values.
    pub fn new(values: Vec<String>) -> Self {
        Self {
            kind: StringKind::default(),
            title: None,
            description: None,
            values,
            default: None,
            extra: Extra::default(),
        }
    }
}

/// One of several values that have titles (since 2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledSingleSelectEnumSchema {
    #[serde(rename = "type")]
    kind: StringKind,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The values.
    #[serde(rename = "oneOf")]
    pub options: Vec<EnumOption>,
    /// What it is if the user changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TitledSingleSelectEnumSchema {
    /// One of these values.
    pub fn new(options: Vec<EnumOption>) -> Self {
        Self {
            kind: StringKind::default(),
            title: None,
            description: None,
            options,
            default: None,
            extra: Extra::default(),
        }
    }
}

/// Some of several values (since 2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UntitledMultiSelectEnumSchema {
    #[serde(rename = "type")]
    kind: ArrayKind,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How few may be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_items: Option<Number>,
    /// How many may be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<Number>,
    /// The values.
    pub items: UntitledItems,
    /// What is chosen if the user changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl UntitledMultiSelectEnumSchema {
    /// Some of these values.
    pub fn new(values: Vec<String>) -> Self {
        Self {
            items: UntitledItems {
                values,
                ..UntitledItems::default()
            },
            ..Self::default()
        }
    }
}

/// Some of several values that have titles (since 2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledMultiSelectEnumSchema {
    #[serde(rename = "type")]
    kind: ArrayKind,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How few may be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_items: Option<Number>,
    /// How many may be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<Number>,
    /// The values.
    pub items: TitledItems,
    /// What is chosen if the user changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TitledMultiSelectEnumSchema {
    /// Some of these values.
    pub fn new(options: Vec<EnumOption>) -> Self {
        Self {
            items: TitledItems {
                options,
                extra: Extra::default(),
            },
            ..Self::default()
        }
    }
}

/// One of several values, with titles beside them, as written before 2025-11-25.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LegacyTitledEnumSchema {
    #[serde(rename = "type")]
    kind: StringKind,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The values.
    #[serde(rename = "enum")]
    pub values: Vec<String>,
    /// Their titles, in the same order.
    #[serde(rename = "enumNames", default, skip_serializing_if = "Option::is_none")]
    pub titles: Option<Vec<String>>,
    /// What it is if the user changes nothing (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl LegacyTitledEnumSchema {
    /// One of these values, shown under these titles.
    pub fn new(values: Vec<String>, titles: Vec<String>) -> Self {
        Self {
            values,
            titles: Some(titles),
            ..Self::default()
        }
    }
}

/// The values of a choice of several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UntitledItems {
    #[serde(rename = "type")]
    kind: StringKind,
    /// The values.
    #[serde(rename = "enum")]
    pub values: Vec<String>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The values of a choice of several, with titles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledItems {
    /// The values.
    #[serde(rename = "anyOf")]
    pub options: Vec<EnumOption>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A value and its title.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EnumOption {
    /// The value.
    #[serde(rename = "const")]
    pub value: String,
    /// Its name for people.
    pub title: String,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl EnumOption {
    /// A value under a title.
    pub fn new(value: impl Into<String>, title: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            title: title.into(),
            extra: Extra::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum ArrayKind {
    #[default]
    #[serde(rename = "array")]
    Array,
}
