use proptest::prelude::*;

use super::*;

fn json(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

/// A schema with these properties.
fn schema(properties: &str) -> RawJson {
    json(&format!(
        r#"{{"type":"object","properties":{{{properties}}}}}"#
    ))
}

fn region(kind: &str) -> Parameters {
    Parameters::read(&schema(&format!(
        r#""region":{{"type":"{kind}","x-mcp-header":"Region"}}"#
    )))
    .unwrap()
}

fn refuses(text: &str, place: &str, fault: Fault) {
    let error = Parameters::read(&json(text)).expect_err(text);
    assert_eq!(error.fault, fault, "{text}");
    assert_eq!(error.place, place, "{text}");
}

/// Checks a call whose `region` is this JSON text, with these header values.
fn call(kind: &str, body: Option<&str>, values: &[&str]) -> Result<(), Mismatch> {
    let arguments = body.map(|body| json(&format!(r#"{{"region":{body}}}"#)));
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append("Mcp-Param-Region", HeaderValue::from_str(value).unwrap());
    }
    region(kind).check(&headers, arguments.as_ref())
}

fn sends(kind: &str, body: &str, expected: Option<&str>) {
    let arguments = json(&format!(r#"{{"query":"q","region":{body}}}"#));
    let headers = region(kind).headers_for(Some(&arguments)).unwrap();
    let values: Vec<_> = headers.iter().map(|(_, value)| value.as_bytes()).collect();
    let expected: Vec<_> = expected.iter().map(|text| text.as_bytes()).collect();
    assert_eq!(values, expected, "{body}");
}

#[test]
fn the_example_of_the_specification_yields_its_header() {
    let parameters = Parameters::read(&schema(
        r#""region":{"type":"string","x-mcp-header":"Region"},"query":{"type":"string"}"#,
    ))
    .unwrap();
    let arguments = json(r#"{"region":"us-west1","query":"SELECT 1"}"#);
    let headers = parameters.headers_for(Some(&arguments)).unwrap();
    assert_eq!(headers.len(), 1);
    assert_eq!(headers[0].0, "Mcp-Param-Region");
    assert_eq!(headers[0].1, "us-west1");
}

#[test]
fn a_tool_without_annotation_has_no_parameters() {
    assert!(
        Parameters::read(&schema(r#""a":{"type":"string"}"#))
            .unwrap()
            .is_empty()
    );
    assert!(!region("string").is_empty());
    assert!(Parameters::read(&json("true")).unwrap().is_empty());
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(Parameters::read(&json(&deep)).unwrap().is_empty());
}

#[test]
fn the_three_primitive_types_may_be_annotated() {
    for kind in ["string", "integer", "boolean"] {
        let parameters = region(kind);
        assert_eq!(parameters.iter().count(), 1);
        assert!(
            Vec::from_iter(&parameters)
                .into_iter()
                .eq(parameters.iter())
        );
    }
}

// the forty: 31
#[test]
fn other_types_invalidate_the_tool() {
    for kind in [
        r#""number""#,
        r#""object""#,
        r#""array""#,
        r#""null""#,
        r#"["string","null"]"#,
        "7",
    ] {
        let text = format!(r#"{{"properties":{{"a":{{"type":{kind},"x-mcp-header":"A"}}}}}}"#);
        refuses(&text, "/properties/a", Fault::NotPrimitive);
    }
    refuses(
        r#"{"properties":{"a":{"x-mcp-header":"A"}}}"#,
        "/properties/a",
        Fault::NotPrimitive,
    );
}

#[test]
fn names_are_tokens() {
    for name in [
        "", " ", "a b", "a:b", "é", "a\\r\\nb", "a\\u0000", "a/b", "(a)", "\\u007f",
    ] {
        let text =
            format!(r#"{{"properties":{{"a":{{"type":"string","x-mcp-header":"{name}"}}}}}}"#);
        let error = Parameters::read(&json(&text)).expect_err(name);
        assert!(matches!(error.fault, Fault::NotToken(_)), "{name}");
        assert!(!error.to_string().chars().any(char::is_control), "{name}");
    }
    for name in ["Method", "x-1", "!#$%&'*+.^_`|~-"] {
        let text =
            format!(r#"{{"properties":{{"a":{{"type":"string","x-mcp-header":"{name}"}}}}}}"#);
        assert!(Parameters::read(&json(&text)).is_ok(), "{name}");
    }
    refuses(
        r#"{"properties":{"a":{"type":"string","x-mcp-header":7}}}"#,
        "/properties/a",
        Fault::NotText,
    );
}

#[test]
fn names_are_unique_without_regard_to_case() {
    refuses(
        r#"{"properties":{"a":{"type":"string","x-mcp-header":"Region"},
            "b":{"properties":{"c":{"type":"integer","x-mcp-header":"REGION"}}}}}"#,
        "/properties/b/properties/c",
        Fault::NotUnique("REGION".into()),
    );
}

// the forty: 31
#[test]
fn nested_properties_are_reached() {
    let parameters = Parameters::read(&schema(
        r#""a":{"type":"object","properties":{"b":{"properties":{"c":{"type":"integer","x-mcp-header":"C"}}}}}"#,
    ))
    .unwrap();
    let found = parameters.iter().next().unwrap();
    assert_eq!(found.path, ["a", "b", "c"]);
    assert_eq!(found.kind, ParameterKind::Integer);
    for (arguments, count) in [
        (r#"{"a":{"b":{"c":5}}}"#, 1),
        (r#"{"a":{"b":{"c":null}}}"#, 0),
        (r#"{"a":{"b":7},"c":5}"#, 0),
        (r#"{"a":null}"#, 0),
        (r#"{"a":[{"b":{"c":5}}]}"#, 0),
        ("{}", 0),
        ("null", 0),
    ] {
        let headers = parameters.headers_for(Some(&json(arguments))).unwrap();
        assert_eq!(headers.len(), count, "{arguments}");
    }
    assert!(parameters.headers_for(None).unwrap().is_empty());
}

// the forty: 31
#[test]
fn an_annotation_anywhere_else_invalidates_the_tool() {
    const HERE: &str = r#"{"type":"string","x-mcp-header":"A"}"#;
    for (shape, place) in [
        ("{HERE}", ""),
        (r#"{"items":{HERE}}"#, "/items"),
        (r#"{"prefixItems":[{HERE}]}"#, "/prefixItems/0"),
        (r#"{"contains":{HERE}}"#, "/contains"),
        (r#"{"oneOf":[true,{HERE}]}"#, "/oneOf/1"),
        (r#"{"anyOf":[{HERE}]}"#, "/anyOf/0"),
        (
            r#"{"allOf":[{"properties":{"a":{HERE}}}]}"#,
            "/allOf/0/properties/a",
        ),
        (r#"{"not":{HERE}}"#, "/not"),
        (r#"{"if":{HERE}}"#, "/if"),
        (
            r#"{"then":{"properties":{"a":{HERE}}}}"#,
            "/then/properties/a",
        ),
        (r#"{"else":{HERE}}"#, "/else"),
        (r#"{"$defs":{"a":{HERE}}}"#, "/$defs/a"),
        (r#"{"$defs":{"default":{HERE}}}"#, "/$defs/default"),
        (r#"{"definitions":{"a/b":{HERE}}}"#, "/definitions/a~1b"),
        (
            r#"{"additionalProperties":{HERE}}"#,
            "/additionalProperties",
        ),
        (
            r#"{"unevaluatedProperties":{HERE}}"#,
            "/unevaluatedProperties",
        ),
        (r#"{"propertyNames":{HERE}}"#, "/propertyNames"),
        (
            r#"{"patternProperties":{"^a":{HERE}}}"#,
            "/patternProperties/^a",
        ),
        (
            r#"{"dependentSchemas":{"a":{HERE}}}"#,
            "/dependentSchemas/a",
        ),
        (r#"{"x-own":{HERE}}"#, "/x-own"),
        (
            r#"{"properties":{"a":{"items":{HERE}}}}"#,
            "/properties/a/items",
        ),
        (
            r#"{"properties":{"a":{"items":{"properties":{"b":{HERE}}}}}}"#,
            "/properties/a/items/properties/b",
        ),
        (r#"{"properties":{"a":[{HERE}]}}"#, "/properties/a/0"),
    ] {
        refuses(&shape.replace("{HERE}", HERE), place, Fault::NotReachable);
    }
}

#[test]
fn an_annotation_spelt_with_escapes_is_found() {
    for key in [
        "x\\u002dmcp-header",
        "\\u0078-mcp-header",
        "x-mcp-heade\\u0072",
        "x\\u002Dmcp-header",
    ] {
        let text = format!(r#"{{"items":{{"{key}":"A"}}}}"#);
        refuses(&text, "/items", Fault::NotReachable);
    }
}

#[test]
fn escapes_in_descriptions_do_not_make_a_large_schema_invalid() {
    let parts = "0,".repeat(10_001);
    let text = format!(r#"{{"description":"\u003cb\u00e9\u2019\u0026","x":[{parts}0]}}"#);
    assert!(Parameters::read(&json(&text)).unwrap().is_empty());
}

#[test]
fn a_property_or_data_of_that_name_is_no_annotation() {
    for text in [
        r#"{"properties":{"x-mcp-header":{"type":"string"}}}"#,
        r#"{"items":{"properties":{"x-mcp-header":{"type":"string"}}}}"#,
        r#"{"$defs":{"x-mcp-header":{"type":"string"}}}"#,
        r#"{"properties":{"a":{"default":{"x-mcp-header":"A"}}}}"#,
        r#"{"const":{"x-mcp-header":"A"}}"#,
        r#"{"enum":[{"x-mcp-header":"A"}]}"#,
        r#"{"examples":[{"x-mcp-header":"A"}]}"#,
        r#"{"required":["x-mcp-header"],"dependentRequired":{"x-mcp-header":["a"]}}"#,
    ] {
        assert!(Parameters::read(&json(text)).unwrap().is_empty(), "{text}");
    }
}

#[test]
fn a_schema_too_deep_or_too_large_is_refused() {
    let nested = |depth: usize| {
        format!(
            "{}{{\"type\":\"string\",\"x-mcp-header\":\"A\"}}{}",
            r#"{"properties":{"a":"#.repeat(depth),
            "}}".repeat(depth)
        )
    };
    assert!(Parameters::read(&json(&nested(MAX_DEPTH))).is_ok());
    for depth in [MAX_DEPTH + 1, 100, 5_000] {
        let error = Parameters::read(&json(&nested(depth))).unwrap_err();
        assert_eq!(error.fault, Fault::TooLarge, "{depth}");
    }
    // The root, the array and the last item are parts as well.
    let wide = |parts: usize| {
        let others = "0,".repeat(parts - 3);
        Parameters::read(&json(&format!(r#"{{"x-mcp-header-not":[{others}0]}}"#)))
    };
    assert!(wide(MAX_NODES).is_ok());
    assert_eq!(wide(MAX_NODES + 1).unwrap_err().fault, Fault::TooLarge);
}

#[test]
fn an_invalid_annotation_says_where_and_why() {
    for (fault, expected) in [
        (Fault::NotText, "is not a string"),
        (
            Fault::NotToken("a b".into()),
            "is \"a b\", expected a header name token",
        ),
        (Fault::NotUnique("A".into()), "repeats the name \"A\""),
        (
            Fault::NotPrimitive,
            "is on another type than string, integer or boolean",
        ),
        (
            Fault::NotReachable,
            "is not on a property reached through properties alone",
        ),
        (
            Fault::TooLarge,
            "cannot be searched for, the schema exceeds 63 levels, 10000 parts or the range of numbers",
        ),
    ] {
        let place = "/a".to_owned();
        let error = InvalidAnnotation { place, fault };
        assert_eq!(
            error.to_string(),
            format!("x-mcp-header at \"/a\" {expected}")
        );
    }
}

// the forty: 32
#[test]
fn values_are_sent_by_their_type() {
    sends("string", r#""us-west1""#, Some("us-west1"));
    sends("string", r#""""#, Some(""));
    sends("string", r#""a b""#, Some("a b"));
    sends("string", r#""a\r\nb""#, Some("=?base64?YQ0KYg==?="));
    sends("string", r#""\t""#, Some("=?base64?CQ==?="));
    sends("string", "null", None);
    sends("integer", "42", Some("42"));
    sends("integer", "-7", Some("-7"));
    sends("integer", "42.0", Some("42"));
    sends("integer", "9007199254740991", Some("9007199254740991"));
    sends("integer", "-9007199254740991", Some("-9007199254740991"));
    sends("boolean", "true", Some("true"));
    sends("boolean", "false", Some("false"));
    // The wrong type is sent as it is, so that the tool can say so itself.
    sends("integer", r#""seven""#, Some("seven"));
}

#[test]
fn values_without_a_header_form_stop_the_call() {
    for body in [
        "1.5",
        "9007199254740992",
        "-9007199254740992",
        "1e300",
        "{}",
        "[1]",
    ] {
        let arguments = json(&format!(r#"{{"region":{body}}}"#));
        let error = region("integer").headers_for(Some(&arguments)).unwrap_err();
        assert_eq!(error.path, ["region"], "{body}");
        assert_eq!(
            error.to_string(),
            "argument \"region\" has no header form, expected a string, a boolean or an integer \
             within ±(2^53-1)"
        );
    }
    let twice = json(r#"{"region":"a","region":"b"}"#);
    let error = region("string").headers_for(Some(&twice)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "argument \"region\" is repeated or not valid text"
    );
}

#[test]
fn the_table_of_the_conformance_suite_holds() {
    assert!(call("string", Some(r#""Hello""#), &["=?base64?SGVsbG8=?="]).is_ok());
    assert!(call("string", Some(r#""Hello""#), &["=?base64?SGVsbG8?="]).is_err());
    assert!(call("string", Some(r#""Hello""#), &["=?base64?SGVs!!!bG8=?="]).is_err());
    assert!(call("string", Some(r#""SGVsbG8=""#), &["SGVsbG8="]).is_ok());
    assert!(
        call(
            "string",
            Some(r#""=?base64?SGVsbG8=""#),
            &["=?base64?SGVsbG8="]
        )
        .is_ok()
    );
    assert!(call("string", Some(r#""test-value""#), &[]).is_err());
}

// the forty: 32
#[test]
fn a_server_compares_each_header_with_its_argument() {
    assert!(call("string", Some(r#""a""#), &["a"]).is_ok());
    assert!(call("string", Some(r#""a""#), &[" a "]).is_ok());
    assert!(call("string", Some(r#""""#), &[""]).is_ok());
    assert!(call("string", Some("null"), &[]).is_ok());
    assert!(call("string", None, &[]).is_ok());
    assert!(call("integer", Some("42"), &["42.0"]).is_ok());
    assert!(call("integer", Some("42.0"), &["42"]).is_ok());
    assert!(call("boolean", Some("true"), &["true"]).is_ok());

    assert!(call("string", Some(r#""""#), &[]).is_err());
    assert!(call("string", Some(r#""a""#), &["A"]).is_err());
    assert!(call("string", Some(r#""a""#), &["a", "a"]).is_err());
    assert!(call("string", Some(r#""42""#), &["42.0"]).is_err());
    assert!(call("string", Some("null"), &["a"]).is_err());
    assert!(call("string", None, &["a"]).is_err());
    assert!(call("integer", Some("42"), &["43"]).is_err());
    assert!(call("integer", Some("42"), &["+42"]).is_err());
    assert!(call("integer", Some("42"), &["0x2a"]).is_err());
    // " 42", within the sentinel.
    assert!(call("integer", Some("42"), &["=?base64?IDQy?="]).is_err());
    assert!(call("integer", Some("9007199254740993"), &["9007199254740993"]).is_err());
    assert!(call("boolean", Some("true"), &["True"]).is_err());
    assert!(call("string", Some("[1]"), &["[1]"]).is_err());
    assert!(call("string", Some("[1]"), &[]).is_err());
}

// the forty: 32
#[test]
fn a_header_without_a_value_in_the_body_is_unexpected() {
    for body in [None, Some("null")] {
        let error = call("string", body, &["a"]).unwrap_err();
        assert!(matches!(error, Mismatch::Unexpected { .. }), "{body:?}");
    }
}

#[test]
fn a_refusal_names_the_header() {
    let error = call("string", Some(r#""a""#), &["b"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "header mcp-param-region says \"b\", expected \"a\" as in the body"
    );
}

#[test]
fn headers_that_no_parameter_names_are_left_alone() {
    let mut headers = HeaderMap::new();
    headers.insert("mcp-param-other", HeaderValue::from_static("x"));
    assert!(region("string").check(&headers, None).is_ok());
}

proptest! {
    #[test]
    fn what_a_client_sends_a_server_accepts(text in any::<String>(), number in -9_007_199_254_740_991i64..=9_007_199_254_740_991, flag in any::<bool>()) {
        let parameters = Parameters::read(&schema(
            r#""t":{"type":"string","x-mcp-header":"T"},"o":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"f":{"type":"boolean","x-mcp-header":"F"}"#,
        )).unwrap();
        let arguments = RawJson::encode(&serde_json::json!({"t": text, "o": {"n": number}, "f": flag})).unwrap();
        let headers: HeaderMap = parameters.headers_for(Some(&arguments)).unwrap().into_iter().collect();
        prop_assert_eq!(headers.len(), 3);
        prop_assert_eq!(parameters.check(&headers, Some(&arguments)), Ok(()));
    }

    #[test]
    fn different_texts_never_pass_for_each_other(one in any::<String>(), other in any::<String>()) {
        prop_assume!(one != other);
        let parameters = region("string");
        let arguments = |text: &str| RawJson::encode(&serde_json::json!({"region": text})).unwrap();
        let headers: HeaderMap = parameters.headers_for(Some(&arguments(&one))).unwrap().into_iter().collect();
        prop_assert!(parameters.check(&headers, Some(&arguments(&other))).is_err());
    }
}
