//! What 2026-07-28 no longer has.
//!
//! The newest revision gave up the tasks of 2025-11-25 and what needed a
//! conversation. A value that was read from an older peer is written without it.
//! What the newest revision newly requires (`resultType`, caching hints, the
//! envelope) is added by those who answer and ask, not here.
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
