//! URIs that a peer names, kept to the origin it was reached at.
//!
//! A server may say "post there" or "go there". What is sent carries credentials,
//! so "there" must have the same scheme, host and port.
//!
//! Specification: RFC 3986, section 5.2 (resolution), RFC 6454 (origin).

use std::fmt;

use http::Uri;
use http::uri::{Authority, Scheme};

use super::excerpt;

/// Resolves a reference against the URI it came from and checks the origin.
///
/// # Errors
/// When it is no URI reference, is not `http` or `https`, or has another origin.
pub fn resolve_same_origin(base: &Uri, reference: &str) -> Result<Uri, ReferenceError> {
    let resolved = resolve(base, reference)?;
    if is_same_origin(base, &resolved) {
        Ok(resolved)
    } else {
        Err(ReferenceError::OtherOrigin(shown(reference)))
    }
}

/// Have two URIs the same scheme, host and port? One without a host has no origin.
pub fn is_same_origin(one: &Uri, other: &Uri) -> bool {
    match (origin(one), origin(other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

/// Why a URI that a peer named is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReferenceError {
    /// It is not a URI reference.
    Malformed(String),
    /// It is neither `http` nor `https`.
    Scheme(String),
    /// It leads to another scheme, host or port.
    OtherOrigin(String),
}

impl fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(text) => write!(f, "{text:?} is not a URI reference"),
            Self::Scheme(text) => write!(f, "{text:?} is neither http nor https"),
            Self::OtherOrigin(text) => write!(f, "{text:?} leads to another origin"),
        }
    }
}

impl std::error::Error for ReferenceError {}

/// A query may hold a secret: the id of a session, a token.
fn shown(reference: &str) -> String {
    excerpt(reference.split(['?', '#']).next().unwrap_or_default())
}

fn resolve(base: &Uri, reference: &str) -> Result<Uri, ReferenceError> {
    let malformed = || ReferenceError::Malformed(shown(reference));
    // Browsers read a backslash as a slash and drop control characters, so that a
    // reference which has them means different places to different readers.
    let is_clean = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    if !reference.bytes().all(is_clean) {
        return Err(malformed());
    }
    let (Some(scheme), Some(authority)) = (base.scheme_str(), base.authority()) else {
        return Err(malformed());
    };
    let reference_text = reference.split('#').next().unwrap_or_default();
    let absolute = if let Some(named) = scheme_of(reference_text) {
        if !named.eq_ignore_ascii_case("http") && !named.eq_ignore_ascii_case("https") {
            return Err(ReferenceError::Scheme(shown(reference)));
        }
        reference_text.to_owned()
    } else if reference_text.starts_with("//") {
        format!("{scheme}:{reference_text}")
    } else {
        let path = resolve_path(base, reference_text);
        format!("{scheme}://{authority}{path}")
    };
    let uri: Uri = absolute.parse().map_err(|_| malformed())?;
    let has_user = |authority: &Authority| authority.as_str().contains('@');
    match uri.authority() {
        // Credentials in a URI would be sent along, or hide the host from a reader.
        Some(authority) if !has_user(authority) => Ok(uri),
        // Those of the base are the caller's own.
        Some(own) if Some(own) == base.authority() => Ok(uri),
        _ => Err(malformed()),
    }
}

/// The path and query of a relative reference.
fn resolve_path(base: &Uri, reference: &str) -> String {
    let (path, query) = match reference.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (reference, None),
    };
    let base_path = base.path();
    let (mut resolved, query) = if path.is_empty() {
        (base_path.to_owned(), query.or(base.query()))
    } else if path.starts_with('/') {
        (without_dots(path), query)
    } else {
        let folder = base_path.rsplit_once('/').map_or("", |(folder, _)| folder);
        (without_dots(&format!("{folder}/{path}")), query)
    };
    if let Some(query) = query {
        resolved.push('?');
        resolved.push_str(query);
    }
    resolved
}

