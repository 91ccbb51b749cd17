//! Where tokens are asked for and sent: URLs that were checked.
//!
//! The text is kept as it came, because issuers and resources are compared as texts; a type
//! that normalizes would make two of one and one of two.
//!
//! Specification: basic/authorization, "Communication Security" and "Canonical Server URI";
//! RFC 8252, section 8.3 (loopback); RFC 8707, section 2.

use std::fmt;
use std::net::IpAddr;

use http::Uri;
use http::uri::{Authority, Scheme};
use switchboard_protocol::http::location::is_same_origin;

/// A URL that may be asked, and shown to a browser: `https`, or `http` on this machine; no
/// user, no fragment, nothing that readers understand differently.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Place {
    text: String,
    uri: Uri,
}

impl Place {
    /// Checks a URL.
    ///
    /// # Errors
    /// When it may not be asked, with the reason.
    pub fn parse(text: &str) -> Result<Self, BadPlace> {
        let bad = |reason| BadPlace::new(text, reason);
        if text.len() > LONGEST {
            return Err(bad("it is longer than 8192 bytes"));
        }
        // Browsers read a backslash as a slash, and shells more than that.
        let is_clean = |byte: u8| {
            byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'"' | b'<' | b'>' | b'`')
        };
        if !text.bytes().all(is_clean) {
            return Err(bad("it has characters that do not belong in a URL"));
        }
        if text.contains('#') {
            return Err(bad("it has a fragment"));
        }
        let is_web = |scheme: &str| {
            ["https", "http"]
                .iter()
                .any(|web| web.eq_ignore_ascii_case(scheme))
        };
        if !text
            .split_once(':')
            .is_some_and(|(scheme, _)| is_web(scheme))
        {
            return Err(bad("it is neither https nor http"));
        }
        let uri: Uri = text.parse().map_err(|_| bad("it is not a URL"))?;
        let is_secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(bad("it is neither https nor http")),
        };
        match uri.authority() {
            None => return Err(bad("it names no host")),
            Some(authority) if authority.as_str().contains('@') => {
                return Err(bad("it has a user in it"));
            }
            Some(authority) if authority.host().is_empty() => return Err(bad("it names no host")),
            // Who reads it would ask at one that nobody meant, or at none.
            Some(authority) if !has_good_port(authority) => {
                return Err(bad("its port is not a number below 65536"));
            }
            Some(_) => {}
        }
        let place = Self {
            text: text.to_owned(),
            uri,
        };
        match is_secure || place.is_loopback() {
            true => Ok(place),
            false => Err(bad(
                "it is not https, which only this machine itself may do without",
            )),
        }
    }

    /// The URL, as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The URL, for requests.
    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The host, an IPv6 address without its brackets.
    pub(crate) fn host(&self) -> &str {
        let host = self.uri.host().unwrap_or_default();
        host.strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host)
    }

    /// Is it on this machine?
    pub fn is_loopback(&self) -> bool {
        let host = self.host();
        host.eq_ignore_ascii_case("localhost")
            || host
                .parse()
                .is_ok_and(|address: IpAddr| address.is_loopback())
    }

    /// Scheme, host and port are the same.
    pub fn is_same_origin(&self, other: &Self) -> bool {
        is_same_origin(&self.uri, &other.uri)
    }

    /// The path without the slash at its end; empty for the root.
    pub(crate) fn path(&self) -> &str {
        self.uri.path().trim_end_matches('/')
    }

    /// Scheme and authority, as they were given.
    pub(crate) fn origin(&self) -> &str {
        // Absolute: `scheme://authority` is in front of the path or the query.
        let after_scheme = self.text.find("://").map_or(0, |at| at + 3);
        let rest = self.text.get(after_scheme..).unwrap_or_default();
        let length = rest.find(['/', '?']).unwrap_or(rest.len());
        self.text.get(..after_scheme + length).unwrap_or(&self.text)
    }

    /// What RFC 8707 calls the resource, where nobody says otherwise: without query and without
    /// the slash at its end.
    pub fn canonical(&self) -> String {
        let origin = self.origin();
        let (scheme, authority) = origin.split_once("://").unwrap_or(("https", origin));
        format!(
            "{}://{}{}",
            scheme.to_ascii_lowercase(),
            authority.to_ascii_lowercase(),
            self.path()
        )
    }

    /// Another place of the same origin.
    pub(crate) fn sibling(&self, path: &str) -> Result<Self, BadPlace> {
        Self::parse(&format!("{}{path}", self.origin()))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(without_query(&self.text))
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}

