//! What was stepped down is valid, and no more than, what the older revision has.

use std::collections::BTreeMap;

use boon::{Compiler, SchemaIndex, Schemas};
use bytes::Bytes;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use switchboard_protocol::jsonrpc::Limits;
use switchboard_protocol::method::Sender;
use switchboard_protocol::revision::{
    StepDown, StepDownError, needs_step_down, step_down_params, step_down_result,
};
use switchboard_protocol::types::*;
use switchboard_protocol::{Method, Payload, Revision};

use crate::generate::{self, Sample, UNKNOWN};
use crate::official::{read_json, schema_folder};
use crate::samples;
use crate::schema::definitions;

#[test]
fn random_messages_stepped_down_are_valid_at_the_older_revision() {
    let Some(official) = Official::read() else {
        return;
    };
    let cases = std::env::var("SWITCHBOARD_CASES").ok();
    let cases = cases.and_then(|text| text.parse().ok()).unwrap_or(4000);
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    let outcome = runner.run(&generate::sample(), |sample| {
        for revision in Revision::ALL {
            official
                .check_sample(&sample, revision)
                .map_err(TestCaseError::fail)?;
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn every_sample_of_a_newer_revision_is_valid_at_every_older_one() {
    let Some(official) = Official::read() else {
        return;
    };
    let mut problems = Vec::new();
    let mut checked = 0;
    for from in Revision::ALL {
        for (definition, value) in samples::at(from).rows {
            for to in Revision::ALL.into_iter().filter(|&to| to <= from) {
                match official.check_row(&definition, &value, from, to) {
                    Ok(true) => checked += 1,
                    Ok(false) => {}
                    Err(problem) => problems.push(format!("{from} to {to}: {problem}")),
                }
            }
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    // Each row that no rule knows would silently count for nothing.
    assert!(checked > 600, "only {checked} rows were checked");
}

#[test]
fn a_valid_value_of_a_revision_loses_nothing_on_the_way_to_it() {
    for revision in Revision::ALL {
        for (definition, value) in samples::at(revision).rows {
            if let Some(Ok(after)) = step(&definition, &value, revision) {
                assert_eq!(after, value, "{revision} {definition}");
            }
        }
    }
}

#[test]
fn what_needs_no_step_is_not_changed_by_one() {
    for from in Revision::ALL {
        for (definition, value) in samples::at(from).rows {
            let Some((method, _)) = message(&definition) else {
                continue;
            };
            for to in Revision::ALL {
                if let Some(Ok(after)) = step(&definition, &value, to)
                    && !needs_step_down(method, from, to)
                {
                    assert_eq!(after["params"], value["params"], "{from} {to} {definition}");
                    if !definition.ends_with("Result") {
                        continue;
                    }
                    assert_eq!(after, value, "{from} {to} {definition}");
                }
            }
        }
    }
}

/// The schemas of all revisions, compiled.
struct Official {
    schemas: Schemas,
    roots: BTreeMap<Revision, Value>,
    places: BTreeMap<(Revision, String), SchemaIndex>,
}

impl Official {
    fn read() -> Option<Self> {
        let folder = schema_folder()?;
        let mut official = Self {
            schemas: Schemas::new(),
            roots: BTreeMap::new(),
            places: BTreeMap::new(),
        };
        for revision in Revision::ALL {
            let root = read_json(&folder.join(format!("{revision}.json")));
            let mut compiler = Compiler::new();
            let place = format!("memory:///{revision}.json");
            compiler
                .add_resource(&place, root.clone())
                .expect("a place is added once");
            let (key, all) = definitions(&root);
            for name in all.keys() {
                let index = compiler
                    .compile(&format!("{place}#/{key}/{name}"), &mut official.schemas)
                    .expect("the official schema is a schema");
                official.places.insert((revision, name.clone()), index);
            }
            official.roots.insert(revision, root);
        }
        Some(official)
    }

    /// Is the value valid, and does it have no member that the definition lacks?
    ///
    /// `Ok(false)` when the revision does not define it.
    fn check(&self, definition: &str, value: &Value, at: Revision) -> Result<bool, String> {
        let Some(&index) = self.places.get(&(at, definition.to_owned())) else {
            return Ok(false);
        };
        if let Err(error) = self.schemas.validate(value, index) {
            return Err(format!("{at} {definition}: {error:#}\n  {value}"));
        }
        let root = &self.roots[&at];
        let schema = &definitions(root).1[definition];
        match undeclared(root, schema, value, "") {
            Some(path) => Err(format!(
                "{at} {definition}: {path} is not declared\n  {value}"
            )),
            None => Ok(true),
        }
    }

    fn check_sample(&self, sample: &Sample, to: Revision) -> Result<(), String> {
        // At the newest revision an unknown kind may belong to an extension, and stays.
        if to == Revision::LATEST && sample.value.to_string().contains(UNKNOWN) {
            return Ok(());
        }
        let value = match sample.definition.ends_with("Result") {
            true => sample.value.clone(),
            false => json!({"method": sample.method.name(), "params": sample.value}),
        };
        match step(sample.definition, &value, to) {
            Some(Ok(once)) => {
                self.check(sample.definition, &once, to)?;
                match step(sample.definition, &once, to) {
                    Some(Ok(twice)) if twice == once => {}
                    other => return Err(format!("{to}: twice is not once: {other:?}\n  {once}")),
                }
                let unknown =
                    |v: &Value| v.get("x-unknown").or(v["params"].get("x-unknown")).cloned();
                if unknown(&once) != unknown(&value) {
                    return Err(format!("{to}: lost what it does not know\n  {once}"));
                }
                Ok(())
            }
            Some(Err(StepDownError::NotRepresentable(_))) => Ok(()),
            other => Err(format!("{to}: {other:?}\n  {value}")),
        }
    }

    fn check_row(
        &self,
        definition: &str,
        value: &Value,
        from: Revision,
        to: Revision,
    ) -> Result<bool, String> {
        match step(definition, value, to) {
            Some(Ok(after)) => self.check(definition, &after, to),
            Some(Err(StepDownError::NotRepresentable(_))) if from != to => Ok(false),
            Some(Err(error)) => Err(format!("{definition}: {error:?}\n  {value}")),
            None => Ok(false),
        }
    }
}

/// The value of a definition as the revision has it; none if we do not step it.
fn step(definition: &str, value: &Value, to: Revision) -> Option<Result<Value, StepDownError>> {
    let Some((method, is_result)) = message(definition) else {
        return object(definition, value, to).map(Ok);
    };
    if is_result {
        let result = step_down_result(method, &payload(value), to);
        return Some(result.map(|result| tree(&result)));
    }
    let params = step_down_params(method, &payload(&value["params"]), to);
    Some(params.map(|params| {
        let mut whole = json!({"method": method.name(), "params": tree(&params)});
        // Older schemas define a request and its envelope apart.
        let is_inside = method.sender(to.era()) == Sender::InsideResult;
        if to >= Revision::V2025_11_25 && !is_inside {
            whole["jsonrpc"] = json!("2.0");
            if !method.is_notification() {
                whole["id"] = json!(7);
            }
        }
        whole
    }))
}

/// Objects that are not messages.
fn object(definition: &str, value: &Value, to: Revision) -> Option<Value> {
    Some(match definition {
        "Implementation" => stepped::<Implementation>(value, to),
        "ClientCapabilities" => stepped::<ClientCapabilities>(value, to),
        "ServerCapabilities" => stepped::<ServerCapabilities>(value, to),
        "Annotations" => stepped::<Annotations>(value, to),
        "Tool" => stepped::<Tool>(value, to),
        "Resource" => stepped::<Resource>(value, to),
        "ResourceTemplate" => stepped::<ResourceTemplate>(value, to),
        "Prompt" => stepped::<Prompt>(value, to),
        "PromptArgument" => stepped::<PromptArgument>(value, to),
        "PromptMessage" => stepped::<PromptMessage>(value, to),
        "Root" => stepped::<Root>(value, to),
        "TextContent" | "ImageContent" | "EmbeddedResource" | "ContentBlock" => {
            stepped::<ContentBlock>(value, to)
        }
        "TextResourceContents" | "BlobResourceContents" => stepped::<ResourceContents>(value, to),
        "SamplingMessageContentBlock" => stepped::<SamplingMessageContentBlock>(value, to),
        _ => return None,
    })
}

fn stepped<T: StepDown + Serialize + DeserializeOwned>(value: &Value, to: Revision) -> Value {
    let mut value: T = serde_json::from_value(value.clone()).expect("a sample can be read");
    value.step_down(to);
    serde_json::to_value(value).expect("a value has a JSON form")
}

/// The method of a definition, and whether it is the result.
fn message(definition: &str) -> Option<(Method, bool)> {
    let (name, is_result) = match definition.strip_suffix("Result") {
        Some(name) => (name, true),
        None => (definition, false),
    };
    let name = name.strip_suffix("Request").unwrap_or(name);
    let is_bare = name == definition && !definition.ends_with("Notification");
    let found = MESSAGES.iter().find(|(_, known)| *known == name);
    found
        .filter(|_| !is_bare)
        .map(|(method, _)| (*method, is_result))
}

fn payload(value: &Value) -> Payload {
    // Absent params mean an empty object.
    let text = match value {
        Value::Null => "{}".to_owned(),
        value => value.to_string(),
    };
    Payload::parse(Bytes::from(text), &Limits::default()).expect("a sample is JSON")
}

fn tree(payload: &Payload) -> Value {
    payload.decode().expect("a payload is JSON")
}

/// The first member that the schema does not declare, or that has another shape.
fn undeclared(root: &Value, schema: &Value, value: &Value, path: &str) -> Option<String> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(reference.trim_start_matches('#'))?;
        return undeclared(root, target, value, path);
    }
    if let Some(branches) = schema.get("anyOf").and_then(Value::as_array) {
        let mut found = branches.iter().map(|b| undeclared(root, b, value, path));
        return found.find(Option::is_none).unwrap_or(Some(path.to_owned()));
    }
    let expected = schema.get("type").and_then(Value::as_str);
    let other_shape = match expected {
        Some("object") => !value.is_object(),
        Some("array") => !value.is_array(),
        _ => false,
    };
    if other_shape || schema.get("const").is_some_and(|c| c != value) {
        return Some(path.to_owned());
    }
    if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
        return values
            .iter()
            .find_map(|value| undeclared(root, items, value, &format!("{path}[]")));
    }
    let declared = schema.get("properties")?.as_object()?;
    let is_open = schema.get("additionalProperties").is_some();
    value.as_object()?.iter().find_map(|(name, value)| {
        let path = format!("{path}.{name}");
        match declared.get(name) {
            _ if IGNORED.contains(&name.as_str()) => None,
            // What is inside `_meta` is everyone's.
            Some(_) if name == "_meta" => None,
            Some(inner) => undeclared(root, inner, value, &path),
            // Inline params of older schemas leave out `_meta`, which their base allows.
            None if is_open || path == ".params._meta" => None,
            None => Some(path),
        }
    })
}

/// Members that are sent where a revision does not declare them: unknown ones, and
/// extensions, which hosts of the handshake era declare too. Schemas stay as they are.
const IGNORED: &[&str] = &["x-unknown", "extensions", "inputSchema", "outputSchema"];

const MESSAGES: &[(Method, &str)] = &[
    (Method::Initialize, "Initialize"),
    (Method::Ping, "Ping"),
    (Method::ServerDiscover, "Discover"),
    (Method::ToolsList, "ListTools"),
    (Method::ToolsCall, "CallTool"),
    (Method::ResourcesList, "ListResources"),
    (Method::ResourcesTemplatesList, "ListResourceTemplates"),
    (Method::ResourcesRead, "ReadResource"),
    (Method::ResourcesSubscribe, "Subscribe"),
    (Method::ResourcesUnsubscribe, "Unsubscribe"),
    (Method::PromptsList, "ListPrompts"),
    (Method::PromptsGet, "GetPrompt"),
    (Method::CompletionComplete, "Complete"),
    (Method::LoggingSetLevel, "SetLevel"),
    (Method::SubscriptionsListen, "SubscriptionsListen"),
    (Method::TasksGet, "GetTask"),
    (Method::TasksCancel, "CancelTask"),
    (Method::TasksResult, "GetTaskPayload"),
    (Method::TasksList, "ListTasks"),
    (Method::SamplingCreateMessage, "CreateMessage"),
    (Method::RootsList, "ListRoots"),
    (Method::ElicitationCreate, "Elicit"),
    (Method::Initialized, "InitializedNotification"),
    (Method::Cancelled, "CancelledNotification"),
    (Method::Progress, "ProgressNotification"),
    (Method::LogMessage, "LoggingMessageNotification"),
    (Method::ResourceUpdated, "ResourceUpdatedNotification"),
    (
        Method::ResourceListChanged,
        "ResourceListChangedNotification",
    ),
    (Method::ToolListChanged, "ToolListChangedNotification"),
    (Method::PromptListChanged, "PromptListChangedNotification"),
    (Method::RootsListChanged, "RootsListChangedNotification"),
    (
        Method::ElicitationComplete,
        "ElicitationCompleteNotification",
    ),
    (Method::TaskStatusChanged, "TaskStatusNotification"),
    (
        Method::SubscriptionsAcknowledged,
        "SubscriptionsAcknowledgedNotification",
    ),
];
