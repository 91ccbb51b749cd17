//! Random messages that hold what any revision has, all of it mixed.
//!
//! They are made as JSON, so that a failing one shrinks and can be read. Members
//! that 2026-07-28 requires are always there; all others come and go.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use switchboard_protocol::Method;

/// One message: its method, the name of its definition, and the value.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) method: Method,
    pub(crate) definition: &'static str,
    pub(crate) value: Value,
}

/// Any message of which something can be lost.
pub(crate) fn sample() -> impl Strategy<Value = Sample> {
    let of = |method, definition, values: Json| {
        let make = move |value| Sample {
            method,
            definition,
            value,
        };
        values.prop_map(make).boxed()
    };
    proptest::strategy::Union::new([
        of(Method::Initialize, "InitializeRequest", initialize()),
        of(Method::Initialize, "InitializeResult", initialized()),
        of(Method::ServerDiscover, "DiscoverResult", discovered()),
        of(Method::ToolsList, "ListToolsRequest", page_wanted()),
        of(Method::ToolsList, "ListToolsResult", page("tools", tool())),
        of(Method::ToolsCall, "CallToolRequest", call_tool()),
        of(Method::ToolsCall, "CallToolResult", tool_called()),
        of(
            Method::ResourcesList,
            "ListResourcesResult",
            page("resources", resource()),
        ),
        of(
            Method::ResourcesTemplatesList,
            "ListResourceTemplatesResult",
            page("resourceTemplates", template()),
        ),
        of(Method::ResourcesRead, "ReadResourceRequest", read()),
        of(
            Method::ResourcesRead,
            "ReadResourceResult",
            cached(vec![must("contents", list(contents()))]),
        ),
        of(
            Method::PromptsList,
            "ListPromptsResult",
            page("prompts", prompt()),
        ),
        of(Method::PromptsGet, "GetPromptRequest", get_prompt()),
        of(Method::PromptsGet, "GetPromptResult", prompt_filled()),
        of(Method::CompletionComplete, "CompleteRequest", complete()),
        of(Method::CompletionComplete, "CompleteResult", completed()),
        of(
            Method::SamplingCreateMessage,
            "CreateMessageRequest",
            create_message(),
        ),
        of(
            Method::SamplingCreateMessage,
            "CreateMessageResult",
            message_created(),
        ),
        of(Method::ElicitationCreate, "ElicitRequest", elicit()),
        of(Method::ElicitationCreate, "ElicitResult", elicited()),
        of(Method::RootsList, "ListRootsResult", roots()),
        of(Method::Progress, "ProgressNotification", progress()),
        of(Method::LogMessage, "LoggingMessageNotification", log()),
        of(Method::TasksGet, "GetTaskResult", task()),
    ])
}

