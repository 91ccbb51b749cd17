//! `_meta`: what the sender of a message attached beside its data.
//!
//! Typed access to the keys that the specification reserves; every other key
//! passes through untouched. Whether a key must be there is the machines' rule.
//!
//! Specification: basic/index, section `_meta`; basic/patterns/progress,
//! basic/patterns/subscriptions; 2025-11-25 basic/utilities/tasks.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::jsonrpc::RequestId;
use crate::types::meta_key as key;
use crate::types::{
    ClientCapabilities, Implementation, LoggingLevel, ProgressToken, RelatedTaskMetadata,
};

/// The members of `_meta`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Meta(Map<String, Value>);

impl Meta {
    /// No members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The member with this key.
    pub fn member(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Adds a member, or replaces the one with this key.
    pub fn insert(&mut self, key: impl Into<String>, value: Value) {
        self.0.insert(key.into(), value);
    }

    /// Takes a member out.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.0.remove(key)
    }

    /// All members.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The token under which the sender wants to hear of progress.
    ///
    /// # Errors
    /// When the member is neither a string nor an integer.
    pub fn progress_token(&self) -> Result<Option<ProgressToken>, BadMeta> {
        self.read(key::PROGRESS_TOKEN)
    }

    /// Asks for progress under this token.
    pub fn set_progress_token(&mut self, token: &ProgressToken) {
        self.write(key::PROGRESS_TOKEN, token);
    }

    /// The revision that the request speaks, as it was written.
    ///
    /// # Errors
    /// When the member is not a string.
    pub fn protocol_version(&self) -> Result<Option<&str>, BadMeta> {
        self.text(key::PROTOCOL_VERSION)
    }

    /// Says which revision the request speaks.
    pub fn set_protocol_version(&mut self, version: &str) {
        self.insert(key::PROTOCOL_VERSION, version.into());
    }

    /// Who sends the request. Unverified: for display and logs only.
    ///
    /// # Errors
    /// When the member does not have the shape of an implementation.
    pub fn client_info(&self) -> Result<Option<Implementation>, BadMeta> {
        self.read(key::CLIENT_INFO)
    }

    /// Says who sends the request.
    pub fn set_client_info(&mut self, client: &Implementation) {
        self.write(key::CLIENT_INFO, client);
    }

    /// What the sender of the request can do.
    ///
    /// # Errors
    /// When the member does not have the shape of client capabilities.
    pub fn client_capabilities(&self) -> Result<Option<ClientCapabilities>, BadMeta> {
        self.read(key::CLIENT_CAPABILITIES)
    }

    /// Says what the sender of the request can do.
    pub fn set_client_capabilities(&mut self, capabilities: &ClientCapabilities) {
        self.write(key::CLIENT_CAPABILITIES, capabilities);
    }

    /// The lowest level of log messages wanted for this request.
    ///
    /// # Errors
    /// When the member is not one of the eight levels.
    pub fn log_level(&self) -> Result<Option<LoggingLevel>, BadMeta> {
        self.read(key::LOG_LEVEL)
    }

    /// Asks for log messages of at least this level.
    pub fn set_log_level(&mut self, level: LoggingLevel) {
        self.write(key::LOG_LEVEL, &level);
    }

    /// Who sends the result. Unverified: for display and logs only.
    ///
    /// # Errors
    /// When the member does not have the shape of an implementation.
    pub fn server_info(&self) -> Result<Option<Implementation>, BadMeta> {
        self.read(key::SERVER_INFO)
    }

    /// Says who sends the result.
    pub fn set_server_info(&mut self, server: &Implementation) {
        self.write(key::SERVER_INFO, server);
    }

    /// The `subscriptions/listen` request that the message belongs to.
    ///
    /// # Errors
    /// When the member is not a string or an integer.
    pub fn subscription_id(&self) -> Result<Option<RequestId>, BadMeta> {
        self.read(key::SUBSCRIPTION_ID)
    }

    /// Says to which `subscriptions/listen` request the message belongs.
    pub fn set_subscription_id(&mut self, id: &RequestId) {
        self.write(key::SUBSCRIPTION_ID, id);
    }

    /// The task of 2025-11-25 that the message belongs to.
    ///
    /// # Errors
    /// When the member is not an object with a task id.
    pub fn related_task(&self) -> Result<Option<RelatedTaskMetadata>, BadMeta> {
        self.read(key::RELATED_TASK)
    }

    /// Says to which task of 2025-11-25 the message belongs.
    pub fn set_related_task(&mut self, task: &RelatedTaskMetadata) {
        self.write(key::RELATED_TASK, task);
    }

    /// What to tell the model at once while the new task of 2025-11-25 runs.
    ///
    /// # Errors
    /// When the member is not a string.
    pub fn model_immediate_response(&self) -> Result<Option<&str>, BadMeta> {
        self.text(key::MODEL_IMMEDIATE_RESPONSE)
    }

    /// Says what to tell the model at once while the new task runs.
    pub fn set_model_immediate_response(&mut self, text: &str) {
        self.insert(key::MODEL_IMMEDIATE_RESPONSE, text.into());
    }

