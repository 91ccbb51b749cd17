//! The application around the client: it answers what a server asks and counts what it is told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ErrorData, ListRootsResult, LoggingMessageNotificationParam,
    ProgressNotificationParam, ResourceUpdatedNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

#[derive(Clone)]
pub(crate) struct Host {
    config: ClientConfig,
    counts: Arc<Mutex<HashMap<&'static str, usize>>>,
    progress: Arc<Mutex<Vec<f64>>>,
}

impl Host {
    pub(crate) fn new(revision: &str) -> Self {
        let config = json!({
            "protocolVersion": revision,
            "capabilities": {
                "elicitation": {},
                "sampling": {},
                "roots": {"listChanged": true},
                "extensions": {"io.modelcontextprotocol/tasks": {}},
            },
            "clientInfo": {"name": "interop", "version": "1.0.0"},
        });
        Self {
            config: serde_json::from_value(config).expect("invariant: as the schema has it"),
            counts: Arc::default(),
            progress: Arc::default(),
        }
    }

    /// How often this was asked or told so far.
    pub(crate) fn count(&self, what: &str) -> usize {
        let counts = self
            .counts
            .lock()
            .expect("invariant: nobody panics with it");
        counts.get(what).copied().unwrap_or(0)
    }

    /// All the progress that was reported so far.
    pub(crate) fn progress(&self) -> Vec<f64> {
        self.progress
            .lock()
            .expect("invariant: nobody panics with it")
            .clone()
    }

    fn note(&self, what: &'static str) {
        let mut counts = self
            .counts
            .lock()
            .expect("invariant: nobody panics with it");
        *counts.entry(what).or_default() += 1;
    }
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.note("elicitation");
        let request = serde_json::to_value(request).unwrap_or_default();
        let fields = request["requestedSchema"]["properties"].as_object();
        let content: Map<String, Value> = fields
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.clone(), plausible(schema)))
            .collect();
        answer(json!({"action": "accept", "content": content}))
    }

    async fn create_message(
        &self,
        _request: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.note("sampling");
        let content = json!({"type": "text", "text": "Paris"});
        answer(json!({"role": "assistant", "content": content, "model": "none"}))
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        self.note("roots");
        answer(json!({"roots": [{"uri": "file:///project", "name": "project"}]}))
    }

    async fn on_logging_message(
        &self,
        _told: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.note("log");
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.note("tools");
    }

    async fn on_resource_updated(
        &self,
        _told: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.note("updated");
    }

    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.progress
            .lock()
            .expect("invariant: nobody panics with it")
            .push(told.progress);
    }
}

/// rmcp's own types have no public fields to fill, but read what the schema allows.
fn answer<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn plausible(schema: &Value) -> Value {
    if let Some(value) = schema.get("default") {
        return value.clone();
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    if let Some(first) = schema["oneOf"].get(0) {
        return first["const"].clone();
    }
    match schema["type"].as_str() {
        Some("boolean") => json!(true),
        Some("number" | "integer") => json!(1),
        Some("array") => json!([]),
        _ => json!("Ada"),
    }
}
