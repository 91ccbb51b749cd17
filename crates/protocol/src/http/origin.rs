//! Is the caller a page that has no business here?
//!
//! A browser lets any page send requests to a server on this machine, and a name
//! can be re-pointed at 127.0.0.1 after the page was loaded. What such a page
//! cannot hide is its `Origin`, nor the name it called in `Host`. Every route
//! asks here before it reads a body; who the caller is comes after.
//!
//! Specification: basic/transports of each revision, security warning.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::Uri;
use http::uri::Authority;

use super::excerpt;
use super::fields::{Field, Fields};
use super::location::read_port;

/// The hosts a server answers to, and the origins whose pages may call it.
///
/// The default answers to any host and serves no page: right where no browser can
/// reach, as on a Unix socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// Checked when not empty.
    hosts: Vec<Place>,
    origins: Vec<Origin>,
}

impl Guard {
    /// What follows from the address a server listens at, with the port it was given.
    ///
    /// On loopback, only loopback names are answered, at any port (it may be
    /// forwarded), and only pages of the same port are served. Elsewhere the
    /// public name is unknown: every host is answered until one is
    /// [allowed](Self::allow_host), and no page is served until its origin is.
    pub fn for_address(address: SocketAddr) -> Self {
        let mut guard = Self::default();
        let ip = address.ip().to_canonical();
        if ip.is_loopback() {
            let names = [
                Name::Domain("localhost".to_owned()),
                Name::Address(IpAddr::from([127, 0, 0, 1])),
                Name::Address(IpAddr::V6(Ipv6Addr::LOCALHOST)),
                Name::Address(ip),
            ];
            for name in names {
                guard.hosts.push(Place {
                    name: name.clone(),
                    port: None,
                });
                for scheme in ["http", "https"] {
                    guard.origins.push(Origin {
                        scheme: scheme.to_owned(),
                        place: Place {
                            name: name.clone(),
                            port: Some(address.port()),
                        },
                    });
                }
            }
        }
        guard
    }

    /// Answers to one more host: `mcp.example.com`, or with a port, `[::1]:8080`.
    ///
    /// # Errors
    /// When the text is not a host.
    pub fn allow_host(&mut self, host: &str) -> Result<(), NotAPlace> {
        let place = Place::read(host).ok_or_else(|| NotAPlace(excerpt(host)))?;
        self.hosts.push(place);
        Ok(())
    }

    /// Serves the pages of one more origin: `https://app.example.com`.
    ///
    /// # Errors
    /// When the text is not an origin.
    pub fn allow_origin(&mut self, origin: &str) -> Result<(), NotAPlace> {
        let origin = Origin::read(origin).ok_or_else(|| NotAPlace(excerpt(origin)))?;
        self.origins.push(origin);
        Ok(())
    }

    /// Decides about one request, from its target and its headers.
    ///
    /// The target matters in HTTP/2 and later, where it holds the authority.
    ///
    /// # Errors
    /// When the request is foreign: 403, and the body stays unread.
    pub fn check(&self, target: &Uri, fields: &Fields<'_>) -> Result<(), Foreign> {
        if self.is_plainly_ours(target, fields) {
            return Ok(());
        }
        let host = self.check_host(target, fields)?;
        let value = match fields.origin {
            // Not a browser, or a page of ours that only reads.
            Field::Absent => return Ok(()),
            Field::Once(value) => value,
            Field::Repeated => return Err(Foreign::OriginRepeated),
        };
        let text = String::from_utf8_lossy(value.as_bytes());
        let foreign = || Foreign::Origin(excerpt(&text));
        let origin = Origin::read(&text).ok_or_else(foreign)?;
        // A page from a host that has just passed is a page of our own. Where every
        // host passes this proves nothing: the page may have re-pointed its name.
        let is_own = !self.hosts.is_empty() && host.is_some_and(|host| origin.is_at(&host));
        if is_own || self.origins.contains(&origin) {
            Ok(())
        } else {
            Err(foreign())
        }
    }