type Json = BoxedStrategy<Value>;
type Member = (&'static str, BoxedStrategy<Option<Value>>);

fn object(members: Vec<Member>) -> Json {
    let (names, values): (Vec<_>, Vec<_>) = members.into_iter().unzip();
    let unknown = option::weighted(0.2, Just(("x-unknown".to_owned(), json!({"kept": [1]}))));
    (values, unknown)
        .prop_map(move |(values, unknown)| {
            let present = names.iter().zip(values);
            let known = present.filter_map(|(name, value)| Some(((*name).to_owned(), value?)));
            Value::Object(known.chain(unknown).collect::<Map<_, _>>())
        })
        .boxed()
}

fn must(name: &'static str, value: Json) -> Member {
    (name, value.prop_map(Some).boxed())
}

fn may(name: &'static str, value: Json) -> Member {
    (name, option::of(value).boxed())
}

fn always(name: &'static str, value: Value) -> Member {
    must(name, Just(value).boxed())
}

fn one_of(values: &[Value]) -> Json {
    proptest::sample::select(values.to_vec()).boxed()
}

fn text() -> Json {
    "[a-zé\"\\\\ \n]{0,6}".prop_map(Value::String).boxed()
}

fn flag() -> Json {
    any::<bool>().prop_map(Value::Bool).boxed()
}

fn uri() -> Json {
    "file:///[a-z]{1,5}".prop_map(Value::String).boxed()
}

fn list(item: Json) -> Json {
    vec(item, 0..4).prop_map(Value::Array).boxed()
}

fn texts() -> Json {
    list(text())
}

fn any_json() -> Json {
    one_of(&[
        json!(null),
        json!(1.5),
        json!("s"),
        json!([1, {"a": null}]),
        json!({"degrees": 21}),
        json!({}),
    ])
}

fn any_object() -> Json {
    one_of(&[json!({}), json!({"a": {"b": [1]}})])
}

fn object_meta() -> Member {
    may("_meta", one_of(&[json!({}), json!({"com.example/a": 1})]))
}

/// The envelope, without which no request of the newest revision is valid.
fn request_meta() -> Member {
    let members = vec![
        always(
            "io.modelcontextprotocol/protocolVersion",
            "2026-07-28".into(),
        ),
        must(
            "io.modelcontextprotocol/clientCapabilities",
            client_capabilities(),
        ),
        may("io.modelcontextprotocol/clientInfo", implementation()),
        may("io.modelcontextprotocol/logLevel", one_of(&["info".into()])),
        may("progressToken", one_of(&[7.into(), "p".into()])),
        may("traceparent", one_of(&["00-ab-cd-01".into()])),
        related_task(),
    ];
    must("_meta", object(members))
}

fn result_meta() -> Member {
    let members = vec![
        may("io.modelcontextprotocol/serverInfo", implementation()),
        may("com.example/a", any_json()),
        related_task(),
    ];
    may("_meta", object(members))
}

fn notification_meta() -> Member {
    let members = vec![
        may(
            "io.modelcontextprotocol/subscriptionId",
            one_of(&[1.into(), "l".into()]),
        ),
        may("com.example/a", any_json()),
        related_task(),
    ];
    may("_meta", object(members))
}

fn related_task() -> Member {
    may(
        "io.modelcontextprotocol/related-task",
        one_of(&[json!({"taskId": "t"})]),
    )
}

fn request(mut members: Vec<Member>) -> Json {
    members.push(request_meta());
    object(members)
}

fn result(mut members: Vec<Member>) -> Json {
    members.push(always("resultType", "complete".into()));
    members.push(result_meta());
    object(members)
}

fn cached(mut members: Vec<Member>) -> Json {
    members.push(must("ttlMs", one_of(&[0.into(), 60_000.into()])));
    members.push(must(
        "cacheScope",
        one_of(&["public".into(), "private".into()]),
    ));
    result(members)
}

fn page(name: &'static str, item: Json) -> Json {
    cached(vec![must(name, list(item)), may("nextCursor", text())])
}

fn page_wanted() -> Json {
    request(vec![may("cursor", text())])
}

fn icons() -> Member {
    let icon = object(vec![
        must("src", one_of(&["https://example.com/i.png".into()])),
        may("mimeType", text()),
        may("sizes", texts()),
        may("theme", one_of(&["light".into(), "dark".into()])),
    ]);
    may("icons", list(icon))
}

fn annotations() -> Member {
    let members = vec![
        may(
            "audience",
            list(one_of(&["user".into(), "assistant".into()])),
        ),
        may("priority", one_of(&[0.into(), 0.5.into(), 1.into()])),
        may("lastModified", one_of(&["2025-01-12T15:00:58Z".into()])),
    ];
    may("annotations", object(members))
}

fn implementation() -> Json {
    object(vec![
        must("name", text()),
        must("version", text()),
        may("title", text()),
        may("description", text()),
        may("websiteUrl", one_of(&["https://example.com".into()])),
        icons(),
    ])
}

fn extensions() -> Member {
    may(
        "extensions",
        one_of(&[
            json!({}),
            json!({"io.modelcontextprotocol/tasks": {}}),
            json!({"io.modelcontextprotocol/tasks": {}, "com.example/x": {"a": 1}}),
        ]),
    )
}

fn tasks_capability(requests: Value) -> Member {
    let members = vec![
        may("list", any_object()),
        may("cancel", any_object()),
        may("requests", one_of(&[requests])),
    ];
    may("tasks", object(members))
}

fn client_capabilities() -> Json {
    let roots = object(vec![may("listChanged", flag())]);
    let sampling = object(vec![
        may("context", any_object()),
        may("tools", any_object()),
    ]);
    let elicitation = object(vec![may("form", any_object()), may("url", any_object())]);
    let tasks = json!({"sampling": {"createMessage": {}}, "elicitation": {"create": {}}});
    object(vec![
        may("experimental", any_object()),
        may("roots", roots),
        may("sampling", sampling),
        may("elicitation", elicitation),
        tasks_capability(tasks),
        extensions(),
    ])
}

fn server_capabilities() -> Json {
    let changes = || object(vec![may("listChanged", flag())]);
    let resources = object(vec![may("listChanged", flag()), may("subscribe", flag())]);
    object(vec![
        may("experimental", any_object()),
        may("logging", any_object()),
        may("completions", any_object()),
        may("prompts", changes()),
        may("resources", resources),
        may("tools", changes()),
        tasks_capability(json!({"tools": {"call": {}}})),
        extensions(),
    ])
}

fn initialize() -> Json {
    request(vec![
        always("protocolVersion", "2025-11-25".into()),
        must("capabilities", client_capabilities()),
        must("clientInfo", implementation()),
    ])
}

fn initialized() -> Json {
    result(vec![
        always("protocolVersion", "2025-11-25".into()),
        must("capabilities", server_capabilities()),
        must("serverInfo", implementation()),
        may("instructions", text()),
    ])
}

fn discovered() -> Json {
    cached(vec![
        must("supportedVersions", texts()),
        must("capabilities", server_capabilities()),
        may("instructions", text()),
    ])
}

fn tool() -> Json {
    let input = [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"a": true, "b": {"type": "string"}}, "required": ["a"]}),
        json!({"type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema", "anyOf": [true]}),
    ];
    let output = [
        json!({}),
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"type": ["object", "null"]}),
        json!({"type": "object", "properties": {"a": false}}),
    ];
    let hints = object(vec![
        may("title", text()),
        may("readOnlyHint", flag()),
        may("destructiveHint", flag()),
        may("idempotentHint", flag()),
        may("openWorldHint", flag()),
    ]);
    let support = ["forbidden".into(), "optional".into(), "required".into()];
    object(vec![
        must("name", text()),
        may("title", text()),
        may("description", text()),
        must("inputSchema", one_of(&input)),
        may("outputSchema", one_of(&output)),
        may("annotations", hints),
        may(
            "execution",
            object(vec![may("taskSupport", one_of(&support))]),
        ),
        icons(),
        object_meta(),
    ])
}

