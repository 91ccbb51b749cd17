//! Listening for changes in the stateless era.
//!
//! Which notifications go out on which stream is kept by the machines.
//!
//! Specification: 2026-07-28 basic/patterns/subscriptions; tasks extension (`taskIds`).

use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::types::{
    Extra, Meta, Notification, Request, ResultType, ServerCapabilities, TASKS_EXTENSION,
};

/// `subscriptions/listen`
#[derive(Clone, Copy, Debug)]
pub struct SubscriptionsListen;

impl Request for SubscriptionsListen {
    const METHOD: Method = Method::SubscriptionsListen;
    type Params = SubscriptionsListenRequestParams;
    type Result = SubscriptionsListenResult;
}

/// `notifications/subscriptions/acknowledged`
#[derive(Clone, Copy, Debug)]
pub struct SubscriptionsAcknowledgedNotification;

impl Notification for SubscriptionsAcknowledgedNotification {
    const METHOD: Method = Method::SubscriptionsAcknowledged;
    type Params = SubscriptionsAcknowledgedNotificationParams;
}

/// What to listen for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscriptionsListenRequestParams {
    /// What is wanted.
    pub notifications: SubscriptionFilter,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SubscriptionsListenRequestParams {
    /// Listens for this.
    pub fn new(notifications: SubscriptionFilter) -> Self {
        Self {
            notifications,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// What the server will send on the stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscriptionsAcknowledgedNotificationParams {
    /// The part of what was wanted that is honoured.
    pub notifications: SubscriptionFilter,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SubscriptionsAcknowledgedNotificationParams {
    /// Honours this.
    pub fn new(notifications: SubscriptionFilter) -> Self {
        Self {
            notifications,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// The stream ends; `_meta` names it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscriptionsListenResult {
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

/// Kinds of changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscriptionFilter {
    /// Changes of the list of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools_list_changed: Option<bool>,
    /// Changes of the list of prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts_list_changed: Option<bool>,
    /// Changes of the list of resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources_list_changed: Option<bool>,
    /// Changes of these resources, by URI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_subscriptions: Option<Vec<String>>,
    /// Changes of these tasks (tasks extension).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_ids: Option<Vec<String>>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SubscriptionFilter {
    /// What of this wish a server with these capabilities can honour: the rest is left out.
    #[must_use]
    pub fn within(&self, capabilities: &ServerCapabilities) -> Self {
        let grant = |wanted: bool, can: bool| (wanted && can).then_some(true);
        let list =
            |wanted: &[String], can: bool| (can && !wanted.is_empty()).then(|| wanted.to_vec());
        Self {
            tools_list_changed: grant(self.wants_tools(), capabilities.announces_tool_changes()),
            prompts_list_changed: grant(
                self.wants_prompts(),
                capabilities.announces_prompt_changes(),
            ),
            resources_list_changed: grant(
                self.wants_resources(),
                capabilities.announces_resource_changes(),
            ),
            resource_subscriptions: list(
                self.resources(),
                capabilities.accepts_resource_subscriptions(),
            ),
            task_ids: list(self.tasks(), capabilities.has_extension(TASKS_EXTENSION)),
            extra: Extra::default(),
        }
    }

    /// Are changes of the list of tools wanted?
    pub fn wants_tools(&self) -> bool {
        self.tools_list_changed == Some(true)
    }

    /// Are changes of the list of prompts wanted?
    pub fn wants_prompts(&self) -> bool {
        self.prompts_list_changed == Some(true)
    }

    /// Are changes of the list of resources wanted?
    pub fn wants_resources(&self) -> bool {
        self.resources_list_changed == Some(true)
    }

    /// The resources to follow.
    pub fn resources(&self) -> &[String] {
        self.resource_subscriptions.as_deref().unwrap_or_default()
    }

    /// The tasks to follow.
    pub fn tasks(&self) -> &[String] {
        self.task_ids.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_not_wanted() {
        let filter: SubscriptionFilter =
            serde_json::from_str(r#"{"toolsListChanged":true,"promptsListChanged":false}"#)
                .unwrap();
        assert!(filter.wants_tools() && !filter.wants_prompts() && !filter.wants_resources());
        assert!(filter.resources().is_empty() && filter.tasks().is_empty());
    }

    #[test]
    fn what_is_wanted_is_found_by_its_name() {
        let check = |text, expected: [bool; 3]| {
            let filter: SubscriptionFilter = serde_json::from_str(text).unwrap();
            let wanted = [
                filter.wants_tools(),
                filter.wants_prompts(),
                filter.wants_resources(),
            ];
            assert_eq!(wanted, expected, "{text}");
        };
        check(r#"{"toolsListChanged":true}"#, [true, false, false]);
        check(r#"{"promptsListChanged":true}"#, [false, true, false]);
        check(r#"{"resourcesListChanged":true}"#, [false, false, true]);
    }
}
