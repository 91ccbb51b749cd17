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
use std::future::Future;
use std::sync::Arc;

use http::header::{AUTHORIZATION, LOCATION};
use http::request::Parts;
use http::{HeaderMap, Request, StatusCode, Uri};
use switchboard_protocol::http::client::follow_redirect;

use crate::credentials::{Credentials, Refusal};
use crate::turn::Turn;

mod connect;
mod connection;
mod content;
mod error;
mod incoming;
mod pool;
mod proxy;
mod reach;
mod settings;
mod stream;
mod target;
mod tls;

pub use content::Content;
pub use error::{Phase, SendError, shown};
pub use incoming::{BodyError, Incoming};
pub use proxy::ProxyError;
pub use reach::Reach;
pub use settings::{ClientSettings, ProxyChoice, Roots, SetupError};

use connect::Connector;
use connection::{Answer, Connection, Fault, Unanswered};
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
    follows_redirects: bool,
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
            pool: Arc::new(Pool::new(
                settings.idle_timeout,
                settings.max_idle,
                settings.limits.bytes,
            )),
            connector: Connector::new(&settings)?,
            credentials: settings.credentials,
            authorization_attempts: settings.authorization_attempts.max(1),
            follows_redirects: settings.follows_redirects,
            body_limit: settings.limits.bytes,
            max_header_bytes: settings.max_header_bytes,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// A turn of whoever answers this client, for what is done with an answer.
    pub fn turn(&self) -> Turn {
        Turn::of(self.shared.pool.room().party())
    }

    /// Sends a request and waits for the head of its answer, whatever its status.
    ///
    /// Within the origin, 307 and 308 are followed, unless
    /// [`follows_redirects`](ClientSettings::follows_redirects) says otherwise. After a 401 or
    /// 403 the credentials are asked for others, unless the request brought its own. Nothing
    /// else is ever sent twice, but what was not sent at all: a request for a kept connection
    /// that had been closed.
    ///
    /// # Errors
    /// When there is no answer, or it leads elsewhere.
    pub fn send<C: Into<Content>>(
        &self,
        request: Request<C>,
    ) -> impl Future<Output = Result<Received, SendError>> + Send {
        let (head, content) = request.into_parts();
        self.send_content(head, content.into())
    }

    async fn send_content(&self, mut head: Parts, content: Content) -> Result<Received, SendError> {
        use_user(&mut head);
        let has_own = head.headers.contains_key(AUTHORIZATION);
        let credentials = self.shared.credentials.as_deref().filter(|_| !has_own);
        let mut followed = 0;
        let mut attempts = 0;
        loop {
            let mut authorization = None;
            let received = match credentials {
                None => self.exchange(&head, &content).await?,
                Some(credentials) => {
                    let signed = self.authorize(credentials, &head).await?;
                    authorization = signed.headers.get(AUTHORIZATION).cloned();
                    self.exchange(&signed, &content).await?
                }
            };
            if received.status.is_redirection() && self.shared.follows_redirects {
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
            if attempts >= self.shared.authorization_attempts {
                return Err(SendError::StillRefused {
                    url: shown(&head.uri),
                    status: received.status,
                    attempts,
                });
            }
            let Received {
                uri,
                status,
                headers,
                body: refused_body,
            } = received;
            let refusal = Refusal::new(uri, status, headers, authorization, attempts);
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
        }
    }

    async fn authorize(
        &self,
        credentials: &dyn Credentials,
        head: &Parts,
    ) -> Result<Parts, SendError> {
        let mut signed = head.clone();
        let outcome = credentials.authorize(&mut signed).await;
        outcome.map_err(|source| SendError::Credentials {
            url: shown(&head.uri),
            source,
        })?;
        // Only the headers are theirs.
        signed.uri = head.uri.clone();
        signed.method = head.method.clone();
        Ok(signed)
    }

    /// One request, one answer.
    async fn exchange(&self, head: &Parts, content: &Content) -> Result<Received, SendError> {
        let uri = &head.uri;
        let target = Target::of(uri).map_err(|reason| SendError::Url {
            url: shown(uri),
            reason,
        })?;
        while let Some(mut connection) = self.shared.pool.take(&target) {
            if !connection.is_silent() {
                continue;
            }
            match connection.exchange(head, content).await {
                Ok(answer) => return self.receive(uri, answer, connection),
                // It ended while it was idle. None of the request was sent.
                Err(Unanswered {
                    was_sent: false,
                    fault: Fault::Lost(_),
                }) => {}
                Err(unanswered) => return Err(self.lost(uri, unanswered)),
            }
        }
        // Rare beside requests, and its future is large: it would make that of each request large.
        let connecting = Box::pin(self.shared.connector.connect(&target, uri));
        let mut connection = connecting.await?;
        match connection.exchange(head, content).await {
            Ok(answer) => self.receive(uri, answer, connection),
            Err(unanswered) => Err(self.lost(uri, unanswered)),
        }
    }

    fn receive(
        &self,
        uri: &Uri,
        answer: Answer,
        connection: Box<Connection>,
    ) -> Result<Received, SendError> {
        let Answer { status, headers } = answer;
        if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED
            && let Some(proxy) = &connection.relay
        {
            return Err(SendError::Proxy {
                url: shown(uri),
                proxy: proxy.to_string(),
                reason: ProxyError::Refused { status },
            });
        }
        let pool = Arc::clone(&self.shared.pool);
        let body = Incoming::new(&headers, connection, pool, self.shared.body_limit);
        Ok(Received {
            uri: uri.clone(),
            status,
            headers,
            body,
        })
    }

    fn lost(&self, uri: &Uri, unanswered: Unanswered) -> SendError {
        let url = shown(uri);
        let Unanswered { was_sent, fault } = unanswered;
        match fault {
            Fault::HeaderTooLarge => SendError::HeaderTooLarge {
                url,
                limit: self.shared.max_header_bytes,
            },
            Fault::NotHttp(source) => SendError::NotHttp { url, source },
            Fault::Lost(error) => SendError::Lost {
                url,
                was_sent,
                source: error.into(),
            },
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

fn without_user(uri: &Uri) -> Uri {
    let mut parts = uri.clone().into_parts();
    parts.authority = parts.authority.map(|authority| {
        let place = place_of(&authority).parse();
        place.unwrap_or(authority)
    });
    Uri::from_parts(parts).unwrap_or_else(|_| uri.clone())
}

const LONGEST_PLACE: usize = 200;