fn task_wanted() -> Member {
    may("task", one_of(&[json!({}), json!({"ttl": 60_000})]))
}

/// Members of a request that is repeated with answers. Rare: no older peer takes it.
fn retry(mut members: Vec<Member>) -> Json {
    let responses = Just(json!({"k": {"action": "decline"}}));
    members.push(("inputResponses", option::weighted(0.05, responses).boxed()));
    members.push(("requestState", option::weighted(0.05, text()).boxed()));
    request(members)
}

fn call_tool() -> Json {
    retry(vec![
        must("name", text()),
        may("arguments", any_object()),
        task_wanted(),
    ])
}

fn read() -> Json {
    retry(vec![must("uri", uri())])
}

fn get_prompt() -> Json {
    let arguments = btree_map("[a-z]{1,3}", "[a-z]{0,3}", 0..3).prop_map(|map| json!(map));
    retry(vec![
        must("name", text()),
        may("arguments", arguments.boxed()),
    ])
}

fn resource_members() -> Vec<Member> {
    vec![
        must("uri", uri()),
        must("name", text()),
        may("title", text()),
        may("description", text()),
        may("mimeType", text()),
        may("size", one_of(&[0.into(), 12.into()])),
        annotations(),
        icons(),
        object_meta(),
    ]
}

fn resource() -> Json {
    object(resource_members())
}

fn template() -> Json {
    object(vec![
        must("uriTemplate", one_of(&["file:///{path}".into()])),
        must("name", text()),
        may("title", text()),
        may("description", text()),
        may("mimeType", text()),
        annotations(),
        icons(),
        object_meta(),
    ])
}

fn contents() -> Json {
    let with = |name, value| {
        object(vec![
            must("uri", uri()),
            may("mimeType", text()),
            must(name, value),
            object_meta(),
        ])
    };
    prop_oneof![
        4 => with("text", text()),
        4 => with("blob", one_of(&["AA==".into()])),
        1 => Just(json!({"uri": "file:///s", "stream": UNKNOWN})),
        1 => Just(json!({"stream": UNKNOWN})),
    ]
    .boxed()
}

fn block_of(kind: &str, mut members: Vec<Member>) -> Json {
    members.push(always("type", kind.into()));
    object(members)
}

