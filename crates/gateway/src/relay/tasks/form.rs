//! Tasks in the form of the other era, and what tells of them.
//!
//! Specification: tasks extension; 2025-11-25 basic/utilities/tasks.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use switchboard_client::Payload;
use switchboard_hub::Catalog;
use switchboard_protocol::revision::StepDown;
use switchboard_protocol::types::{CreateTaskResult, ResultType, Task, TaskStatus, meta_key};
use switchboard_protocol::{RawJson, Revision};

/// A task that a call has become at a server of 2025-11-25, as the extension says it.
pub(super) fn created_newer(result: &Payload, shown: impl FnOnce(&str) -> String) -> Option<Task> {
    let mut task = result.decode::<CreateTaskResult>().ok()?.task;
    task.task_id = shown(&task.task_id);
    task.meta = None;
    to_newer(&mut task);
    task.result_type = Some(ResultType::Task);
    Some(task)
}

/// A task that a call has become by the extension, as 2025-11-25 says it.
pub(super) fn created_older(mut task: Task) -> CreateTaskResult {
    to_older(&mut task);
    // There all begin so; where it stands by now is said when it is asked for.
    task.status = TaskStatus::Working;
    CreateTaskResult::new(task)
}

/// In the form of the extension.
pub(super) fn to_newer(task: &mut Task) {
    task.step_down(Revision::LATEST);
    task.meta = None;
}

/// In the form of 2025-11-25.
pub(super) fn to_older(task: &mut Task) {
    task.step_down(Revision::V2025_11_25);
    task.result_type = None;
    task.meta = None;
}

/// A result with the names that tasks have here, if it tells of tasks.
pub(super) fn named(result: &Payload, shown: impl Fn(&str) -> String) -> Payload {
    let mut result = result.clone();
    if let Some(renamed) = renamed(&result, &shown) {
        result = renamed;
    }
    // What is made when a call has become a task of 2025-11-25.
    if let Some(task) = result.part("task")
        && let Some(task) = renamed(&task, &shown)
    {
        result = result.passed_on(&[("task", Some(task.text()))]);
    }
    match related(&result) {
        Some(task) => with_related(Some(&result), &shown(&task)),
        None => result,
    }
}

fn renamed(task: &Payload, shown: impl Fn(&str) -> String) -> Option<Payload> {
    let id = task.string_member(TASK_ID)?;
    let name = Value::from(shown(&id)).to_string();
    Some(task.clone().passed_on(&[(TASK_ID, Some(name.as_bytes()))]))
}

/// The task that a message says it belongs to.
fn related(message: &Payload) -> Option<String> {
    let meta: Map<String, Value> = serde_json::from_slice(message.meta()?).ok()?;
    let task = meta.get(meta_key::RELATED_TASK)?.get(TASK_ID)?.as_str()?;
    Some(task.to_owned())
}

/// A message that says it belongs to this task.
pub(super) fn with_related(message: Option<&Payload>, task: &str) -> Payload {
    let meta = json!({meta_key::RELATED_TASK: {TASK_ID: task}});
    Payload::with_meta(message, meta.as_object().unwrap_or(&Map::new()))
}

/// A result of a task of 2025-11-25, for within a task of the extension: its id stands there.
pub(super) fn inlined(result: &Payload) -> Result<RawJson, serde_json::Error> {
    if related(result).is_none() {
        return result.decode();
    }
    let mut members: BTreeMap<String, RawJson> = result.decode()?;
    if let Some(meta) = members.remove("_meta") {
        let mut meta: BTreeMap<String, RawJson> = meta.decode()?;
        meta.remove(meta_key::RELATED_TASK);
        if !meta.is_empty() {
            members.insert("_meta".to_owned(), RawJson::encode(&meta)?);
        }
    }
    RawJson::encode(&members)
}

/// A result with the URIs that resources have here.
pub(super) fn exposed(result: Payload, catalog: &Catalog, server: &str) -> Payload {
    if memchr::memmem::find(result.text(), URI).is_none() {
        return result;
    }
    let Ok(mut value) = result.decode::<Value>() else {
        return result;
    };
    let mut is_changed = catalog.expose_json(server, &mut value);
    if let Some(inner) = value.get_mut("result") {
        is_changed |= catalog.expose_json(server, inner);
    }
    match is_changed {
        true => Payload::encode(&value).unwrap_or(result),
        false => result,
    }
}

pub(super) const TASK_ID: &str = "taskId";
/// All members that hold URIs end so: `uri`, `resourceUri`.
const URI: &[u8] = b"ri\"";

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(text: &str) -> Payload {
        let text: RawJson = serde_json::from_str(text).unwrap();
        Payload::encode(&text).unwrap()
    }

    #[test]
    fn tasks_in_results_have_the_names_they_have_here() {
        let check = |before: &str, after: &str| {
            let named = named(&payload(before), |task| format!("1.s.{task}"));
            assert_eq!(named.text(), after);
        };
        check(r#"{"content":[]}"#, r#"{"content":[]}"#);
        check(
            r#"{"resultType":"task","taskId":"a","ttlMs":null}"#,
            r#"{"resultType":"task","taskId":"1.s.a","ttlMs":null}"#,
        );
        check(
            r#"{"task":{"taskId":"a","status":"working"}}"#,
            r#"{"task":{"taskId":"1.s.a","status":"working"}}"#,
        );
        check(
            r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}},"content":[]}"#,
            r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"1.s.a"}},"content":[]}"#,
        );
    }

    #[test]
    fn a_new_task_is_said_in_the_words_of_the_other_era() {
        let older = r#"{"task":{"taskId":"a","status":"working","createdAt":"c","lastUpdatedAt":"l","ttl":60000,"pollInterval":500}}"#;
        let newer = created_newer(&payload(older), |task| format!("1.s.{task}")).unwrap();
        assert_eq!(
            serde_json::to_string(&newer).unwrap(),
            r#"{"taskId":"1.s.a","status":"working","createdAt":"c","lastUpdatedAt":"l","ttlMs":60000,"pollIntervalMs":500,"resultType":"task"}"#
        );
        let mut task: Task = serde_json::from_value(json!({"taskId": "a", "status": "completed",
            "createdAt": "c", "lastUpdatedAt": "l", "ttlMs": null, "resultType": "complete",
            "result": {"content": [], "isError": true}}))
        .unwrap();
        to_older(&mut task);
        assert_eq!(
            serde_json::to_string(&task).unwrap(),
            r#"{"taskId":"a","status":"failed","createdAt":"c","lastUpdatedAt":"l","ttl":null}"#
        );
    }

    #[test]
    fn what_stands_within_a_task_does_not_say_whose_it_is() {
        let text =
            r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}},"content":[]}"#;
        assert_eq!(
            inlined(&payload(text)).unwrap().as_str(),
            r#"{"content":[]}"#
        );
    }
}
