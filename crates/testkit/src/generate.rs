//! Random messages, for property tests.
//!
//! They are made as text, because text is what a peer sends: white space, escapes
//! and odd numbers are part of it. Each strategy says what it may hold; all of it is
//! JSON, and names within one object differ, unless something else is said.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use switchboard_protocol::Method;
use switchboard_protocol::jsonrpc::{Frame, Limits, Message, RequestId};

/// Any JSON value as text: deep ones, odd numbers, escapes, white space of every kind.
///
/// Numbers may be out of the range of `f64` and strings may hold a lone surrogate.
pub fn json_text() -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        number_text(),
        string_text(),
        Just("\"\\ud800\"".to_owned()),
        deep_text(),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![array_of(inner.clone()), object_of(inner)]
    })
    .boxed()
}

/// A JSON object as text, with members as in [`json_text`].
pub fn object_text() -> BoxedStrategy<String> {
    object_of(json_text()).boxed()
}

/// A JSON string as text, any of its characters escaped or not. It has a meaning.
pub fn string_text() -> BoxedStrategy<String> {
    (any_string(), vec(any::<u8>(), 1..4))
        .prop_map(|(text, choices)| quoted(&text, &choices))
        .boxed()
}

/// A request id as text: integers of any length, strings in any spelling.
pub fn request_id_text() -> BoxedStrategy<String> {
    prop_oneof![
        4 => (-3_i64..100).prop_map(|number| number.to_string()),
        1 => any::<i64>().prop_map(|number| number.to_string()),
        1 => "-?[1-9][0-9]{18,40}",
        1 => Just("-0".to_owned()),
        4 => string_text(),
    ]
    .boxed()
}

/// A request id.
pub fn request_id() -> BoxedStrategy<RequestId> {
    request_id_text()
        .prop_filter_map("not an id", |text| RequestId::from_json(&text.into()).ok())
        .boxed()
}

/// A valid message as text: requests, notifications, results, errors with and without
/// an id, each with members in any order and some that JSON-RPC does not name.
pub fn message_text() -> BoxedStrategy<String> {
    let member = |name: &'static str, value: BoxedStrategy<String>| {
        value.prop_map(move |value| Some((name, value))).boxed()
    };
    let maybe = |name: &'static str, value: BoxedStrategy<String>| {
        proptest::option::of(value)
            .prop_map(move |value| value.map(|value| (name, value)))
            .boxed()
    };
    let id = || member("id", request_id_text());
    let method = || member("method", method_text());
    let params = || {
        let null = Just("null".to_owned()).boxed();
        maybe("params", prop_oneof![9 => object_text(), 1 => null].boxed())
    };
    let no_id = || maybe("id", Just("null".to_owned()).boxed());
    prop_oneof![
        message_of(vec![id(), method(), params()]),
        message_of(vec![method(), params()]),
        message_of(vec![id(), member("result", json_text())]),
        message_of(vec![id(), member("error", error_text())]),
        message_of(vec![no_id(), member("error", error_text())]),
    ]
    .boxed()
}

/// A valid message.
pub fn message() -> BoxedStrategy<Message> {
    message_text()
        .prop_filter_map("not a message", |text| {
            match Frame::read(&text.into(), &Limits::default()) {
                Ok(Frame::Single(message)) => Some(message),
                _ => None,
            }
        })
        .boxed()
}

/// A batch of one to four entries as text, each valid or as in [`odd_message_text`].
pub fn batch_text() -> BoxedStrategy<String> {
    let entry = prop_oneof![3 => message_text(), 1 => odd_message_text()];
    (vec(entry, 1..5), space())
        .prop_map(|(entries, space)| format!("[{space}{}{space}]", entries.join(",")))
        .boxed()
}

/// Something like a message as text: an object whose members of JSON-RPC come and go and
/// hold what they should or anything else.
///
/// All of it is within what `serde_json::Value` can hold, and so is its meaning:
/// integers fit into 64 bits.
pub fn odd_message_text() -> BoxedStrategy<String> {
    fn odd(name: &'static str, values: &[&str]) -> BoxedStrategy<Option<(&'static str, String)>> {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        proptest::option::of(proptest::sample::select(values))
            .prop_map(move |value| value.map(|value| (name, value)))
            .boxed()
    }
    let version = prop_oneof![
        8 => Just("\"2.0\""),
        1 => Just("\"2\\u002e0\""),
        1 => Just("\"1.0\""),
        1 => Just("2.0"),
    ];
    let members = (
        proptest::option::weighted(0.95, version),
        odd("id", IDS),
        odd("method", &["\"ping\"", "\"a\\u0062\"", "\"\"", "7", "null"]),
        odd("params", &["{}", "{\"a\":[1]}", "null", "[]", "3"]),
        proptest::option::weighted(0.2, odd("result", &["{}", "null", "[]", "\"x\""])),
        proptest::option::weighted(0.3, odd("error", ERRORS)),
        extra_members(),
        any::<u64>(),
        space(),
    );
    members
        .prop_map(
            |(version, id, method, params, result, error, extra, order, space)| {
                let known = [id, method, params, result.flatten(), error.flatten()];
                let mut all: Vec<(String, String)> = known
                    .into_iter()
                    .flatten()
                    .map(|(name, value)| (format!("\"{name}\""), value))
                    .collect();
                all.extend(version.map(|text| ("\"jsonrpc\"".to_owned(), text.to_owned())));
                all.extend(extra);
                join_members(all, order, &space)
            },
        )
        .boxed()
}

