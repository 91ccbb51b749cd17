//! Roots: the folders that a client works in.
//!
//! Guidance for servers, not access control.
//!
//! Specification: client/roots.

use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::types::{
    Extra, Meta, Notification, NotificationParams, Request, RequestParams, ResultType,
};

/// `roots/list`
#[derive(Clone, Copy, Debug)]
pub struct ListRoots;

impl Request for ListRoots {
    const METHOD: Method = Method::RootsList;
    type Params = RequestParams;
    type Result = ListRootsResult;
}

/// `notifications/roots/list_changed`
#[derive(Clone, Copy, Debug)]
pub struct RootsListChangedNotification;

impl Notification for RootsListChangedNotification {
    const METHOD: Method = Method::RootsListChanged;
    type Params = NotificationParams;
}

/// The roots of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListRootsResult {
    /// The roots.
    pub roots: Vec<Root>,
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

impl ListRootsResult {
    /// These roots.
    pub fn new(roots: Vec<Root>) -> Self {
        Self {
            roots,
            result_type: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// A folder or file that a client works in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Root {
    /// Where it is; a `file://` URI.
    pub uri: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Root {
    /// A root at a URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: None,
            meta: None,
            extra: Extra::default(),
        }
    }

    /// Is it a `file://` URI, as the specification wants it?
    pub fn is_file(&self) -> bool {
        let scheme = self.uri.get(..7);
        scheme.is_some_and(|s| s.eq_ignore_ascii_case("file://"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_files() {
        assert!(Root::new("file:///home/me").is_file());
        for bad in ["https://a", "/home/me", "file:x", ""] {
            assert!(!Root::new(bad).is_file(), "{bad}");
        }
    }
}
