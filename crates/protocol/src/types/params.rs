//! Parameters of messages that say nothing but `_meta`, and of paged lists.
//!
//! Absent `params` mean the same as an empty object.
//!
//! Specification: schema `RequestParams`, `NotificationParams`,
//! `PaginatedRequestParams`; server/utilities/pagination.

use serde::{Deserialize, Serialize};

use crate::types::{Extra, Meta};

/// Parameters of a request that has none of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RequestParams {
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Parameters of a notification that has none of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NotificationParams {
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Parameters of a request for one page of a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PaginatedRequestParams {
    /// Where to go on; opaque, and the empty string is a real cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl PaginatedRequestParams {
    /// Goes on after a page that ended with this cursor.
    pub fn after(cursor: impl Into<String>) -> Self {
        Self {
            cursor: Some(cursor.into()),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_asked_for_with_the_cursor_that_was_given() {
        let check = |cursor, expected: &str| {
            let params = PaginatedRequestParams::after(cursor);
            assert_eq!(serde_json::to_string(&params).unwrap(), expected);
        };
        check("a", r#"{"cursor":"a"}"#);
        check("", r#"{"cursor":""}"#);
    }
}
