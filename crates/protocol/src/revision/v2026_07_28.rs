//! What 2026-07-28 no longer has.
//!
//! The newest revision gave up the tasks of 2025-11-25 and what needed a
//! conversation. A value that was read from an older peer is written without it.
//! What the newest revision newly requires (`resultType`, caching hints, the
//! envelope) is added by those who answer and ask, not here.
//!
//! The table is `LOSSES`: what goes, and what is written instead. It is also in
//! `docs/revisions.md`.
//!
//! Specification: 2026-07-28 changelog and schema.

use crate::revision::Revision;
use crate::revision::meta_keys::{self, TASK_KEYS};
use crate::revision::step::Step;
use crate::revision::step_down::Loss;
use crate::types::{
    CallToolRequestParams, ClientCapabilities, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestFormParams, ElicitRequestUrlParams, ElicitResult, ListRootsResult, Meta,
    ServerCapabilities, Task, Tool,
};

#[rustfmt::skip]
pub(super) const LOSSES: &[Loss] = &[
    loss("client capability `roots.listChanged`", "nothing: the roots are asked for when they are needed"),
    loss("capability `tasks` of 2025-11-25", "nothing: tasks are an extension with a key of its own"),
    loss("tool `execution`", "nothing"),
    loss("`task` of a request", "nothing: the server decides whether a call becomes a task"),
    loss("`elicitationId`", "nothing: the answer goes with the retried request"),
    loss("`_meta` of `elicitation/create` and `sampling/createMessage`, and of the answers to `elicitation/create` and `roots/list`", "nothing: they travel inside another message"),
    loss("`resultType` of an answer to the server", "nothing: the answers are bare"),
    loss("`_meta` keys `related-task` and `model-immediate-response`", "nothing"),
    loss("task `ttl`, `pollInterval`", "`ttlMs`, `pollIntervalMs` of the tasks extension"),
];

/// The step to 2026-07-28.
pub(super) struct Down;

impl Step for Down {
    fn revision(&self) -> Revision {
        Revision::V2026_07_28
    }

    fn message_meta(&self, meta: &mut Option<Meta>) {
        meta_keys::remove(meta, TASK_KEYS);
    }

    fn client_capabilities(&self, value: &mut ClientCapabilities) {
        value.tasks = None;
        if let Some(roots) = &mut value.roots {
            roots.list_changed = None;
        }
    }

    fn server_capabilities(&self, value: &mut ServerCapabilities) {
        value.tasks = None;
    }

    fn tool(&self, value: &mut Tool) {
        value.execution = None;
    }

    fn call_tool(&self, params: &mut CallToolRequestParams) {
        params.task = None;
    }

    fn create_message(&self, params: &mut CreateMessageRequestParams) {
        params.task = None;
        params.meta = None;
    }

    fn message_created(&self, result: &mut CreateMessageResult) {
        result.result_type = None;
    }

    fn elicit_by_form(&self, params: &mut ElicitRequestFormParams) {
        params.task = None;
        params.meta = None;
    }

    fn elicit_by_url(&self, params: &mut ElicitRequestUrlParams) {
        params.elicitation_id = None;
        params.task = None;
        params.meta = None;
    }

    fn elicited(&self, result: &mut ElicitResult) {
        result.result_type = None;
        result.meta = None;
    }

    fn roots(&self, result: &mut ListRootsResult) {
        result.result_type = None;
        result.meta = None;
    }

    fn task(&self, value: &mut Task) {
        let (ttl, poll_interval) = (value.ttl.take(), value.poll_interval.take());
        value.ttl_ms = value.ttl_ms.take().or(ttl);
        value.poll_interval_ms = value.poll_interval_ms.take().or(poll_interval);
    }
}

