use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;

/// The text is what serde_json writes, and so is the refusal.
fn check(value: &(impl Serialize + ?Sized)) {
    let mut found = b"before".to_vec();
    let is_one_line = write(value, &mut found);
    match serde_json::to_vec(value) {
        Ok(expected) => {
            assert_eq!(found.get(6..), Some(&*expected));
            assert_eq!(is_one_line.ok(), Some(!expected.contains(&b'\n')));
        }
        Err(error) => assert_eq!(is_one_line.unwrap_err().to_string(), error.to_string()),
    }
}

#[derive(Serialize)]
struct Unit;

#[derive(Serialize)]
struct Wrapped<T>(T);

#[derive(Serialize)]
struct Pair(u8, &'static str);

#[derive(Serialize)]
struct Named<T> {
    first: T,
    #[serde(rename = "a \"b\"")]
    second: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    third: Option<u8>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Unit,
    One(u8),
    Two(u8, u8),
    Named { a: u8, b: Option<u8> },
}

#[test]
fn every_kind_of_value_is_written_as_serde_json_does() {
    check(&true);
    check(&(i8::MIN, i16::MIN, i32::MIN, i64::MIN, i128::MIN));
    check(&(u8::MAX, u16::MAX, u32::MAX, u64::MAX, u128::MAX));
    check(&[0.0, -0.0, 1.5, 1e300, 1e-7, f64::NAN, f64::INFINITY]);
    check(&[0.1_f32, f32::MIN_POSITIVE, f32::NAN]);
    check(&('a', '"', '\u{1f600}', '\n'));
    check(&(None::<u8>, Some(1), (), Unit, Wrapped("x"), Pair(1, "y")));
    check(&[Kind::Unit, Kind::One(1), Kind::Two(1, 2)]);
    check(&Kind::Named { a: 1, b: None });
    check(&(Vec::<u8>::new(), BTreeMap::<u8, u8>::new(), [(); 0]));
    check(&Named {
        first: Wrapped(Some("x")),
        second: None,
        third: None,
        rest: BTreeMap::from([("more".to_owned(), json!({"a": [1, {}]}))]),
    });
    check(&format_args!("{} \"{}\"", 1, "\n"));
    check(c"bytes");
}

#[test]
fn keys_are_strings_or_become_some() {
    check(&BTreeMap::from([("a\"b", 1)]));
    check(&BTreeMap::from([(-1, 1), (2, 2)]));
    check(&BTreeMap::from([(u64::MAX, 1)]));
    check(&BTreeMap::from([(true, 1), (false, 2)]));
    check(&BTreeMap::from([('a', 1)]));
    check(&BTreeMap::from([(Kind::Unit, 1)]));
    check(&BTreeMap::from([(Some("a"), 1)]));
    check(&BTreeMap::from([((), 1)]));
    check(&BTreeMap::from([([1], 1)]));
    check(&BTreeMap::from([(Kind::One(1), 1)]));
}

#[test]
fn text_that_is_json_already_stays_as_it_is() {
    for text in [
        r#"{"a" : 1.0}"#,
        "[1,\n2]",
        "18446744073709551616",
        r#""\u0061""#,
    ] {
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        check(&raw);
        check(&[&raw, &raw]);
        let mut out = Vec::new();
        assert_eq!(write(&raw, &mut out).unwrap(), !text.contains('\n'));
        assert_eq!(out, text.as_bytes());
    }
}

#[test]
fn what_has_no_json_form_is_refused() {
    struct Broken;
    impl Serialize for Broken {
        fn serialize<S: ser::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(S::Error::custom("broken"))
        }
    }
    check(&Broken);
    check(&(1, Broken));
    check(&BTreeMap::from([("a", Broken)]));
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_is_written_as_serde_json_does(value in any_value()) {
        check(&value);
    }
}
