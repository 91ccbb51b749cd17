use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

fn compile(schema: &serde_json::Value) -> Result<Schema, SchemaError> {
    Schema::compile(&schema.to_string())
}

#[track_caller]
fn reasons(schema: &serde_json::Value, value: &str) -> Vec<String> {
    let schema = compile(schema).unwrap();
    match schema.check(value.as_bytes()) {
        Ok(()) => Vec::new(),
        Err(error) => error.to_string().lines().map(str::to_owned).collect(),
    }
}

#[test]
fn a_value_that_does_not_fit_is_named_by_path_and_reason() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 2},
            "items": {"type": "array", "items": {
                "type": "object",
                "properties": {"count": {"type": ["integer", "null"]}},
                "required": ["count"],
            }},
            "speed": {"enum": ["slow", "fast"]},
            "zip": {"type": "string", "pattern": "^[0-9]{5}$"},
            "size": {"anyOf": [{"type": "string"}, {"type": "boolean"}]},
        },
        "required": ["name"],
        "additionalProperties": false,
    });
    let check = |value: &str, expected: &[&str]| {
        assert_eq!(reasons(&schema, value), expected, "{value}");
    };
    check(
        r#"{"name":"ab","items":[{"count":1},{"count":null}],"zip":"12345"}"#,
        &[],
    );
    check("{}", &["name: required, but missing"]);
    check("[]", &["value: expected object, found an array"]);
    check(r#"{"name":7}"#, &["name: expected string, found 7"]);
    check(
        r#"{"name":"ab","items":[{"count":1},{"count":"x"},{}]}"#,
        &[
            "items[1].count: expected null or integer, found \"x\"",
            "items[2].count: required, but missing",
        ],
    );
    check(
        r#"{"name":"ab","speed":"medium"}"#,
        &[r#"speed: expected one of "slow", "fast", found "medium""#],
    );
    check(
        r#"{"name":"ab","zip":"x"}"#,
        &[r#"zip: does not match the pattern `^[0-9]{5}$`, found "x""#],
    );
    check(
        r#"{"name":"ab","size":1}"#,
        &["size: fits none of the alternatives, found 1"],
    );
    check(r#"{"name":"ab","other":1}"#, &["other: not a known member"]);
    check(
        r#"{"name":"a"}"#,
        &["name: the value is shorter than 2 characters"],
    );
    check("{", &["not valid JSON"]);
}

#[test]
fn an_absent_dialect_is_2020_12_and_draft_07_is_the_other() {
    let tuple = json!({"prefixItems": [{"type": "string"}]});
    assert_eq!(reasons(&tuple, "[1]").len(), 1);
    for name in [
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft-07/schema",
    ] {
        let tuple = json!({"$schema": name, "items": [{"type": "string"}]});
        assert_eq!(reasons(&tuple, "[1]").len(), 1, "{name}");
    }
    let named = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "null"});
    assert_eq!(reasons(&named, "null").len(), 0);
    for other in [
        json!({"$schema": "https://json-schema.org/draft/2019-09/schema"}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#"}),
        json!({"$schema": "https://example.com/mine"}),
        json!({"$schema": 7}),
    ] {
        let error = compile(&other).unwrap_err();
        assert!(matches!(&error, SchemaError::Dialect(_)), "{error}");
    }
}

#[test]
fn a_reference_outside_the_schema_is_refused_when_it_is_compiled() {
    for reference in [
        "https://example.com/schema.json",
        "http://127.0.0.1:1/x#/a",
        "file:///etc/passwd",
        "other.json",
        "/etc/passwd",
        "urn:example:x",
        "//example.com/x",
        "https://json-schema.org/draft/2020-12/schema",
    ] {
        for schema in [
            json!({"$ref": reference}),
            json!({"properties": {"a": {"items": {"$ref": reference}}}}),
            json!({"$defs": {"unused": {"$ref": reference}}}),
            json!({"$dynamicRef": reference}),
        ] {
            let error = compile(&schema).unwrap_err();
            assert_eq!(error, SchemaError::Remote(reference.into()), "{schema}");
        }
    }
}

#[test]
fn a_reference_inside_the_schema_is_followed() {
    for schema in [
        json!({"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {"type": "string"}}}),
        json!({"$ref": "#here", "$defs": {"x": {"$anchor": "here", "type": "string"}}}),
        json!({"$id": "https://example.com/s", "$ref": "https://example.com/s#/$defs/x",
            "$defs": {"x": {"type": "string"}}}),
        json!({"$ref": "https://example.com/x", "$defs": {
            "x": {"$id": "https://example.com/x", "$ref": "#/$defs/y",
                "$defs": {"y": {"type": "string"}}}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"x": {"type": "string"}}, "$ref": "#/definitions/x"}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"x": {"$id": "#here", "type": "string"}},
            "allOf": [{"$ref": "#here"}]}),
    ] {
        assert_eq!(reasons(&schema, "\"a\"").len(), 0, "{schema}");
        assert_eq!(reasons(&schema, "1").len(), 1, "{schema}");
    }
    for reference in ["#/$defs/none", "#none", "#/properties/a/enum/0", "#/x"] {
        let schema = json!({"$ref": reference, "x": {}, "properties": {"a": {"enum": [{}]}}});
        let error = compile(&schema).unwrap_err();
        assert_eq!(error, SchemaError::Dangling(reference.into()));
    }
}

#[test]
fn a_schema_that_turns_in_circles_is_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"$dynamicRef": "#a", "$dynamicAnchor": "a"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"not": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "if": {"$ref": "#"}}),
        json!({"dependentSchemas": {"a": {"$ref": "#"}}}),
    ] {
        let error = compile(&schema).unwrap_err();
        assert!(
            matches!(error, SchemaError::Circular(_)),
            "{schema}: {error}"
        );
    }
    // Down into the value it ends with the value.
    let tree = json!({"type": "object", "properties": {"next": {"$ref": "#"}},
        "additionalProperties": false});
    assert_eq!(reasons(&tree, r#"{"next":{"next":{}}}"#).len(), 0);
    assert_eq!(
        reasons(&tree, r#"{"next":{"next":{"a":1}}}"#),
        ["next.next.a: not a known member"]
    );
}

#[test]
fn a_schema_over_a_limit_is_refused() {
    let too_large = |schema: &serde_json::Value, expected: &str| {
        let error = compile(schema).unwrap_err().to_string();
        assert_eq!(error, expected);
    };
    too_large(
        &json!({"description": "x".repeat(256 * 1024)}),
        "the schema has more than 262144 bytes",
    );
    too_large(
        &json!({"enum": vec![1; 10_001]}),
        "the schema has more than 10000 values",
    );
    let mut deep = json!({});
    for _ in 0..64 {
        deep = json!({"not": deep});
    }
    too_large(&deep, "the schema has more than 64 levels");
    // A chain of references is flat text and yet deep.
    let mut definitions = serde_json::Map::new();
    for at in 0..1000 {
        definitions.insert(
            format!("d{at}"),
            json!({"$ref": format!("#/$defs/d{}", at + 1)}),
        );
    }
    definitions.insert("d1000".into(), json!({}));
    too_large(
        &json!({"$ref": "#/$defs/d0", "$defs": definitions}),
        "the schema has more than 32 steps from one subschema to another at the same value",
    );
}

#[test]
fn alternatives_that_multiply_are_refused() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let mut definitions = serde_json::Map::new();
        for at in 0..10 {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            definitions.insert(format!("d{at}"), json!({keyword: vec![next; 300]}));
        }
        definitions.insert("d10".into(), json!({"type": "null"}));
        let error = compile(&json!({"$ref": "#/$defs/d0", "$defs": definitions})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the schema has more than 100000 ways from one subschema through others at the same value"
        );
    }
}

