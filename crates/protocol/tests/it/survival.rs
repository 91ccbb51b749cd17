//! What this crate does not know, and what it must not touch, survives.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_protocol::types::*;

/// Reads and writes; the JSON is the same, whatever the order of members.
fn check<T: Serialize + DeserializeOwned>(text: &str) -> T {
    let value: T = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let written = serde_json::to_string(&value).expect("it was read from JSON");
    let (written, expected): (Value, Value) = (
        serde_json::from_str(&written).expect("it was read from JSON"),
        serde_json::from_str(text).expect("it was read from JSON"),
    );
    assert_eq!(written, expected);
    value
}

#[test]
fn unknown_members_survive_at_every_depth() {
    check::<ListToolsResult>(
        r#"{"tools":[{"name":"a","inputSchema":{},"x":{"y":[1,null]},"annotations":{"x":1},
            "icons":[{"src":"s","x":2}],"execution":{"x":true}}],"x":"top","_meta":{"x":{}}}"#,
    );
    check::<CallToolResult>(
        r#"{"content":[{"type":"text","text":"t","x":1,"annotations":{"x":1,"audience":["user"]}},
            {"type":"resource","resource":{"uri":"u","text":"t","x":1},"x":2},
            {"type":"resource_link","uri":"u","name":"n","x":[3]}],"x":1.5}"#,
    );
    check::<CreateMessageRequestParams>(
        r#"{"messages":[{"role":"user","content":{"type":"tool_use","id":"i","name":"n","input":{},"x":1},"x":2}],
            "maxTokens":1,"modelPreferences":{"hints":[{"x":1}],"x":2},"toolChoice":{"x":1},"x":3}"#,
    );
    check::<ElicitSchema>(
        r#"{"type":"object","x":1,"properties":{"a":{"type":"string","x":1,"format":"ipv4"},
            "b":{"type":"array","x":1,"items":{"anyOf":[{"const":"c","title":"t","x":1}],"x":2}}}}"#,
    );
    check::<ClientCapabilities>(
        r#"{"x":{},"roots":{"x":1},"sampling":{"x":1},"elicitation":{"x":1},"tasks":{"x":1,"requests":{"x":1}}}"#,
    );
    check::<CompleteRequestParams>(
        r#"{"ref":{"type":"ref/prompt","name":"n","x":1},"argument":{"name":"n","value":"","x":1},"context":{"x":1},"x":1}"#,
    );
    check::<Task>(
        r#"{"taskId":"t","status":"failed","createdAt":"","lastUpdatedAt":"","ttlMs":null,"error":{"code":1,"message":"","x":1},"x":1}"#,
    );
    check::<InputRequiredResult>(
        r#"{"resultType":"input_required","inputRequests":{"k":{"method":"new/one","params":{"x":1},"x":2}},"x":3}"#,
    );
    check::<SubscriptionsListenRequestParams>(
        r#"{"notifications":{"x":true,"taskIds":["t"]},"x":1}"#,
    );
}

#[test]
fn unknown_kinds_of_content_survive_byte_for_byte() {
    let block = r#"{ "type":"hologram", "b":1, "a":12345678901234567890123, "f":1.0 }"#;
    let tool = format!(r#"{{"content":[{block}]}}"#);
    let result: CallToolResult = serde_json::from_str(&tool).unwrap();
    assert!(matches!(result.content[0], ContentBlock::Unknown(_)));
    assert_eq!(serde_json::to_string(&result).unwrap(), tool);

    let sampling = format!(r#"{{"role":"user","content":[{block}]}}"#);
    let message: SamplingMessage = serde_json::from_str(&sampling).unwrap();
    assert_eq!(serde_json::to_string(&message).unwrap(), sampling);

    let resource = r#"{"contents":[{ "uri":"u", "stream":"s" }]}"#;
    let read: ReadResourceResult = serde_json::from_str(resource).unwrap();
    assert!(matches!(read.contents[0], ResourceContents::Unknown(_)));
    assert_eq!(serde_json::to_string(&read).unwrap(), resource);
}

#[test]
fn schemas_and_payloads_stay_byte_for_byte() {
    // Spaces, repeated names, numbers past any type, escapes and the order of members.
    let odd = "{ \"type\" :\t\"object\",\"type\":\"object\" , \"maximum\":1e400,\n \"z\":0.10,\"a\":123456789012345678901234567890, \"\\u0061\":\"\\/\" }";
    let text = format!(r#"{{"name":"n","inputSchema":{odd},"outputSchema":{odd}}}"#);
    let tool: Tool = serde_json::from_str(&text).unwrap();
    assert_eq!(tool.input_schema.as_str(), odd);
    assert_eq!(serde_json::to_string(&tool).unwrap(), text);

    let page = format!(r#"{{"tools":[{{"name":"n","inputSchema":{odd}}}]}}"#);
    let read: ListToolsResult = serde_json::from_str(&page).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), page);
    let (lenient, rejected) = ListToolsResult::from_json_lenient(&page).unwrap();
    assert_eq!((lenient, rejected), (read, Vec::new()));

    let call = format!(r#"{{"name":"n","arguments":{odd},"inputResponses":{{"k":{odd}}}}}"#);
    let read: CallToolRequestParams = serde_json::from_str(&call).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), call);

    let result = format!(r#"{{"content":[],"structuredContent":{odd}}}"#);
    let read: CallToolResult = serde_json::from_str(&result).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), result);

    let form = format!(r#"{{"mode":"form","message":"m","requestedSchema":{odd}}}"#);
    let read: ElicitRequestParams = serde_json::from_str(&form).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), form);

    let asked = format!(
        r#"{{"messages":[{{"role":"assistant","content":[{{"type":"tool_use","id":"i","name":"n","input":{odd}}},{{"type":"tool_result","toolUseId":"i","content":[],"structuredContent":{odd}}}]}}],"maxTokens":1,"tools":[{{"name":"n","inputSchema":{odd}}}]}}"#
    );
    let read: CreateMessageRequestParams = serde_json::from_str(&asked).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), asked);

    let task = format!(
        r#"{{"taskId":"t","status":"completed","createdAt":"","lastUpdatedAt":"","ttlMs":null,"result":{odd}}}"#
    );
    let read: Task = serde_json::from_str(&task).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), task);

    let logged = format!(r#"{{"level":"info","data":{odd}}}"#);
    let read: LoggingMessageNotificationParams = serde_json::from_str(&logged).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), logged);
}

#[test]
fn numbers_are_not_rewritten() {
    let text = r#"{"progressToken":7,"progress":50,"total":50.0}"#;
    let read: ProgressNotificationParams = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    let text = r#"{"costPriority":0,"speedPriority":0.5,"intelligencePriority":1.0}"#;
    let read: ModelPreferences = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}

#[test]
fn values_can_be_read_from_a_tree_as_well_as_from_text() {
    let tree = serde_json::json!({"content": [{"type": "text", "text": "t"}, {"type": "new"}],
        "structuredContent": {"a": 1}});
    let read: CallToolResult = serde_json::from_value(tree.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), tree);
}
