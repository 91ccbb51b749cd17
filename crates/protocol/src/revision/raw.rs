//! Stepping down what is still bytes, for those who forward messages.
//!
//! The method says the type; the bytes are decoded, stepped down and encoded once.
//! Bytes that need no change stay what they are.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::method::Method;
use crate::payload::Payload;
use crate::revision::step_down::{NotRepresentable, StepDown};
use crate::revision::{Era, Revision};
use crate::types::*;

/// May a message of this method hold what the receiver's revision does not have?
///
/// `from` is the revision of the peer that wrote it. When the answer is no, the
/// bytes can go on as they are, provided that the method exists in `to`.
pub fn needs_step_down(method: Method, from: Revision, to: Revision) -> bool {
    match (from.era(), to.era()) {
        _ if from == to => false,
        // The envelope and `resultType` are everywhere.
        (Era::Stateless, _) => true,
        // The newest revision dropped the tasks of 2025-11-25, whose key may be in
        // every `_meta`, and the conversation's part of what a server asks.
        (Era::Handshake, Era::Stateless) => {
            from == Revision::V2025_11_25
                || matches!(
                    method,
                    Method::Initialize
                        | Method::SamplingCreateMessage
                        | Method::ElicitationCreate
                        | Method::RootsList
                        | Method::Cancelled
                )
        }
        // Before 2025-11-25 only some messages differ at all.
        (Era::Handshake, Era::Handshake) => {
            from > to && (from == Revision::V2025_11_25 || DIFFERS_EARLY.contains(&method))
        }
    }
}

/// The parameters of a request or notification as the revision has them.
///
/// # Errors
/// When they are malformed or the revision cannot say what they say.
pub fn step_down_params(
    method: Method,
    params: &Payload,
    to: Revision,
) -> Result<Payload, StepDownError> {
    check_method(method, to)?;
    match method {
        Method::Initialize => params_of::<Initialize>(params, to),
        Method::Ping => params_of::<Ping>(params, to),
        Method::ServerDiscover => params_of::<Discover>(params, to),
        Method::ToolsList => params_of::<ListTools>(params, to),
        Method::ToolsCall => params_of::<CallTool>(params, to),
        Method::ResourcesList => params_of::<ListResources>(params, to),
        Method::ResourcesTemplatesList => params_of::<ListResourceTemplates>(params, to),
        Method::ResourcesRead => params_of::<ReadResource>(params, to),
        Method::ResourcesSubscribe => params_of::<Subscribe>(params, to),
        Method::ResourcesUnsubscribe => params_of::<Unsubscribe>(params, to),
        Method::PromptsList => params_of::<ListPrompts>(params, to),
        Method::PromptsGet => params_of::<GetPrompt>(params, to),
        Method::CompletionComplete => params_of::<Complete>(params, to),
        Method::LoggingSetLevel => params_of::<SetLevel>(params, to),
        Method::SubscriptionsListen => params_of::<SubscriptionsListen>(params, to),
        Method::TasksGet => params_of::<GetTask>(params, to),
        Method::TasksUpdate => params_of::<UpdateTask>(params, to),
        Method::TasksCancel => params_of::<CancelTask>(params, to),
        Method::TasksResult => params_of::<GetTaskPayload>(params, to),
        Method::TasksList => params_of::<ListTasks>(params, to),
        Method::SamplingCreateMessage => params_of::<CreateMessage>(params, to),
        Method::RootsList => params_of::<ListRoots>(params, to),
        Method::ElicitationCreate => params_of::<Elicit>(params, to),
        Method::Initialized
        | Method::ResourceListChanged
        | Method::ToolListChanged
        | Method::PromptListChanged
        | Method::RootsListChanged => rewrite::<NotificationParams>(params, to),
        Method::Cancelled => rewrite::<CancelledNotificationParams>(params, to),
        Method::Progress => rewrite::<ProgressNotificationParams>(params, to),
        Method::LogMessage => rewrite::<LoggingMessageNotificationParams>(params, to),
        Method::ResourceUpdated => rewrite::<ResourceUpdatedNotificationParams>(params, to),
        Method::ElicitationComplete => rewrite::<ElicitationCompleteNotificationParams>(params, to),
        Method::TaskStatusChanged | Method::TaskChanged => rewrite::<Task>(params, to),
        Method::SubscriptionsAcknowledged => {
            rewrite::<SubscriptionsAcknowledgedNotificationParams>(params, to)
        }
    }
}

