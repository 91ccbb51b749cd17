use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::prelude::*;
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
        r#""map":{"a":-0.0,"b":1E2,"c":0,"d":-1}"#,
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
        r#"{"text":"a","share":1e39}"#,
        r#"{"text":"a","share":-0}"#,
        r#"{"text":"a","map":{"a":18446744073709551616}}"#,
        r#"{"text":"a","map":{"a":-9223372036854775809}}"#,
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
fn a_number_is_rounded_once() {
    // A little above the middle of two of single precision, which a double does not tell.
    let text = "1.000000059604644775390625000000000001";
    assert_eq!(read::<f32>(text.as_bytes()), Some(1.000_000_1));
    assert!(check::<f32>(text));
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

/// Types that are read from buffers, and members that nobody knows.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "only decoding matters here")]
struct Loose {
    text: Option<String>,
    share: Option<f64>,
    either: Option<Either>,
    #[serde(default)]
    within: Vec<Self>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "only decoding matters here")]
enum Either {
    Nothing(()),
    Whole(i64),
    Single(f32),
    Text(String),
    Pair(u8, Option<Box<Self>>),
    Held { held: Option<Tagged> },
}

/// Numbers in all their forms, those beside which a type ends more often than others.
fn number() -> impl Strategy<Value = String> {
    let limits = [
        "0",
        "-0",
        "-0.0",
        "-0e5",
        "127",
        "128",
        "-129",
        "255",
        "256",
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551615.0",
        "340282346638528859811704183484516925440",
        "3.4028235677973366e38",
        "3.4028235e38",
        "1.401298464324817e-45",
        "7.006492321624085e-46",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "4.9e-324",
        "2.4e-324",
        "1e999",
        "1e-999",
        "0e99999999999999999999",
        "1E+2",
    ];
    // In the middle of two of single precision, and a little beside it.
    let middle =
        (any::<f32>(), prop::sample::select(vec!["", "1", "0001"])).prop_map(|(number, beside)| {
            let next = f32::from_bits(number.to_bits() ^ 1);
            let middle = f64::midpoint(number.into(), next.into());
            match middle.is_finite() {
                true => format!("{middle:.160}{beside}"),
                false => "0.5".to_owned(),
            }
        });
    prop_oneof![
        4 => prop::sample::select(limits.to_vec()).prop_map(str::to_owned),
        2 => any::<i64>().prop_map(|number| number.to_string()),
        2 => any::<f64>().prop_filter_map("finite", |number| {
            number.is_finite().then(|| format!("{number:e}"))
        }),
        2 => middle,
        3 => "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,24})?([eE][+-]?[0-9]{1,3})?",
    ]
}

/// Strings with all kinds of escapes, and halves of surrogate pairs.
fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zA-Z0-9 é€😀/']{0,12}",
        1 => prop::sample::select(vec![
            r"\n", r"\/", r#"\""#, r"\\", r"\u00e9", r"\u0000", r"\ud83d\ude00", r"\ud83d", r"\ude00",
        ]).prop_map(str::to_owned),
    ];
    prop_oneof![
        1 => prop::sample::select(vec!["", "One", "Held", "A", "B", "kind"]).prop_map(str::to_owned),
        2 => prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat()),
    ]
    .prop_map(|inner| format!("\"{inner}\""))
}

/// What stands between two items.
fn comma() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![",", ",", ", ", " ,\n\t"])
}

fn list_of(items: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (prop::collection::vec(items, 0..4), comma())
        .prop_map(|(items, comma)| format!("[{}]", items.join(comma)))
}

fn object_of(members: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (prop::collection::vec(members, 0..5), comma())
        .prop_map(|(members, comma)| format!("{{{}}}", members.join(comma)))
}

/// Any value.
fn value() -> impl Strategy<Value = String> {
    let plain = prop_oneof![
        3 => number(),
        2 => string(),
        1 => prop::sample::select(vec!["null", "true", "false", "[]", "{}"]).prop_map(str::to_owned),
    ];
    plain.prop_recursive(4, 24, 4, |inner| {
        let member = (string(), inner.clone()).prop_map(|(name, value)| format!("{name}:{value}"));
        prop_oneof![list_of(inner), object_of(member)]
    })
}