fn method_text() -> BoxedStrategy<String> {
    let known: Vec<&str> = Method::table().iter().map(|rule| rule.name).collect();
    prop_oneof![
        (proptest::sample::select(known), vec(any::<u8>(), 1..3))
            .prop_map(|(name, choices)| quoted(name, &choices)),
        string_text(),
    ]
    .boxed()
}

fn error_text() -> BoxedStrategy<String> {
    let code = prop_oneof![(-33_000_i64..-31_000), any::<i64>()];
    let parts = (
        code,
        string_text(),
        proptest::option::of(json_text()),
        extra_members(),
        any::<u64>(),
        space(),
    );
    parts
        .prop_map(|(code, message, data, extra, order, space)| {
            let mut all = vec![
                ("\"code\"".to_owned(), code.to_string()),
                ("\"message\"".to_owned(), message),
            ];
            all.extend(data.map(|data| ("\"data\"".to_owned(), data)));
            all.extend(extra);
            join_members(all, order, &space)
        })
        .boxed()
}

/// A message of these members and a few unknown ones, in any order.
fn message_of(
    members: Vec<BoxedStrategy<Option<(&'static str, String)>>>,
) -> impl Strategy<Value = String> {
    let parts = (
        members,
        extra_members(),
        any::<u64>(),
        vec(any::<u8>(), 1..4),
        space(),
    );
    parts.prop_map(|(members, extra, order, choices, space)| {
        let mut all = vec![("\"jsonrpc\"".to_owned(), "\"2.0\"".to_owned())];
        let known = members.into_iter().flatten();
        all.extend(known.map(|(name, value)| (quoted(name, &choices), value)));
        all.extend(extra);
        join_members(all, order, &space)
    })
}

fn extra_members() -> impl Strategy<Value = Vec<(String, String)>> {
    // The prefix keeps them apart from every name that has a meaning.
    let value = prop_oneof![3 => Just("1".to_owned()), 1 => string_text(), 1 => Just("[ {\n} ]".to_owned())];
    let names = btree_map("x-[a-c\u{e9}]{0,2}", value, 0..3);
    (names, vec(any::<u8>(), 1..3)).prop_map(|(members, choices)| {
        let members = members.into_iter();
        members
            .map(|(name, value)| (quoted(&name, &choices), value))
            .collect()
    })
}

fn join_members(mut members: Vec<(String, String)>, order: u64, space: &str) -> String {
    let mut rest = order;
    for end in (1..members.len()).rev() {
        members.swap(end, (rest % (end as u64 + 1)) as usize);
        rest /= 7;
    }
    let members: Vec<String> = members
        .into_iter()
        .map(|(name, value)| format!("{name}{space}:{space}{value}"))
        .collect();
    format!("{{{space}{}{space}}}", members.join(","))
}

fn array_of(item: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (vec(item, 0..4), space())
        .prop_map(|(items, space)| format!("[{space}{}]", items.join(&format!("{space},"))))
}

fn object_of(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let members = btree_map(any_string(), value, 0..4);
    (members, vec(any::<u8>(), 1..3), any::<u64>(), space()).prop_map(
        |(members, choices, order, space)| {
            let members = members.into_iter();
            let members = members.map(|(name, value)| (quoted(&name, &choices), value));
            join_members(members.collect(), order, &space)
        },
    )
}

fn number_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
        proptest::sample::select(vec!["-0", "1e400", "-1E+400", "0.0000", "1.0", "1e-999"])
            .prop_map(str::to_owned),
    ]
}

/// Far down, but within every limit of what is put around it.
fn deep_text() -> impl Strategy<Value = String> {
    (1_usize..90).prop_map(|depth| "[".repeat(depth) + &"]".repeat(depth))
}

fn any_string() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z_]{0,12}",
        2 => "[ -~]{0,40}",
        1 => any::<String>(),
        1 => Just("_meta".to_owned()),
        1 => "[\u{0}-\u{1f}\"\\\\/\u{7f}\u{e9}\u{2028}\u{fffd}\u{1F600}]{0,8}",
    ]
}

fn space() -> impl Strategy<Value = String> {
    prop_oneof![6 => Just(String::new()), 1 => "[ \t]{1,3}", 1 => "[ \t\r\n]{1,3}"]
}

/// The text as a JSON string. The choices say which characters are escaped that need not be.
fn quoted(text: &str, choices: &[u8]) -> String {
    let mut out = String::from("\"");
    for (character, choice) in text.chars().zip(choices.iter().cycle()) {
        match (character, choice % 8) {
            ('\n', 1..) => out.push_str("\\n"),
            ('"' | '\\', 1..) => {
                out.push('\\');
                out.push(character);
            }
            ('/', 1 | 2) => out.push_str("\\/"),
            ('\0'..' ' | '"' | '\\', _) | (_, 0) => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.push_str(&if choice % 3 == 0 {
                        format!("\\u{unit:04X}")
                    } else {
                        format!("\\u{unit:04x}")
                    });
                }
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

const IDS: &[&str] = &[
    "1",
    "-7",
    "18446744073709551615",
    "\"a\"",
    "\"\\u0031\"",
    "\"\"",
    "null",
    "1.0",
    "1e2",
    "true",
    "{}",
    "[1]",
];

const ERRORS: &[&str] = &[
    r#"{"code":-1,"message":"no"}"#,
    r#"{"message":"n\u006f","code":1,"data":[null]}"#,
    r#"{"code":1.0,"message":"no"}"#,
    r#"{"code":"1","message":"no"}"#,
    r#"{"code":1}"#,
    r#"{"code":1,"message":null}"#,
    r#"{"code":18446744073709551615,"message":""}"#,
    "{}",
    "null",
    "\"no\"",
    "[]",
];
