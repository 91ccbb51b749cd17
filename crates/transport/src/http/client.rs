//! The connecting half: requests to servers, and their answers.
//!
//! One HTTP/1.1 client for one set of rules. It moves bytes and knows no message: which
//! headers a request has, what a status means and where a redirect may lead is said by
//! `switchboard_protocol::http::client`; when to ask again is for the caller. Dropping a
//! future or a body closes its connection, that is how a request is given up.
//!
//! 1. [`HttpClient`]: a request in, a [`Received`] out
//! 2. [`Incoming`]: the body, as a whole or as events
//! 3. [`ClientSettings`]: proxies, trust, limits, times
//! 4. [`SendError`], [`BodyError`]: what may go wrong, and whether the request may have run
//!
//! Specification: RFC 9110, RFC 9112; basic/transports of each revision.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, HOST, LOCATION, PROXY_AUTHORIZATION,
    TRANSFER_ENCODING,
};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri, Version};
use switchboard_protocol::http::client::follow_redirect;

use crate::credentials::{Credentials, Refusal};

mod connect;
mod connection;
mod error;
mod incoming;
mod pool;
mod proxy;
mod settings;
mod stream;
mod target;
mod tls;

pub use error::{Phase, SendError};
pub use incoming::{BodyError, Incoming};
pub use proxy::ProxyError;
pub use settings::{ClientSettings, ProxyChoice, Roots, SetupError};

use connect::Connector;
use connection::{Connection, SMALLEST_BUFFER, Unanswered, Whole};
use error::shown;
use pool::Pool;
use target::{Target, basic_header, place_of};

/// Sends requests. Clones share their connections.
#[derive(Clone)]
pub struct HttpClient {
    shared: Arc<Shared>,
}

struct Shared {
    pool: Arc<Pool>,
    connector: Connector,
    credentials: Option<Arc<dyn Credentials>>,
    authorization_attempts: u32,
    body_limit: usize,
    max_header_bytes: usize,
}

