//! How a server is reached, as far as others may know it.
//!
//! Specification: OpenTelemetry semantic conventions for MCP, "Recording MCP transport".

use std::sync::Arc;

/// How a server is reached: without paths, queries, names and passwords.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    kind: Kind,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Kind {
    /// Within this process, or not known.
    #[default]
    Unsaid,
    Pipe,
    Http {
        host: Option<Arc<str>>,
        port: Option<u16>,
    },
}

/// The value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute<'a> {
    /// A text.
    Text(&'a str),
    /// A number.
    Number(u64),
}

impl Endpoint {
    /// A process, by its standard streams.
    pub const fn pipe() -> Self {
        Self { kind: Kind::Pipe }
    }

    /// A URL.
    pub fn http(url: &str) -> Self {
        let (host, port) = host_and_port(url).unzip();
        Self {
            kind: Kind::Http {
                host: host.map(Arc::from),
                port: port.flatten(),
            },
        }
    }

    /// Its attributes, as the conventions name them.
    pub fn attributes(&self, mut each: impl FnMut(&'static str, Attribute<'_>)) {
        for (name, value) in [
            ("network.transport", self.transport()),
            ("network.protocol.name", self.protocol()),
            ("network.protocol.version", self.protocol_version()),
            ("server.address", self.address()),
        ] {
            if let Some(value) = value {
                each(name, Attribute::Text(value));
            }
        }
        if let Some(port) = self.port() {
            each("server.port", Attribute::Number(port));
        }
    }

    pub(super) const fn transport(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Unsaid => None,
            Kind::Pipe => Some("pipe"),
            Kind::Http { .. } => Some("tcp"),
        }
    }

    pub(super) const fn protocol(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Unsaid | Kind::Pipe => None,
            Kind::Http { .. } => Some("http"),
        }
    }

    pub(super) const fn protocol_version(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Unsaid | Kind::Pipe => None,
            Kind::Http { .. } => Some("1.1"),
        }
    }

    pub(super) fn address(&self) -> Option<&str> {
        match &self.kind {
            Kind::Http { host, .. } => host.as_deref(),
            Kind::Unsaid | Kind::Pipe => None,
        }
    }

    pub(super) fn port(&self) -> Option<u64> {
        match &self.kind {
            Kind::Http { port, .. } => port.map(u64::from),
            Kind::Unsaid | Kind::Pipe => None,
        }
    }
}

fn host_and_port(url: &str) -> Option<(&str, Option<u16>)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let place = authority.rsplit('@').next()?;
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, rest.strip_prefix(':'))
        }
        None => match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        },
    };
    let port = match port {
        Some(port) => port.parse().ok(),
        None if scheme.eq_ignore_ascii_case("https") => Some(443),
        None => Some(80),
    };
    (!host.is_empty()).then_some((host, port))
}

/// A URI without its query, its fragment and its user: those may be secret.
pub(super) fn place(uri: &str) -> String {
    let uri = uri.split(['?', '#']).next().unwrap_or_default();
    let place = match uri.split_once("://") {
        None => uri.to_owned(),
        Some((scheme, rest)) => {
            let (authority, path) = match rest.find('/') {
                Some(at) => rest.split_at(at),
                None => (rest, ""),
            };
            let host = authority.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{path}")
        }
    };
    match place.char_indices().nth(LONGEST) {
        // A `data:` URI is its own content.
        _ if place
            .get(..5)
            .is_some_and(|start| start.eq_ignore_ascii_case("data:")) =>
        {
            "data:".to_owned()
        }
        Some((at, _)) => place.get(..at).unwrap_or_default().to_owned(),
        None => place,
    }
}

const LONGEST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(endpoint: &Endpoint) -> String {
        let mut text = String::new();
        endpoint.attributes(|name, value| {
            let value = match value {
                Attribute::Text(text) => text.to_owned(),
                Attribute::Number(number) => format!("#{number}"),
            };
            if name.starts_with("server.") || name == "network.transport" {
                text.push_str(&format!("{value} "));
            }
        });
        text.trim_end().to_owned()
    }

    #[test]
    fn of_a_url_only_host_and_port_are_told() {
        for (url, expected) in [
            ("https://example.com/mcp?key=secret", "tcp example.com #443"),
            (
                "http://user:secret@example.com:8080",
                "tcp example.com #8080",
            ),
            ("http://a@b@example.com/a@c:1", "tcp example.com #80"),
            ("HTTPS://[::1]:9/x", "tcp ::1 #9"),
            ("https://[::1]", "tcp ::1 #443"),
            ("http://host:many/", "tcp host"),
            ("http://host?key=secret", "tcp host #80"),
            ("http:///path", "tcp"),
            ("nonsense", "tcp"),
        ] {
            assert_eq!(attributes(&Endpoint::http(url)), expected, "{url}");
        }
        assert_eq!(attributes(&Endpoint::pipe()), "pipe");
        assert_eq!(attributes(&Endpoint::default()), "");
    }

    #[test]
    fn of_a_uri_only_the_place_is_told() {
        for (uri, expected) in [
            ("file:///home/a.txt", "file:///home/a.txt"),
            (
                "postgres://user:secret@db/customers/schema?sslkey=secret",
                "postgres://db/customers/schema",
            ),
            ("https://a:b@host?x=1", "https://host"),
            ("note:1#secret", "note:1"),
            ("data:text/plain,secret", "data:"),
            ("", ""),
        ] {
            assert_eq!(place(uri), expected, "{uri}");
        }
        assert_eq!(place(&"ä".repeat(300)).chars().count(), 256);
    }
}