    /// Is it called by a name of ours, written as we would, and by no page?
    ///
    /// Nearly every request is; the rest is looked at more closely.
    fn is_plainly_ours(&self, target: &Uri, fields: &Fields<'_>) -> bool {
        let (Field::Once(host), Field::Absent) = (fields.host, fields.origin) else {
            return false;
        };
        target.authority().is_none()
            && self
                .hosts
                .iter()
                .any(|allowed| allowed.is_written(host.as_bytes()))
    }

    fn check_host(&self, target: &Uri, fields: &Fields<'_>) -> Result<Option<Place>, Foreign> {
        let header = match fields.host {
            Field::Absent => None,
            Field::Once(value) => Some(value),
            Field::Repeated => return Err(Foreign::HostRepeated),
        };
        let read = |text: &str| Place::read(text).ok_or_else(|| Foreign::Host(excerpt(text)));
        let from_header = match header {
            Some(value) => Some(read(&String::from_utf8_lossy(value.as_bytes()))?),
            None => None,
        };
        let from_target = match target.authority() {
            Some(authority) => Some(read(authority.as_str())?),
            None => None,
        };
        if let (Some(header), Some(target)) = (&from_header, &from_target)
            && header != target
        {
            return Err(Foreign::HostsDiffer);
        }
        let host = from_target.or(from_header);
        if self.hosts.is_empty() {
            return Ok(host);
        }
        let host = host.ok_or(Foreign::HostMissing)?;
        if self.hosts.iter().any(|allowed| allowed.covers(&host)) {
            Ok(Some(host))
        } else {
            Err(Foreign::Host(excerpt(&host.to_string())))
        }
    }
}

/// Why a request is foreign: 403.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// Called by a name that is not ours.
    Host(String),
    /// Called by no name at all.
    HostMissing,
    /// Called by two names.
    HostRepeated,
    /// The header and the target name different hosts.
    HostsDiffer,
    /// Comes from a page that is not allowed, or from one that hides (`null`).
    Origin(String),
    /// Claims to come from two pages.
    OriginRepeated,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => {
                write!(f, "header host says {host:?}, expected a host allowed here")
            }
            Self::HostMissing => f.write_str("header host is missing"),
            Self::HostRepeated => f.write_str("header host is repeated, expected exactly one"),
            Self::HostsDiffer => {
                f.write_str("header host differs from the authority of the request, expected one")
            }
            Self::Origin(origin) => write!(
                f,
                "header origin says {origin:?}, expected an origin allowed here or none"
            ),
            Self::OriginRepeated => f.write_str("header origin is repeated, expected at most one"),
        }
    }
}

impl std::error::Error for Foreign {}

/// A text that was to name a host or an origin and does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAPlace(String);

impl fmt::Display for NotAPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is no host or origin, expected as in \"example.com:8080\" or \
             \"https://example.com\"",
            self.0
        )
    }
}

impl std::error::Error for NotAPlace {}

/// A host, by name or by address.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    /// In lower case.
    Domain(String),
    Address(IpAddr),
}

/// A host and, if it was said, a port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    name: Name,
    port: Option<u16>,
}

impl Place {
    fn read(text: &str) -> Option<Self> {
        let authority: Authority = text.parse().ok()?;
        let host = authority.host();
        // The whole text must be host and port: no user, no port like `:` or `:99999`.
        let port = match text.strip_prefix(host)? {
            "" => None,
            said => Some(read_port(said.strip_prefix(':')?.as_bytes())?),
        };
        let name = match host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
        {
            Some(address) => Name::Address(IpAddr::V6(address.parse().ok()?)),
            None => match host.parse() {
                Ok(address) => Name::Address(IpAddr::V4(address)),
                Err(_) if host.is_empty() => return None,
                Err(_) => Name::Domain(host.to_ascii_lowercase()),
            },
        };
        Some(Self { name, port })
    }