/// Why a URL is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPlace {
    text: String,
    reason: &'static str,
}

impl BadPlace {
    fn new(text: &str, reason: &'static str) -> Self {
        Self {
            text: without_query(text).chars().take(200).collect(),
            reason,
        }
    }
}

impl fmt::Display for BadPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the URL {:?} is not used: {}", self.text, self.reason)
    }
}

impl std::error::Error for BadPlace {}

/// What may be shown of a URL, or of what a store calls a server: a query may hold a secret.
pub fn without_query(url: &str) -> &str {
    url.split('?').next().unwrap_or_default()
}

/// Does nothing follow the host but a port, if there is one?
fn has_good_port(authority: &Authority) -> bool {
    let behind = authority.as_str().strip_prefix(authority.host());
    let is_port =
        |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    behind.is_some_and(|behind| behind.is_empty() || behind.strip_prefix(':').is_some_and(is_port))
}

const LONGEST: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Place::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn https_may_be_anywhere_and_http_only_here() {
        for text in [
            "https://example.com",
            "https://example.com:8443/a?b=c",
            "http://localhost:1/mcp",
            "http://127.0.0.1/",
            "http://127.9.9.9/",
            "http://[::1]:80/",
        ] {
            assert_eq!(Place::parse(text).unwrap().as_str(), text);
        }
        assert!(refused("http://example.com/").contains("not https"));
        assert!(refused("http://localhost.example.com/").contains("not https"));
        assert!(refused("http://10.0.0.1/").contains("not https"));
        for text in [
            "file:///etc/passwd",
            "data:,x",
            "javascript:x",
            "x",
            "",
            "httpx://a",
        ] {
            assert!(refused(text).contains("neither https nor http"), "{text}");
        }
    }

    #[test]
    fn what_is_no_place_to_send_secrets_to_is_refused() {
        for text in [
            "",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
            "ftp://example.com/",
            "//example.com/",
            "/relative",
            "example.com",
            "https://",
            "https:///path",
            "https://example.com:8D443/",
            "https://example.com:65536/",
            "https://example.com:/",
            "https://[::1]:x/",
            "https://[::1]1:80/",
            "https://user@example.com/",
            "https://user:word@example.com/",
            "https://example.com/#part",
            "https://example.com\\@evil.example/",
            "https://example.com/a b",
            "https://example.com/\r\nx: y",
            "https://example.com/`id`",
            "-https://example.com",
        ] {
            assert!(Place::parse(text).is_err(), "{text:?}");
        }
        assert!(Place::parse(&format!("https://a/{}", "a".repeat(9000))).is_err());
    }

    #[test]
    fn the_canonical_form_has_no_query_and_no_last_slash() {
        let canonical = |text: &str| Place::parse(text).unwrap().canonical();
        assert_eq!(
            canonical("https://Example.com/MCP/"),
            "https://example.com/MCP"
        );
        assert_eq!(canonical("https://example.com/"), "https://example.com");
        assert_eq!(canonical("https://example.com?x=1"), "https://example.com");
        assert_eq!(
            canonical("http://localhost:7/a/b?x"),
            "http://localhost:7/a/b"
        );
    }

    #[test]
    fn a_sibling_keeps_the_origin() {
        let place = Place::parse("https://example.com:8443/a/b?c=d").unwrap();
        assert_eq!(place.origin(), "https://example.com:8443");
        assert_eq!(
            place.sibling("/x").unwrap().as_str(),
            "https://example.com:8443/x"
        );
        assert!(place.is_same_origin(&place.sibling("/y").unwrap()));
        assert_eq!(Place::parse("https://a?b").unwrap().origin(), "https://a");
    }

    #[test]
    fn a_query_is_not_printed() {
        let place = Place::parse("https://example.com/a?key=secret").unwrap();
        assert!(!format!("{place} {place:?}").contains("secret"));
        assert!(!refused("http://example.com/a?key=secret").contains("secret"));
    }
}