impl HttpClient {
    /// A client without connections. Nothing is asked of the network or the machine's store
    /// of certificates yet.
    ///
    /// # Errors
    /// When a proxy or roots are set that cannot be used.
    pub fn new(settings: ClientSettings) -> Result<Self, SetupError> {
        let shared = Shared {
            pool: Arc::new(Pool::new(settings.idle_timeout, settings.max_idle)),
            connector: Connector::new(&settings)?,
            credentials: settings.credentials,
            authorization_attempts: settings.authorization_attempts.max(1),
            body_limit: settings.limits.bytes,
            max_header_bytes: settings.max_header_bytes.max(SMALLEST_BUFFER),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Sends a request and waits for the head of its answer, whatever its status.
    ///
    /// Within the origin, 307 and 308 are followed. After a 401 or 403 the credentials are
    /// asked for others, unless the request brought its own. Nothing else is ever sent twice,
    /// but what was not sent at all: a request for a kept connection that had been closed.
    ///
    /// # Errors
    /// When there is no answer, or it leads elsewhere.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Received, SendError> {
        let (mut head, body) = request.into_parts();
        use_user(&mut head);
        let has_own = head.headers.contains_key(AUTHORIZATION);
        let credentials = self.shared.credentials.as_deref().filter(|_| !has_own);
        let mut followed = 0;
        let mut attempts = 0;
        loop {
            let mut signed = head.clone();
            if let Some(credentials) = credentials {
                self.authorize(credentials, &head, &mut signed).await?;
            }
            let had_authorization = signed.headers.contains_key(AUTHORIZATION);
            let received = self.exchange(signed, body.clone()).await?;
            if received.status.is_redirection() {
                head.uri = next_place(&head.uri, &received, followed)?;
                followed += 1;
                continue;
            }
            let is_refused = matches!(
                received.status,
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
            );
            let Some(credentials) = credentials.filter(|_| is_refused) else {
                return Ok(received);
            };
            attempts += 1;
            let Received {
                uri,
                status,
                headers,
                body: refused_body,
            } = received;
            let refusal = Refusal::new(uri, status, headers, had_authorization, attempts);
            let has_changed =
                credentials
                    .refused(&refusal)
                    .await
                    .map_err(|source| SendError::Credentials {
                        url: shown(&head.uri),
                        source,
                    })?;
            if !has_changed {
                return Ok(Received {
                    uri: refusal.uri,
                    status: refusal.status,
                    headers: refusal.headers,
                    body: refused_body,
                });
            }
            if attempts >= self.shared.authorization_attempts {
                return Err(SendError::StillRefused {
                    url: shown(&head.uri),
                    status: refusal.status,
                    attempts,
                });
            }
        }
    }

    async fn authorize(
        &self,
        credentials: &dyn Credentials,
        head: &Parts,
        signed: &mut Parts,
    ) -> Result<(), SendError> {
        let outcome = credentials.authorize(signed).await;
        outcome.map_err(|source| SendError::Credentials {
            url: shown(&head.uri),
            source,
        })?;
        // Only the headers are theirs.
        signed.uri = head.uri.clone();
        signed.method = head.method.clone();
        Ok(())
    }

    /// One request, one answer.
    async fn exchange(&self, head: Parts, body: Bytes) -> Result<Received, SendError> {
        let uri = head.uri.clone();
        let target = Target::of(&uri).map_err(|reason| SendError::Url {
            url: shown(&uri),
            reason,
        })?;
        let mut request = Request::from_parts(head, Whole::new(body));
        while let Some(mut connection) = self.take_alive(&target).await {
            prepare(&mut request, &uri, &connection);
            match connection.exchange(request).await {
                Ok(answer) => return self.receive(uri, answer, connection).await,
                // It ended while it was idle. None of the request was sent.
                Err(Unanswered {
                    request: Some(unsent),
                    ..
                }) => request = unsent,
                Err(unanswered) => return Err(self.lost(&uri, unanswered)),
            }
        }
        let mut connection = self.shared.connector.connect(&target, &uri).await?;
        prepare(&mut request, &uri, &connection);
        match connection.exchange(request).await {
            Ok(answer) => self.receive(uri, answer, connection).await,
            Err(unanswered) => Err(self.lost(&uri, unanswered)),
        }
    }

    async fn take_alive(&self, target: &Target) -> Option<Box<Connection>> {
        loop {
            let mut connection = self.shared.pool.take(target)?;
            let is_alive = poll_fn(|cx| Poll::Ready(connection.is_alive(cx))).await;
            if is_alive {
                return Some(connection);
            }
        }
    }

    async fn receive(
        &self,
        uri: Uri,
        answer: http::Response<hyper::body::Incoming>,
        connection: Box<Connection>,
    ) -> Result<Received, SendError> {
        let (head, body) = answer.into_parts();
        // hyper stops reading a head somewhere beyond its limit; one that ended there came
        // through.
        let size = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
        let limit = self.shared.max_header_bytes;
        if head.headers.iter().map(size).sum::<usize>() > limit {
            let url = shown(&uri);
            return Err(SendError::HeaderTooLarge { url, limit });
        }
        if head.status == StatusCode::PROXY_AUTHENTICATION_REQUIRED
            && let Some(proxy) = &connection.relay
        {
            return Err(SendError::Proxy {
                url: shown(&uri),
                proxy: proxy.to_string(),
                reason: ProxyError::Refused {
                    status: head.status,
                },
            });
        }
        let pool = Arc::clone(&self.shared.pool);
        let mut body = Incoming::new(
            &head.headers,
            body,
            connection,
            pool,
            self.shared.body_limit,
        );
        poll_fn(|cx| body.poll_settled(cx)).await;
        Ok(Received {
            uri,
            status: head.status,
            headers: head.headers,
            body,
        })
    }

    fn lost(&self, uri: &Uri, unanswered: Unanswered) -> SendError {
        let url = shown(uri);
        let Unanswered { request, error } = unanswered;
        if error.is_parse_too_large() {
            let limit = self.shared.max_header_bytes;
            return SendError::HeaderTooLarge { url, limit };
        }
        if error.is_parse() {
            let source = error.into();
            return SendError::NotHttp { url, source };
        }
        SendError::Lost {
            url,
            was_sent: request.is_none(),
            source: error.into(),
        }
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("has_credentials", &self.shared.credentials.is_some())
            .finish_non_exhaustive()
    }
}

/// An answer: its head, and a body that is still to be read.
#[non_exhaustive]
pub struct Received {
    /// Who answered: what was asked for, or where it redirected to.
    pub uri: Uri,
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Incoming,
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received")
            .field("url", &shown(&self.uri))
            .field("status", &self.status)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

fn next_place(from: &Uri, received: &Received, followed: usize) -> Result<Uri, SendError> {
    follow_redirect(from, received.status, &received.headers, followed).map_err(|reason| {
        let to = received.headers.get(LOCATION).map(|value| {
            let text = String::from_utf8_lossy(value.as_bytes());
            // A query may hold what nobody else should read.
            let text = text.split(['?', '#']).next().unwrap_or_default();
            text.chars().take(LONGEST_PLACE).collect()
        });
        SendError::Redirect {
            url: shown(from),
            to,
            reason,
        }
    })
}

/// Moves the name and password of a URL into a header. One that is set already is meant.
fn use_user(head: &mut Parts) {
    if let Some(value) = head.uri.authority().and_then(basic_header) {
        head.headers.entry(AUTHORIZATION).or_insert(value);
        head.uri = without_user(&head.uri);
    }
}

/// Writes a request as this connection wants it.
fn prepare(request: &mut Request<Whole>, uri: &Uri, connection: &Connection) {
    let target = match &connection.relay {
        None => {
            let path = uri.path_and_query().cloned();
            Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")))
        }
        Some(_) => uri.clone(),
    };
    *request.uri_mut() = target;
    *request.version_mut() = Version::HTTP_11;
    let headers = request.headers_mut();
    // Where a body ends is said by whoever writes it; a second word on that would let one
    // request pass for two.
    headers.remove(CONTENT_LENGTH);
    headers.remove(TRANSFER_ENCODING);
    headers.insert(HOST, connection.host_header.clone());
    headers.insert(ACCEPT_ENCODING, IDENTITY);
    if let Some(value) = connection
        .relay
        .as_ref()
        .and_then(|proxy| proxy.authorization.clone())
    {
        headers.insert(PROXY_AUTHORIZATION, value);
    }
}

fn without_user(uri: &Uri) -> Uri {
    let mut parts = uri.clone().into_parts();
    parts.authority = parts.authority.map(|authority| {
        let place = place_of(&authority).parse();
        place.unwrap_or(authority)
    });
    Uri::from_parts(parts).unwrap_or_else(|_| uri.clone())
}

const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

const LONGEST_PLACE: usize = 200;
