//! Is a message within what its receiver declared?
//!
//! One rule for both sides: the sender asks it so as not to send, the receiver
//! so as to refuse. Which revision has the method is the table's business.
//!
//! Specification: basic/lifecycle (capabilities), client/{sampling,elicitation},
//! 2025-11-25 basic/utilities/tasks.

use crate::method::{Method, Need};
use crate::payload::Payload;
use crate::revision::{Era, Revision};
use crate::types::{ClientCapabilities, ServerCapabilities, TASKS_EXTENSION, TasksCapability};

/// Did the server declare what this method needs?
pub(crate) fn by_server(
    capabilities: &ServerCapabilities,
    method: Method,
    revision: Revision,
) -> bool {
    match method.rule().needs {
        Need::Nothing => true,
        Need::Tools => capabilities.has_tools(),
        Need::Resources => capabilities.has_resources(),
        Need::ResourceSubscriptions => capabilities.accepts_resource_subscriptions(),
        Need::Prompts => capabilities.has_prompts(),
        Need::Completions => capabilities.has_completions(),
        Need::Logging => capabilities.has_logging(),
        Need::Tasks | Need::TaskList | Need::TaskCancel if revision.era() == Era::Stateless => {
            capabilities.has_extension(TASKS_EXTENSION)
        }
        need @ (Need::Tasks | Need::TaskList | Need::TaskCancel) => {
            has_tasks(capabilities.tasks.as_ref(), need)
        }
        // These a client declares, not a server.
        Need::Sampling | Need::Roots | Need::Elicitation => false,
    }
}

/// Did the server declare that this method may become a task of 2025-11-25?
pub(crate) fn as_task_by_server(capabilities: &ServerCapabilities, method: Method) -> bool {
    method == Method::ToolsCall
        && capabilities
            .tasks
            .as_ref()
            .is_some_and(TasksCapability::accepts_tool_calls)
}

/// What of a request its client did not declare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undeclared {
    /// The method as a whole.
    Method,
    /// This mode of elicitation.
    Mode,
    /// Tools in sampling.
    SamplingTools,
}

/// Did the client declare that it can be asked this?
pub(crate) fn check_client(
    capabilities: &ClientCapabilities,
    method: Method,
    params: Option<&Payload>,
) -> Result<(), Undeclared> {
    let has_method = match method.rule().needs {
        Need::Nothing => true,
        Need::Sampling => capabilities.accepts_sampling(),
        Need::Roots => capabilities.accepts_roots(),
        Need::Elicitation => capabilities.elicitation.is_some(),
        need @ (Need::Tasks | Need::TaskList | Need::TaskCancel) => {
            has_tasks(capabilities.tasks.as_ref(), need)
        }
        // These a server declares, not a client.
        Need::Tools
        | Need::Resources
        | Need::ResourceSubscriptions
        | Need::Prompts
        | Need::Completions
        | Need::Logging => false,
    };
    if !has_method {
        return Err(Undeclared::Method);
    }
    match method {
        Method::ElicitationCreate => {
            let accepted = match mode(params).as_deref() {
                None | Some("form") => capabilities.accepts_form(),
                Some("url") => capabilities.accepts_url(),
                Some(_) => false,
            };
            accepted.then_some(()).ok_or(Undeclared::Mode)
        }
        Method::SamplingCreateMessage if has_tools(params) => capabilities
            .accepts_sampling_tools()
            .then_some(())
            .ok_or(Undeclared::SamplingTools),
        _ => Ok(()),
    }
}

/// Adds the capability that a question needs, in the form in which clients declare it.
pub(crate) fn add_required(
    required: &mut ClientCapabilities,
    method: Method,
    params: Option<&Payload>,
) {
    match method.rule().needs {
        Need::Roots => {
            required.roots.get_or_insert_default();
        }
        Need::Sampling => {
            let sampling = required.sampling.get_or_insert_default();
            if has_tools(params) {
                sampling.tools.get_or_insert_default();
            }
        }
        _ => {
            let elicitation = required.elicitation.get_or_insert_default();
            if mode(params).as_deref() == Some("url") {
                elicitation.url.get_or_insert_default();
            } else {
                elicitation.form.get_or_insert_default();
            }
        }
    }
}