fn media(kind: &str) -> Json {
    block_of(
        kind,
        vec![
            must("data", one_of(&["AA==".into()])),
            must("mimeType", text()),
            annotations(),
            object_meta(),
        ],
    )
}

fn text_block() -> Json {
    block_of(
        "text",
        vec![must("text", text()), annotations(), object_meta()],
    )
}

fn block() -> Json {
    let embedded = vec![must("resource", contents()), annotations(), object_meta()];
    prop_oneof![
        3 => text_block(),
        2 => media("image"),
        2 => media("audio"),
        2 => block_of("resource_link", resource_members()),
        2 => block_of("resource", embedded),
        1 => Just(json!({"type": UNKNOWN, "b": 1})),
    ]
    .boxed()
}

fn tool_called() -> Json {
    result(vec![
        must("content", list(block())),
        may("structuredContent", any_json()),
        may("isError", flag()),
    ])
}

fn prompt() -> Json {
    let argument = object(vec![
        must("name", text()),
        may("title", text()),
        may("description", text()),
        may("required", flag()),
    ]);
    object(vec![
        must("name", text()),
        may("title", text()),
        may("description", text()),
        may("arguments", list(argument)),
        icons(),
        object_meta(),
    ])
}

fn role() -> Member {
    must("role", one_of(&["user".into(), "assistant".into()]))
}

fn prompt_filled() -> Json {
    let message = object(vec![role(), must("content", block())]);
    result(vec![
        may("description", text()),
        must("messages", list(message)),
    ])
}

fn complete() -> Json {
    let prompt = object(vec![
        always("type", "ref/prompt".into()),
        must("name", text()),
        may("title", text()),
    ]);
    let template = object(vec![
        always("type", "ref/resource".into()),
        must("uri", one_of(&["file:///a".into()])),
    ]);
    let argument = object(vec![must("name", text()), must("value", text())]);
    let context = object(vec![may("arguments", one_of(&[json!({"a": "b"})]))]);
    request(vec![
        must("ref", prop_oneof![prompt, template].boxed()),
        must("argument", argument),
        may("context", context),
    ])
}

fn completed() -> Json {
    let completion = object(vec![
        must("values", texts()),
        may("total", one_of(&[5.into()])),
        may("hasMore", flag()),
    ]);
    result(vec![must("completion", completion)])
}

fn sampling_content() -> Json {
    let used = vec![
        must("id", text()),
        must("name", text()),
        must("input", any_object()),
        object_meta(),
    ];
    let given = vec![
        must("toolUseId", text()),
        must("content", list(block())),
        may("structuredContent", any_json()),
        may("isError", flag()),
        object_meta(),
    ];
    let block = prop_oneof![
        4 => text_block(),
        2 => media("image"),
        2 => media("audio"),
        2 => block_of("tool_use", used),
        2 => block_of("tool_result", given),
        1 => Just(json!({"type": UNKNOWN})),
    ]
    .boxed();
    prop_oneof![block.clone(), list(block)].boxed()
}

fn create_message() -> Json {
    let message = object(vec![
        role(),
        must("content", sampling_content()),
        object_meta(),
    ]);
    let choice = object(vec![may("mode", one_of(&["auto".into(), "none".into()]))]);
    let preferences = object(vec![
        may("hints", one_of(&[json!([{"name": "m"}])])),
        may("costPriority", one_of(&[0.into(), 0.5.into()])),
    ]);
    object(vec![
        must("messages", list(message)),
        must("maxTokens", one_of(&[100.into()])),
        may("modelPreferences", preferences),
        may("systemPrompt", text()),
        may(
            "includeContext",
            one_of(&["none".into(), "thisServer".into()]),
        ),
        may("temperature", one_of(&[0.1.into()])),
        may("stopSequences", texts()),
        may("metadata", any_object()),
        ("tools", option::weighted(0.2, list(tool())).boxed()),
        may("toolChoice", choice),
        task_wanted(),
        notification_meta(),
    ])
}

fn message_created() -> Json {
    object(vec![
        role(),
        must("content", sampling_content()),
        must("model", text()),
        may("stopReason", one_of(&["endTurn".into(), "toolUse".into()])),
        may("resultType", one_of(&["complete".into()])),
        object_meta(),
    ])
}