/// The result of a request as the revision has it.
///
/// Reads `resultType` first: a result that asks or that became a task is one of
/// those, whatever the method gives when it is complete.
///
/// # Errors
/// When it is malformed or the revision cannot say what it says.
pub fn step_down_result(
    method: Method,
    result: &Payload,
    to: Revision,
) -> Result<Payload, StepDownError> {
    check_method(method, to)?;
    match result.result_type().as_deref() {
        Some("input_required") => return rewrite::<InputRequiredResult>(result, to),
        Some("task") if to.era() == Era::Handshake => return Err(NotRepresentable::Task.into()),
        Some("task") => return rewrite::<Task>(result, to),
        _ if is_created_task(method, result) => return rewrite::<CreateTaskResult>(result, to),
        _ => {}
    }
    match method {
        Method::Initialize => result_of::<Initialize>(result, to),
        Method::ServerDiscover => result_of::<Discover>(result, to),
        Method::ToolsList => result_of::<ListTools>(result, to),
        Method::ToolsCall => result_of::<CallTool>(result, to),
        Method::ResourcesList => result_of::<ListResources>(result, to),
        Method::ResourcesTemplatesList => result_of::<ListResourceTemplates>(result, to),
        Method::ResourcesRead => result_of::<ReadResource>(result, to),
        Method::PromptsList => result_of::<ListPrompts>(result, to),
        Method::PromptsGet => result_of::<GetPrompt>(result, to),
        Method::CompletionComplete => result_of::<Complete>(result, to),
        Method::SubscriptionsListen => result_of::<SubscriptionsListen>(result, to),
        Method::TasksGet => result_of::<GetTask>(result, to),
        Method::TasksCancel => result_of::<CancelTask>(result, to),
        Method::TasksList => result_of::<ListTasks>(result, to),
        Method::SamplingCreateMessage => result_of::<CreateMessage>(result, to),
        Method::RootsList => result_of::<ListRoots>(result, to),
        Method::ElicitationCreate => result_of::<Elicit>(result, to),
        // One revision has it, and what is inside is the result of another request.
        Method::TasksResult => Ok(result.clone()),
        // Requests that give nothing, and notifications, which give no result at all.
        _ => rewrite::<EmptyResult>(result, to),
    }
}

/// Why bytes were not stepped down.
#[derive(Debug)]
#[non_exhaustive]
pub enum StepDownError {
    /// They do not have the shape of their method.
    Malformed(serde_json::Error),
    /// The revision cannot say what they say.
    NotRepresentable(NotRepresentable),
}

impl fmt::Display for StepDownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(_) => f.write_str("malformed message"),
            Self::NotRepresentable(what) => what.fmt(f),
        }
    }
}

impl std::error::Error for StepDownError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Malformed(error) => Some(error),
            Self::NotRepresentable(_) => None,
        }
    }
}

impl From<serde_json::Error> for StepDownError {
    fn from(error: serde_json::Error) -> Self {
        Self::Malformed(error)
    }
}

impl From<NotRepresentable> for StepDownError {
    fn from(what: NotRepresentable) -> Self {
        Self::NotRepresentable(what)
    }
}

fn params_of<R: Request>(params: &Payload, to: Revision) -> Result<Payload, StepDownError>
where
    R::Params: StepDown + Clone + PartialEq,
{
    rewrite::<R::Params>(params, to)
}

fn result_of<R: Request>(result: &Payload, to: Revision) -> Result<Payload, StepDownError>
where
    R::Result: StepDown + Clone + PartialEq,
{
    rewrite::<R::Result>(result, to)
}

fn rewrite<T>(payload: &Payload, to: Revision) -> Result<Payload, StepDownError>
where
    T: StepDown + Clone + PartialEq + Serialize + DeserializeOwned,
{
    let before: T = payload.decode()?;
    before.check_step_down(to)?;
    let mut after = before.clone();
    after.step_down(to);
    if after == before {
        return Ok(payload.clone());
    }
    Ok(Payload::encode(&after)?)
}

fn check_method(method: Method, to: Revision) -> Result<(), NotRepresentable> {
    if method.exists_in(to) {
        return Ok(());
    }
    Err(NotRepresentable::Method(method))
}

/// 2025-11-25 answers a request that asked for it with a task around which nothing is.
fn is_created_task(method: Method, result: &Payload) -> bool {
    let may_be_task = matches!(
        method,
        Method::ToolsCall | Method::SamplingCreateMessage | Method::ElicitationCreate
    );
    may_be_task
        && result
            .member("task")
            .is_some_and(|task| task.starts_with(b"{"))
        && result.member("content").is_none()
        && result.member("action").is_none()
}