/// A member that a type knows, mostly with a value that fits.
fn known() -> impl Strategy<Value = String> {
    let tagged = prop_oneof![
        (number(), any::<bool>()).prop_map(|(number, is_first)| match is_first {
            true => format!(r#"{{"kind":"A","a":{number}}}"#),
            false => format!(r#"{{"a":{number} ,"kind":"A"}}"#),
        }),
        list_of(value()).prop_map(|list| format!(r#"{{"kind":"B","b":{list}}}"#)),
    ]
    .boxed();
    let choice = prop_oneof![
        Just(r#""One""#.to_owned()),
        Just(r#"{"One":null}"#.to_owned()),
        Just(r#""\u004fne""#.to_owned()),
        number().prop_map(|number| format!(r#"{{"Held":{number}}}"#)),
        string(),
    ];
    let either = prop_oneof![
        number(),
        (number(), number()).prop_map(|(one, other)| format!("[{one},[{other},null]]")),
        tagged
            .clone()
            .prop_map(|tagged| format!(r#"{{"held":{tagged}}}"#)),
        value(),
    ];
    let entries = |value: BoxedStrategy<String>| {
        object_of((string(), value).prop_map(|(name, value)| format!("{name}:{value}")))
    };
    let fitting = prop_oneof![
        string().prop_map(|text| ("text", text)),
        number().prop_map(|number| ("small", number)),
        number().prop_map(|number| ("whole", number)),
        number().prop_map(|number| ("share", number)),
        string().prop_map(|text| ("letter", text)),
        choice.prop_map(|choice| ("choice", choice)),
        either.prop_map(|either| ("either", either)),
        (number(), string()).prop_map(|(one, two)| ("pair", format!("[{one} , {two}]"))),
        list_of(string()).prop_map(|list| ("list", list)),
        entries(value().boxed()).prop_map(|map| ("map", map)),
        entries(number().boxed()).prop_map(|map| ("choices", map)),
        entries(number().boxed()).prop_map(|map| ("numbers", map)),
        value().prop_map(|value| ("raw", value)),
        number().prop_map(|number| ("large", number)),
        tagged.prop_map(|tagged| ("tagged", tagged)),
    ];
    let names = ["is_so", "nothing", "within", "other", "text"];
    let any_name = prop::sample::select(names.to_vec());
    prop_oneof![
        8 => fitting,
        1 => (any_name, value()),
    ]
    .prop_map(|(name, value)| format!(r#""{name}":{value}"#))
}

/// Arguments with known members, some twice, some not at all, some within others.
fn arguments() -> impl Strategy<Value = String> {
    object_of(known()).prop_recursive(3, 12, 3, |inner| {
        let within = prop_oneof![
            inner
                .clone()
                .prop_map(|inner| format!(r#""within":{inner}"#)),
            list_of(inner).prop_map(|list| format!(r#""within":{list}"#)),
            Just(r#""text":"a""#.to_owned()),
            known(),
        ];
        object_of(within)
    })
}

proptest! {
    #[test]
    fn any_arguments_are_read_as_serde_json_reads_them(text in arguments()) {
        check::<All>(&text);
        check::<Loose>(&text);
        check::<Value>(&text);
        if let Some(rest) = text.strip_prefix('{') {
            let comma = if rest == "}" { "" } else { "," };
            check::<All>(&format!(r#"{{"text":"a"{comma}{rest}"#));
        }
    }

    #[test]
    fn any_value_is_read_as_serde_json_reads_it(text in value()) {
        check::<Value>(&text);
        check::<Option<Either>>(&text);
        check::<Option<Choice>>(&text);
        check::<Vec<Option<f32>>>(&text);
        check::<BTreeMap<String, Option<f64>>>(&text);
    }

    #[test]
    fn any_number_is_read_as_serde_json_reads_it(text in number()) {
        check::<Value>(&text);
        check::<Either>(&text);
        check::<(f32, f64, Option<f32>)>(&format!("[{text},{text} , {text}]"));
        check::<f32>(&text);
        check::<f64>(&text);
        check::<u64>(&text);
        check::<i64>(&text);
        check::<u8>(&text);
        check::<i8>(&text);
    }

    #[test]
    fn any_string_is_read_as_serde_json_reads_it(text in string()) {
        check::<String>(&text);
        check::<char>(&text);
        check::<Choice>(&text);
        check::<Either>(&text);
    }
}
