use std::collections::BTreeMap;

use serde::Serialize;

use super::*;

fn input<T: JsonSchema + DeserializeOwned>() -> String {
    input_schema::<T>().unwrap().schema.as_str().to_owned()
}

/// The schema of a property of this type.
#[track_caller]
fn property<T: JsonSchema + DeserializeOwned>(expected: &str) {
    #[derive(Deserialize, JsonSchema)]
    #[serde(bound = "T: DeserializeOwned")]
    struct Holder<T: JsonSchema> {
        #[expect(dead_code, reason = "only its schema matters")]
        v: T,
    }
    let text = input::<Holder<T>>();
    let schema: Value = serde_json::from_str(&text).unwrap();
    let required = if schema["required"] == serde_json::json!(["v"]) {
        r#"["v"]"#
    } else {
        "[]"
    };
    let whole = format!(
        r#"{{"type":"object","properties":{{"v":{expected}}},"required":{required},"additionalProperties":false}}"#
    );
    assert_eq!(text, whole);
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Point {
    /// To the right.
    x: f64,
    /// Upwards.
    y: Option<f64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Plain {
    Red,
    Green,
}

/// A priority.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Documented {
    /// Can
    /// wait.
    Low,
    VeryHigh,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema matters")]
enum Shape {
    /// Round.
    Circle {
        /// How far.
        radius: f64,
    },
    Dot,
    Polygon(Points),
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema matters")]
struct Points {
    /// The corners.
    corners: Vec<Point>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema matters")]
enum External {
    One,
    Two(u8),
    Three {
        /// A.
        a: bool,
    },
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema matters")]
enum Either {
    Text(String),
    Number(i64),
}

#[test]
fn every_type_has_the_schema_that_models_read_best() {
    property::<String>(r#"{"type":"string"}"#);
    property::<bool>(r#"{"type":"boolean"}"#);
    property::<char>(r#"{"type":"string","maxLength":1,"minLength":1}"#);
    property::<u8>(r#"{"type":"integer","maximum":255,"minimum":0}"#);
    property::<i16>(r#"{"type":"integer","maximum":32767,"minimum":-32768}"#);
    property::<u32>(r#"{"type":"integer","minimum":0}"#);
    property::<i32>(r#"{"type":"integer"}"#);
    property::<i64>(r#"{"type":"integer"}"#);
    property::<u64>(r#"{"type":"integer","minimum":0}"#);
    property::<usize>(r#"{"type":"integer","minimum":0}"#);
    property::<f32>(r#"{"type":"number"}"#);
    property::<f64>(r#"{"type":"number"}"#);
    property::<std::net::Ipv4Addr>(r#"{"type":"string","format":"ipv4"}"#);
    property::<std::net::IpAddr>(r#"{"type":"string"}"#);
    property::<Value>(r"{}");
    property::<()>(r#"{"type":"null"}"#);
    property::<Option<String>>(r#"{"type":"string"}"#);
    property::<Option<u32>>(r#"{"type":"integer","minimum":0}"#);
    property::<Option<Vec<bool>>>(r#"{"type":"array","items":{"type":"boolean"}}"#);
    property::<Vec<Option<bool>>>(r#"{"type":"array","items":{"type":["boolean","null"]}}"#);
    property::<(bool, u32)>(
        r#"{"type":"array","maxItems":2,"minItems":2,"prefixItems":[{"type":"boolean"},{"type":"integer","minimum":0}]}"#,
    );
    property::<BTreeMap<String, u32>>(
        r#"{"type":"object","additionalProperties":{"type":"integer","minimum":0}}"#,
    );
    property::<Plain>(r#"{"type":"string","enum":["red","green"]}"#);
    property::<Option<Plain>>(r#"{"type":"string","enum":["red","green"]}"#);
    property::<Vec<Plain>>(r#"{"type":"array","items":{"type":"string","enum":["red","green"]}}"#);
    property::<Documented>(
        r#"{"type":"string","description":"A priority.\n- `low`: Can wait.","enum":["very_high","low"]}"#,
    );
    property::<Option<Documented>>(
        r#"{"type":"string","description":"A priority.\n- `low`: Can wait.","enum":["very_high","low"]}"#,
    );
    property::<Point>(
        r#"{"type":"object","properties":{"x":{"type":"number","description":"To the right."},"y":{"type":"number","description":"Upwards."}},"required":["x"],"additionalProperties":false}"#,
    );
    property::<Option<Point>>(
        r#"{"type":"object","properties":{"x":{"type":"number","description":"To the right."},"y":{"type":"number","description":"Upwards."}},"required":["x"],"additionalProperties":false}"#,
    );
    property::<Either>(r#"{"anyOf":[{"type":"string"},{"type":"integer"}]}"#);
    property::<Option<Either>>(r#"{"anyOf":[{"type":"string"},{"type":"integer"}]}"#);
    property::<Shape>(
        r#"{"oneOf":[{"type":"object","description":"Round.","properties":{"kind":{"type":"string","enum":["circle"]},"radius":{"type":"number","description":"How far."}},"required":["kind","radius"],"additionalProperties":false},{"type":"object","properties":{"kind":{"type":"string","enum":["dot"]}},"required":["kind"],"additionalProperties":false},{"type":"object","properties":{"kind":{"type":"string","enum":["polygon"]},"corners":{"type":"array","description":"The corners.","items":{"type":"object","properties":{"x":{"type":"number","description":"To the right."},"y":{"type":"number","description":"Upwards."}},"required":["x"],"additionalProperties":false}}},"required":["kind","corners"],"additionalProperties":false}]}"#,
    );
    property::<External>(
        r#"{"oneOf":[{"type":"string","enum":["One"]},{"type":"object","properties":{"Two":{"type":"integer","maximum":255,"minimum":0}},"required":["Two"],"additionalProperties":false},{"type":"object","properties":{"Three":{"type":"object","properties":{"a":{"type":"boolean","description":"A."}},"required":["a"],"additionalProperties":false}},"required":["Three"],"additionalProperties":false}]}"#,
    );
}

#[test]
fn a_tool_without_arguments_takes_a_closed_empty_object() {
    let text = r#"{"type":"object","properties":{},"additionalProperties":false}"#;
    let generated = input_schema::<NoArguments>().unwrap();
    assert_eq!(generated.schema.as_str(), text);
    assert_eq!(generated.description, None);
}

#[test]
fn the_comment_of_the_type_is_the_description_and_members_keep_their_order() {
    /// Looks up
    /// a word.
    ///
    /// - in all
    /// - languages
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Look {
        /// The word
        /// itself.
        word: String,
        /// At most.
        #[serde(default = "ten")]
        at_most: u32,
        /// All of it.
        #[serde(default)]
        all: bool,
        /// From where.
        #[schemars(length(min = 1), url)]
        address: Option<String>,
    }
    fn ten() -> u32 {
        10
    }
    let generated = input_schema::<Look>().unwrap();
    assert_eq!(
        generated.description.as_deref(),
        Some("Looks up a word.\n\n- in all\n- languages")
    );
    assert_eq!(
        generated.schema.as_str(),
        r#"{"type":"object","properties":{"word":{"type":"string","description":"The word itself."},"atMost":{"type":"integer","description":"At most.","minimum":0,"default":10},"all":{"type":"boolean","description":"All of it.","default":false},"address":{"type":"string","description":"From where.","format":"uri","minLength":1}},"required":["word"],"additionalProperties":false}"#
    );
    assert_eq!(lint(&generated.schema), Vec::<String>::new());
}

#[test]
fn flattened_members_close_with_the_object_they_join() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Joined {
        /// A.
        a: u8,
        #[serde(flatten)]
        point: Point,
    }
    assert_eq!(
        input::<Joined>(),
        r#"{"type":"object","properties":{"a":{"type":"integer","description":"A.","maximum":255,"minimum":0},"x":{"type":"number","description":"To the right."},"y":{"type":"number","description":"Upwards."}},"required":["a","x"],"additionalProperties":false}"#
    );

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Chosen {
        /// A.
        a: bool,
        #[serde(flatten)]
        shape: Shape,
    }
    let schema: Value = serde_json::from_str(&input::<Chosen>()).unwrap();
    assert_eq!(schema["unevaluatedProperties"], false);
    assert!(schema["oneOf"][0].get("additionalProperties").is_none());
    assert_eq!(schema["oneOf"].as_array().unwrap().len(), 3);

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Rest {
        /// A.
        a: bool,
        #[serde(flatten)]
        rest: BTreeMap<String, u32>,
    }
    let schema: Value = serde_json::from_str(&input::<Rest>()).unwrap();
    assert_eq!(schema["additionalProperties"]["type"], "integer");
}

#[test]
fn a_map_and_a_tagged_enum_are_objects_and_other_roots_are_refused_by_name() {
    assert_eq!(
        input::<BTreeMap<String, bool>>(),
        r#"{"type":"object","properties":{},"additionalProperties":{"type":"boolean"}}"#
    );
    let shape = input_schema::<Shape>().unwrap().schema;
    assert!(
        shape.as_str().starts_with(r#"{"type":"object","oneOf":["#),
        "{shape:?}"
    );
    assert_eq!(lint(&shape).len(), 1, "{:?}", lint(&shape));
    for error in [
        input_schema::<String>().unwrap_err(),
        input_schema::<Vec<Point>>().unwrap_err(),
        input_schema::<Plain>().unwrap_err(),
        input_schema::<External>().unwrap_err(),
        input_schema::<Option<Point>>().unwrap_err(),
        input_schema::<Value>().unwrap_err(),
    ] {
        assert!(matches!(error, SchemaError::NotAnObject { .. }), "{error}");
    }
    let text = input_schema::<Plain>().unwrap_err().to_string();
    assert!(text.contains("tests::Plain"), "{text}");
}

#[test]
fn only_a_type_that_contains_itself_has_references() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Tree {
        /// What it says.
        label: String,
        /// Below.
        children: Vec<Self>,
    }
    assert_eq!(
        input::<Tree>(),
        r##"{"type":"object","properties":{"label":{"type":"string","description":"What it says."},"children":{"type":"array","description":"Below.","items":{"$ref":"#"}}},"required":["label","children"],"additionalProperties":false}"##
    );

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Forest {
        /// One.
        first: Tree,
        /// Another.
        second: Option<Tree>,
        /// A place.
        place: Point,
        /// Another place.
        other: Point,
    }
    let schema: Value = serde_json::from_str(&input::<Forest>()).unwrap();
    assert_eq!(schema["$defs"].as_object().unwrap().len(), 1, "{schema}");
    assert_eq!(schema["$defs"]["Tree"]["additionalProperties"], false);
    assert_eq!(schema["properties"]["second"]["description"], "Another.");
    assert!(schema["properties"]["other"].get("$ref").is_none());
    assert_eq!(
        lint(&RawJson::encode(&schema).unwrap()),
        Vec::<String>::new()
    );
}

#[test]
fn an_output_schema_says_what_serde_writes() {
    #[derive(Serialize, JsonSchema)]
    struct Found {
        /// How many.
        count: u64,
        /// The next page.
        next: Option<String>,
        /// Left out when absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    }
    let output = output_schema::<Found>().unwrap();
    assert!(output.is_object);
    assert_eq!(
        output.schema.as_str(),
        r#"{"type":"object","properties":{"count":{"type":"integer","description":"How many.","minimum":0},"next":{"type":["string","null"],"description":"The next page."},"note":{"type":["string","null"],"description":"Left out when absent."}},"required":["count","next"],"additionalProperties":false}"#
    );
    let list = output_schema::<Vec<u8>>().unwrap();
    assert!(!list.is_object);
    assert!(list.schema.as_str().starts_with(r#"{"type":"array""#));
    assert!(!output_schema::<Value>().unwrap().is_object);
}

#[test]
fn a_form_has_flat_fields_in_the_order_of_the_type() {
    #[derive(Deserialize, JsonSchema)]
    enum Size {
        #[schemars(title = "Small")]
        S,
        #[schemars(title = "Large")]
        L,
    }
    /// Sign up.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct SignUp {
        /// Your name.
        #[schemars(title = "Name")]
        name: String,
        /// Where we write to.
        #[schemars(email)]
        mail: Option<String>,
        /// Years.
        #[schemars(range(min = 18))]
        age: u8,
        /// News?
        #[serde(default)]
        news: bool,
        /// Which one.
        color: Plain,
        /// Which ones.
        colors: Vec<Plain>,
        /// How large.
        size: Size,
        /// How large each.
        sizes: Vec<Size>,
    }
    let form = form_schema::<SignUp>().unwrap();
    assert_eq!(form.generated.description.as_deref(), Some("Sign up."));
    assert_eq!(
        form.schema().as_str(),
        r#"{"type":"object","properties":{"name":{"type":"string","title":"Name","description":"Your name."},"mail":{"type":"string","description":"Where we write to.","format":"email"},"age":{"type":"integer","description":"Years.","maximum":255,"minimum":18},"news":{"type":"boolean","description":"News?","default":false},"color":{"type":"string","description":"Which one.","enum":["red","green"]},"colors":{"type":"array","description":"Which ones.","items":{"type":"string","enum":["red","green"]}},"size":{"type":"string","description":"How large.","oneOf":[{"title":"Small","const":"S"},{"title":"Large","const":"L"}]},"sizes":{"type":"array","description":"How large each.","items":{"anyOf":[{"title":"Small","const":"S"},{"title":"Large","const":"L"}]}}},"required":["name","age","color","colors","size","sizes"]}"#
    );
    assert!(form.fields.is_required("name") && !form.fields.is_required("mail"));
}

#[test]
fn a_form_keeps_titles_in_the_way_of_older_revisions() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Paint {
        /// Which one.
        #[schemars(extend("enumNames" = ["Red", "Green"]))]
        color: Plain,
    }
    let form = form_schema::<Paint>().unwrap();
    let color = form.fields.property("color").unwrap();
    assert_eq!(color.options(), [("red", "Red"), ("green", "Green")]);
}

#[test]
fn a_property_that_cannot_stand_in_a_form_is_named() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Bad<T> {
        /// Good.
        good: String,
        /// Bad.
        bad: T,
    }
    #[track_caller]
    fn check<T: JsonSchema + DeserializeOwned>() {
        let text = form_schema::<Bad<T>>().unwrap_err().to_string();
        assert!(text.starts_with("property `bad` of "), "{text}");
    }
    check::<Point>();
    check::<Vec<String>>();
    check::<BTreeMap<String, String>>();
    check::<Value>();
    check::<Shape>();
    check::<Either>();
    check::<External>();
    check::<(bool, bool)>();
    assert!(form_schema::<Plain>().is_err());
}

#[test]
fn the_lint_names_what_is_missing_and_where() {
    let check = |text: &str, expected: &[&str]| {
        assert_eq!(lint(&RawJson::parse(text).unwrap()), expected, "{text}");
    };
    check("true", &["the schema is not an object"]);
    check(
        "{}",
        &[
            "the root does not say `type: object`",
            "the root has no `properties`",
        ],
    );
    check(
        r#"{"type":"object"}"#,
        &[
            "the root has no `properties`",
            "the root does not say `additionalProperties`",
        ],
    );
    check(
        r#"{"type":"object","properties":{"a":{"type":"array","description":"A.","items":{"type":"object","properties":{"b":{"type":"integer","format":"uint32"}},"required":["b"]}}},"additionalProperties":false}"#,
        &[
            "the root does not say what is `required`",
            "a[] does not say `additionalProperties`",
            "a[].b has no description",
            "a[].b has the format `uint32`, which few know",
        ],
    );
}

#[test]
fn the_lint_says_the_place_as_a_json_pointer_too() {
    let schema = r#"{"type":"object","properties":{"a/b":{"description":"A.","oneOf":[{"type":"object","properties":{"c":{}}}]}},"required":[],"additionalProperties":false}"#;
    let faults = faults(&RawJson::parse(schema).unwrap());
    // A choice of which one part is an object: the part says neither what is required nor what `c` is.
    let places: Vec<_> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    let part = "/properties/a~1b/oneOf/0";
    let inner = format!("{part}/properties/c");
    assert_eq!(places, [part, part, &inner]);
}
