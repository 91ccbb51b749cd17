//! The types are what the servers take and give.

use generated::everything::{
    ECHO, EchoInput, GET_ANNOTATED_MESSAGE, GetAnnotatedMessageInput,
    GetAnnotatedMessageInputMessageType, GetStructuredContentOutput,
};
use generated::github::CreateIssueInput;
use serde_json::json;

#[test]
fn what_is_written_is_what_the_schema_says() {
    assert_eq!(ECHO, "echo");
    let input = EchoInput { message: "hi".into() };
    assert_eq!(serde_json::to_value(input).unwrap(), json!({"message": "hi"}));
    assert_eq!(GET_ANNOTATED_MESSAGE, "get-annotated-message");
    let input = GetAnnotatedMessageInput {
        message_type: GetAnnotatedMessageInputMessageType::Success,
        include_image: None,
    };
    assert_eq!(serde_json::to_value(input).unwrap(), json!({"messageType": "success"}));
}

#[test]
fn what_is_read_is_what_the_schema_says() {
    let output = json!({"temperature": 33, "conditions": "Cloudy", "humidity": 82});
    let output: GetStructuredContentOutput = serde_json::from_value(output).unwrap();
    assert_eq!(output.temperature, 33.0);
    let wrong = json!({"owner": "o", "repo": "r", "title": "t", "labels": [1]});
    assert!(serde_json::from_value::<CreateIssueInput>(wrong).is_err());
}