fn has_tasks(capability: Option<&TasksCapability>, need: Need) -> bool {
    capability.is_some_and(|tasks| match need {
        Need::TaskList => tasks.accepts_list(),
        Need::TaskCancel => tasks.accepts_cancel(),
        _ => true,
    })
}

/// The mode of an elicitation, if it says one.
pub(crate) fn mode(params: Option<&Payload>) -> Option<std::borrow::Cow<'_, str>> {
    params?.string_member("mode")
}

fn has_tools(params: Option<&Payload>) -> bool {
    let has = |name| params.is_some_and(|params| params.member(name).is_some());
    has("tools") || has("toolChoice")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::jsonrpc::Limits;

    fn check(declared: &str, method: Method, params: &str, expected: Result<(), Undeclared>) {
        let capabilities = serde_json::from_str(declared).unwrap();
        let text = Bytes::copy_from_slice(params.as_bytes());
        let params = Payload::parse(text, &Limits::default()).unwrap();
        let found = check_client(&capabilities, method, Some(&params));
        assert_eq!(
            found,
            expected,
            "{declared} {method} {}",
            params.text().escape_ascii()
        );
    }

    #[test]
    fn a_client_is_asked_within_what_it_declared() {
        let elicit = Method::ElicitationCreate;
        check("{}", elicit, "{}", Err(Undeclared::Method));
        check(r#"{"elicitation":{}}"#, elicit, "{}", Ok(()));
        check(
            r#"{"elicitation":{}}"#,
            elicit,
            r#"{"mode":"url"}"#,
            Err(Undeclared::Mode),
        );
        check(
            r#"{"elicitation":{}}"#,
            elicit,
            r#"{"mode":"voice"}"#,
            Err(Undeclared::Mode),
        );
        check(
            r#"{"elicitation":{"url":{}}}"#,
            elicit,
            r#"{"mode":"url"}"#,
            Ok(()),
        );
        let sample = Method::SamplingCreateMessage;
        let tools = r#"{"tools":[]}"#;
        check(
            r#"{"sampling":{}}"#,
            sample,
            tools,
            Err(Undeclared::SamplingTools),
        );
        check(r#"{"sampling":{"tools":{}}}"#, sample, tools, Ok(()));
        check("{}", Method::Ping, "{}", Ok(()));
        check(r#"{"tasks":{}}"#, Method::TasksGet, "{}", Ok(()));
        check(
            r#"{"tasks":{}}"#,
            Method::TasksList,
            "{}",
            Err(Undeclared::Method),
        );
        check(r#"{"tasks":{"list":{}}}"#, Method::TasksList, "{}", Ok(()));
        check(
            r#"{"sampling":{}}"#,
            Method::ToolsCall,
            "{}",
            Err(Undeclared::Method),
        );
    }

    #[test]
    fn the_tasks_of_each_era_are_declared_apart() {
        let check = |declared: &str, method, revision, expected| {
            let capabilities = serde_json::from_str(declared).unwrap();
            assert_eq!(
                by_server(&capabilities, method, revision),
                expected,
                "{declared}"
            );
        };
        let old = Revision::V2025_11_25;
        check(r#"{"tasks":{}}"#, Method::TasksGet, old, true);
        check(r#"{"tasks":{}}"#, Method::TasksCancel, old, false);
        check(
            r#"{"tasks":{"cancel":{}}}"#,
            Method::TasksCancel,
            Revision::LATEST,
            false,
        );
        let extension = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
        check(extension, Method::TasksCancel, Revision::LATEST, true);
        check(extension, Method::TasksGet, old, false);
    }
}
