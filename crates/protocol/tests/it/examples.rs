//! Every official example of 2026-07-28 is read, written and found the same.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_protocol::RawJson;
use switchboard_protocol::jsonrpc::{ErrorObject, Frame, Limits};
use switchboard_protocol::types::*;

use crate::official::{read_json, schema_folder};

#[test]
fn every_official_example_survives_reading_and_writing() {
    let Some(folder) = schema_folder() else {
        return;
    };
    let mut count = 0;
    let mut problems = Vec::new();
    let folders = folder.join("2026-07-28/examples");
    for entry in std::fs::read_dir(&folders).unwrap() {
        let entry = entry.unwrap();
        let definition = entry.file_name().into_string().unwrap();
        for file in std::fs::read_dir(entry.path()).unwrap() {
            let path = file.unwrap().path();
            let example = read_json(&path);
            count += 1;
            match rewrite(&definition, &example) {
                Ok(written) if written == example => {}
                Ok(written) => problems.push(format!("{}: became {written}", path.display())),
                Err(reason) => problems.push(format!("{}: {reason}", path.display())),
            }
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    assert!(
        count > 100,
        "only {count} examples in {}",
        folders.display()
    );
}

/// Reads an example into the type of its definition and writes it again.
fn rewrite(definition: &str, example: &Value) -> Result<Value, String> {
    match definition {
        "AudioContent" => object::<AudioContent>(example),
        "BlobResourceContents" => object::<BlobResourceContents>(example),
        "BooleanSchema" => object::<BooleanSchema>(example),
        "CallToolRequest" => request::<CallTool>(example),
        "CallToolRequestParams" => object::<CallToolRequestParams>(example),
        "CallToolResult" => object::<CallToolResult>(example),
        "CallToolResultResponse" => response::<CallTool>(example),
        "CancelledNotification" => notification::<CancelledNotification>(example),
        "CancelledNotificationParams" => object::<CancelledNotificationParams>(example),
        "ClientCapabilities" => object::<ClientCapabilities>(example),
        "CompleteRequest" => request::<Complete>(example),
        "CompleteRequestParams" => object::<CompleteRequestParams>(example),
        "CompleteResult" => object::<CompleteResult>(example),
        "CompleteResultResponse" => response::<Complete>(example),
        "CreateMessageRequest" => request::<CreateMessage>(example),
        "CreateMessageRequestParams" => object::<CreateMessageRequestParams>(example),
        "CreateMessageResult" => object::<CreateMessageResult>(example),
        "DiscoverRequest" => request::<Discover>(example),
        "DiscoverResult" => object::<DiscoverResult>(example),
        "DiscoverResultResponse" => response::<Discover>(example),
        "ElicitRequest" => request::<Elicit>(example),
        "ElicitRequestFormParams" => form(example),
        "ElicitRequestURLParams" => object::<ElicitRequestUrlParams>(example),
        "ElicitResult" => object::<ElicitResult>(example),
        "EmbeddedResource" => object::<EmbeddedResource>(example),
        "GetPromptRequest" => request::<GetPrompt>(example),
        "GetPromptRequestParams" => object::<GetPromptRequestParams>(example),
        "GetPromptResult" => object::<GetPromptResult>(example),
        "GetPromptResultResponse" => response::<GetPrompt>(example),
        "ImageContent" => object::<ImageContent>(example),
        "InputRequests" => questions(example),
        "InputRequiredResult" => object::<InputRequiredResult>(example),
        "InputResponses" => object::<InputResponses>(example),
        "ListPromptsRequest" => request::<ListPrompts>(example),
        "ListPromptsResult" => object::<ListPromptsResult>(example),
        "ListPromptsResultResponse" => response::<ListPrompts>(example),
        "ListResourceTemplatesRequest" => request::<ListResourceTemplates>(example),
        "ListResourceTemplatesResult" => object::<ListResourceTemplatesResult>(example),
        "ListResourceTemplatesResultResponse" => response::<ListResourceTemplates>(example),
        "ListResourcesRequest" => request::<ListResources>(example),
        "ListResourcesResult" => object::<ListResourcesResult>(example),
        "ListResourcesResultResponse" => response::<ListResources>(example),
        "ListRootsRequest" => request::<ListRoots>(example),
        "ListRootsResult" => object::<ListRootsResult>(example),
        "ListToolsRequest" => request::<ListTools>(example),
        "ListToolsResult" => object::<ListToolsResult>(example),
        "ListToolsResultResponse" => response::<ListTools>(example),
        "LoggingMessageNotification" => notification::<LoggingMessageNotification>(example),
        "LoggingMessageNotificationParams" => object::<LoggingMessageNotificationParams>(example),
        "MissingRequiredClientCapabilityError" => {
            error::<MissingRequiredClientCapabilityData>(example)
        }
        "ModelPreferences" => object::<ModelPreferences>(example),
        "NumberSchema" => object::<NumberSchema>(example),
        "PaginatedRequestParams" => object::<PaginatedRequestParams>(example),
        "ProgressNotification" => notification::<ProgressNotification>(example),
        "ProgressNotificationParams" => object::<ProgressNotificationParams>(example),
        "PromptListChangedNotification" => notification::<PromptListChangedNotification>(example),
        "ReadResourceRequest" => request::<ReadResource>(example),
        "ReadResourceResult" => object::<ReadResourceResult>(example),
        "ReadResourceResultResponse" => response::<ReadResource>(example),
        "Resource" => object::<Resource>(example),
        "ResourceLink" => object::<ResourceLink>(example),
        "ResourceListChangedNotification" => {
            notification::<ResourceListChangedNotification>(example)
        }
        "ResourceUpdatedNotification" => notification::<ResourceUpdatedNotification>(example),
        "ResourceUpdatedNotificationParams" => object::<ResourceUpdatedNotificationParams>(example),
        "Root" => object::<Root>(example),
        "SamplingMessage" => object::<SamplingMessage>(example),
        "ServerCapabilities" => object::<ServerCapabilities>(example),
        "StringSchema" => object::<StringSchema>(example),
        "SubscriptionsAcknowledgedNotification" => {
            notification::<SubscriptionsAcknowledgedNotification>(example)
        }
        "SubscriptionsListenRequest" => request::<SubscriptionsListen>(example),
        "SubscriptionsListenResult" => object::<SubscriptionsListenResult>(example),
        "SubscriptionsListenResultResponse" => response::<SubscriptionsListen>(example),
        "TextContent" => object::<TextContent>(example),
        "TextResourceContents" => object::<TextResourceContents>(example),
        "TitledMultiSelectEnumSchema" => object::<TitledMultiSelectEnumSchema>(example),
        "TitledSingleSelectEnumSchema" => object::<TitledSingleSelectEnumSchema>(example),
        "Tool" => object::<Tool>(example),
        "ToolListChangedNotification" => notification::<ToolListChangedNotification>(example),
        "ToolResultContent" => object::<ToolResultContent>(example),
        "ToolUseContent" => object::<ToolUseContent>(example),
        "UnsupportedProtocolVersionError" => error::<UnsupportedProtocolVersionData>(example),
        "UntitledMultiSelectEnumSchema" => object::<UntitledMultiSelectEnumSchema>(example),
        "UntitledSingleSelectEnumSchema" => object::<UntitledSingleSelectEnumSchema>(example),
        "HeaderMismatchError" => message(example),
        "InternalError" | "InvalidParamsError" | "MethodNotFoundError" | "ParseError" => {
            object::<ErrorObject>(example)
        }
        _ => Err("no type is known for this folder".to_owned()),
    }
}

fn object<T: Serialize + DeserializeOwned>(example: &Value) -> Result<Value, String> {
    let value: T = serde_json::from_str(&example.to_string()).map_err(|e| e.to_string())?;
    serde_json::to_value(value).map_err(|e| e.to_string())
}

/// Rewrites one member and leaves the envelope.
fn member<T: Serialize + DeserializeOwned>(
    example: &Value,
    pointer: &str,
) -> Result<Value, String> {
    let mut example = example.clone();
    // Absent params mean the same as an empty object, but are not written as one.
    if let Some(member) = example.pointer_mut(pointer) {
        *member = object::<T>(member)?;
    }
    Ok(example)
}

fn request<R: Request>(example: &Value) -> Result<Value, String> {
    if example["method"] != R::METHOD.name() {
        return Err(format!("expected {}", R::METHOD));
    }
    member::<R::Params>(example, "/params")
}

fn notification<N: Notification>(example: &Value) -> Result<Value, String> {
    if example["method"] != N::METHOD.name() {
        return Err(format!("expected {}", N::METHOD));
    }
    member::<N::Params>(example, "/params")
}

fn response<R: Request>(example: &Value) -> Result<Value, String> {
    let text = example["result"].to_string();
    match Answer::<R::Result>::from_json(&text).map_err(|e| format!("{e:?}"))? {
        Answer::InputRequired(_) => member::<InputRequiredResult>(example, "/result"),
        _ => member::<R::Result>(example, "/result"),
    }
}

fn error<D: Serialize + DeserializeOwned>(example: &Value) -> Result<Value, String> {
    if example.pointer("/error/data").is_none() {
        return Err("expected error.data".to_owned());
    }
    member::<D>(&message(example)?, "/error/data")
}

/// Reads a whole message, envelope and all.
fn message(example: &Value) -> Result<Value, String> {
    let bytes = Bytes::from(example.to_string());
    match Frame::read(&bytes, &Limits::default()) {
        Ok(Frame::Single(message)) => {
            serde_json::from_slice(&message.to_bytes()).map_err(|e| e.to_string())
        }
        other => Err(format!("not one message: {other:?}")),
    }
}

/// Reads the schema of a form by its fields too.
fn form(example: &Value) -> Result<Value, String> {
    let params: ElicitRequestFormParams =
        serde_json::from_str(&example.to_string()).map_err(|e| e.to_string())?;
    let schema = params.schema().map_err(|e| e.to_string())?;
    let mut written = serde_json::to_value(&params).map_err(|e| e.to_string())?;
    written["requestedSchema"] = serde_json::to_value(&schema).map_err(|e| e.to_string())?;
    Ok(written)
}

/// Reads each question by its method too.
fn questions(example: &Value) -> Result<Value, String> {
    let mut requests: InputRequests =
        serde_json::from_str(&example.to_string()).map_err(|e| e.to_string())?;
    for request in requests.values_mut() {
        let params = match request.question().map_err(|e| format!("{e:?}"))? {
            Question::Elicitation(params) => RawJson::encode(&params),
            Question::Sampling(params) => RawJson::encode(&params),
            Question::Roots(params) => RawJson::encode(&params),
            other => return Err(format!("unexpected {other:?}")),
        };
        request.params = Some(params.map_err(|e| e.to_string())?);
    }
    serde_json::to_value(&requests).map_err(|e| e.to_string())
}
