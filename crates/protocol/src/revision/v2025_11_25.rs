//! What 2025-11-25 does not have: everything that came with the stateless era.
//!
//! Specification: 2025-11-25 schema, against that of 2026-07-28.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Number, Value};

use crate::RawJson;
use crate::revision::Revision;
use crate::revision::as_text;
use crate::revision::meta_keys::{self, ENVELOPE_KEYS};
use crate::revision::step::Step;
use crate::revision::step_down::Loss;
use crate::types::{
    CacheScope, CallToolRequestParams, ClientCapabilities, ContentBlock, GetPromptRequestParams,
    Meta, ReadResourceRequestParams, ResourceContents, ResultType, SamplingMessageContentBlock,
    ServerCapabilities, TASKS_EXTENSION, Task, TaskStatus, TextResourceContents, Tool,
};

#[rustfmt::skip]
pub(super) const LOSSES: &[Loss] = &[
    loss("`resultType`", "nothing: every result is complete"),
    loss("`ttlMs` and `cacheScope` of a result", "nothing"),
    loss("`_meta` keys `protocolVersion`, `clientInfo`, `clientCapabilities`, `logLevel`, `serverInfo`, `subscriptionId`", "nothing: the handshake said it"),
    loss("`inputResponses` and `requestState`", "nothing, and `check_step_down` refuses them: the questions are requests"),
    loss("extension `io.modelcontextprotocol/tasks` in capabilities", "nothing: it must not enable the tasks of 2025-11-25; other extensions stay"),
    loss("`structuredContent` that is no object", "text, unless there is a text block"),
    loss("`outputSchema` without root `type: object`", "nothing: the tool's result is not promised"),
    loss("boolean subschema among the `properties` of a tool's schema", "`{}` for `true`, `{\"not\":{}}` for `false`"),
    loss("content of a kind that this crate does not know", "text: its kind and its JSON"),
    loss("resource contents with neither text nor bytes", "text: their JSON"),
    loss("task `ttlMs`, `pollIntervalMs`", "`ttl`, `pollInterval`"),
    loss("task `result`, `error`, `inputRequests`", "nothing: `tasks/result` gives them; a result with `isError` makes the task failed"),
];

/// The step to 2025-11-25.
pub(super) struct Down;

impl Step for Down {
    fn revision(&self) -> Revision {
        Revision::V2025_11_25
    }

    fn message_meta(&self, meta: &mut Option<Meta>) {
        meta_keys::remove(meta, ENVELOPE_KEYS);
    }

    fn result_type(&self, kind: &mut Option<ResultType>) {
        *kind = None;
    }

    fn cache(&self, ttl_ms: &mut Option<Number>, scope: &mut Option<CacheScope>) {
        *ttl_ms = None;
        *scope = None;
    }

    fn client_capabilities(&self, value: &mut ClientCapabilities) {
        without_tasks(&mut value.extensions);
    }

    fn server_capabilities(&self, value: &mut ServerCapabilities) {
        without_tasks(&mut value.extensions);
    }

    fn tool(&self, value: &mut Tool) {
        if value
            .output_schema
            .as_ref()
            .is_some_and(|s| !is_of_object(s))
        {
            value.output_schema = None;
        }
        without_boolean_schemas(&mut value.input_schema);
        if let Some(schema) = &mut value.output_schema {
            without_boolean_schemas(schema);
        }
    }

    fn resource_contents(&self, value: &mut ResourceContents) {
        if let ResourceContents::Unknown(raw) = value {
            let mut contents = TextResourceContents::new(uri_of(raw), raw.as_str());
            contents.mime_type = Some("application/json".to_owned());
            *value = ResourceContents::Text(contents);
        }
    }

    fn content(&self, block: &mut ContentBlock) {
        if let ContentBlock::Unknown(raw) = block {
            *block = ContentBlock::text(as_text::unknown(raw));
        }
    }

    fn sampling_content(&self, block: &mut SamplingMessageContentBlock) {
        if let SamplingMessageContentBlock::Unknown(raw) = block {
            *block = SamplingMessageContentBlock::text(as_text::unknown(raw));
        }
    }

    fn structured(&self, content: &mut Vec<ContentBlock>, structured: &mut Option<RawJson>) {
        if structured.as_ref().is_some_and(|value| !value.is_object()) {
            as_text::structured(content, structured);
        }
    }

    fn call_tool(&self, params: &mut CallToolRequestParams) {
        params.input_responses = None;
        params.request_state = None;
    }

    fn get_prompt(&self, params: &mut GetPromptRequestParams) {
        params.input_responses = None;
        params.request_state = None;
    }

    fn read_resource(&self, params: &mut ReadResourceRequestParams) {
        params.input_responses = None;
        params.request_state = None;
    }

    fn task(&self, value: &mut Task) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Head {
            is_error: Option<bool>,
        }
        let (ttl, poll_interval) = (value.ttl_ms.take(), value.poll_interval_ms.take());
        value.ttl = value.ttl.take().or(ttl);
        value.poll_interval = value.poll_interval.take().or(poll_interval);
        let head = value.result.take().and_then(|r| r.decode::<Head>().ok());
        if head.is_some_and(|head| head.is_error == Some(true)) {
            value.status = TaskStatus::Failed;
        }
        value.error = None;
        value.input_requests = None;
    }
}

fn without_tasks(extensions: &mut Option<Map<String, Value>>) {
    let Some(map) = extensions else { return };
    if map.remove(TASKS_EXTENSION).is_some() && map.is_empty() {
        *extensions = None;
    }
}

fn is_of_object(schema: &RawJson) -> bool {
    #[derive(Deserialize)]
    struct Head {
        #[serde(rename = "type")]
        kind: Option<Value>,
    }
    let head = schema.decode::<Head>();
    head.is_ok_and(|head| head.kind.as_ref().and_then(Value::as_str) == Some("object"))
}

/// Writes booleans among the properties as the objects that mean the same.
///
/// Any other schema stays byte for byte what it was.
fn without_boolean_schemas(schema: &mut RawJson) {
    type Members = BTreeMap<String, RawJson>;
    let Ok(mut members) = schema.decode::<Members>() else {
        return;
    };
    let Some(Ok(mut properties)) = members.get(PROPERTIES).map(RawJson::decode::<Members>) else {
        return;
    };
    let mut found = false;
    for property in properties.values_mut() {
        let meaning = match property.as_str() {
            "true" => "{}",
            "false" => r#"{"not":{}}"#,
            _ => continue,
        };
        if let Ok(meaning) = RawJson::parse(meaning) {
            *property = meaning;
            found = true;
        }
    }
    if !found {
        return;
    }
    if let Ok(properties) = RawJson::encode(&properties) {
        members.insert(PROPERTIES.to_owned(), properties);
        if let Ok(rewritten) = RawJson::encode(&members) {
            *schema = rewritten;
        }
    }
}

fn uri_of(contents: &RawJson) -> String {
    #[derive(Deserialize)]
    struct Head {
        uri: String,
    }
    let head = contents.decode::<Head>();
    head.map_or_else(|_| NO_URI.to_owned(), |head| head.uri)
}

const PROPERTIES: &str = "properties";

/// Stands where a URI must and none was given; names nothing that can be read.
const NO_URI: &str = "unknown:contents";

const fn loss(what: &'static str, becomes: &'static str) -> Loss {
    Loss::new(Revision::V2025_11_25, what, becomes)
}
