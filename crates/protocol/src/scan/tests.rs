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
fn a_text_that_is_cut_anywhere_is_told_to_end_too_early() {
    let text = br#"{"a":[-1.5e+3,0,true,null,"x\u00e9\n",{},[]],"b":""}"#;
    assert!(check(text).is_ok());
    for end in 0..text.len() {
        assert_eq!(check(&text[..end]), Err(Fault::Truncated), "at {end}");
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
fn hashes_of_names_differ() {
    fn check(names: impl Iterator<Item = Vec<u8>>) {
        let mut seen = std::collections::HashSet::new();
        for name in names {
            assert!(seen.insert(hash(&name)), "{}", name.escape_ascii());
        }
    }
    let pairs = || (0..=255u8).flat_map(|a| (0..=255u8).map(move |b| (a, b)));
    let single = (0..=255u8).map(|a| vec![a]);
    check(pairs().map(|(a, b)| vec![a, b]).chain(single));
    check((0..40).map(|length| vec![0; length]));
    for (first, second) in [(0, 1), (7, 15), (8, 16)] {
        check(pairs().map(|(a, b)| {
            let mut name = b"a name of three words".to_vec();
            (name[first], name[second]) = (a, b);
            name
        }));
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

#[test]
fn a_level_that_was_left_may_be_entered_again() {
    let bounds = Bounds { depth: 1, items: 9 };
    let mut scanner = Scanner::new(b"{}[][1]{}[]", bounds);
    assert_eq!(scanner.enter(b'{'), Ok(()));
    assert_eq!(scanner.next_name(true), Ok(false));
    assert_eq!(scanner.enter(b'['), Ok(()));
    assert_eq!(scanner.next_item(true), Ok(false));
    assert_eq!(scanner.enter(b'['), Ok(()));
    assert_eq!(scanner.next_item(true), Ok(true));
    assert_eq!(scanner.value(), Ok(5..6));
    assert_eq!(scanner.next_item(false), Ok(false));
    assert_eq!(scanner.enter(b'{'), Ok(()));
    assert!(scanner.guess_end());
    assert_eq!(scanner.enter(b'['), Ok(()));
}

#[test]
fn a_guess_takes_all_items_that_are_left_and_no_more() {
    let bounds = Bounds { depth: 0, items: 3 };
    let mut scanner = Scanner::new(b"123", bounds);
    assert!(scanner.guess(b"1"));
    assert!(!scanner.guess_all(b"2", 3));
    assert!(scanner.guess_all(b"2", 2));
    assert!(!scanner.guess(b"3"));
}

#[test]
fn a_number_is_guessed_in_its_plain_form() {
    let check = |text: &str, expected| {
        let mut scanner = Scanner::new(text.as_bytes(), BOUNDS);
        assert_eq!(scanner.guess_number(), expected, "{text}");
    };
    check("0", Some(0));
    check("7,", Some(7));
    check("10}", Some(10));
    check("12345678901234567", Some(12_345_678_901_234_567));
    check("123456789012345678", None);
    check("01", None);
    check("00", None);
    check("-1", None);
    check("", None);
}
