//! Asks for documents and tokens, with little trust in whoever answers.
//!
//! Everything that a login asks of the network goes through here: a bounded answer within a
//! bounded time. A document may move within its origin; what is posted may hold a secret and is
//! never sent on. Which addresses are out of reach is for the transport.
//!
//! Specification: RFC 8414, section 3.2; RFC 9728, sections 3.2 and 7.7.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use switchboard_protocol::http::location::resolve_same_origin;
use switchboard_transport::http::client::{ClientSettings, HttpClient, Incoming, Reach, Received};
use tokio::time::timeout;
use tracing::debug;

use crate::challenge::Demand;
use crate::error::{AuthError, Step, chain};
use crate::place::Place;

/// Asks authorization servers, and servers about them.
#[derive(Clone, Debug)]
pub(crate) struct Fetcher {
    client: HttpClient,
    /// How long a document may take, with all places that it has moved to.
    pub(crate) for_documents: Duration,
}

/// An answer, whatever its status.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Fetcher {
    /// Asks as the settings say, but no further than `reach`.
    ///
    /// # Errors
    /// When the settings cannot be used.
    pub(crate) fn new(settings: &ClientSettings, reach: Reach) -> Result<Self, AuthError> {
        let mut settings = settings.clone();
        settings.credentials = None;
        settings.follows_redirects = false;
        settings.limits.bytes = LARGEST;
        if reach != Reach::Anywhere {
            settings.reach = reach;
        }
        let client = HttpClient::new(settings).map_err(|error| AuthError::Setup {
            reason: chain(&error),
        })?;
        Ok(Self {
            client,
            for_documents: FOR_DOCUMENTS,
        })
    }

    /// Asks for a document of JSON. None if there is none.
    pub(crate) async fn document(
        &self,
        step: Step,
        place: &Place,
        mut headers: HeaderMap,
    ) -> Result<Option<Bytes>, AuthError> {
        headers.insert(ACCEPT, JSON);
        let asking = self.follow(step, place, headers);
        within(self.for_documents, step, place, asking).await
    }

    /// Sends something, and gives back whatever was answered.
    pub(crate) async fn post(
        &self,
        step: Step,
        place: &Place,
        mut headers: HeaderMap,
        content_type: HeaderValue,
        body: Bytes,
    ) -> Result<Reply, AuthError> {
        headers.insert(CONTENT_TYPE, content_type);
        headers.insert(ACCEPT, JSON);
        let exchange = async {
            let received = self.send(step, place, Method::POST, headers, body).await?;
            if received.status.is_redirection() {
                let status = received.status.as_u16();
                let reason = format!("status {status}, and what was sent is not sent elsewhere");
                return Err(AuthError::answer(step, place, reason));
            }
            Ok(Reply {
                status: received.status,
                headers: received.headers,
                body: whole(step, place, received.body).await?,
            })
        };
        within(FOR_TOKENS, step, place, exchange).await
    }

    /// Asks a server, without a token, what it wants to see. None if it does not refuse.
    pub(crate) async fn probe(&self, server: &Place) -> Result<Option<Demand>, AuthError> {
        let step = Step::ResourceMetadata;
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON), (ACCEPT, JSON_OR_EVENTS)]);
        let ping = Bytes::from_static(PING);
        let asking = self.send(step, server, Method::POST, headers, ping);
        let received = within(FOR_TOKENS, step, server, asking).await?;
        Ok(match received.status {
            StatusCode::UNAUTHORIZED => Some(Demand::of(&received.headers)),
            _ => None,
        })
    }

    async fn follow(
        &self,
        step: Step,
        place: &Place,
        headers: HeaderMap,
    ) -> Result<Option<Bytes>, AuthError> {
        let mut place = place.clone();
        for _ in 0..=MOST_REDIRECTS {
            let received = self
                .send(step, &place, Method::GET, headers.clone(), Bytes::new())
                .await?;
            match received.status {
                StatusCode::OK => return whole(step, &place, received.body).await.map(Some),
                status if status.is_redirection() => place = moved(step, &place, &received)?,
                status if is_missing(status) => {
                    // The connection is kept for the next place, if there is little to read.
                    let _ = received.body.collect().await;
                    return Ok(None);
                }
                status => {
                    let reason = format!("status {}", status.as_u16());
                    return Err(AuthError::answer(step, &place, reason));
                }
            }
        }
        let reason = format!("it has moved more than {MOST_REDIRECTS} times");
        Err(AuthError::answer(step, &place, reason))
    }

    async fn send(
        &self,
        step: Step,
        place: &Place,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Received, AuthError> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = place.uri().clone();
        *request.headers_mut() = headers;
        let received = self.client.send(request).await;
        let received = received.map_err(|source| AuthError::Send { step, source })?;
        debug!(%place, status = received.status.as_u16(), "asked for {step}");
        Ok(received)
    }
}

