use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::*;
use crate::schema::{NoArguments, input_schema};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only decoding matters here")]
struct Order {
    /// Who pays.
    customer_name: String,
    /// What is bought.
    #[serde(default)]
    items: Vec<Item>,
    /// How fast.
    speed: Option<Speed>,
    /// By shop.
    #[serde(default)]
    notes: BTreeMap<String, Item>,
    /// Width and height.
    size: Option<(u8, u8)>,
    /// Where to.
    #[serde(default)]
    target: Option<Target>,
    /// Anything.
    #[serde(default)]
    raw: serde_json::Value,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only decoding matters here")]
struct Item {
    /// Its name.
    name: String,
    /// How many.
    #[serde(default, alias = "number")]
    count: u8,
    /// What one costs.
    price: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Speed {
    Slow,
    Fast,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[expect(dead_code, reason = "only decoding matters here")]
enum Target {
    House { street: String },
    Box { number: u32 },
}

fn decode<T: DeserializeOwned + JsonSchema>(text: &str) -> Result<T, ArgumentError> {
    let schema = input_schema::<T>().unwrap().schema;
    decode_arguments(Some(text.as_bytes()), &schema)
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = decode::<Order>(text).unwrap_err();
    assert_eq!(error.to_string(), expected, "{text}");
}

#[test]
fn absent_arguments_are_an_empty_object() {
    let schema = input_schema::<NoArguments>().unwrap().schema;
    assert!(decode_arguments::<NoArguments>(None, &schema).is_ok());
    let order = input_schema::<Order>().unwrap().schema;
    let error = decode_arguments::<Order>(None, &order).unwrap_err();
    assert_eq!(error.to_string(), "customerName: required, but missing");
}

#[test]
fn a_wrong_value_is_named_by_its_path() {
    refused(
        r#"{"customerName":7}"#,
        "customerName: expected a string, found 7",
    );
    refused(
        r#"{"customerName":"a","items":[{"name":"x"},{"name":"y"},{"name":7}]}"#,
        "items[2].name: expected a string, found 7",
    );
    refused(
        "{\"customerName\": \"a\",\n \"items\" : [\n {\"name\" :\n {} } ]}",
        "items[0].name: expected a string, found an object",
    );
    refused(
        r#"{"customerName":"a","items":[{"name":[1]}]}"#,
        "items[0].name: expected a string, found an array",
    );
    refused(
        r#"{"customerName":"a","items":[{"name":"x"},{"name":null}]}"#,
        "items[1].name: expected a string, found null",
    );
    refused(
        r#"{"customerName":"a","items":[{"name":"x","count":300}]}"#,
        "items[0].count: expected an integer from 0 to 255, found 300",
    );
    refused(
        r#"{"customerName":"a","items":[{"name":"x","count":-1}]}"#,
        "items[0].count: expected an integer from 0 to 255, found -1",
    );
    refused(
        r#"{"customerName":"a","items":[{"name":"x","count":1.5}]}"#,
        "items[0].count: expected an integer from 0 to 255, found 1.5",
    );
    refused(
        r#"{"customerName":"a","items":[{"name":"x","price":"2"}]}"#,
        "items[0].price: expected a number, found \"2\"",
    );
    refused(
        r#"{"customerName":"a","items":{"name":"x"}}"#,
        "items: expected an array, found an object",
    );
    refused(
        r#"{"customerName":"a","items":[true]}"#,
        "items[0]: expected an object, found true",
    );
    refused(
        r#"{"customerName":"a","items":[{"name":"x"},{"count":1}]}"#,
        "items[1].name: required, but missing",
    );
    refused(
        r#"{"customerName":"a","speed":"medium"}"#,
        "speed: unknown value `medium`, expected `slow` or `fast`",
    );
    refused(
        r#"{"customerName":"a","notes":{"a shop":{"name":1}}}"#,
        "notes[\"a shop\"].name: expected a string, found 1",
    );
    refused(
        r#"{"customerName":"a","size":[1]}"#,
        "size: expected an array of 2 items, found 1",
    );
    refused(
        r#"{"customerName":"a","customerName":"b"}"#,
        "customerName: given more than once",
    );
}

#[test]
fn inside_a_choice_the_path_ends_at_the_choice() {
    refused(
        r#"{"customerName":"a","target":{"kind":"box","number":"1"},"speed":"slow"}"#,
        "target: expected an integer from 0 to 4294967295, found \"1\"",
    );
}

#[test]
fn arguments_that_are_no_object_are_refused() {
    for text in ["[]", "null", "1", r#"["a",[]]"#, ""] {
        refused(text, "arguments: expected an object");
    }
}

#[test]
fn an_unknown_member_is_refused_with_the_nearest_name() {
    refused(
        r#"{"customerName":"a","sped":"fast"}"#,
        "sped: not a known member; did you mean `speed`?",
    );
    refused(
        r#"{"customer_name":"a"}"#,
        "customer_name: not a known member; did you mean `customerName`?",
    );
    refused(
        r#"{"customerName":"a","items":[{"name":"x","pirce":1}]}"#,
        "items[0].pirce: not a known member; did you mean `price`?",
    );
    refused(
        r#"{"customerName":"a","items":[{"name":"x","colour":"red"}]}"#,
        "items[0].colour: not a known member; the members are `count`, `name`, `price`",
    );
    refused(
        r#"{"customerName":"a","notes":{"n":{"name":"x","z":1}}}"#,
        "notes.n.z: not a known member; the members are `count`, `name`, `price`",
    );
    let error = decode::<NoArguments>(r#"{"a":1}"#).unwrap_err();
    assert_eq!(error.to_string(), "a: not a known member; there are none");
}

#[test]
fn what_serde_knows_is_not_unknown() {
    // An alias, a null for an option, anything inside a value that takes anything.
    let text = r#"{"customerName":"a","items":[{"name":"x","number":2,"price":null}],
        "speed":null,"raw":{"any":{"thing":1}},"target":{"kind":"box","number":1}}"#;
    let order: Order = decode(text).unwrap();
    assert_eq!(order.items.first().map(|item| item.count), Some(2));
}

#[test]
fn a_type_that_says_it_is_open_ignores_what_it_does_not_know() {
    #[derive(Debug, Deserialize, JsonSchema)]
    #[schemars(extend("additionalProperties" = true))]
    struct Open {
        /// A.
        a: u8,
    }
    assert_eq!(decode::<Open>(r#"{"a":1,"b":2}"#).unwrap().a, 1);

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Flat {
        /// A.
        a: u8,
        #[serde(flatten)]
        rest: BTreeMap<String, serde_json::Value>,
    }
    let flat: Flat = decode(r#"{"a":1,"b":2}"#).unwrap();
    assert_eq!((flat.a, flat.rest.len()), (1, 1));
}

#[test]
fn a_type_that_refuses_unknown_fields_itself_says_the_same() {
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only decoding matters here")]
    struct Strict {
        /// A.
        a: u8,
    }
    let error = decode::<Strict>(r#"{"a":1,"b":2}"#).unwrap_err();
    assert_eq!(error.to_string(), "b: not a known member, expected `a`");
}

#[test]
fn raw_text_and_recursive_types_decode() {
    #[derive(Debug, Deserialize)]
    struct Raw {
        raw: Box<RawValue>,
    }
    let schema = RawJson::parse("{}").unwrap();
    let raw: Raw = decode_arguments(Some(br#"{"raw": { "a" : 1 }}"#), &schema).unwrap();
    assert_eq!(raw.raw.get(), r#"{ "a" : 1 }"#);

    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only decoding matters here")]
    struct Tree {
        /// Below.
        #[serde(default)]
        children: Vec<Self>,
    }
    assert!(decode::<Tree>(r#"{"children":[{"children":[{}]}]}"#).is_ok());
    let error = decode::<Tree>(r#"{"children":[{"children":[{"child":1}]}]}"#).unwrap_err();
    assert_eq!(error.path, "children[0].children[0].child");
}

#[test]
fn errors_stay_short_whatever_was_sent() {
    let long = "x".repeat(100_000);
    let text = format!(r#"{{"customerName":"a","speed":"{long}"}}"#);
    assert!(
        decode::<Order>(&text)
            .unwrap_err()
            .to_string()
            .chars()
            .count()
            < 400
    );
    let text = format!(r#"{{"customerName":"a","items":"{long}"}}"#);
    assert!(
        decode::<Order>(&text)
            .unwrap_err()
            .to_string()
            .chars()
            .count()
            < 400
    );
    let text = format!(r#"{{"customerName":"a","{long}":1}}"#);
    assert!(
        decode::<Order>(&text)
            .unwrap_err()
            .to_string()
            .chars()
            .count()
            < 400
    );
}

#[test]
fn a_position_outside_the_text_gives_some_path() {
    for text in [
        "",
        "{",
        "[[",
        r#"{"a"#,
        r#"{"a":[1,"#,
        "}}",
        "]",
        ",",
        "\"\\",
    ] {
        for offset in 0..10 {
            let _ = place::path_at(text.as_bytes(), offset);
        }
    }
    assert_eq!(place::path_at(br#"{"a":[1,2]}"#, 100), "");
}
