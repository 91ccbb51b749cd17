//! What a caller wants every system to know.
//!
//! Specification: W3C Baggage, header content and limits.

use std::sync::Arc;

/// The list, if it is one and not longer than everybody has to take.
pub(super) fn checked(text: &str) -> Option<Arc<str>> {
    let is_good =
        text.len() <= LONGEST && text.split(',').count() <= MOST && text.split(',').all(is_member);
    is_good.then(|| Arc::from(text))
}

/// A key and a value, and properties that may be keys alone.
fn is_member(member: &str) -> bool {
    let mut parts = member.split(';').map(|part| match part.split_once('=') {
        Some((key, value)) => (trim(key), Some(trim(value))),
        None => (trim(part), None),
    });
    let Some((key, Some(value))) = parts.next() else {
        return false;
    };
    is_key(key)
        && is_value(value)
        && parts.all(|(key, value)| is_key(key) && value.is_none_or(is_value))
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

fn is_key(key: &str) -> bool {
    let is_letter =
        |letter: u8| letter.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&letter);
    !key.is_empty() && key.bytes().all(is_letter)
}

fn is_value(value: &str) -> bool {
    value
        .bytes()
        .all(|letter| letter.is_ascii_graphic() && !b"\",;\\".contains(&letter))
}

const LONGEST: usize = 8192;
const MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_passed_on_as_it_is() {
        for good in [
            "userId=alice",
            "userId=alice,serverNode=DF%2028,isProduction=false",
            "key1=value1;property1;property2, key2 = value2, key3=value3; p = v",
            "a=",
            "a=b=c",
        ] {
            assert_eq!(checked(good).as_deref(), Some(good));
        }
    }

    #[test]
    fn what_is_no_list_or_too_long_is_left_out() {
        for bad in [
            "",
            "a",
            "=a",
            "a=1,",
            "a=b c",
            "a=ä",
            "a=\"b\"",
            "a b=1",
            "a=1;",
            "a=1\n",
            &format!("a={}", "x".repeat(8200)),
            &["a=1"; 65].join(","),
        ] {
            assert_eq!(checked(bad), None, "{bad}");
        }
        assert!(checked(&["a=1"; 64].join(",")).is_some());
    }
}
