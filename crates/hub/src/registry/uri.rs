//! URIs with the name of their server in front.
//!
//! `server+file:///a` is `file:///a` of that server; `ui://server+view` is `ui://view` of it,
//! because hosts know user interfaces by their scheme. A URI is wrapped like this where
//! two servers have the same one, and where it already looks wrapped: then what looks wrapped
//! always is, and unwrapping needs no table. When it happens is decided in `member.rs` and
//! `catalog.rs`.
//!
//! The name of a server is written in the letters that a scheme may have and that nobody who
//! normalises a URI changes. Others are written as `.` and two digits for every byte, so
//! that two servers never look alike.
//!
//! Specification: RFC 3986, 3.1; MCP Apps (`ui://`).

use std::fmt::Write as _;

/// The URI, with its server in front.
pub(crate) fn wrap(server: &str, uri: &str) -> String {
    let label = label(server);
    match uri.strip_prefix(UI) {
        Some(rest) => format!("{UI}{label}+{rest}"),
        None => format!("{label}+{uri}"),
    }
}

/// The server that stands in front of a URI, and the URI as that server calls it.
pub(crate) fn unwrap(uri: &str) -> Option<(String, String)> {
    let (head, rest) = split(uri)?;
    let server = server(head)?;
    if uri.starts_with(UI) {
        return Some((server, format!("{UI}{rest}")));
    }
    Some((server, rest.to_owned()))
}

/// Would it be taken for one with a server in front?
pub(crate) fn looks_wrapped(uri: &str) -> bool {
    split(uri).is_some()
}

/// What stands before the first plus, if it can be the name of a server, and what stands behind.
fn split(uri: &str) -> Option<(&str, &str)> {
    let inner = uri.strip_prefix(UI).unwrap_or(uri);
    let (head, rest) = inner.split_once('+')?;
    let is_label = head.starts_with(|letter: char| letter.is_ascii_lowercase())
        && head.bytes().all(|byte| is_plain(byte) || byte == b'.');
    is_label.then_some((head, rest))
}

/// The name of a server as it stands in URIs.
fn label(server: &str) -> String {
    let mut label = String::with_capacity(server.len());
    for byte in server.bytes() {
        if is_plain(byte) {
            label.push(byte.into());
        } else {
            // Writing to a string cannot fail.
            let _ = write!(label, ".{byte:02x}");
        }
    }
    // A scheme begins with a letter. Two points never stand together otherwise.
    if !label.starts_with(|letter: char| letter.is_ascii_lowercase()) {
        label.insert_str(0, START);
    }
    label
}

/// The way back from the label; none for what [`label`] does not write.
fn server(written: &str) -> Option<String> {
    let mut name = Vec::with_capacity(written.len());
    let mut bytes = written.strip_prefix(START).unwrap_or(written).bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'.' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let value = digit(bytes.next())? << 4 | digit(bytes.next())?;
            name.push(u8::try_from(value).ok()?);
        } else {
            name.push(byte);
        }
    }
    let name = String::from_utf8(name).ok()?;
    (label(&name) == written).then_some(name)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

const UI: &str = "ui://";

const START: &str = "s..";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_server_stands_in_front() {
        let check = |server, uri, expected: &str| {
            assert_eq!(wrap(server, uri), expected);
            let (found, original) = unwrap(expected).unwrap();
            assert_eq!((found.as_str(), original.as_str()), (server, uri));
        };
        check("github", "file:///a", "github+file:///a");
        check("github", "ui://view/x", "ui://github+view/x");
        check("github", "ui:///x", "ui://github+/x");
        check("github", "git+ssh://x", "github+git+ssh://x");
        check("my_server", "x:y", "my.5fserver+x:y");
        check("GitHub", "x:y", "s...47it.48ub+x:y");
        check("1", "x:y", "s..1+x:y");
        check("", "", "s..+");
        check("a", "file:///{+path}", "a+file:///{+path}");
    }

    #[test]
    fn what_no_server_could_have_written_is_left_alone() {
        for uri in [
            "file:///a+b",
            "File+x:y",
            "+x",
            "a b+c",
            "ui:view+x",
            "mailto:a+b@c",
            "",
        ] {
            assert_eq!(unwrap(uri), None, "{uri}");
        }
        // Looks wrapped, and is not: no server is written like that.
        for uri in ["a.zz+x", "s..abc+x", "a.61+x", "a.ff+x", "a.+x"] {
            assert!(looks_wrapped(uri), "{uri}");
            assert_eq!(unwrap(uri), None, "{uri}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_wrapped_can_be_unwrapped(
            server in prop_oneof![any::<String>(), "[a-z.+_0-9-]{0,12}"],
            uri in prop_oneof![any::<String>(), "(ui://)?[a-z.+_0-9-]{0,12}"],
        ) {
            let wrapped = wrap(&server, &uri);
            prop_assert!(looks_wrapped(&wrapped));
            prop_assert_eq!(unwrap(&wrapped), Some((server, uri)));
        }

        #[test]
        fn unwrapping_anything_is_harmless(uri in any::<String>()) {
            if let Some((server, inner)) = unwrap(&uri) {
                prop_assert_eq!(wrap(&server, &inner), uri);
            }
        }
    }
}