/// Methods with parameters or results that 2024-11-05 to 2025-06-18 have differently.
const DIFFERS_EARLY: &[Method] = &[
    Method::Initialize,
    Method::ToolsList,
    Method::ToolsCall,
    Method::ResourcesList,
    Method::ResourcesTemplatesList,
    Method::ResourcesRead,
    Method::PromptsList,
    Method::PromptsGet,
    Method::CompletionComplete,
    Method::SamplingCreateMessage,
    Method::RootsList,
    Method::ElicitationCreate,
    Method::Progress,
];

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;
    use crate::jsonrpc::Limits;
    use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

    fn payload(text: &str) -> Payload {
        Payload::parse(text.to_owned().into(), &Limits::default()).unwrap()
    }

    fn result(method: Method, text: &str, to: Revision) -> Result<String, String> {
        text_of(step_down_result(method, &payload(text), to))
    }

    fn params(method: Method, text: &str, to: Revision) -> Result<String, String> {
        text_of(step_down_params(method, &payload(text), to))
    }

    fn text_of(outcome: Result<Payload, StepDownError>) -> Result<String, String> {
        let text = |payload: Payload| String::from_utf8(payload.text().to_vec()).unwrap();
        outcome.map(text).map_err(|error| error.to_string())
    }

    #[test]
    fn bytes_that_lose_nothing_are_not_written_anew() {
        let text = r#"{ "content":[ {"type":"text","text":"t"} ] }"#;
        assert_eq!(
            result(Method::ToolsCall, text, V2024_11_05).as_deref(),
            Ok(text)
        );
        let text = r#"{ "task":1 }"#;
        assert_eq!(
            result(Method::TasksResult, text, V2025_11_25).as_deref(),
            Ok(text)
        );
    }

    #[test]
    fn a_result_is_read_by_its_type_first() {
        let asks = r#"{"resultType":"input_required","requestState":"s"}"#;
        assert_eq!(
            result(Method::ToolsCall, asks, V2026_07_28).as_deref(),
            Ok(asks)
        );
        assert_eq!(
            result(Method::ToolsCall, asks, V2025_11_25).unwrap_err(),
            "the revision has no request in several round trips"
        );
        let task = r#"{"resultType":"task","taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null}"#;
        assert_eq!(
            result(Method::ToolsCall, task, V2026_07_28).as_deref(),
            Ok(task)
        );
        assert_eq!(
            result(Method::ToolsCall, task, V2025_11_25).unwrap_err(),
            "the revision has no task of this form"
        );
    }

    #[test]
    fn a_created_task_is_not_taken_for_an_empty_result() {
        let task = r#"{"task":{"taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttl":null}}"#;
        assert_eq!(
            result(Method::ToolsCall, task, V2025_11_25).as_deref(),
            Ok(task)
        );
        assert!(result(Method::ToolsCall, task, V2025_06_18).is_err());
        assert!(result(Method::ToolsCall, task, V2026_07_28).is_err());
    }

    #[test]
    fn a_task_with_the_older_names_is_a_task_by_its_type() {
        let task = |rest: &str| {
            format!(
                r#"{{"taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"",{rest},"resultType":"task"}}"#
            )
        };
        assert_eq!(
            result(Method::ToolsCall, &task(r#""ttl":5"#), V2026_07_28),
            Ok(task(r#""ttlMs":5"#))
        );
    }

    #[test]
    fn only_who_may_answer_with_a_task_does() {
        let text = r#"{"task":{}}"#;
        assert_eq!(result(Method::Ping, text, V2025_11_25).as_deref(), Ok(text));
        let text = r#"{"structuredContent":{}}"#;
        let lost = result(Method::ToolsCall, text, V2025_11_25);
        assert_eq!(lost.as_deref(), Ok(text));
    }

    #[test]
    fn each_result_is_read_as_that_of_its_method() {
        let check = |method: Method, text: &str, to: Revision, expected: Result<&str, &str>| {
            let found = result(method, text, to);
            let found = found.as_deref().map_err(String::as_str);
            assert_eq!(found, expected, "{method}");
        };
        let task = |ttl: &str| {
            format!(
                r#"{{"taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","{ttl}":1}}"#
            )
        };
        check(
            Method::Initialize,
            r#"{"protocolVersion":"2025-11-25","capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}},"serverInfo":{"name":"a","version":"1"}}"#,
            V2025_11_25,
            Ok(
                r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"a","version":"1"}}"#,
            ),
        );
        check(
            Method::ServerDiscover,
            r#"{"supportedVersions":[],"capabilities":{"tasks":{}}}"#,
            V2026_07_28,
            Ok(r#"{"supportedVersions":[],"capabilities":{}}"#),
        );
        for (method, items) in [
            (Method::ToolsList, "tools"),
            (Method::ResourcesList, "resources"),
            (Method::ResourcesTemplatesList, "resourceTemplates"),
            (Method::ResourcesRead, "contents"),
            (Method::PromptsList, "prompts"),
        ] {
            let list = |rest: &str| format!(r#"{{"{items}":[]{rest}}}"#);
            let cached = list(r#","ttlMs":1,"cacheScope":"public""#);
            check(method, &cached, V2025_11_25, Ok(&list("")));
        }
        check(
            Method::ToolsCall,
            r#"{"content":[],"structuredContent":1}"#,
            V2025_11_25,
            Ok(r#"{"content":[{"type":"text","text":"1"}]}"#),
        );
        check(
            Method::PromptsGet,
            r#"{"messages":[{"role":"user","content":{"type":"x"}}]}"#,
            V2025_11_25,
            Ok(
                r#"{"messages":[{"role":"user","content":{"type":"text","text":"x: {\"type\":\"x\"}"}}]}"#,
            ),
        );
        check(
            Method::CompletionComplete,
            "{}",
            V2025_11_25,
            Err("malformed message"),
        );
        let (new, old) = (task("ttlMs"), task("ttl"));
        check(Method::TasksGet, &new, V2025_11_25, Ok(&old));
        check(
            Method::TasksCancel,
            "{}",
            V2025_11_25,
            Err("the revision has no task of this form"),
        );
        check(
            Method::TasksList,
            &format!(r#"{{"tasks":[{new}]}}"#),
            V2025_11_25,
            Ok(&format!(r#"{{"tasks":[{old}]}}"#)),
        );
        check(
            Method::TasksResult,
            r#"{"resultType":"complete","content":[]}"#,
            V2025_11_25,
            Ok(r#"{"resultType":"complete","content":[]}"#),
        );
        check(
            Method::SamplingCreateMessage,
            r#"{"role":"user","content":{"type":"x"},"model":"m"}"#,
            V2025_11_25,
            Ok(
                r#"{"role":"user","content":{"type":"text","text":"x: {\"type\":\"x\"}"},"model":"m"}"#,
            ),
        );
        check(
            Method::RootsList,
            r#"{"roots":[],"_meta":{"a":1}}"#,
            V2026_07_28,
            Ok(r#"{"roots":[]}"#),
        );
        check(
            Method::ElicitationCreate,
            r#"{"action":"accept","_meta":{"a":1}}"#,
            V2026_07_28,
            Ok(r#"{"action":"accept"}"#),
        );
    }

    #[test]
    fn what_the_revision_does_not_have_is_refused() {
        assert_eq!(
            params(Method::ElicitationCreate, "{}", V2025_03_26).unwrap_err(),
            "the revision has no method elicitation/create"
        );
        assert_eq!(
            params(Method::ToolsCall, "{}", V2025_11_25).unwrap_err(),
            "malformed message"
        );
        let refused = |to| step_down_params(Method::TasksGet, &payload("{}"), to).unwrap_err();
        assert!(refused(V2025_11_25).source().is_some());
        assert!(refused(V2025_06_18).source().is_none());
    }

    #[test]
    fn notifications_lose_what_they_must() {
        let progress = r#"{"progressToken":1,"progress":1,"message":"m"}"#;
        assert_eq!(
            params(Method::Progress, progress, V2024_11_05).as_deref(),
            Ok(r#"{"progressToken":1,"progress":1}"#)
        );
        let changed = r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}"#;
        assert_eq!(
            params(Method::ToolListChanged, changed, V2025_11_25).as_deref(),
            Ok("{}")
        );
    }

    #[test]
    fn the_same_revision_needs_no_step() {
        for rule in Method::table() {
            for revision in Revision::ALL {
                assert!(!needs_step_down(rule.method, revision, revision));
            }
        }
        assert!(needs_step_down(Method::Ping, V2026_07_28, V2025_11_25));
        assert!(!needs_step_down(
            Method::LogMessage,
            V2025_06_18,
            V2024_11_05
        ));
        assert!(!needs_step_down(
            Method::ToolsList,
            V2024_11_05,
            V2025_11_25
        ));
        assert!(!needs_step_down(
            Method::ToolsList,
            V2025_06_18,
            V2026_07_28
        ));
        assert!(needs_step_down(Method::ToolsList, V2025_11_25, V2026_07_28));
    }
}