    /// W3C trace context: the caller's span.
    ///
    /// # Errors
    /// When the member is not a string.
    pub fn traceparent(&self) -> Result<Option<&str>, BadMeta> {
        self.text(key::TRACEPARENT)
    }

    /// W3C trace context: what vendors add to the span.
    ///
    /// # Errors
    /// When the member is not a string.
    pub fn tracestate(&self) -> Result<Option<&str>, BadMeta> {
        self.text(key::TRACESTATE)
    }

    /// W3C baggage.
    ///
    /// # Errors
    /// When the member is not a string.
    pub fn baggage(&self) -> Result<Option<&str>, BadMeta> {
        self.text(key::BAGGAGE)
    }

    fn read<T: DeserializeOwned>(&self, key: &'static str) -> Result<Option<T>, BadMeta> {
        let Some(value) = self.0.get(key) else {
            return Ok(None);
        };
        T::deserialize(value).map(Some).map_err(|error| BadMeta {
            key,
            reason: error.to_string(),
        })
    }

    fn text(&self, key: &'static str) -> Result<Option<&str>, BadMeta> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(BadMeta {
                key,
                reason: "expected a string".to_owned(),
            }),
        }
    }

    fn write<T: Serialize>(&mut self, key: &'static str, value: &T) {
        let value = serde_json::to_value(value)
            .expect("invariant: the types of this crate always have a JSON form");
        self.insert(key, value);
    }
}

impl From<Map<String, Value>> for Meta {
    fn from(members: Map<String, Value>) -> Self {
        Self(members)
    }
}

/// A reserved member of `_meta` has the wrong shape.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BadMeta {
    /// The key of the member.
    pub key: &'static str,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for BadMeta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "_meta member \"{}\": {}", self.key, self.reason)
    }
}

impl std::error::Error for BadMeta {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::types::RootsCapability;

    #[test]
    fn reserved_members_are_written_and_read_back() {
        let mut meta = Meta::new();
        meta.set_progress_token(&ProgressToken::Integer(7));
        meta.set_protocol_version("2026-07-28");
        meta.set_client_info(&Implementation::new("hub", "1"));
        let capabilities = ClientCapabilities {
            roots: Some(RootsCapability::default()),
            ..ClientCapabilities::default()
        };
        meta.set_client_capabilities(&capabilities);
        meta.set_log_level(LoggingLevel::Notice);
        meta.insert(key::TRACEPARENT, json!("00-01-02-00"));
        assert_eq!(meta.progress_token(), Ok(Some(ProgressToken::Integer(7))));
        assert_eq!(meta.protocol_version(), Ok(Some("2026-07-28")));
        assert_eq!(
            meta.client_info(),
            Ok(Some(Implementation::new("hub", "1")))
        );
        assert_eq!(meta.client_capabilities(), Ok(Some(capabilities)));
        assert_eq!(meta.log_level(), Ok(Some(LoggingLevel::Notice)));
        assert_eq!(meta.traceparent(), Ok(Some("00-01-02-00")));
        assert_eq!(meta.server_info(), Ok(None));
        assert_eq!(meta.related_task(), Ok(None));
    }

    #[test]
    fn a_reserved_member_of_the_wrong_shape_is_named() {
        let mut meta = Meta::new();
        meta.insert(key::LOG_LEVEL, json!("loud"));
        meta.insert(key::PROTOCOL_VERSION, json!(1));
        meta.insert(key::PROGRESS_TOKEN, json!(1.5));
        assert_eq!(meta.log_level().unwrap_err().key, key::LOG_LEVEL);
        assert_eq!(
            meta.protocol_version().unwrap_err().to_string(),
            "_meta member \"io.modelcontextprotocol/protocolVersion\": expected a string"
        );
        assert!(meta.progress_token().is_err());
    }

    #[test]
    fn what_is_attached_to_a_result_is_written_and_read_back() {
        let mut meta = Meta::new();
        meta.set_server_info(&Implementation::new("hub", "1"));
        meta.set_subscription_id(&RequestId::from("listen"));
        meta.set_related_task(&RelatedTaskMetadata::new("t"));
        meta.set_model_immediate_response("wait");
        meta.insert(key::TRACESTATE, json!("a=1"));
        meta.insert(key::BAGGAGE, json!("b=2"));
        assert_eq!(
            meta.server_info(),
            Ok(Some(Implementation::new("hub", "1")))
        );
        assert_eq!(meta.subscription_id(), Ok(Some(RequestId::from("listen"))));
        assert_eq!(meta.related_task(), Ok(Some(RelatedTaskMetadata::new("t"))));
        assert_eq!(meta.model_immediate_response(), Ok(Some("wait")));
        assert_eq!(meta.tracestate(), Ok(Some("a=1")));
        assert_eq!(meta.baggage(), Ok(Some("b=2")));
    }

    #[test]
    fn other_members_pass_through_untouched() {
        let members = Map::from_iter([("example.com/a".to_owned(), json!([1]))]);
        let meta = Meta::from(members.clone());
        assert_eq!(meta.as_map(), &members);
        assert_eq!(meta.member("example.com/a"), Some(&json!([1])));
        assert_eq!(meta.member("example.com/b"), None);
    }
}
