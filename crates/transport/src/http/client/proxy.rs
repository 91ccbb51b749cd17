//! Which proxy stands between us and a host, if any.
//!
//! Connecting to it is for `connect`.
//!
//! Specification: none; these are the rules of `curl`. RFC 9110, section 9.3.6 (CONNECT).

use std::error::Error;
use std::fmt;
use std::io;

use http::{HeaderValue, StatusCode, Uri};

use super::settings::ProxyChoice;
use super::target::{Target, basic_header, read_port};

mod exception;

use exception::{Exceptions, is_loopback};

/// The proxies of a client.
#[derive(Debug, Default)]
pub(super) struct Proxies {
    plain: Option<Named>,
    secure: Option<Named>,
    exceptions: Exceptions,
    is_asked_for: bool,
}

/// A proxy as it was named. It is read when it is needed: a wrong name harms nobody else.
#[derive(Clone)]
struct Named(String);

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It may hold a password.
        f.write_str("***")
    }
}

/// A proxy that speaks HTTP.
#[derive(Debug)]
pub(super) struct ProxyServer {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) authorization: Option<HeaderValue>,
}

impl Proxies {
    /// # Errors
    /// When the proxy that was asked for is none.
    pub(super) fn new(choice: &ProxyChoice) -> Result<Self, ProxyError> {
        match choice {
            ProxyChoice::Environment => Ok(Self::from_variables(|name| {
                std::env::var(name).ok().filter(|value| !value.is_empty())
            })),
            ProxyChoice::Never => Ok(Self::default()),
            ProxyChoice::Always(url) => {
                ProxyServer::read(url)?;
                let named = Some(Named(url.clone()));
                Ok(Self {
                    plain: named.clone(),
                    secure: named,
                    exceptions: Exceptions::default(),
                    is_asked_for: true,
                })
            }
        }
    }

    fn from_variables(value: impl Fn(&str) -> Option<String>) -> Self {
        let either = |lower: &str, upper: &str| value(lower).or_else(|| value(upper));
        let all = either("all_proxy", "ALL_PROXY");
        // Not HTTP_PROXY: a CGI program is given that by whoever sends a header `Proxy`.
        let plain = value("http_proxy").or_else(|| all.clone());
        let secure = either("https_proxy", "HTTPS_PROXY").or(all);
        let exceptions = either("no_proxy", "NO_PROXY");
        Self {
            plain: plain.map(Named),
            secure: secure.map(Named),
            exceptions: Exceptions::read(exceptions.as_deref().unwrap_or_default()),
            is_asked_for: false,
        }
    }

    /// The proxy for a target; without one it is connected to directly.
    ///
    /// # Errors
    /// When there is one that cannot be used: its name, and why.
    pub(super) fn route(
        &self,
        target: &Target,
    ) -> Result<Option<ProxyServer>, (String, ProxyError)> {
        let named = if target.is_secure {
            &self.secure
        } else {
            &self.plain
        };
        let (Some(Named(url)), Ok((host, port))) = (named, target.place()) else {
            return Ok(None);
        };
        let is_spared = !self.is_asked_for && is_loopback(host);
        if is_spared || self.exceptions.cover(host, port) {
            return Ok(None);
        }
        match ProxyServer::read(url) {
            Ok(proxy) => Ok(Some(proxy)),
            Err(error) => Err((without_user(url).to_owned(), error)),
        }
    }
}

impl ProxyServer {
    fn read(url: &str) -> Result<Self, ProxyError> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        if !scheme.eq_ignore_ascii_case("http") {
            return Err(ProxyError::Scheme(scheme.to_owned()));
        }
        let uri: Uri = format!("http://{rest}")
            .parse()
            .map_err(|_| ProxyError::Malformed)?;
        let target = Target::of(&uri).map_err(|_| ProxyError::Malformed)?;
        let (host, _) = target.place().map_err(|_| ProxyError::Malformed)?;
        let port = uri.port().and_then(|port| read_port(port.as_str()));
        Ok(Self {
            host: host.to_owned(),
            // As curl has it; nothing is standard here.
            port: port.unwrap_or(1080),
            authorization: basic_header(&target.authority),
        })
    }
}

impl fmt::Display for ProxyServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "http://[{}]:{}", self.host, self.port),
            false => write!(f, "http://{}:{}", self.host, self.port),
        }
    }
}

