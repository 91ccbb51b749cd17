//! Parameters of a tool that headers repeat.

use http::HeaderMap;
use serde_json::Value;
use switchboard_protocol::RawJson;
use switchboard_protocol::http::mirror::{Mismatch, decode};
use switchboard_protocol::http::parameter::{Parameter, ParameterKind, Parameters};

use super::mirror::check_decoding;
use super::only;

pub(super) fn check(schema: &[u8], arguments: &[u8], headers: &HeaderMap) {
    let raw = |text: &[u8]| RawJson::parse(std::str::from_utf8(text).ok()?).ok();
    let Some(schema) = raw(schema) else {
        return;
    };
    let Ok(parameters) = Parameters::read(&schema) else {
        return;
    };
    check_found(&schema, &parameters);
    let arguments = raw(arguments);
    check_call(&parameters, arguments.as_ref(), headers);
    assert!(
        parameters
            .headers_for(None)
            .is_ok_and(|headers| headers.is_empty())
    );
}

/// Every parameter stands in the schema, and no two share a header.
fn check_found(schema: &RawJson, parameters: &Parameters) {
    let value = schema.decode::<Value>();
    for (index, parameter) in parameters.iter().enumerate() {
        assert!(
            parameters
                .iter()
                .take(index)
                .all(|other| other.header != parameter.header)
        );
        let mut part = value.as_ref().expect("an annotated schema can be read");
        for key in &parameter.path {
            part = &part["properties"][key];
        }
        let name = part["x-mcp-header"].as_str().expect("an annotation");
        let expected = format!("mcp-param-{}", name.to_ascii_lowercase());
        assert_eq!(parameter.header.as_str(), expected);
        let kind = match parameter.kind {
            ParameterKind::String => "string",
            ParameterKind::Integer => "integer",
            ParameterKind::Boolean => "boolean",
        };
        assert_eq!(part["type"], kind);
    }
}

/// The headers we send pass our own check, alone; others pass when they say the same.
fn check_call(parameters: &Parameters, arguments: Option<&RawJson>, headers: &HeaderMap) {
    let value = arguments.and_then(|arguments| arguments.decode::<Value>().ok());
    let Ok(sent) = parameters.headers_for(arguments) else {
        // What cannot be sent cannot be received.
        if !parameters.is_empty() {
            assert!(parameters.check(headers, arguments).is_err());
        }
        return;
    };
    let made: HeaderMap = sent.iter().cloned().collect();
    assert_eq!(made.len(), sent.len());
    assert_eq!(parameters.check(&made, arguments), Ok(()));
    for (name, value) in &sent {
        check_decoding(value);
        let mut fewer = made.clone();
        fewer.remove(name);
        let missing = parameters.check(&fewer, arguments);
        assert!(matches!(missing, Err(Mismatch::Missing { header, .. }) if header == name));
        let mut more = made.clone();
        more.append(name, value.clone());
        let repeated = parameters.check(&more, arguments);
        assert!(matches!(repeated, Err(Mismatch::Repeated { header }) if header == name));
    }
    let Some(value) = value else {
        return;
    };
    let is_accepted = parameters.check(headers, arguments).is_ok();
    for parameter in parameters {
        let argument = argument(&value, parameter);
        let said = only(&made, parameter.header.as_str()).and_then(|value| decode(value).ok());
        assert!(
            says(said.as_deref(), argument),
            "{parameter:?} {said:?} {argument}"
        );
        if is_accepted {
            let theirs = only(headers, parameter.header.as_str());
            let theirs = theirs.and_then(|value| decode(value).ok());
            assert!(
                says(theirs.as_deref(), argument),
                "{parameter:?} {theirs:?} {argument}"
            );
        }
    }
}

fn argument<'a>(arguments: &'a Value, parameter: &Parameter) -> &'a Value {
    let mut part = arguments;
    for key in &parameter.path {
        part = part.get(key).unwrap_or(&Value::Null);
    }
    part
}

/// Does a header, or none, say this value?
fn says(header: Option<&str>, value: &Value) -> bool {
    match (value, header) {
        (Value::Null, None) => true,
        (Value::String(text), Some(header)) => header == text,
        (Value::Bool(boolean), Some(header)) => header == boolean.to_string(),
        (Value::Number(number), Some(header)) => {
            let said = header
                .parse::<f64>()
                .ok()
                .filter(|said| said.fract() == 0.0);
            said.is_some() && said == number.as_f64()
        }
        _ => false,
    }
}
