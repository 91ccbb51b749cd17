use serde_json::{Value, json};
use switchboard_protocol::types::Tool;

use super::*;

fn tool(name: &str, schema: &Value) -> Tool {
    serde_json::from_value(json!({"name": name, "description": "Does.", "inputSchema": schema}))
        .unwrap()
}

fn with(write: fn(&[ServerTools<'_>]) -> String, tools: &[Tool]) -> String {
    write(&[ServerTools {
        server: "one",
        tools: tools.iter().collect(),
    }])
}

/// What is written for the type of an argument `a`, which is optional; white space as one space.
fn argument(write: fn(&[ServerTools<'_>]) -> String, text: &str) -> String {
    // As text, because the order of members counts.
    let schema =
        format!(r#"{{"type":"object","properties":{{"a":{text}}},"additionalProperties":false}}"#);
    let definition = format!(r#"{{"name":"t","inputSchema":{schema}}}"#);
    let tool: Tool = serde_json::from_str(&definition).unwrap();
    with(write, &[tool])
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[track_caller]
fn check_typescript(schema: &str, expected: &str) {
    let text = argument(typescript, schema);
    let start = text.find("a?: ").unwrap() + 4;
    let end = text
        .find("; } /** What each")
        .unwrap_or(text.find("; } function").unwrap());
    let shown = &text[start..end.min(text.find("; } function").unwrap())];
    assert_eq!(shown, expected, "{schema}");
}

#[track_caller]
fn check_rust(schema: &str, expected: &str) {
    let text = argument(rust, schema);
    let start = text.find("pub a: Option<").unwrap() + 14;
    let end = start + text[start..].find(">, }").unwrap();
    assert_eq!(&text[start..end], expected, "{schema}\n{text}");
}

#[test]
fn schemas_become_typescript() {
    check_typescript(r#"{"type":"string"}"#, "string");
    check_typescript(r#"{"type":"integer"}"#, "number");
    check_typescript(r#"{"type":["number","integer","null"]}"#, "number | null");
    check_typescript(r#"{"type":"string","nullable":true}"#, "string | null");
    check_typescript(r#"{"type":"boolean"}"#, "boolean");
    check_typescript("{}", "unknown");
    check_typescript("true", "unknown");
    check_typescript("false", "never");
    check_typescript(r#"{"type":"date"}"#, "unknown");
    check_typescript(
        r#"{"enum":["b","a\"",1,null,true]}"#,
        r#""b" | "a\"" | 1 | null | true"#,
    );
    check_typescript(r#"{"type":"string","enum":[]}"#, "string");
    check_typescript(r#"{"const":{"x":[1,"y"]}}"#, r#"{ x: [1, "y"] }"#);
    check_typescript(
        r#"{"type":"array","items":{"type":["string","number"]}}"#,
        "(string | number)[]",
    );
    check_typescript(r#"{"type":"array"}"#, "unknown[]");
    check_typescript(
        r#"{"prefixItems":[{"type":"string"},{"type":"number"}],"minItems":2,"maxItems":2}"#,
        "[string, number]",
    );
    check_typescript(
        r#"{"prefixItems":[{"type":"string"},{"type":"number"}],"minItems":1}"#,
        "[string, number?, ...unknown[]]",
    );
    check_typescript(
        r#"{"items":[{"type":"string"}],"additionalItems":false}"#,
        "[string?]",
    );
    check_typescript(r#"{"type":"object"}"#, "{ [key: string]: unknown }");
    check_typescript(
        r#"{"type":"object","additionalProperties":{"type":"number"}}"#,
        "{ [key: string]: number }",
    );
    check_typescript(
        r#"{"patternProperties":{"^x":{"type":"number"}},"additionalProperties":false}"#,
        "{ [key: string]: number }",
    );
    check_typescript(
        r#"{"properties":{"z":{"type":"string"},"b-c":{"type":"boolean"}},"required":["z"],"additionalProperties":{"type":"number"}}"#,
        r#"{ z: string; "b-c"?: boolean; [key: string]: number | string | undefined | boolean; }"#,
    );
    check_typescript(
        r#"{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}"#,
        "string | string[]",
    );
    check_typescript(
        r#"{"type":"string","anyOf":[{"enum":["a"]},{"enum":["b"]}]}"#,
        r#""a" | "b""#,
    );
    check_typescript(
        r#"{"oneOf":[{"type":"string","format":"a"},{"type":"string","format":"b"}]}"#,
        "string",
    );
    check_typescript(
        r#"{"allOf":[{"properties":{"x":{"type":"string"}}},{"properties":{"y":{"type":"number"}},"required":["x"]}]}"#,
        "{ x: string; y?: number; }",
    );
    check_typescript(
        r#"{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},"anyOf":[{"required":["x"]},{"required":["y"]}]}"#,
        "{ x?: string; y?: string; } & ({ x: unknown; } | { y: unknown; })",
    );
    check_typescript(r#"{"$ref":"https://example.com/x"}"#, "unknown");
    check_typescript(r##"{"$ref":"#/nowhere"}"##, "unknown");
    check_typescript(r#"{"unheard":1,"of":{"type":"x"}}"#, "unknown");
    check_typescript(r#"{"not":{"type":"string"}}"#, "unknown");
}

#[test]
fn schemas_become_rust() {
    check_rust(r#"{"type":"string"}"#, "String");
    check_rust(r#"{"type":"integer"}"#, "i64");
    check_rust(r#"{"type":["number","null"]}"#, "f64");
    check_rust("{}", "serde_json::Value");
    check_rust(
        r#"{"type":"array","items":{"type":"string"}}"#,
        "Vec<String>",
    );
    check_rust(
        r#"{"prefixItems":[{"type":"string"},{"type":"number"}],"minItems":2,"maxItems":2}"#,
        "(String,f64,)",
    );
    check_rust(
        r#"{"prefixItems":[{"type":"string"}]}"#,
        "Vec<serde_json::Value>",
    );
    check_rust(
        r#"{"type":"object"}"#,
        "serde_json::Map<String, serde_json::Value>",
    );
    check_rust(
        r#"{"type":"object","additionalProperties":{"type":"integer"}}"#,
        "std::collections::BTreeMap<String, i64>",
    );
    check_rust(r#"{"enum":["a","b"]}"#, "TInputA");
    check_rust(r#"{"enum":[1,2]}"#, "i64");
    check_rust(r#"{"enum":[1,2.5]}"#, "f64");
    check_rust(r#"{"type":["string","number"]}"#, "TInputA");
    check_rust(
        r#"{"allOf":[{"type":"string"},{"type":"number"}]}"#,
        "serde_json::Value",
    );
}

#[test]
fn rust_names_are_valid_and_renamed() {
    let schema = json!({
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "self": {"type": "string"},
            "fooBar": {"enum": ["a b", "A-B", "", "1st", "Self"]},
            "foo_bar": {"type": ["string", "integer", "number", "boolean"]},
        },
        "required": ["type", "self", "fooBar", "foo_bar"],
        "additionalProperties": {"type": "string"},
    });
    let text = with(rust, &[tool("go", &schema)]);
    for expected in [
        "        pub r#type: String,",
        "        #[serde(rename = \"self\")]\n        pub self_: String,",
        "        #[serde(rename = \"fooBar\")]\n        pub foo_bar: GoInputFooBar,",
        "        #[serde(rename = \"foo_bar\")]\n        pub foo_bar2: GoInputFooBar2,",
        "        #[serde(flatten)]\n        pub others: std::collections::BTreeMap<String, String>,",
        "        #[serde(rename = \"a b\")]\n        AB,",
        "        #[serde(rename = \"A-B\")]\n        AB2,",
        "        #[serde(rename = \"\")]\n        Empty,",
        "        #[serde(rename = \"1st\")]\n        N1st,",
        "        #[serde(rename = \"Self\")]\n        Self2,",
        "    #[serde(untagged)]\n    pub enum GoInputFooBar2 {\n        Integer(i64),\n        Boolean(bool),\n        Number(f64),\n        Text(String),\n    }",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn no_variant_is_called_like_a_keyword() {
    let schema =
        r#"{"anyOf":[{"type":"string"},{"type":"object","properties":{"tag":{"const":"Self"}}}]}"#;
    let text = argument(rust, schema);
    assert!(text.contains(" Self2(TInputASelf),"), "{text}");
}

#[test]
fn a_definition_that_contains_itself_has_a_name_of_its_own() {
    let schema = json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}, "again": {"$ref": "#"}},
        "$defs": {
            "node": {"type": "object", "properties": {
                "next": {"$ref": "#/$defs/node"},
                "all": {"$ref": "#/$defs/tree"},
                "empty": {"$ref": "#/$defs/empty"},
            }},
            "tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            "empty": {"anyOf": [{"$ref": "#/$defs/empty"}, {"type": "null"}]},
        },
    });
    let text = with(typescript, &[tool("go", &schema)]);
    for expected in [
        "again?: GoInput;",
        "root?: GoInputNode;",
        "next?: GoInputNode;",
        "type GoInputTree = GoInputTree[];",
        "type GoInputEmpty = unknown;",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let text = with(rust, &[tool("go", &schema)]);
    for expected in [
        "pub again: Option<Box<GoInput>>,",
        "pub root: Option<Box<GoInputNode>>,",
        "pub struct GoInputTree(pub Vec<GoInputTree>);",
        "pub type GoInputEmpty = serde_json::Value;",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn a_definition_that_stands_beside_a_list_of_itself_is_cut() {
    let schema = r##"{"$ref":"#/$defs/a","$defs":{
        "a":{"allOf":[{"properties":{"x":{"$ref":"#/$defs/a"}}},{"prefixItems":[{"$ref":"#/$defs/b"}]}]},
        "b":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/a"}]},
        "good":{"allOf":[{"properties":{"x":{"$ref":"#/$defs/good"}}},{"$ref":"#/$defs/a"}]}}}"##;
    let read = read::read(schema);
    let shape = |hint: &str| {
        let mut found = read.definitions.iter().filter(|own| own.hint == hint);
        found.next().map(|own| own.shape.clone())
    };
    assert_eq!(shape("a"), Some(shape::Shape::Unknown));
    let optional = read::read(r##"{"prefixItems":[{"$ref":"#"}],"maxItems":1}"##);
    assert_eq!(optional.definitions[0].shape, shape::Shape::Unknown);
    let required = read::read(r##"{"prefixItems":[{"$ref":"#"}],"minItems":1,"maxItems":1}"##);
    assert!(matches!(
        required.definitions[0].shape,
        shape::Shape::Tuple(_)
    ));
    // An object may hold itself.
    let good = schema.replace(
        r##""$ref":"#/$defs/a","$defs""##,
        r##""$ref":"#/$defs/good","$defs""##,
    );
    let read = read::read(&good);
    assert!(
        matches!(&read.definitions[1].shape, shape::Shape::Both(_)),
        "{read:?}"
    );
}

#[test]
fn the_order_of_the_list_changes_nothing_and_that_of_properties_is_kept() {
    let text = r#"{"name":"a","inputSchema":{"type":"object","properties":{"z":{},"a":{}}}}"#;
    let one: Tool = serde_json::from_str(text).unwrap();
    let two = tool("b", &json!({"type": "object"}));
    for write in [typescript, rust] {
        let there = with(write, &[one.clone(), two.clone()]);
        assert_eq!(there, with(write, &[two.clone(), one.clone()]));
        assert!(there.find(" z").unwrap() < there.find(" a?:").or(there.find(" a:")).unwrap());
    }
}

#[test]
fn functions_have_valid_names_of_their_own() {
    let empty = json!({"type": "object"});
    let tools = ["get-sum", "get_sum", "delete", "2fa", "schön"].map(|name| tool(name, &empty));
    let text = with(typescript, &tools);
    for expected in [
        "function get_sum(",
        "function get_sum2(",
        "function delete_(",
        "function _2fa(",
        "function sch_n(",
        "@remarks Tool \"get-sum\"",
        "\"get-sum\": { input: GetSumInput; output: ToolResult };",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn what_servers_write_stays_in_its_comment() {
    let mut hostile = tool(
        "go",
        &json!({
            "type": "object",
            "properties": {"a": {"type": "string", "description": "*/ evil();\r\n/*", "default": "*/"}},
        }),
    );
    hostile.description = Some("One */ two\u{202e}\n\n    indented()\n```\ncode\n".to_owned());
    let text = with(typescript, std::slice::from_ref(&hostile));
    assert!(!text.contains("evil();\n/*"), "{text}");
    let opened = text.matches("/*").count();
    let ended = text.matches("*/").count();
    // The one that is opened within a comment opens nothing.
    assert_eq!(opened, ended + 1, "{text}");
    let text = with(rust, &[hostile]);
    assert!(text.contains("    /// One */ two\n    ///\n    ///    indented()\n    /// ```text\n    /// code\n    /// ```\n"), "{text}");
    assert!(!text.contains('\u{202e}'));
}

#[test]
fn a_tool_with_an_output_schema_gives_its_type() {
    let mut gives = tool(
        "go",
        &json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}),
    );
    let output = r#"{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}"#;
    gives.output_schema = Some(switchboard_protocol::RawJson::parse(output).unwrap());
    let text = with(typescript, std::slice::from_ref(&gives));
    assert!(
        text.contains("function go(input: GoInput): Promise<GoOutput>;"),
        "{text}"
    );
    let text = with(rust, &[gives]);
    assert!(
        text.contains("pub struct GoOutput {\n        pub n: f64,\n    }"),
        "{text}"
    );
}

#[test]
fn hostile_schemas_end() {
    let mut deep = String::new();
    for _ in 0..120 {
        deep.push_str(r#"{"anyOf":[{"type":"string"},"#);
    }
    deep.push_str("{}");
    deep.push_str(&"]}".repeat(120));
    // A row of definitions, each of which is the next.
    let row: Vec<String> = (0..3_000)
        .map(|index| format!(r##""d{index}":{{"$ref":"#/$defs/d{}"}}"##, index + 1))
        .collect();
    let row = format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{}}}}}"##, row.join(","));
    for schema in [deep, row, "[]".to_owned(), "{".to_owned()] {
        let schema = read::read(&schema);
        assert!(!schema.definitions.is_empty());
    }
}