/// What is wrong with a proxy.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProxyError {
    /// It is not named by a URL.
    Malformed,
    /// It speaks what we do not, SOCKS for example.
    Scheme(String),
    /// Its name means nothing here.
    NameNotFound(io::Error),
    /// It does not take connections.
    Connect(io::Error),
    /// It does not let us through.
    Refused {
        /// What it answered.
        status: StatusCode,
    },
    /// Its answer is not HTTP, or holds more than an answer.
    NotHttp,
    /// It hung up.
    Lost(io::Error),
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("it is not a URL, expected http://host:port"),
            Self::Scheme(scheme) => write!(
                f,
                "proxies of the kind {scheme:?} are not supported, expected http://host:port"
            ),
            Self::NameNotFound(_) => f.write_str("the host of the proxy is not known"),
            Self::Connect(_) => f.write_str("the proxy takes no connections"),
            Self::Refused { status } if *status == StatusCode::PROXY_AUTHENTICATION_REQUIRED => f
                .write_str(
                    "the proxy wants a name and a password (status 407), put them in its URL",
                ),
            Self::Refused { status } => {
                write!(f, "the proxy refused the host (status {})", status.as_u16())
            }
            Self::NotHttp => f.write_str("the proxy does not answer with HTTP"),
            Self::Lost(_) => f.write_str("the proxy hung up"),
        }
    }
}

impl Error for ProxyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NameNotFound(error) | Self::Connect(error) | Self::Lost(error) => Some(error),
            Self::Malformed | Self::Scheme(_) | Self::Refused { .. } | Self::NotHttp => None,
        }
    }
}

fn without_user(url: &str) -> &str {
    url.rsplit_once('@').map_or(url, |(_, place)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Proxies {
        Proxies::from_variables(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn route(proxies: &Proxies, url: &str) -> Option<String> {
        let target = Target::of(&url.parse().unwrap()).unwrap();
        let proxy = proxies.route(&target).map_err(|(_, error)| error).unwrap();
        proxy.map(|proxy| proxy.to_string())
    }

    #[test]
    fn the_environment_names_a_proxy_for_each_scheme() {
        let found = proxies(&[("http_proxy", "http://a:1"), ("HTTPS_PROXY", "b:2")]);
        assert_eq!(route(&found, "http://h/").as_deref(), Some("http://a:1"));
        assert_eq!(route(&found, "https://h/").as_deref(), Some("http://b:2"));
        let found = proxies(&[("ALL_PROXY", "http://c"), ("https_proxy", "http://b:2")]);
        assert_eq!(route(&found, "http://h/").as_deref(), Some("http://c:1080"));
        assert_eq!(route(&found, "https://h/").as_deref(), Some("http://b:2"));
    }

    #[test]
    fn the_upper_case_name_that_a_request_could_set_is_not_read() {
        let found = proxies(&[("HTTP_PROXY", "http://evil:1")]);
        assert_eq!(route(&found, "http://h/"), None);
    }

    #[test]
    fn this_machine_is_reached_directly_unless_a_proxy_is_asked_for() {
        let found = proxies(&[("http_proxy", "http://a:1")]);
        for url in [
            "http://localhost:1/",
            "http://127.0.0.2/",
            "http://[::1]:8/",
            "http://a.localhost/",
        ] {
            assert_eq!(route(&found, url), None, "{url}");
        }
        let found = Proxies::new(&ProxyChoice::Always("http://a:1".to_owned())).unwrap();
        assert_eq!(
            route(&found, "http://localhost/").as_deref(),
            Some("http://a:1")
        );
    }

    #[test]
    fn exceptions_are_reached_directly() {
        let found = proxies(&[
            ("http_proxy", "http://a:1"),
            ("no_proxy", "one.test, .two.test"),
        ]);
        assert_eq!(route(&found, "http://one.test/"), None);
        assert_eq!(route(&found, "http://x.two.test/"), None);
        assert!(route(&found, "http://three.test/").is_some());
    }

    #[test]
    fn what_is_no_proxy_for_us_is_said_when_it_is_needed() {
        let found = proxies(&[("all_proxy", "socks5h://u:secret@s:1")]);
        let target = Target::of(&"http://h/".parse().unwrap()).unwrap();
        let (name, error) = found.route(&target).unwrap_err();
        assert_eq!(name, "s:1");
        assert!(
            error.to_string().contains("\"socks5h\" are not supported"),
            "{error}"
        );
        assert!(Proxies::new(&ProxyChoice::Always("http://".to_owned())).is_err());
        assert!(!format!("{found:?}").contains("secret"));
    }

    #[test]
    fn a_name_and_password_go_into_a_header() {
        let proxy = ProxyServer::read("http://ada:pw@h:3128/").unwrap();
        assert_eq!(proxy.authorization.unwrap(), "Basic YWRhOnB3");
        assert_eq!((proxy.host.as_str(), proxy.port), ("h", 3128));
    }
}
