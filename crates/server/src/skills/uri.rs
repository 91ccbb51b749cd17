//! How the path of a file becomes its URI.
//!
//! Only this way round: a URI from a peer is looked up among those made here and
//! never becomes a path.
//!
//! Specification: SEP-2640 (resource mapping); RFC 3986 sections 3.2.2, 3.3.

/// The URI of what lies in the folder of skills under this name.
pub(super) fn of_first(name: &str) -> String {
    let mut uri = SCHEME.to_owned();
    // The first segment stands where a host name would: no colon, no at sign.
    push(&mut uri, name, "");
    uri
}

/// The URI of what lies under this name in the folder with this URI.
pub(super) fn of_child(folder: &str, name: &str) -> String {
    let mut uri = format!("{folder}/");
    push(&mut uri, name, ":@");
    uri
}

/// Appends a name, percent-encoded where a URI wants it.
///
/// What may stay does stay, so that a host which joins a relative path to the
/// skill's root arrives at the same URI.
fn push(uri: &mut String, name: &str, also: &str) {
    for byte in name.bytes() {
        let plain = char::from(byte);
        if plain.is_ascii_alphanumeric()
            || "-._~!$&'()*+,;=".contains(plain)
            || also.contains(plain)
        {
            uri.push(plain);
        } else {
            uri.push('%');
            for digit in [byte >> 4, byte & 15] {
                let digit = char::from_digit(u32::from(digit), 16).unwrap_or('0');
                uri.push(digit.to_ascii_uppercase());
            }
        }
    }
}

const SCHEME: &str = "skill://";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_where_a_uri_wants_it() {
        assert_eq!(of_first("a-b"), "skill://a-b");
        assert_eq!(of_first("a:b@c d"), "skill://a%3Ab%40c%20d");
        let root = of_first("a");
        assert_eq!(of_child(&root, "b c.md"), "skill://a/b%20c.md");
        assert_eq!(of_child(&root, "x(1)@2:3.md"), "skill://a/x(1)@2:3.md");
        assert_eq!(
            of_child(&root, "é%2F?#\\"),
            "skill://a/%C3%A9%252F%3F%23%5C"
        );
    }
}
