//! The keys that an authorization server signs its tokens with, fetched where it says they are.
//!
//! Specification: RFC 8414 (metadata), OpenID Connect Discovery 1.0, RFC 7517.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL};
use http::{HeaderMap, HeaderValue, Request, Uri};
use serde::Deserialize;
use switchboard_server::access::{FetchedKeys, Fetching, KeyProblem, KeySource};
use switchboard_transport::http::client::{ClientSettings, HttpClient, SetupError};

/// Fetches the keys of an authorization server.
pub struct IssuerKeys {
    client: HttpClient,
    issuer: String,
    /// Where the keys are, if it was said; the issuer's metadata says it otherwise.
    place: Option<Uri>,
    report: Box<dyn Fn(&str) + Send + Sync>,
}

impl IssuerKeys {
    /// The keys of this issuer, such as `https://login.example.com`.
    ///
    /// # Errors
    /// When the issuer, or the place, is no URL of HTTPS, or of HTTP on this machine; or when a
    /// proxy or roots are set that cannot be used.
    pub fn new(issuer: &str, place: Option<&str>) -> Result<Self, IssuerError> {
        check(issuer)?;
        let place = place.map(check).transpose()?;
        let mut settings = ClientSettings::default();
        settings.limits.bytes = LARGEST;
        settings.follows_redirects = false;
        Ok(Self {
            client: HttpClient::new(settings).map_err(IssuerError::Setup)?,
            issuer: issuer.to_owned(),
            place,
            report: Box::new(|problem| tracing::warn!("{problem}")),
        })
    }

    /// Told of each attempt that gave no keys, for a log.
    #[must_use]
    pub fn on_problem(mut self, report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.report = Box::new(report);
        self
    }

    async fn find(&self) -> Result<Uri, Fault> {
        if let Some(place) = &self.place {
            return Ok(place.clone());
        }
        let mut last = Fault("it names no place of its metadata".to_owned());
        for place in places(&self.issuer) {
            let found = self.metadata(&place).await;
            match found {
                Ok(place) => return Ok(place),
                Err(fault) => last = fault,
            }
        }
        Err(last)
    }

    async fn metadata(&self, place: &str) -> Result<Uri, Fault> {
        let (text, _) = self.get(check(place).map_err(fault)?).await?;
        let said: Metadata = serde_json::from_slice(&text).map_err(fault)?;
        if said.issuer != self.issuer {
            return Err(Fault(format!("{place} is of the issuer {:?}", said.issuer)));
        }
        check(&said.jwks_uri).map_err(fault)
    }

    async fn get(&self, place: Uri) -> Result<(Bytes, HeaderMap), Fault> {
        let shown = place.to_string();
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = place;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let received = self.client.send(request).await.map_err(fault)?;
        if !received.status.is_success() {
            return Err(Fault(format!("{shown} answers {}", received.status)));
        }
        let text = received.body.collect().await.map_err(fault)?;
        Ok((text, received.headers))
    }
}

impl KeySource for IssuerKeys {
    fn fetch(&self) -> Fetching<'_> {
        Box::pin(async move {
            let (text, headers) = self.get(self.find().await?).await?;
            let text = String::from_utf8(text.into()).map_err(fault)?;
            let keys = FetchedKeys::new(text);
            Ok(match max_age(&headers) {
                Some(age) => keys.with_max_age(age),
                None => keys,
            })
        })
    }

    fn report(&self, problem: &KeyProblem) {
        let mut text = format!("the keys of {}: {problem}", self.issuer);
        let mut cause = problem.source();
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        (self.report)(&text);
    }
}

impl fmt::Debug for IssuerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IssuerKeys")
            .field("issuer", &self.issuer)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// Why keys can be fetched from nowhere.
#[derive(Debug)]
#[non_exhaustive]
pub enum IssuerError {
    /// It is no URL of HTTPS, or of HTTP on this machine.
    Place {
        /// What it is.
        text: String,
    },
    /// A proxy or roots are set that cannot be used.
    Setup(SetupError),
}

impl fmt::Display for IssuerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place { text } => write!(f, "{text:?} has to be a URL of https"),
            Self::Setup(_) => f.write_str("no HTTPS can be spoken"),
        }
    }
}

impl Error for IssuerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Place { .. } => None,
            Self::Setup(error) => Some(error),
        }
    }
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

/// Why there are no keys.
#[derive(Debug)]
struct Fault(String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Fault {}

fn fault(error: impl fmt::Display) -> Fault {
    Fault(error.to_string())
}

/// A URL whose answers nobody between can change: of HTTPS, or of this machine.
fn check(text: &str) -> Result<Uri, IssuerError> {
    let bad = || IssuerError::Place {
        text: text.to_owned(),
    };
    let uri: Uri = text.parse().map_err(|_| bad())?;
    let is_here = matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
    match uri.scheme_str() {
        Some("https") => Ok(uri),
        Some("http") if is_here => Ok(uri),
        _ => Err(bad()),
    }
}

/// Where the metadata of an issuer may be, in the order of the specification.
fn places(issuer: &str) -> Vec<String> {
    let Some((scheme, rest)) = issuer.split_once("://") else {
        return Vec::new();
    };
    let (host, path) = match rest.split_once('/') {
        Some((host, path)) => (host, path.trim_end_matches('/')),
        None => (rest, ""),
    };
    let origin = format!("{scheme}://{host}");
    let (oauth, openid) = ("oauth-authorization-server", "openid-configuration");
    match path {
        "" => vec![
            format!("{origin}/.well-known/{oauth}"),
            format!("{origin}/.well-known/{openid}"),
        ],
        path => vec![
            format!("{origin}/.well-known/{oauth}/{path}"),
            format!("{origin}/.well-known/{openid}/{path}"),
            format!("{origin}/{path}/.well-known/{openid}"),
        ],
    }
}

fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(CACHE_CONTROL)?.to_str().ok()?;
    let mut parts = value.split(',').map(str::trim);
    let seconds = parts.find_map(|part| part.strip_prefix("max-age="))?;
    seconds.parse().ok().map(Duration::from_secs)
}

// Key sets have a few kilobytes.
const LARGEST: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_looked_for_where_the_specification_says() {
        assert_eq!(
            places("https://a.example"),
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            places("https://a.example/t/1/"),
            [
                "https://a.example/.well-known/oauth-authorization-server/t/1",
                "https://a.example/.well-known/openid-configuration/t/1",
                "https://a.example/t/1/.well-known/openid-configuration",
            ]
        );
    }

    #[test]
    fn keys_come_over_https_or_from_this_machine() {
        let is_good = |issuer: &str| IssuerKeys::new(issuer, None).is_ok();
        assert!(is_good("https://a.example") && is_good("http://127.0.0.1:1"));
        assert!(!is_good("http://a.example") && !is_good("a.example"));
        assert!(IssuerKeys::new("https://a.example", Some("http://b.example")).is_err());
    }

    #[tokio::test]
    async fn keys_that_are_too_large_are_not_read() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};

        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            for length in [LARGEST, LARGEST + 1] {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = [0; 4096];
                let _ = stream.read(&mut head).await.unwrap();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
                );
                stream.write_all(head.as_bytes()).await.unwrap();
                // Whoever has heard how much it is may have left.
                let _ = stream.write_all(" ".repeat(length).as_bytes()).await;
            }
        });
        let keys = IssuerKeys::new(&place, Some(&place)).unwrap();
        assert!(keys.fetch().await.is_ok());
        let refused = keys.fetch().await.unwrap_err().to_string();
        assert!(refused.contains(&LARGEST.to_string()), "{refused}");
        serving.await.unwrap();
    }
}