/// Applies `.` and `..`; above the root is the root.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut ends_in_folder = false;
    for segment in path.trim_start_matches('/').split('/') {
        ends_in_folder = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            name => kept.push(name),
        }
    }
    let mut resolved = String::from("/");
    resolved.push_str(&kept.join("/"));
    if ends_in_folder && !kept.is_empty() {
        resolved.push('/');
    }
    resolved
}

fn scheme_of(reference: &str) -> Option<&str> {
    let (scheme, _) = reference.split_once(':')?;
    let mut bytes = scheme.bytes();
    let starts = bytes.next()?.is_ascii_alphabetic();
    let goes_on = bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    (starts && goes_on).then_some(scheme)
}

fn origin(uri: &Uri) -> Option<(&str, String, u16)> {
    let scheme = uri.scheme()?;
    let standard = match uri.scheme() {
        Some(scheme) if *scheme == Scheme::HTTP => 80,
        Some(scheme) if *scheme == Scheme::HTTPS => 443,
        _ => return None,
    };
    let authority = uri.authority()?;
    let host = authority.host();
    let text = authority.as_str();
    let place = text.rsplit_once('@').map_or(text, |(_, place)| place);
    // `http` lets `[::1]x:80` and `host:99999` pass; whoever connects may read them otherwise.
    let port = match place.strip_prefix(host)?.strip_prefix(':') {
        None if place.len() > host.len() => return None,
        None | Some("") => standard,
        Some(port) => read_port(port.as_bytes())?,
    };
    (!host.is_empty()).then(|| (scheme.as_str(), host.to_ascii_lowercase(), port))
}

