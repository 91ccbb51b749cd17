//! What a server of the stateless era says of itself.
//!
//! Specification: 2026-07-28 server/discover, basic/versioning.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::method::Method;
use crate::types::caching::to_milliseconds;
use crate::types::{
    CacheScope, Cacheable, Extra, Meta, Request, RequestParams, ResultType, ServerCapabilities,
};

/// `server/discover`
#[derive(Clone, Copy, Debug)]
pub struct Discover;

impl Request for Discover {
    const METHOD: Method = Method::ServerDiscover;
    type Params = RequestParams;
    type Result = DiscoverResult;
}

/// What a server speaks and offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DiscoverResult {
    /// The revisions that it speaks.
    pub supported_versions: Vec<String>,
    /// What it offers.
    pub capabilities: ServerCapabilities,
    /// How to use it, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
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

impl DiscoverResult {
    /// Says which revisions are spoken and what is offered.
    pub fn new(supported_versions: Vec<String>, capabilities: ServerCapabilities) -> Self {
        Self {
            supported_versions,
            capabilities,
            instructions: None,
            result_type: None,
            ttl_ms: None,
            cache_scope: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

impl Cacheable for DiscoverResult {
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