fn form_field() -> Json {
    let field = |kind: &str, mut members: Vec<Member>| {
        members.extend([may("title", text()), may("description", text())]);
        block_of(kind, members)
    };
    let formats = ["email", "uri", "date", "date-time"].map(Value::from);
    let options = json!([{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]);
    let several = |items| {
        vec![
            always("items", items),
            may("minItems", one_of(&[1.into()])),
            may("maxItems", one_of(&[2.into()])),
            may("default", one_of(&[json!(["r"])])),
        ]
    };
    let default = || may("default", one_of(&["r".into()]));
    prop_oneof![
        field(
            "string",
            vec![
                may("minLength", one_of(&[1.into()])),
                may("format", one_of(&formats)),
                default(),
            ]
        ),
        field("integer", vec![may("default", one_of(&[3.into()]))]),
        field("boolean", vec![may("default", flag())]),
        field("string", vec![always("enum", json!(["r", "g"])), default()]),
        field(
            "string",
            vec![
                always("enum", json!(["r", "g"])),
                always("enumNames", json!(["Red", "Green"])),
                default(),
            ]
        ),
        field("string", vec![always("oneOf", options.clone()), default()]),
        field(
            "array",
            several(json!({"type": "string", "enum": ["r", "g"]}))
        ),
        field("array", several(json!({"anyOf": options}))),
    ]
    .boxed()
}

fn elicit() -> Json {
    let properties = btree_map("[a-d]", form_field(), 0..4).prop_map(|map| json!(map));
    let schema = object(vec![
        always("type", "object".into()),
        must("properties", properties.boxed()),
        may(
            "required",
            one_of(&[json!([]), json!(["a"]), json!(["a", "b"])]),
        ),
        may(
            "$schema",
            one_of(&["https://json-schema.org/draft/2020-12/schema".into()]),
        ),
    ]);
    let form = object(vec![
        may("mode", one_of(&["form".into()])),
        must("message", text()),
        must("requestedSchema", schema),
        task_wanted(),
        notification_meta(),
    ]);
    let url = object(vec![
        always("mode", "url".into()),
        must("message", text()),
        must("url", one_of(&["https://example.com/".into()])),
        may("elicitationId", text()),
        task_wanted(),
        notification_meta(),
    ]);
    prop_oneof![3 => form, 1 => url].boxed()
}

fn elicited() -> Json {
    let value = prop_oneof![text(), flag(), one_of(&[7.into()]), texts()];
    let content = btree_map("[a-z]{1,3}", value, 0..4).prop_map(|map| json!(map));
    let actions = ["accept", "decline", "cancel"].map(Value::from);
    object(vec![
        must("action", one_of(&actions)),
        may("content", content.boxed()),
        may("resultType", one_of(&["complete".into()])),
        object_meta(),
    ])
}

fn roots() -> Json {
    let root = object(vec![must("uri", uri()), may("name", text()), object_meta()]);
    object(vec![
        must("roots", list(root)),
        may("resultType", one_of(&["complete".into()])),
        object_meta(),
    ])
}

fn progress() -> Json {
    object(vec![
        must("progressToken", one_of(&[1.into(), "p".into()])),
        must("progress", one_of(&[1.into(), 0.5.into()])),
        may("total", one_of(&[2.into()])),
        may("message", text()),
        notification_meta(),
    ])
}

fn log() -> Json {
    object(vec![
        must("level", one_of(&["info".into(), "alert".into()])),
        may("logger", text()),
        must("data", any_json()),
        notification_meta(),
    ])
}

/// A task of either form.
fn task() -> Json {
    let common = || {
        vec![
            must("taskId", text()),
            must("status", one_of(&["working".into(), "completed".into()])),
            may("statusMessage", text()),
            must("createdAt", text()),
            must("lastUpdatedAt", text()),
            result_meta(),
        ]
    };
    let ttl = || one_of(&[json!(null), json!(60_000)]);
    let mut old = common();
    old.extend([must("ttl", ttl()), may("pollInterval", one_of(&[5.into()]))]);
    let mut new = common();
    let results = [json!({"content": [], "isError": true}), json!({})];
    new.extend([
        must("ttlMs", ttl()),
        may("pollIntervalMs", one_of(&[5.into()])),
        may("result", one_of(&results)),
        may("resultType", one_of(&["complete".into()])),
    ]);
    prop_oneof![object(old), object(new)].boxed()
}

/// The kind of content that nobody knows.
pub(crate) const UNKNOWN: &str = "hologram";
