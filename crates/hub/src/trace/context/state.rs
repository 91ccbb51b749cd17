//! What vendors add to a trace.
//!
//! Specification: W3C Trace Context level 1, tracestate header field values and limits.

use std::sync::Arc;

/// The list, if it is one, without what makes it too long.
pub(super) fn checked(text: &str) -> Option<Arc<str>> {
    if text.len() > LONGEST_READ {
        return None;
    }
    let mut members = Vec::new();
    for member in text.split(',') {
        let member = member.trim_matches([' ', '\t']);
        if member.is_empty() {
            continue;
        }
        let (key, value) = member.split_once('=')?;
        let is_known = members.iter().any(|(known, _)| *known == key);
        if !is_key(key) || !is_value(value) || is_known || members.len() == MOST {
            return None;
        }
        members.push((key, member));
    }
    shorten(&mut members);
    let texts: Vec<&str> = members.into_iter().map(|(_, member)| member).collect();
    (!texts.is_empty()).then(|| Arc::from(texts.join(",")))
}

/// First long members go, then the last ones.
fn shorten(members: &mut Vec<(&str, &str)>) {
    let length = |members: &[(&str, &str)]| -> usize {
        members.iter().map(|(_, member)| member.len() + 1).sum()
    };
    if length(members) > LONGEST + 1 {
        members.retain(|(_, member)| member.len() <= LONG);
    }
    while length(members) > LONGEST + 1 {
        members.pop();
    }
}

fn is_key(key: &str) -> bool {
    let is_rest = |rest: &str| rest.bytes().all(is_key_letter);
    let begins = |part: &str, may_begin: fn(&u8) -> bool| {
        part.as_bytes().first().is_some_and(may_begin) && is_rest(part)
    };
    match key.split_once('@') {
        None => key.len() <= 256 && begins(key, u8::is_ascii_lowercase),
        Some((tenant, system)) => {
            tenant.len() <= 241
                && system.len() <= 14
                && begins(tenant, |first| {
                    first.is_ascii_lowercase() || first.is_ascii_digit()
                })
                && begins(system, u8::is_ascii_lowercase)
        }
    }
}

const fn is_key_letter(letter: u8) -> bool {
    matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/')
}

fn is_value(value: &str) -> bool {
    // Blanks at its end were taken for those around it.
    (1..=256).contains(&value.len())
        && value
            .bytes()
            .all(|letter| matches!(letter, b' '..=b'~') && letter != b'=')
}

const MOST: usize = 32;
/// What everybody is to pass on at least.
const LONGEST: usize = 512;
const LONG: usize = 128;
/// As long as a list can be that is well formed.
const LONGEST_READ: usize = 32 * (256 + 1 + 256 + 1);

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(checked(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn a_list_is_passed_on_as_it_is() {
        for good in [
            "a=1",
            "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
            "tenant@vendor=x",
            "0tenant@vendor=x",
            "a_-*/9=!\"#$%&'()*+-./:;<>?@[]^_`{|}~",
        ] {
            check(good, Some(good));
        }
        check(" a=1 ,\t, b=2,", Some("a=1,b=2"));
        check("a= b", Some("a= b"));
    }

    #[test]
    fn what_is_no_list_is_left_out_as_a_whole() {
        for bad in [
            "",
            ",",
            "a",
            "a=",
            "=1",
            "A=1",
            "1a=1",
            "a b=1",
            "a=1,a=2",
            "a=ä",
            "a=1=2",
            "a=\u{7f}",
            "a=1\nb",
            "@v=1",
            "t@=1",
            "t@1v=1",
            "t@v@w=1",
            &format!("t@{}=1", "v".repeat(15)),
            &format!("{}=1", "k".repeat(257)),
            &format!("a={}", "v".repeat(257)),
        ] {
            check(bad, None);
        }
        let many: Vec<String> = (0..33).map(|number| format!("k{number}=1")).collect();
        check(&many.join(","), None);
        check(&many[..32].join(","), Some(&many[..32].join(",")));
        check(&"a=1,".repeat(10_000), None);
    }

    #[test]
    fn a_long_list_loses_long_members_first_and_then_the_last() {
        let long = format!("long={}", "x".repeat(200));
        let members: Vec<String> = (0..8)
            .map(|number| format!("k{number}={}", "x".repeat(60)))
            .collect();
        let text = format!("{long},{}", members.join(","));
        // Eight of 63 and the commas between them.
        check(&text, Some(&members.join(",")));
        let more = format!("{text},k8={}", "x".repeat(60));
        check(&more, Some(&members.join(",")));
        // What fits stays, however long its members are.
        check(&long, Some(&long));
    }
}