/// The port that digits say. A sign, which Rust would read, is none.
pub(super) fn read_port(digits: &[u8]) -> Option<u16> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u16, |port, digit| match digit {
        b'0'..=b'9' => port.checked_mul(10)?.checked_add(u16::from(digit - b'0')),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn resolved(base: &str, reference: &str) -> Result<String, ReferenceError> {
        resolve_same_origin(&base.parse().unwrap(), reference).map(|uri| uri.to_string())
    }

    fn check(reference: &str, expected: &str) {
        let found = resolved("http://host:8080/a/sse?x=1", reference);
        assert_eq!(found.as_deref(), Ok(expected), "{reference}");
    }

    #[test]
    fn relative_references_resolve_against_the_base() {
        check(
            "/messages?sessionId=1",
            "http://host:8080/messages?sessionId=1",
        );
        check("messages", "http://host:8080/a/messages");
        check("./messages", "http://host:8080/a/messages");
        check("../messages", "http://host:8080/messages");
        check("../../../m", "http://host:8080/m");
        check("b/..", "http://host:8080/a/");
        check("?s=1", "http://host:8080/a/sse?s=1");
        check("", "http://host:8080/a/sse?x=1");
        check("/m#part", "http://host:8080/m");
        check(
            "/m?next=http://other/",
            "http://host:8080/m?next=http://other/",
        );
        check("m/a:b", "http://host:8080/a/m/a:b");
        check("//host:8080/m", "http://host:8080/m");
        check("http://HOST:8080/m", "http://HOST:8080/m");
    }

    #[test]
    fn the_standard_port_may_be_left_out() {
        assert!(resolved("https://host/sse", "https://host:443/m").is_ok());
        assert!(resolved("http://host:80/sse", "http://host/m").is_ok());
        assert!(resolved("http://[::1]:80/sse", "http://[::1]/m").is_ok());
        assert!(resolved("http://host/sse", "http://host:/m").is_ok());
    }

    #[test]
    fn what_is_no_port_is_not_the_standard_one() {
        assert!(resolved("http://host/sse", "http://host:99999/m").is_err());
        assert!(resolved("http://[::1]/sse", "http://[::1]:99999/m").is_err());
        assert!(resolved("http://[::1]/sse", "http://[::1]x:80/m").is_err());
        assert!(resolved("http://[::1]/sse", "http://[::1]x/m").is_err());
        assert!(resolved("http://host/sse", "http://host:+80/m").is_err());
        assert!(resolved("http://host:99999/sse", "/m").is_err());
    }

    #[test]
    fn another_origin_is_refused() {
        for reference in [
            "http://evil.example/m",
            "//evil.example/m",
            "https://host:8080/m",
            "http://host/m",
            "http://host:8081/m",
            "http://host.evil.example:8080/m",
            "http://sub.host:8080/m",
        ] {
            let found = resolved("http://host:8080/sse", reference);
            assert!(
                matches!(found, Err(ReferenceError::OtherOrigin(_))),
                "{reference}"
            );
        }
    }

    #[test]
    fn only_the_two_schemes_have_an_origin() {
        for (uri, has_origin) in [
            ("http://host/", true),
            ("https://host/", true),
            ("ftp://host/", false),
            ("ws://host:80/", false),
        ] {
            let uri: Uri = uri.parse().unwrap();
            assert_eq!(is_same_origin(&uri, &uri), has_origin, "{uri}");
        }
    }

    #[test]
    fn credentials_of_the_caller_stay() {
        let found = resolved("http://user:word@host/sse", "/m").unwrap();
        assert_eq!(found, "http://user:word@host/m");
    }

    #[test]
    fn what_is_not_used_is_named_with_the_reason() {
        for (reference, expected) in [
            ("/a b", "\"/a b\" is not a URI reference"),
            ("ftp://host/m", "\"ftp://host/m\" is neither http nor https"),
            (
                "http://other/m",
                "\"http://other/m\" leads to another origin",
            ),
        ] {
            let error = resolved("http://host/sse", reference).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn other_schemes_are_refused() {
        for reference in [
            "file:///etc/passwd",
            "ftp://host/m",
            "javascript:1",
            "data:,x",
            "ws://host:8080/",
        ] {
            let found = resolved("http://host:8080/sse", reference);
            assert!(
                matches!(found, Err(ReferenceError::Scheme(_))),
                "{reference}"
            );
        }
    }

    #[test]
    fn what_readers_understand_differently_is_refused() {
        for reference in [
            "/\\evil.example/m",
            "\\\\evil.example/m",
            "/m\r\nHost: evil",
            "/m m",
            "/\0",
            "/é",
            "http://user@host:8080/m",
            "http://host:8080@evil.example/m",
            "http:",
            "http:m",
            "http:///m",
        ] {
            assert!(
                resolved("http://host:8080/sse", reference).is_err(),
                "{reference:?}"
            );
        }
        assert!(resolved("/no/host", "/m").is_err());
        assert!(resolved("http://:80/no/host", "/m").is_err());
    }

    proptest! {
        #[test]
        fn whatever_resolves_stays_at_the_origin(text in "\\PC*", parts in "(https?:|//|/|\\.\\.|\\.|host|:8080|@|\\?|#|evil|%2e|\\\\){0,9}") {
            let base: Uri = "http://host:8080/a/b/sse".parse().unwrap();
            for reference in [text, parts] {
                if let Ok(uri) = resolve_same_origin(&base, &reference) {
                    prop_assert_eq!(uri.scheme_str(), Some("http"));
                    prop_assert_eq!(uri.authority().map(Authority::as_str), Some("host:8080"));
                    prop_assert!(!uri.path().split('/').any(|segment| segment == "..") || reference.contains(':') || reference.starts_with("//"));
                }
            }
        }
    }

    #[test]
    fn a_query_is_not_shown() {
        let base = Uri::from_static("https://example.com/mcp");
        for reference in [
            "https://other.example/a?session=secret",
            "ftp://example.com/?secret",
            "/a b?secret",
            "/a b#secret",
        ] {
            let error = resolve_same_origin(&base, reference).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
        }
    }
}
