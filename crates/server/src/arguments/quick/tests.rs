use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::*;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only decoding matters here")]
struct All {
    text: String,
    small: Option<u8>,
    whole: Option<i64>,
    share: Option<f32>,
    is_so: Option<bool>,
    letter: Option<char>,
    nothing: Option<()>,
    choice: Option<Choice>,
    pair: Option<(u8, String)>,
    list: Option<Vec<Wrapped>>,
    map: Option<BTreeMap<Wrapped, Value>>,
    choices: Option<BTreeMap<Choice, f64>>,
    numbers: Option<BTreeMap<u8, u8>>,
    raw: Option<Box<RawValue>>,
    large: Option<u128>,
    tagged: Option<Tagged>,
    within: Option<Box<Self>>,
}

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
enum Choice {
    One,
    Held(u8),
}

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Wrapped(String);

#[derive(Debug, Deserialize)]
#[serde(tag = "kind")]
#[expect(dead_code, reason = "only decoding matters here")]
enum Tagged {
    A { a: u8 },
    B { b: Vec<Value> },
}

/// What is read is what serde_json reads.
fn check<T: DeserializeOwned + Debug>(text: &str) -> bool {
    let Some(found) = read::<T>(text.as_bytes()) else {
        return false;
    };
    let expected = serde_json::from_str::<T>(text).expect(text);
    assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{text}");
    true
}

#[test]
fn what_is_usual_is_read() {
    let members = [
        r#""small":255"#,
        r#""small":null"#,
        r#""whole":-9223372036854775808"#,
        r#""share":0.1"#,
        r#""share":-1.5e-3"#,
        r#""share":7"#,
        r#""is_so":true,"letter":"\u00e9""#,
        r#""is_so":false,"nothing":null"#,
        r#""choice":"One""#,
        r#""pair":[1,"two"]"#,
        r#""list":[]"#,
        r#""list":["a","b\n","c"]"#,
        r#""map":{}"#,
        r#""map":{"a":[1,-2,3.5,true,null,{"b":"c"}],"\n":18446744073709551615}"#,
        r#""map":{"a":18446744073709551616,"b":-0,"c":0}"#,
        r#""choices":{"One":1e3}"#,
        r#""tagged":{"kind":"A","a":1}"#,
        r#""tagged":{"b":[{}],"kind":"B"}"#,
        r#""within":{"text":"","within":{"text":"deep"}}"#,
    ];
    for member in members {
        assert!(
            check::<All>(&format!(r#"{{"text":"a",{member}}}"#)),
            "{member}"
        );
        let spaced = member.replace(':', " :\n ").replace(',', "\t, ");
        assert!(
            check::<All>(&format!(" {{ {spaced}, \"text\":\"a\" }} ")),
            "{spaced}"
        );
        assert!(check::<Value>(&format!(r#"{{{member}}}"#)), "{member}");
    }
}

#[test]
fn what_is_rare_or_wrong_is_left_alone() {
    let texts = [
        "",
        "{}",
        "[]",
        r#"{"text":"a""#,
        r#"{"text":"a",}"#,
        r#"{"text":"a"} 1"#,
        r#"{"text":1}"#,
        r#"{"text":"\ud800"}"#,
        r#"{"text":"a","other":1}"#,
        r#"{"text":"a","text":"b"}"#,
        r#"{"text":"a","small":256}"#,
        r#"{"text":"a","small":1.0}"#,
        r#"{"text":"a","share":1e999}"#,
        r#"{"text":"a","is_so":"true"}"#,
        r#"{"text":"a","choice":{"Held":1}}"#,
        r#"{"text":"a","choice":"Held"}"#,
        r#"{"text":"a","pair":[1,"two",3]}"#,
        r#"{"text":"a","within":["a"]}"#,
        r#"{"text":"a","numbers":{"1":2}}"#,
        r#"{"text":"a","raw":[1]}"#,
        r#"{"text":"a","large":1}"#,
    ];
    for text in texts {
        assert!(read::<All>(text.as_bytes()).is_none(), "{text}");
    }
}

#[test]
fn depth_is_bounded_as_it_is_in_serde_json() {
    for depth in 120..135 {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let expected = serde_json::from_str::<Value>(&text).is_ok();
        assert_eq!(
            read::<Value>(text.as_bytes()).is_some(),
            expected,
            "{depth}"
        );
    }
}
