//! Calls that go on after their answer, at servers of the client's own era.
//!
//! A task is known here by its server and the server's own name for it. Nothing else is kept. A
//! client of the other era waits for the call itself; what becomes a task behind it is followed by
//! the hub's client.
//!
//! Specification: tasks extension; 2025-11-25 basic/utilities/tasks.

use serde_json::{Map, json};
use switchboard_client::Payload;
use switchboard_hub::MemberState;
use switchboard_protocol::Era;
use switchboard_protocol::RawJson;
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject};
use switchboard_protocol::types::{
    ClientCapabilities, ServerCapabilities, TASKS_EXTENSION, TasksCapability, meta_key,
};
use switchboard_server::{Answer, Context};

use super::{Inner, caller, error_of, pursuit};

impl Inner {
    /// A call that is for a task.
    pub(super) async fn relay_task(&self, context: Context) -> Answer {
        let era = context.revision().era();
        if era == Era::Stateless && !context.capabilities().has_extension(TASKS_EXTENSION) {
            return Answer::Error(undeclared());
        }
        let params = context.params().cloned().unwrap_or_else(Payload::empty);
        let Some(id) = params.string_member(TASK_ID) else {
            return Answer::Error(ErrorObject::invalid_params("taskId is missing"));
        };
        let Some((server, task)) = TaskName::parse(&id)
            .filter(|name| self.has(name.server, era))
            .map(|name| (name.server.to_owned(), name.task.to_owned()))
        else {
            return Answer::Error(unknown());
        };
        let task = text_of(&task);
        let params = params.passed_on(&[(TASK_ID, Some(task.as_bytes()))]);
        let Ok(params) = params.decode::<RawJson>() else {
            return Answer::Error(ErrorObject::invalid_params("the parameters are no object"));
        };
        let Some(room) = self.rooms.of(&context) else {
            return Answer::Error(super::too_many_rooms());
        };
        let call = room
            .hub
            .request_on(&server, context.method().as_str(), Some(&params))
            .on_behalf(caller::whom(&context));
        match pursuit::pursue(self, &room, call, &context).await {
            Ok(result) => Answer::Result(named(&result, &server)),
            Err(pursuit::Failed::Hub(error)) => {
                Answer::Error(error_of(error, context.method(), context.revision()))
            }
            Err(pursuit::Failed::Here(error)) => Answer::Error(error),
        }
    }

    /// Is there a server of this name and era?
    fn has(&self, server: &str, era: Era) -> bool {
        let servers = self.hub.servers();
        let found = servers.iter().find(|status| *status.name == *server);
        found.is_some_and(|status| match &status.state {
            MemberState::Ready(ready) | MemberState::ListingFailed { ready, .. } => {
                ready.revision.era() == era
            }
            // It may be started for this.
            _ => true,
        })
    }
}

/// Has a call become a task?
pub(super) fn is_one(result: &Payload) -> bool {
    result.result_type().as_deref() == Some("task") || result.member("task").is_some()
}

/// A result with the names that tasks of this server have here, if it tells of tasks.
pub(super) fn named(result: &Payload, server: &str) -> Payload {
    let mut result = result.clone();
    if let Some(renamed) = renamed(&result, server) {
        result = renamed;
    }
    // What is made when a call has become a task of 2025-11-25.
    if let Some(task) = result.part("task")
        && let Some(task) = renamed(&task, server)
    {
        result = result.passed_on(&[("task", Some(task.text()))]);
    }
    let related = result.meta().and_then(|meta| {
        let meta: Map<String, serde_json::Value> = serde_json::from_slice(meta).ok()?;
        let task = meta.get(meta_key::RELATED_TASK)?.get(TASK_ID)?.as_str()?;
        let task = TaskName { server, task }.to_string();
        let related = json!({meta_key::RELATED_TASK: {TASK_ID: task}});
        related.as_object().cloned()
    });
    match related {
        Some(related) => Payload::with_meta(Some(&result), &related),
        None => result,
    }
}

fn renamed(task: &Payload, server: &str) -> Option<Payload> {
    let id = task.string_member(TASK_ID)?;
    let name = TaskName { server, task: &id };
    let name = text_of(&name.to_string());
    Some(task.passed_on(&[(TASK_ID, Some(name.as_bytes()))]))
}

/// Adds to what can be served what a server can do with tasks.
pub(super) fn add(capabilities: &mut ServerCapabilities, era: Era, of_server: &ServerCapabilities) {
    match era {
        Era::Stateless if of_server.has_extension(TASKS_EXTENSION) => {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.insert(TASKS_EXTENSION.to_owned(), json!({}));
        }
        Era::Handshake => {
            let tasks = of_server.tasks.as_ref();
            if let Some(tasks) = tasks.filter(|tasks| tasks.accepts_tool_calls()) {
                // A server does not know our clients, and would list the tasks of all.
                let mut tasks: TasksCapability = tasks.clone();
                tasks.list = None;
                capabilities.tasks.get_or_insert(tasks);
            }
        }
        Era::Stateless => {}
    }
}

/// What a task is called here.
struct TaskName<'a> {
    server: &'a str,
    task: &'a str,
}

impl<'a> TaskName<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (length, rest) = text.split_once(MARK)?;
        let (server, task) = rest.split_at_checked(length.parse().ok()?)?;
        let task = task.strip_prefix(MARK)?;
        Some(Self { server, task })
    }
}

impl std::fmt::Display for TaskName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The length tells where a name ends that has the mark in it.
        let length = self.server.len();
        write!(f, "{length}{MARK}{}{MARK}{}", self.server, self.task)
    }
}

fn text_of(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn unknown() -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, "there is no such task")
}

fn undeclared() -> ErrorObject {
    let mut required = ClientCapabilities::default();
    let extensions = required.extensions.get_or_insert_default();
    extensions.insert(TASKS_EXTENSION.to_owned(), json!({}));
    ErrorObject::missing_capabilities(required)
}

const TASK_ID: &str = "taskId";
const MARK: char = '.';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_found_by_its_name_whatever_is_in_it() {
        for (server, task) in [("demo", "1"), ("a.b", "c.d"), ("", ""), ("ö.", "7.x")] {
            let text = TaskName { server, task }.to_string();
            let name = TaskName::parse(&text).expect("it is one");
            assert_eq!((name.server, name.task), (server, task), "{text}");
        }
        for text in [
            "", "demo", "4.demo", "9.demo.1", "1.ö.1", "x.demo.1", "4demo.1",
        ] {
            assert!(TaskName::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn tasks_in_results_are_named_for_their_server() {
        let check = |before: &str, after: &str| {
            let result: RawJson = serde_json::from_str(before).unwrap();
            let result = Payload::encode(&result).unwrap();
            assert_eq!(named(&result, "s").text(), after);
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
}