async fn within<T>(
    limit: Duration,
    step: Step,
    place: &Place,
    work: impl Future<Output = Result<T, AuthError>>,
) -> Result<T, AuthError> {
    let outcome = timeout(limit, work).await;
    outcome.unwrap_or_else(|_| {
        Err(AuthError::TimedOut {
            step,
            place: place.to_string(),
            after: limit,
        })
    })
}

async fn whole(step: Step, place: &Place, body: Incoming) -> Result<Bytes, AuthError> {
    let body = body.collect().await;
    body.map_err(|source| AuthError::Body {
        step,
        place: place.to_string(),
        source,
    })
}

/// Where a document has moved to: within its origin, or not at all for us.
fn moved(step: Step, from: &Place, received: &Received) -> Result<Place, AuthError> {
    let elsewhere = |reason: &str| {
        let status = received.status.as_u16();
        AuthError::answer(step, from, format!("status {status}, {reason}"))
    };
    let mut values = received.headers.get_all(LOCATION).iter();
    let (Some(location), None) = (values.next(), values.next()) else {
        return Err(elsewhere("and no one place that it has moved to"));
    };
    let location = location.to_str().unwrap_or_default().trim();
    resolve_same_origin(from.uri(), location)
        .ok()
        .and_then(|uri| Place::parse(&uri.to_string()).ok())
        .ok_or_else(|| elsewhere("and it leads out of its origin, where nothing is asked"))
}

/// Does a status say that there is no document? One that asks to wait does not.
fn is_missing(status: StatusCode) -> bool {
    let asks_to_wait = matches!(
        status,
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS
    );
    status.is_client_error() && !asks_to_wait
}

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
// It changes nothing, should a server want no token after all.
const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

// The largest real document seen is 12 KiB.
const LARGEST: usize = 256 * 1024;
const FOR_DOCUMENTS: Duration = Duration::from_secs(5);
// A token may be checked by a person's own systems on the way.
const FOR_TOKENS: Duration = Duration::from_secs(30);
const MOST_REDIRECTS: usize = 5;

#[cfg(test)]
mod tests {
    use switchboard_transport::http::client::SendError;

    use super::*;
    use crate::scope::Scopes;
    use crate::test_server::{TestServer, fetcher, fetcher_within, settings};

    /// The text that is found, "none", or what is wrong, with `{here}` for the origin.
    async fn ask(script: &TestServer, path: &str) -> String {
        let place = script.place(path);
        let found = fetcher()
            .document(Step::IssuerMetadata, &place, HeaderMap::new())
            .await;
        match found {
            Ok(Some(text)) => String::from_utf8(text.to_vec()).unwrap(),
            Ok(None) => "none".to_owned(),
            Err(error) => chain(&error).replace(&script.origin, "{here}"),
        }
    }

    #[tokio::test]
    async fn a_document_is_there_is_not_or_is_wrong() {
        let script = TestServer::by_path(&[
            ("/there", "{}"),
            ("/forbidden", "403"),
            ("/gone", "410"),
            ("/broken", "500"),
            ("/away", "503"),
            ("/wait", "429"),
            ("/empty", "204"),
        ])
        .await;
        assert_eq!(ask(&script, "/there").await, "{}");
        for path in ["/nothing", "/forbidden", "/gone"] {
            assert_eq!(ask(&script, path).await, "none", "{path}");
        }
        for (path, status) in [
            ("/broken", 500),
            ("/away", 503),
            ("/wait", 429),
            ("/empty", 204),
        ] {
            let expected = format!(
                "{{here}}{path} was asked for the metadata of the authorization server: \
                 status {status}"
            );
            assert_eq!(ask(&script, path).await, expected);
        }
    }

    #[tokio::test]
    async fn a_document_may_move_within_its_origin() {
        let script = TestServer::by_path(&[
            ("/a", "301 /b"),
            ("/b", "302 {here}/c"),
            ("/c", "303 d"),
            ("/d", "307 /e"),
            ("/e", "308 /f"),
            ("/f", "{}"),
            ("/loop", "307 /loop"),
        ])
        .await;
        assert_eq!(ask(&script, "/a").await, "{}");
        assert_eq!(
            script.asked(),
            ["GET /a", "GET /b", "GET /c", "GET /d", "GET /e", "GET /f"]
        );
        let error = ask(&script, "/loop").await;
        assert!(error.ends_with("it has moved more than 5 times"), "{error}");
        assert_eq!(script.asked().len(), 6 + 6);
    }