    /// Is the text this domain or address of four numbers, as we would write it, at a port
    /// that is covered?
    fn is_written(&self, text: &[u8]) -> bool {
        let rest = match &self.name {
            Name::Domain(name) => text.strip_prefix(name.as_bytes()),
            Name::Address(IpAddr::V4(Ipv4Addr::LOCALHOST)) => text.strip_prefix(b"127.0.0.1"),
            Name::Address(_) => None,
        };
        let port = match rest {
            Some(b"") => None,
            Some([b':', port @ ..]) => match read_port(port) {
                Some(port) => Some(port),
                None => return false,
            },
            _ => return false,
        };
        self.port.is_none() || self.port == port
    }

    fn covers(&self, other: &Self) -> bool {
        self.name == other.name && (self.port.is_none() || self.port == other.port)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Name::Domain(name) => f.write_str(name)?,
            Name::Address(IpAddr::V4(address)) => write!(f, "{address}")?,
            Name::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Where a page comes from. The port is always there for `http` and `https`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    scheme: String,
    place: Place,
}

impl Origin {
    fn read(text: &str) -> Option<Self> {
        let (scheme, place) = text.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let mut place = Place::read(place)?;
        place.port = place.port.or(standard_port(&scheme));
        Some(Self { scheme, place })
    }

    /// Is it the origin of a page loaded from this host?
    fn is_at(&self, host: &Place) -> bool {
        let port = host.port.or(standard_port(&self.scheme));
        standard_port(&self.scheme).is_some()
            && self.place.name == host.name
            && self.place.port == port
    }
}

fn standard_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use http::header::{HOST, ORIGIN};
    use http::{HeaderMap, HeaderValue};
    use proptest::prelude::*;

    use super::*;

