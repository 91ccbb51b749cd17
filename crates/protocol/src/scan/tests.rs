//! The walk accepts what serde_json accepts, and stays within its bounds.

use super::names::hash;
use super::*;

const BOUNDS: Bounds = Bounds {
    depth: 8,
    items: 100,
};

fn check(text: &[u8]) -> Result<Range<usize>, Fault> {
    let mut scanner = Scanner::new(text, BOUNDS);
    let span = scanner.value()?;
    scanner.end()?;
    Ok(span)
}

#[test]
fn what_serde_json_accepts_is_accepted_and_nothing_else() {
    let cases: &[&str] = &[
        "1",
        "-1",
        "0",
        "-0",
        "01",
        "1.",
        "1.5",
        ".5",
        "1e",
        "1e5",
        "1E+5",
        "1e-",
        "+1",
        "-",
        "true",
        "tru",
        "truex",
        "null",
        "nul",
        "\"\"",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u1234\"",
        "\"\u{7f}\"",
        "\"\t\"",
        "[]",
        "[1]",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{}",
        "{\"a\":1}",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1 \"b\":2}",
        "[{\"a\":[]},{}]",
        "[}",
        "{]",
        "[[]",
        "",
        " ",
        " 1 ",
        "1 1",
        "\"é€😀\"",
        "nan",
        "NaN",
        "{\"a\":{\"b\":[1,2,{\"c\":null}]}}",
        "\u{feff}1",
        "[1,\n\t2\r]",
        "1.0e+10",
        "- 1",
    ];
    for case in cases {
        let ours = check(case.as_bytes()).is_ok();
        let theirs = serde_json::from_str::<&serde_json::value::RawValue>(case).is_ok();
        assert_eq!(ours, theirs, "{case:?}");
    }
}

#[test]
fn every_single_byte_change_of_a_message_is_judged_as_serde_json_judges_it() {
    let text = br#"{"jsonrpc":"2.0","id":"a\u00e9\n","params":{"n":[1.5e3,-0,true,null,"lange Zeichenfolge, die weit ueber vierundsechzig Bytes reicht, \u20ac und so fort"],"e":{}}}"#;
    for at in 0..text.len() {
        for byte in 0..=255u8 {
            let mut changed = text.to_vec();
            changed[at] = byte;
            let ours = check(&changed).is_ok();
            let theirs = std::str::from_utf8(&changed).is_ok()
                && serde_json::from_slice::<&serde_json::value::RawValue>(&changed).is_ok();
            assert_eq!(ours, theirs, "byte {byte:#x} at {at}");
        }
    }
}

#[test]
fn utf8_is_judged_as_the_standard_library_judges_it() {
    for lead in 0x80..=0xFFu8 {
        for second in [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF] {
            for tail in [&[][..], &[0x80], &[0x80, 0x80], &[0xBF, 0xC0]] {
                let mut text = vec![b'"', lead, second];
                text.extend_from_slice(tail);
                text.push(b'"');
                let ours = check(&text).is_ok();
                let inner_ok = std::str::from_utf8(&text).is_ok() && !text.contains(&0);
                assert_eq!(ours, inner_ok, "{text:x?}");
            }
        }
    }
}

#[test]
fn of_a_long_string_the_first_fault_is_told() {
    let fault_of = |pieces: [&[u8]; 5]| check(&pieces.concat()).expect_err("it is wrong");
    for length in [0, 60, 63, 64, 65, 130, 200, 500, 600, 700, 1000, 1900] {
        let (before, after) = (b"x".repeat(length), b"y".repeat(600));
        for at in [length + 1, length + 3] {
            let escape: &[u8] = if at == length + 1 { b"" } else { b"\\n" };
            let with = |wrong| fault_of([b"\"", &before, escape, wrong, &after]);
            assert_eq!(with(b"\xff\n"), Fault::NotUtf8 { at });
            assert_eq!(with(b"\n\xff"), Fault::Unexpected { at });
            assert_eq!(with(b"\\x\xff"), Fault::Unexpected { at: at + 1 });
            assert_eq!(with(b"\\u00g0"), Fault::Unexpected { at: at + 4 });
            assert_eq!(with(b"\xc3\""), Fault::NotUtf8 { at });
            assert_eq!(with(b""), Fault::Truncated);
        }
    }
}

#[test]
fn depth_is_bounded_at_the_limit_exactly() {
    assert!(check(b"[[[[[[[[1]]]]]]]]").is_ok());
    assert_eq!(check(b"[[[[[[[[[1]]]]]]]]]"), Err(Fault::TooDeep));
    assert_eq!(
        check(&b"[".repeat(200_000)),
        Err(Fault::TooDeep),
        "no recursion, no overflow"
    );
}

#[test]
fn items_are_bounded() {
    let many = format!("[{}1]", "1,".repeat(200));
    assert_eq!(check(many.as_bytes()), Err(Fault::TooComplex));
}

#[test]
fn names_compare_after_their_escapes() {
    assert!(names(b"id", "id"));
    assert!(names(br"\u0069d", "id"));
    assert!(!names(b"ID", "id"));
    assert!(!names(br"\ud800", "id"));
    assert!(names(br"a\nb", "a\nb"));
    assert!(
        !names(br"a\nb", r"a\nb"),
        "the text of an escape is not its meaning"
    );
    assert!(names(br"a\\nb", r"a\nb"));
}

#[test]
fn a_second_name_is_seen_however_it_is_written() {
    let mut seen = SeenNames::default();
    for n in 0..100 {
        assert!(seen.insert(format!("name{n}").as_bytes(), false));
    }
    assert!(!seen.insert(b"name3", false));
    assert!(!seen.insert(br"nam\u00659", true));
    assert!(!seen.insert(b"name99", false));
    assert!(seen.insert(b"name", false));
}

#[test]
fn hashes_of_short_names_differ() {
    let mut seen = std::collections::HashSet::new();
    for a in 0..=255u8 {
        for b in 0..=255u8 {
            assert!(seen.insert(hash(&[a, b])));
        }
        assert!(seen.insert(hash(&[a])));
    }
}

#[test]
fn what_is_entered_counts_as_depth_too() {
    let bounds = Bounds { depth: 1, items: 9 };
    let mut scanner = Scanner::new(br#"{"a":{}}"#, bounds);
    assert_eq!(scanner.enter(b'{'), Ok(()));
    assert_eq!(scanner.next_name(true), Ok(true));
    assert_eq!(scanner.enter(b'{'), Err(Fault::TooDeep));
}