    #[tokio::test]
    async fn a_document_that_moves_elsewhere_is_not_followed() {
        let canary = TestServer::by_path(&[]).await;
        let port = canary.origin.rsplit_once(':').unwrap().1;
        let script = TestServer::by_path(&[
            ("/other", &format!("307 {}/x?token=secret", canary.origin)),
            ("/name", &format!("302 http://localhost:{port}/")),
            ("/short", &format!("302 //127.0.0.1:{port}/")),
            ("/cloud", "302 http://169.254.169.254/latest"),
            ("/user", "302 http://user@{host}/"),
            ("/file", "302 file:///etc/passwd"),
            ("/script", "302 javascript:alert(1)"),
        ])
        .await;
        for path in [
            "/other", "/name", "/short", "/cloud", "/user", "/file", "/script",
        ] {
            let error = ask(&script, path).await;
            assert!(error.contains("leads out of its origin"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(canary.asked().is_empty());
        let script = TestServer::by_path(&[("/nowhere", "302")]).await;
        let error = ask(&script, "/nowhere").await;
        assert!(error.contains("status 302, and no one place"), "{error}");
    }

    #[tokio::test]
    async fn what_is_posted_is_not_sent_on_even_within_the_origin() {
        let script = TestServer::by_path(&[("/a", "307 /b"), ("/b", "{}"), ("/c", "400")]).await;
        let post = async |path: &str| {
            let place = script.place(path);
            let body = Bytes::from_static(b"secret=1");
            let fetcher = fetcher();
            fetcher
                .post(Step::Token, &place, HeaderMap::new(), FORM, body)
                .await
        };
        let error = post("/a").await.unwrap_err();
        assert!(matches!(error, AuthError::Answer { .. }), "{error:?}");
        assert!(
            error.to_string().contains("is not sent elsewhere"),
            "{error}"
        );
        assert_eq!(script.asked(), ["POST /a"]);
        assert_eq!(post("/b").await.unwrap().body, "{}");
        assert_eq!(post("/c").await.unwrap().status, 400);
    }

    #[tokio::test]
    async fn a_server_is_asked_what_it_wants_to_see() {
        let script = TestServer::by_path(&[
            ("/mcp", r#"401 Bearer scope="a b""#),
            ("/open", "{}"),
            ("/other", r#"403 Bearer scope="c""#),
            ("/moved", "307 /mcp"),
        ])
        .await;
        let fetcher = fetcher();
        let demand = fetcher.probe(&script.place("/mcp")).await.unwrap();
        assert_eq!(demand.unwrap().scopes, Some(Scopes::parse("a b")));
        for path in ["/open", "/other", "/moved"] {
            let demand = fetcher.probe(&script.place(path)).await.unwrap();
            assert_eq!(demand, None, "{path}");
        }
        assert_eq!(
            script.asked(),
            ["POST /mcp", "POST /open", "POST /other", "POST /moved"]
        );
        let seen = &script.seen()[0];
        assert_eq!(
            seen.header("accept"),
            Some("application/json, text/event-stream")
        );
        assert_eq!(seen.header("authorization"), None);
    }

    #[tokio::test]
    async fn a_document_is_bounded_in_size_and_time() {
        let large = format!("{{\"a\":\"{}\"}}", "x".repeat(300 * 1024));
        let script = TestServer::by_path(&[
            ("/large", &large),
            ("/silent", "silence"),
            ("/slow", "drip"),
            ("/moved", "307 /silent"),
        ])
        .await;
        let error = ask(&script, "/large").await;
        assert!(error.contains("its answer cannot be read: "), "{error}");
        assert!(error.contains("262144"), "{error}");
        assert!(error.len() < 400, "{error}");
        let fetcher = fetcher_within(Duration::from_millis(50));
        for path in ["/silent", "/slow", "/moved"] {
            let place = script.place(path);
            let outcome = fetcher
                .document(Step::ResourceMetadata, &place, HeaderMap::new())
                .await;
            let error = outcome.unwrap_err();
            assert!(matches!(error, AuthError::TimedOut { .. }), "{error:?}");
        }
    }

    #[tokio::test]
    async fn places_that_are_not_public_are_not_asked_on_behalf_of_public_servers() {
        let script = TestServer::by_path(&[("/there", "{}")]).await;
        let fetcher = Fetcher::new(&settings(), Reach::Public).unwrap();
        let place = script.place("/there");
        let outcome = fetcher
            .document(Step::IssuerMetadata, &place, HeaderMap::new())
            .await;
        let error = outcome.unwrap_err();
        assert!(
            matches!(
                &error,
                AuthError::Send {
                    source: SendError::Address { .. },
                    ..
                }
            ),
            "{error:?}"
        );
        let error = fetcher
            .post(Step::Token, &place, HeaderMap::new(), FORM, Bytes::new())
            .await
            .unwrap_err();
        assert!(
            chain(&error).contains("is not a public address"),
            "{error:?}"
        );
        // Nor do settings that are narrow become wide.
        let mut narrow = settings();
        narrow.reach = Reach::Public;
        let fetcher = Fetcher::new(&narrow, Reach::Anywhere).unwrap();
        let outcome = fetcher
            .document(Step::IssuerMetadata, &place, HeaderMap::new())
            .await;
        assert!(outcome.is_err());
        assert!(script.asked().is_empty());
    }
}