/// Doubles the work at every step.
fn tower(keyword: &str, steps: usize) -> serde_json::Value {
    let mut definitions = serde_json::Map::new();
    for at in 0..steps {
        let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
        definitions.insert(format!("d{at}"), json!({keyword: [next, next]}));
    }
    definitions.insert(format!("d{steps}"), json!({"type": "null"}));
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[test]
fn a_schema_bomb_costs_little() {
    let started = Instant::now();
    for keyword in ["allOf", "anyOf", "oneOf"] {
        // Two steps each: the list, and the reference in it.
        for steps in [2, 15] {
            for value in ["null", "1"] {
                let _ = reasons(&tower(keyword, steps), value);
            }
        }
    }
    // Doubles at every level of the value.
    let both = json!([{"$ref": "#"}, {"$ref": "#"}]);
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for bottom in ["{}", "1"] {
            let schema = json!({"type": "object", "properties": {"a": {keyword: both}}});
            let value = format!("{}{bottom}{}", r#"{"a":"#.repeat(100), "}".repeat(100));
            let _ = reasons(&schema, &value);
        }
    }
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn a_deep_value_and_a_long_chain_fit_on_the_stack_or_are_refused() {
    let chain = |length: usize| {
        let mut definitions = serde_json::Map::new();
        for at in 0..length {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            definitions.insert(format!("d{at}"), next);
        }
        let last = json!({"items": {"$ref": "#"}, "type": "array"});
        definitions.insert(format!("d{length}"), last);
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    };
    let nested =
        |bottom: &str, depth| format!("{}{bottom}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(reasons(&chain(4), &nested("", 126)).len(), 0);
    assert_eq!(reasons(&chain(4), &nested("1", 126)).len(), 1);
    assert_eq!(reasons(&chain(29), &nested("", 30)).len(), 0);
    assert_eq!(
        reasons(&chain(29), &nested("", 126)),
        ["too deeply nested to check against its schema"]
    );
}

#[test]
fn a_pattern_takes_linear_time_or_is_refused() {
    let evil = json!({"type": "string", "pattern": "(a+)+$"});
    let value = format!("\"{}!\"", "a".repeat(100_000));
    assert_eq!(reasons(&evil, &value).len(), 1);
    for pattern in ["(?=a)b", r"(a)\1", "(", "((a{1,1000}){1,1000}){1,1000}"] {
        let error = compile(&json!({"pattern": pattern})).unwrap_err();
        assert!(
            matches!(error, SchemaError::Malformed(_)),
            "{pattern}: {error}"
        );
        let error = compile(&json!({"patternProperties": {pattern: {}}})).unwrap_err();
        assert!(
            matches!(error, SchemaError::Malformed(_)),
            "{pattern}: {error}"
        );
    }
}

#[test]
fn many_patterns_are_refused_and_their_programs_are_bounded_together() {
    let patterns = |count: usize, pattern: &str| {
        let list: Vec<_> = (0..count)
            .map(|at| json!({"pattern": format!("{pattern}{at}")}))
            .collect();
        json!({"anyOf": list})
    };
    assert_eq!(
        compile(&patterns(1001, "a")).unwrap_err().to_string(),
        "the schema has more than 1000 patterns"
    );
    assert!(compile(&patterns(300, "^[a-z0-9_.-]{1,64}@")).is_ok());
    assert!(compile(&patterns(1, "(abcdefgh){200}")).is_ok());
    let error = compile(&patterns(900, "(abcdefgh){200}")).unwrap_err();
    assert!(matches!(error, SchemaError::Malformed(_)), "{error}");
}

#[test]
fn a_keyword_that_looks_at_much_counts_for_more() {
    let too_costly = |schema: &serde_json::Value, value: &str| {
        let error = compile(schema).unwrap().check(value.as_bytes());
        assert_eq!(error, Err(CheckError::TooCostly));
    };
    let text = format!("\"{}\"", "a".repeat(20_000));
    let list: Vec<_> = (0..900)
        .map(|at| json!({"pattern": format!("^[a-z]+(x{at})?$")}))
        .collect();
    too_costly(&json!({"allOf": list}), &text);
    too_costly(&json!({"allOf": vec![json!({"minLength": 1}); 900]}), &text);
    let mut options: Vec<_> = (0..9000).map(|option| json!(option)).collect();
    options.push(json!("mixed"));
    let items = serde_json::to_string(&vec![8999; 2000]).unwrap();
    too_costly(&json!({"items": {"enum": options}}), &items);
    let unique = vec![json!({"uniqueItems": true}); 900];
    let items = serde_json::to_string(&(0..1000).collect::<Vec<_>>()).unwrap();
    too_costly(&json!({"allOf": unique}), &items);
    let names: serde_json::Map<_, _> = (0..900)
        .map(|at| (format!("x{at}$"), json!(true)))
        .collect();
    let object: serde_json::Map<_, _> = (0..2000)
        .map(|at| (format!("name{at}"), json!(1)))
        .collect();
    too_costly(
        &json!({"patternProperties": names}),
        &json!(object).to_string(),
    );
    // And yet what people write is checked, however long.
    let row = json!({"code": "AB-12", "kind": 249});
    let rows = serde_json::to_string(&vec![row; 5000]).unwrap();
    let kinds: Vec<_> = (0..250).collect();
    let schema = json!({"uniqueItems": false, "items": {
        "properties": {
            "code": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$", "maxLength": 9},
            "kind": {"enum": kinds},
        },
        "required": ["code", "kind"],
        "additionalProperties": false,
    }});
    assert_eq!(compile(&schema).unwrap().check(rows.as_bytes()), Ok(()));
}

#[test]
fn what_is_no_schema_is_refused() {
    for schema in [
        json!(1),
        json!("x"),
        json!([]),
        json!({"type": "strin"}),
        json!({"properties": []}),
        json!({"required": "a"}),
        json!({"$ref": 7}),
    ] {
        let error = compile(&schema).unwrap_err();
        assert!(
            matches!(error, SchemaError::Malformed(_)),
            "{schema}: {error}"
        );
    }
    assert!(compile(&json!(true)).is_ok());
    assert!(compile(&json!({"x-vendor": {"$ref": "https://example.com"}})).is_ok());
    assert!(compile(&json!({"default": {"$ref": "https://example.com"}})).is_ok());
    assert!(compile(&json!({"properties": {"$ref": {"type": "string"}}})).is_ok());
}

#[test]
fn at_most_five_reasons_of_bounded_length_are_given() {
    let schema = json!({"items": {"type": "string"}, "additionalProperties": false});
    let value = serde_json::to_string(&vec![1; 100]).unwrap();
    assert_eq!(reasons(&schema, &value).len(), 5);
    let value = serde_json::to_string(&vec![1; 200_000]).unwrap();
    assert_eq!(reasons(&schema, &value), ["[0]: expected string, found 1"]);
    let choice = json!({"anyOf": [schema, {"type": "null"}]});
    assert_eq!(
        reasons(&choice, &value),
        ["does not fit its schema; too large to say where"]
    );
    let value = json!({"x".repeat(10_000): 1}).to_string();
    assert!(
        reasons(&schema, &value)
            .iter()
            .all(|reason| reason.chars().count() < 400)
    );
}

#[test]
fn a_finding_has_a_path_and_a_reason_and_the_whole_has_the_callers_name() {
    let schema = compile(&json!({"type": "object", "required": ["a b"]})).unwrap();
    let error = schema.check(b"[]").unwrap_err();
    assert_eq!(error.findings().len(), 1);
    assert_eq!(error.findings()[0].path, "");
    assert_eq!(
        error.describe("structuredContent"),
        "structuredContent: expected object, found an array"
    );
    let error = schema.check(b"{}").unwrap_err();
    assert_eq!(error.findings()[0].path, r#"["a b"]"#);
    assert_eq!(error.findings()[0].reason, "required, but missing");
    assert!(error.is_certain());
}

#[test]
fn a_value_that_was_read_already_is_checked_as_its_text_is() {
    let schema = compile(&json!({"items": {"type": "integer"}})).unwrap();
    for value in [json!([1, 2]), json!([1, "x", null]), json!({})] {
        assert_eq!(
            schema.check_value(&value),
            schema.check(value.to_string().as_bytes())
        );
    }
}

#[test]
fn what_could_not_be_checked_is_told_apart_from_what_does_not_fit() {
    let bomb = compile(&tower("allOf", 15)).unwrap();
    assert_eq!(bomb.check(b"{"), Err(CheckError::NotJson));
    assert!(bomb.check(b"1").unwrap_err().is_certain());
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let error = bomb.check(deep.as_bytes()).unwrap_err();
    assert_eq!(error, CheckError::TooDeep);
    assert!(!error.is_certain());
    let wide = json!({"items": {"$ref": "#/$defs/d0"}, "$defs": tower("allOf", 14)["$defs"]});
    let many = serde_json::to_string(&vec![(); 100]).unwrap();
    let error = compile(&wide).unwrap().check(many.as_bytes()).unwrap_err();
    assert_eq!(error, CheckError::TooCostly);
    assert!(!error.is_certain());
}

#[test]
fn a_schema_is_shared_between_threads() {
    fn check<T: Clone + Send + Sync + 'static>(_: &T) {}
    check(&compile(&json!(true)).unwrap());
}