const fn loss(what: &'static str, becomes: &'static str) -> Loss {
    Loss::new(Revision::V2026_07_28, what, becomes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revision::NotRepresentable;
    use crate::revision::step_down::testing::{check, refuse};
    use crate::revision::{StepDown, step_down_result};
    use crate::types::{
        CancelledNotificationParams, CreateTaskResult, EmptyResult, InputRequiredResult,
    };
    use crate::{Method, Payload};

    const TO: Revision = Revision::V2026_07_28;

    #[test]
    fn capabilities_of_the_conversation_go() {
        check::<ClientCapabilities>(
            TO,
            r#"{"roots":{"listChanged":true},"tasks":{}}"#,
            r#"{"roots":{}}"#,
        );
        check::<ServerCapabilities>(
            TO,
            r#"{"tasks":{},"tools":{"listChanged":true}}"#,
            r#"{"tools":{"listChanged":true}}"#,
        );
    }

    #[test]
    fn nothing_asks_for_a_task() {
        check::<Tool>(
            TO,
            r#"{"name":"a","inputSchema":{},"execution":{"taskSupport":"required"}}"#,
            r#"{"name":"a","inputSchema":{}}"#,
        );
        check::<CallToolRequestParams>(TO, r#"{"name":"a","task":{}}"#, r#"{"name":"a"}"#);
        check::<EmptyResult>(
            TO,
            r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"},"a":1}}"#,
            r#"{"_meta":{"a":1}}"#,
        );
        check::<EmptyResult>(
            TO,
            r#"{"_meta":{"io.modelcontextprotocol/model-immediate-response":"t"}}"#,
            "{}",
        );
        refuse::<CreateTaskResult>(
            TO,
            r#"{"task":{"taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttl":null}}"#,
            Some(NotRepresentable::Task),
        );
    }

    #[test]
    fn a_task_has_the_names_of_the_extension() {
        check::<Task>(
            TO,
            r#"{"taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttl":null,"pollInterval":5}"#,
            r#"{"taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null,"pollIntervalMs":5}"#,
        );
    }

    #[test]
    fn questions_and_answers_are_bare() {
        check::<ElicitRequestUrlParams>(
            TO,
            r#"{"mode":"url","message":"m","url":"u","elicitationId":"e","task":{},"_meta":{"a":1}}"#,
            r#"{"mode":"url","message":"m","url":"u"}"#,
        );
        check::<ElicitRequestFormParams>(
            TO,
            r#"{"mode":"form","message":"m","requestedSchema":{},"task":{},"_meta":{}}"#,
            r#"{"mode":"form","message":"m","requestedSchema":{}}"#,
        );
        check::<CreateMessageRequestParams>(
            TO,
            r#"{"messages":[],"maxTokens":1,"task":{},"_meta":{}}"#,
            r#"{"messages":[],"maxTokens":1}"#,
        );
        check::<CreateMessageResult>(
            TO,
            r#"{"role":"user","content":[],"model":"m","resultType":"complete","_meta":{"a":1}}"#,
            r#"{"role":"user","content":[],"model":"m","_meta":{"a":1}}"#,
        );
        check::<ElicitResult>(
            TO,
            r#"{"action":"accept","resultType":"complete","_meta":{"a":1}}"#,
            r#"{"action":"accept"}"#,
        );
        check::<ListRootsResult>(
            TO,
            r#"{"roots":[],"resultType":"complete","_meta":{"a":1}}"#,
            r#"{"roots":[]}"#,
        );
    }

    #[test]
    fn a_question_inside_a_result_is_stepped_down_too() {
        let before = r#"{"inputRequests":{"k":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"u","elicitationId":"e"}},"r":{"method":"roots/list"},"x":{"method":"new/one","params":{"task":{}}}},"resultType":"input_required"}"#;
        let after = before.replace(r#","elicitationId":"e""#, "");
        check::<InputRequiredResult>(TO, before, &after);
        refuse::<InputRequiredResult>(TO, before, None);
    }

    #[test]
    fn a_cancellation_says_of_what() {
        refuse::<CancelledNotificationParams>(TO, "{}", Some(NotRepresentable::RequestId));
        refuse::<CancelledNotificationParams>(Revision::V2025_11_25, "{}", None);
    }

    #[test]
    fn what_the_newest_revision_has_stays_byte_for_byte() {
        let text = r#"{ "resultType":"complete","content":[ ],"structuredContent":null }"#;
        let limits = crate::jsonrpc::Limits::default();
        let result = Payload::parse(text.into(), &limits).unwrap();
        let after = step_down_result(Method::ToolsCall, &result, TO).unwrap();
        assert_eq!(after.text(), text);
        let mut read: crate::types::CallToolResult = result.decode().unwrap();
        read.step_down(TO);
        assert!(read.structured_content.is_some());
    }
}
