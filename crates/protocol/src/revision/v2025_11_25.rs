//! What 2025-11-25 does not have: everything that came with the stateless era.
//!
//! The table is `LOSSES`: what goes, and what is written instead. It is also in
//! `docs/revisions.md`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revision::NotRepresentable;
    use crate::revision::step_down::testing::{check, refuse};
    use crate::types::{
        CallToolResult, CancelTaskResult, ElicitRequestUrlParams, EmptyResult, InputRequiredResult,
        ListToolsResult, ReadResourceResult, RequestParams,
    };

    const TO: Revision = Revision::V2025_11_25;

    #[test]
    fn what_a_stateless_result_says_of_itself_goes() {
        check::<ListToolsResult>(
            TO,
            r#"{"tools":[],"resultType":"complete","ttlMs":1,"cacheScope":"public","x":1}"#,
            r#"{"tools":[],"x":1}"#,
        );
        check::<EmptyResult>(
            TO,
            r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{}}}"#,
            "{}",
        );
        check::<EmptyResult>(TO, r#"{"_meta":{}}"#, r#"{"_meta":{}}"#);
    }

    #[test]
    fn the_envelope_goes_and_what_others_put_beside_it_stays() {
        check::<RequestParams>(
            TO,
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},
                "io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/logLevel":"info","io.modelcontextprotocol/subscriptionId":1,
                "progressToken":1,"traceparent":"t","tracestate":"s","baggage":"b","com.example/a":1,"io.modelcontextprotocol/related-task":{"taskId":"t"}}}"#,
            r#"{"_meta":{"progressToken":1,"traceparent":"t","tracestate":"s","baggage":"b","com.example/a":1,"io.modelcontextprotocol/related-task":{"taskId":"t"}}}"#,
        );
    }

    #[test]
    fn a_retry_is_refused() {
        let retry = r#"{"name":"a","inputResponses":{},"requestState":"s"}"#;
        check::<CallToolRequestParams>(TO, retry, r#"{"name":"a"}"#);
        check::<GetPromptRequestParams>(TO, retry, r#"{"name":"a"}"#);
        check::<ReadResourceRequestParams>(
            TO,
            r#"{"uri":"a","inputResponses":{},"requestState":"s"}"#,
            r#"{"uri":"a"}"#,
        );
        for retry in [
            r#"{"name":"a","inputResponses":{}}"#,
            r#"{"name":"a","requestState":"s"}"#,
        ] {
            refuse::<CallToolRequestParams>(TO, retry, Some(NotRepresentable::InputRequired));
        }
        refuse::<GetPromptRequestParams>(
            TO,
            r#"{"name":"a","requestState":"s"}"#,
            Some(NotRepresentable::InputRequired),
        );
        refuse::<ReadResourceRequestParams>(
            TO,
            r#"{"uri":"a","inputResponses":{}}"#,
            Some(NotRepresentable::InputRequired),
        );
        refuse::<InputRequiredResult>(
            TO,
            r#"{"requestState":"s"}"#,
            Some(NotRepresentable::InputRequired),
        );
        refuse::<CallToolRequestParams>(TO, r#"{"name":"a","task":{}}"#, None);
    }

    #[test]
    fn the_tasks_extension_does_not_enable_tasks_and_others_stay() {
        check::<ClientCapabilities>(
            TO,
            r#"{"extensions":{"io.modelcontextprotocol/tasks":{}},"roots":{"listChanged":true}}"#,
            r#"{"roots":{"listChanged":true}}"#,
        );
        check::<ServerCapabilities>(
            TO,
            r#"{"extensions":{"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/ui":{}}}"#,
            r#"{"extensions":{"io.modelcontextprotocol/ui":{}}}"#,
        );
        check::<ServerCapabilities>(
            TO,
            r#"{"extensions":{},"tasks":{"list":{}}}"#,
            r#"{"extensions":{},"tasks":{"list":{}}}"#,
        );
    }

    #[test]
    fn a_structured_result_that_is_no_object_becomes_text() {
        check::<CallToolResult>(
            TO,
            r#"{"content":[],"structuredContent":[1, 2]}"#,
            r#"{"content":[{"type":"text","text":"[1, 2]"}]}"#,
        );
        check::<CallToolResult>(
            TO,
            r#"{"content":[],"structuredContent":null}"#,
            r#"{"content":[{"type":"text","text":"null"}]}"#,
        );
        check::<CallToolResult>(
            TO,
            r#"{"content":[{"type":"text","text":"t"}],"structuredContent":1}"#,
            r#"{"content":[{"type":"text","text":"t"}]}"#,
        );
        check::<CallToolResult>(
            TO,
            r#"{"content":[],"structuredContent":{"a":1}}"#,
            r#"{"content":[],"structuredContent":{"a":1}}"#,
        );
    }

    #[test]
    fn a_schema_that_promises_no_object_is_hidden() {
        for hidden in [r#"{"type":"array"}"#, r#"{"type":["object","null"]}"#, "{}"] {
            check::<Tool>(
                TO,
                &format!(r#"{{"name":"a","inputSchema":{{}},"outputSchema":{hidden}}}"#),
                r#"{"name":"a","inputSchema":{}}"#,
            );
        }
        let kept =
            r#"{"name":"a","inputSchema":{},"outputSchema":{"type":"object"},"execution":{}}"#;
        check::<Tool>(TO, kept, kept);
    }

    #[test]
    fn a_boolean_property_becomes_the_object_that_means_the_same() {
        check::<Tool>(
            TO,
            r#"{"name":"a","inputSchema":{"type":"object","properties":{"a":true,"b":false,"c":{"not":true}}}}"#,
            r#"{"name":"a","inputSchema":{"type":"object","properties":{"a":{},"b":{"not":{}},"c":{"not":true}}}}"#,
        );
    }

    #[test]
    fn a_schema_that_needs_no_change_stays_byte_for_byte() {
        use crate::revision::StepDown;
        let odd = "{ \"type\":\"object\",\n\"z\":1e400, \"properties\":{ \"b\":{}, \"a\":{} } }";
        let mut tool = Tool::new("a", RawJson::parse(odd).unwrap());
        tool.step_down(Revision::V2024_11_05);
        assert_eq!(tool.input_schema.as_str(), odd);
    }

    #[test]
    fn unknown_content_is_said_in_text() {
        check::<ContentBlock>(
            TO,
            r#"{"type":"hologram","a":1}"#,
            r#"{"type":"text","text":"hologram: {\"type\":\"hologram\",\"a\":1}"}"#,
        );
        check::<SamplingMessageContentBlock>(
            TO,
            r#"{"type":"new"}"#,
            r#"{"type":"text","text":"new: {\"type\":\"new\"}"}"#,
        );
        check::<ReadResourceResult>(
            TO,
            r#"{"contents":[{"uri":"a:b","stream":1},{"stream":2}]}"#,
            r#"{"contents":[{"uri":"a:b","mimeType":"application/json","text":"{\"uri\":\"a:b\",\"stream\":1}"},
                {"uri":"unknown:contents","mimeType":"application/json","text":"{\"stream\":2}"}]}"#,
        );
    }

    #[test]
    fn a_task_of_the_extension_has_the_older_names() {
        let task =
            |rest: &str| format!(r#"{{"taskId":"t","createdAt":"","lastUpdatedAt":"",{rest}}}"#);
        check::<Task>(
            TO,
            &task(
                r#""status":"completed","ttlMs":null,"pollIntervalMs":5,"result":{"isError":false},"resultType":"complete""#,
            ),
            &task(r#""status":"completed","ttl":null,"pollInterval":5"#),
        );
        check::<Task>(
            TO,
            &task(r#""status":"completed","ttlMs":1,"result":{"isError":true}"#),
            &task(r#""status":"failed","ttl":1"#),
        );
        check::<Task>(
            TO,
            &task(r#""status":"input_required","ttlMs":1,"inputRequests":{}"#),
            &task(r#""status":"input_required","ttl":1"#),
        );
        check::<Task>(
            TO,
            &task(r#""status":"failed","ttlMs":1,"error":{}"#),
            &task(r#""status":"failed","ttl":1"#),
        );
        refuse::<CancelTaskResult>(TO, "{}", Some(NotRepresentable::Task));
    }

    #[test]
    fn elicitation_by_url_needs_an_id() {
        refuse::<ElicitRequestUrlParams>(
            TO,
            r#"{"mode":"url","message":"m","url":"u"}"#,
            Some(NotRepresentable::ElicitationId),
        );
        refuse::<ElicitRequestUrlParams>(
            TO,
            r#"{"mode":"url","message":"m","url":"u","elicitationId":"e"}"#,
            None,
        );
    }
}
