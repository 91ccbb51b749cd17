//! Giving up a request that is under way.
//!
//! Who may cancel what, and what follows, is kept by the machines.
//!
//! Specification: basic/patterns/cancellation (basic/utilities/cancellation before 2026-07-28).

use serde::{Deserialize, Serialize};

use crate::jsonrpc::RequestId;
use crate::method::Method;
use crate::types::{Extra, Meta, Notification};

/// `notifications/cancelled`
#[derive(Clone, Copy, Debug)]
pub struct CancelledNotification;

impl Notification for CancelledNotification {
    const METHOD: Method = Method::Cancelled;
    type Params = CancelledNotificationParams;
}

/// Which request is given up, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CancelledNotificationParams {
    /// The id of the request; the schema of 2025-11-25 alone lets it be absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// Why, for logs and people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CancelledNotificationParams {
    /// Gives up the request with this id.
    pub fn new(request_id: RequestId) -> Self {
        Self {
            request_id: Some(request_id),
            reason: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}
