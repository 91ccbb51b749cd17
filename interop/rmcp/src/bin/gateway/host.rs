//! The application around the client: it answers with its own name, and says what it hears.

use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ErrorData, ListRootsResult, LoggingMessageNotificationParam,
    ProgressNotificationParam, ResourceUpdatedNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::say;

#[derive(Clone)]
pub(crate) struct Host {
    config: ClientConfig,
    name: String,
}

impl Host {
    pub(crate) fn new(name: &str, is_stateless: bool) -> Self {
        let mut config = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "elicitation": {"form": {}, "url": {}},
                "sampling": {},
                "roots": {"listChanged": true},
            },
            "clientInfo": {"name": name, "version": "1.0.0"},
        });
        if is_stateless {
            config["protocolVersion"] = json!("2026-07-28");
            config["capabilities"]["extensions"] = json!({"io.modelcontextprotocol/tasks": {}});
        }
        Self {
            config: serde_json::from_value(config).expect("invariant: as the schema has it"),
            name: name.to_owned(),
        }
    }

    fn fit(&self, schema: &Value) -> Value {
        if let Some(value) = schema.get("default") {
            return value.clone();
        }
        if let Some(first) = schema["enum"].get(0) {
            return first.clone();
        }
        if let Some(first) = schema["oneOf"].get(0) {
            return first["const"].clone();
        }
        match (schema["type"].as_str(), schema["format"].as_str()) {
            (Some("boolean"), _) => json!(true),
            (Some("number" | "integer"), _) => schema.get("minimum").cloned().unwrap_or(json!(1)),
            (Some("array"), _) => json!([]),
            (_, Some("email")) => json!("ada@example.com"),
            (_, Some("uri")) => json!("https://example.com"),
            (_, Some("date")) => json!("2026-07-28"),
            _ => json!(self.name),
        }
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
        let request = asked("elicitation/create", &request);
        if request["mode"] == "url" {
            return answer(json!({"action": "accept"}));
        }
        let fields = request["requestedSchema"]["properties"].as_object();
        let content: Map<String, Value> = fields
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.clone(), self.fit(schema)))
            .collect();
        answer(json!({"action": "accept", "content": content}))
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let request = asked("sampling/createMessage", &request);
        let messages = request["messages"].as_array();
        let last = messages.and_then(|messages| messages.last());
        let content = last.map_or(&Value::Null, |last| &last["content"]);
        let text = content.get(0).unwrap_or(content)["text"].as_str();
        let text = format!("{} heard {}", self.name, text.unwrap_or_default());
        let content = json!({"type": "text", "text": text});
        answer(json!({"role": "assistant", "content": content, "model": "none"}))
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        asked("roots/list", &json!({}));
        let uri = format!("file:///{}", self.name);
        answer(json!({"roots": [{"uri": uri, "name": self.name}]}))
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        told("notifications/message", &params);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        told("notifications/tools/list_changed", &json!({}));
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        told("notifications/prompts/list_changed", &json!({}));
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        told("notifications/resources/list_changed", &json!({}));
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        told("notifications/resources/updated", &params);
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        // It does not say of which call, but by the token that rmcp gave it.
        say(json!({"event": "progress", "params": value(&params)}));
    }
}

fn asked(method: &str, params: &impl Serialize) -> Value {
    let params = value(params);
    say(json!({"event": "asked", "method": method, "params": params}));
    params
}

pub(crate) fn told(method: &str, params: &impl Serialize) {
    say(json!({"event": "told", "method": method, "params": value(params)}));
}

fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}

/// rmcp's own types have no public fields to fill, but read what the schema allows.
fn answer<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}