    fn headers(hosts: &[&str], origins: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_str(host).unwrap());
        }
        for origin in origins {
            headers.append(ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        headers
    }

    fn local() -> Guard {
        Guard::for_address("127.0.0.1:8080".parse().unwrap())
    }

    fn check(host: &str, origin: &str, is_allowed: bool) {
        let origins: &[&str] = if origin.is_empty() { &[] } else { &[origin] };
        let target = Uri::from_static("/mcp");
        let decision = local().check(&target, &Fields::of(&headers(&[host], origins)));
        assert_eq!(
            decision.is_ok(),
            is_allowed,
            "{host} {origin}: {decision:?}"
        );
    }

    #[test]
    fn loopback_answers_to_loopback_names() {
        check("localhost:8080", "", true);
        check("LOCALHOST:8080", "", true);
        check("localhost", "", true);
        check("127.0.0.1:8080", "", true);
        check("[::1]:8080", "", true);
        check("[0:0:0:0:0:0:0:1]:8080", "", true);
        // A forwarded port.
        check("localhost:9999", "", true);
    }

    // the forty: 33
    #[test]
    fn foreign_hosts_and_look_alikes_are_refused() {
        for host in [
            "evil.example.com",
            "evil.example.com:8080",
            "localhost.evil.com",
            "127.0.0.1.evil",
            "127.0.0.1.nip.io:8080",
            "localhost:8080@evil.com",
            "evil.com@localhost:8080",
            "localhost:",
            "localhost:99999",
            "localhost:+8080",
            "localhost:8080:8080",
            "localhost.",
            "0.0.0.0:8080",
            "2130706433",
            "0x7f.1",
            "127.1",
            "[::ffff:127.0.0.1]:8080",
            "[::2]",
            "::1",
            "",
            "localhost, evil.com",
            "localhost/evil",
        ] {
            check(host, "", false);
        }
    }

    #[test]
    fn pages_of_this_server_are_served() {
        check("localhost:8080", "http://localhost:8080", true);
        check("127.0.0.1:8080", "http://localhost:8080", true);
        check("127.0.0.1:8080", "http://127.0.0.1:8080", true);
        check("[::1]:8080", "http://[::1]:8080", true);
        check("localhost:8080", "HTTP://LocalHost:8080", true);
        // A forwarded port: the page and the request agree on it.
        check("localhost:9999", "http://localhost:9999", true);
        check("localhost", "https://localhost", true);
    }

    // the forty: 33
    #[test]
    fn foreign_pages_and_look_alikes_are_refused() {
        for origin in [
            "null",
            "http://evil.example.com",
            "http://localhost.evil.com:8080",
            "http://127.0.0.1.evil:8080",
            "http://localhost:8080.evil.com",
            "http://localhost:3000",
            "http://localhost",
            "http://localhost:8080/",
            "http://localhost:8080/path",
            "http://user@localhost:8080",
            "http://localhost:8080 http://evil.com",
            "http://localhost:8080, http://evil.com",
            "localhost:8080",
            "//localhost:8080",
            "file://",
            "file://localhost:8081",
            "ftp://localhost:8080",
            "https://",
            "*",
        ] {
            check("localhost:8080", origin, false);
        }
    }

    // the forty: 33
    #[test]
    fn a_foreign_host_and_origin_that_agree_are_refused() {
        check("evil.example.com", "http://evil.example.com", false);
        check(
            "evil.example.com:8080",
            "http://evil.example.com:8080",
            false,
        );
    }

    #[test]
    fn a_second_header_is_foreign() {
        let target = Uri::from_static("/mcp");
        let same = "http://localhost:8080";
        let twice = headers(&["localhost:8080"], &[same, same]);
        assert_eq!(
            local().check(&target, &Fields::of(&twice)),
            Err(Foreign::OriginRepeated)
        );
        let twice = headers(&["localhost:8080", "localhost:8080"], &[]);
        assert_eq!(
            local().check(&target, &Fields::of(&twice)),
            Err(Foreign::HostRepeated)
        );
        let none = headers(&[], &[]);
        assert_eq!(
            local().check(&target, &Fields::of(&none)),
            Err(Foreign::HostMissing)
        );
    }

    #[test]
    fn an_empty_origin_is_foreign() {
        let target = Uri::from_static("/mcp");
        assert!(
            local()
                .check(&target, &Fields::of(&headers(&["localhost"], &[""])))
                .is_err()
        );
    }

    #[test]
    fn the_authority_of_http_2_counts_as_the_host() {
        let check = |target: &str, hosts: &[&str]| {
            local().check(&target.parse().unwrap(), &Fields::of(&headers(hosts, &[])))
        };
        assert_eq!(check("http://localhost:8080/mcp", &[]), Ok(()));
        assert_eq!(
            check("http://localhost:8080/mcp", &["localhost:8080"]),
            Ok(())
        );
        assert!(check("http://evil.com/mcp", &[]).is_err());
        assert_eq!(
            check("http://localhost:8080/mcp", &["evil.com"]),
            Err(Foreign::HostsDiffer)
        );
        assert_eq!(
            check("http://evil.com/mcp", &["localhost:8080"]),
            Err(Foreign::HostsDiffer)
        );
    }

    #[test]
    fn elsewhere_any_host_is_answered_but_no_page_served_until_allowed() {
        let target = Uri::from_static("/mcp");
        for address in ["0.0.0.0:80", "[::]:80", "192.168.0.5:80"] {
            let mut guard = Guard::for_address(address.parse().unwrap());
            let rebound = headers(&["mcp.example.com"], &["http://mcp.example.com"]);
            assert_eq!(
                guard.check(&target, &Fields::of(&headers(&["mcp.example.com"], &[]))),
                Ok(())
            );
            assert!(guard.check(&target, &Fields::of(&rebound)).is_err());
            guard.allow_host("mcp.example.com").unwrap();
            assert_eq!(guard.check(&target, &Fields::of(&rebound)), Ok(()));
            assert!(
                guard
                    .check(&target, &Fields::of(&headers(&["other.example.com"], &[])))
                    .is_err()
            );
        }
    }

    #[test]
    fn more_hosts_and_origins_can_be_allowed() {
        let mut guard = local();
        guard.allow_host("box.local:8080").unwrap();
        guard.allow_origin("https://app.example.com").unwrap();
        guard.allow_origin("vscode-webview://abc").unwrap();
        let check = |host: &str, origin: &str| {
            guard.check(
                &Uri::from_static("/"),
                &Fields::of(&headers(&[host], &[origin])),
            )
        };
        assert_eq!(
            check("box.local:8080", "https://app.example.com:443"),
            Ok(())
        );
        assert_eq!(check("localhost", "vscode-webview://abc"), Ok(()));
        assert!(check("box.local:8081", "https://app.example.com").is_err());
        assert!(check("localhost", "http://app.example.com").is_err());
        assert!(check("localhost", "https://app.example.com.evil.com").is_err());
        assert!(check("localhost", "vscode-webview://other").is_err());
        for wrong in ["", "null", "*", "example.com", "https://a/b", "http://:80"] {
            assert!(local().allow_origin(wrong).is_err(), "{wrong}");
        }
        assert!(local().allow_host(":80").is_err());
        assert_eq!(
            local().allow_host("a/b").unwrap_err().to_string(),
            "\"a/b\" is no host or origin, expected as in \"example.com:8080\" or \
             \"https://example.com\""
        );
    }

    #[test]
    fn a_host_allowed_at_one_port_is_foreign_at_another() {
        let mut guard = local();
        guard.allow_host("box.local:8080").unwrap();
        for (host, is_allowed) in [
            ("box.local:8080", true),
            ("box.local:8081", false),
            ("box.local", false),
            ("box.local:", false),
        ] {
            let headers = headers(&[host], &[]);
            let decision = guard.check(&Uri::from_static("/"), &Fields::of(&headers));
            assert_eq!(decision.is_ok(), is_allowed, "{host}: {decision:?}");
        }
    }

    #[test]
    fn a_foreign_host_is_named_as_it_was_read() {
        for (host, shown) in [
            ("EVIL.example:80", "evil.example:80"),
            ("10.0.0.1", "10.0.0.1"),
            ("[0:0::2]:80", "[::2]:80"),
        ] {
            let headers = headers(&[host], &[]);
            let decision = local().check(&Uri::from_static("/"), &Fields::of(&headers));
            assert_eq!(decision, Err(Foreign::Host(shown.to_owned())));
        }
    }

    #[test]
    fn loopback_written_as_ipv6_is_loopback() {
        for address in ["[::1]:8080", "[::ffff:127.0.0.1]:8080", "127.0.0.2:8080"] {
            let guard = Guard::for_address(address.parse().unwrap());
            assert!(
                guard
                    .check(
                        &Uri::from_static("/"),
                        &Fields::of(&headers(&["evil.com"], &[]))
                    )
                    .is_err()
            );
        }
    }

    proptest! {
        #[test]
        fn only_loopback_names_ever_pass(host in "\\PC{0,20}", parts in "(localhost|127.0.0.1|\\[::1\\]|[.:@/a1]){1,5}") {
            for host in [host, parts] {
                let Ok(value) = HeaderValue::from_bytes(host.as_bytes()) else { continue };
                let mut headers = HeaderMap::new();
                headers.insert(HOST, value);
                if local().check(&Uri::from_static("/"), &Fields::of(&headers)).is_ok() {
                    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
                    let name = name.map_or(host.as_str(), |(name, _)| name).to_ascii_lowercase();
                    prop_assert!(["localhost", "127.0.0.1", "[::1]"].contains(&name.as_str()), "{}", host);
                }
            }
        }

        #[test]
        fn reading_an_origin_never_panics(text in "\\PC*", parts in "(https?|://|localhost|[:@/.]|8080|\\[|\\]){0,8}") {
            let _ = Origin::read(&text);
            let _ = Origin::read(&parts);
        }
    }
}
