//! Listing, reading and following resources.
//!
//! The resource itself is in `resource`, what is inside it in `resource_contents`.
//!
//! Specification: server/resources.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::RawJson;
use crate::method::Method;
use crate::types::caching::to_milliseconds;
use crate::types::{
    CacheScope, Cacheable, EmptyResult, Extra, Meta, Notification, NotificationParams,
    PaginatedRequestParams, Request, Resource, ResourceContents, ResourceTemplate, ResultType,
};

/// `resources/list`
#[derive(Clone, Copy, Debug)]
pub struct ListResources;

impl Request for ListResources {
    const METHOD: Method = Method::ResourcesList;
    type Params = PaginatedRequestParams;
    type Result = ListResourcesResult;
}

/// `resources/templates/list`
#[derive(Clone, Copy, Debug)]
pub struct ListResourceTemplates;

impl Request for ListResourceTemplates {
    const METHOD: Method = Method::ResourcesTemplatesList;
    type Params = PaginatedRequestParams;
    type Result = ListResourceTemplatesResult;
}

/// `resources/read`
#[derive(Clone, Copy, Debug)]
pub struct ReadResource;

impl Request for ReadResource {
    const METHOD: Method = Method::ResourcesRead;
    type Params = ReadResourceRequestParams;
    type Result = ReadResourceResult;
}

/// `resources/subscribe`
#[derive(Clone, Copy, Debug)]
pub struct Subscribe;

impl Request for Subscribe {
    const METHOD: Method = Method::ResourcesSubscribe;
    type Params = ResourceRequestParams;
    type Result = EmptyResult;
}

/// `resources/unsubscribe`
#[derive(Clone, Copy, Debug)]
pub struct Unsubscribe;

impl Request for Unsubscribe {
    const METHOD: Method = Method::ResourcesUnsubscribe;
    type Params = ResourceRequestParams;
    type Result = EmptyResult;
}

/// `notifications/resources/updated`
#[derive(Clone, Copy, Debug)]
pub struct ResourceUpdatedNotification;

impl Notification for ResourceUpdatedNotification {
    const METHOD: Method = Method::ResourceUpdated;
    type Params = ResourceUpdatedNotificationParams;
}

/// `notifications/resources/list_changed`
#[derive(Clone, Copy, Debug)]
pub struct ResourceListChangedNotification;

impl Notification for ResourceListChangedNotification {
    const METHOD: Method = Method::ResourceListChanged;
    type Params = NotificationParams;
}

/// One page of resources.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListResourcesResult {
    /// The resources.
    pub resources: Vec<Resource>,
    /// Where the next page begins, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What kind of result this is; absent before 2026-07-28 and then complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// How long it stays fresh, in milliseconds; read it with [`Cacheable::time_to_live`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<Number>,
    /// Who may share it; read it with [`Cacheable::scope`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListResourcesResult {
    /// A last page with these resources.
    pub fn new(resources: Vec<Resource>) -> Self {
        Self {
            resources,
            next_cursor: None,
            result_type: None,
            ttl_ms: None,
            cache_scope: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

impl Cacheable for ListResourcesResult {
    fn ttl_ms(&self) -> Option<&Number> {
        self.ttl_ms.as_ref()
    }

    fn cache_scope(&self) -> Option<CacheScope> {
        self.cache_scope
    }

    fn set_cache(&mut self, time_to_live: Duration, scope: CacheScope) {
        self.ttl_ms = Some(to_milliseconds(time_to_live));
        self.cache_scope = Some(scope);
    }
}

/// One page of templates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListResourceTemplatesResult {
    /// The templates.
    pub resource_templates: Vec<ResourceTemplate>,
    /// Where the next page begins, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What kind of result this is; absent before 2026-07-28 and then complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// How long it stays fresh, in milliseconds; read it with [`Cacheable::time_to_live`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<Number>,
    /// Who may share it; read it with [`Cacheable::scope`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListResourceTemplatesResult {
    /// A last page with these templates.
    pub fn new(resource_templates: Vec<ResourceTemplate>) -> Self {
        Self {
            resource_templates,
            next_cursor: None,
            result_type: None,
            ttl_ms: None,
            cache_scope: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

impl Cacheable for ListResourceTemplatesResult {
    fn ttl_ms(&self) -> Option<&Number> {
        self.ttl_ms.as_ref()
    }

    fn cache_scope(&self) -> Option<CacheScope> {
        self.cache_scope
    }

    fn set_cache(&mut self, time_to_live: Duration, scope: CacheScope) {
        self.ttl_ms = Some(to_milliseconds(time_to_live));
        self.cache_scope = Some(scope);
    }
}

/// Which resource to read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadResourceRequestParams {
    /// Where it is.
    pub uri: String,
    /// Answers to what the server asked (2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<BTreeMap<String, RawJson>>,
    /// What the server gave with its questions, byte for byte (2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ReadResourceRequestParams {
    /// Reads the resource at this URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            input_responses: None,
            request_state: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// What a resource contains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadResourceResult {
    /// The contents; a folder may give several.
    pub contents: Vec<ResourceContents>,
    /// What kind of result this is; absent before 2026-07-28 and then complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// How long it stays fresh, in milliseconds; read it with [`Cacheable::time_to_live`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<Number>,
    /// Who may share it; read it with [`Cacheable::scope`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ReadResourceResult {
    /// These contents.
    pub fn new(contents: Vec<ResourceContents>) -> Self {
        Self {
            contents,
            result_type: None,
            ttl_ms: None,
            cache_scope: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

impl Cacheable for ReadResourceResult {
    fn ttl_ms(&self) -> Option<&Number> {
        self.ttl_ms.as_ref()
    }

    fn cache_scope(&self) -> Option<CacheScope> {
        self.cache_scope
    }

    fn set_cache(&mut self, time_to_live: Duration, scope: CacheScope) {
        self.ttl_ms = Some(to_milliseconds(time_to_live));
        self.cache_scope = Some(scope);
    }
}

/// Which resource to follow, or to follow no longer (until 2025-11-25).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceRequestParams {
    /// Where it is.
    pub uri: String,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ResourceRequestParams {
    /// Names the resource at this URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// Which resource changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceUpdatedNotificationParams {
    /// Where it is; it may be a part of what was subscribed to.
    pub uri: String,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ResourceUpdatedNotificationParams {
    /// The resource at this URI changed.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            meta: None,
            extra: Extra::default(),
        }
    }
}
