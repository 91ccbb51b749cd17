//! A token that is there already: no login, no issuer.
//!
//! For servers whose tokens come from somewhere else. It is read when it is first needed, and
//! again after the server has refused it. There is no OAuth here, whatever the server says.
//!
//! Specification: RFC 6750, sections 2.1 and 3; basic/authorization, "Access Token Usage".

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue, StatusCode, Uri};
use switchboard_protocol::http::location::is_same_origin;
use switchboard_transport::credentials::{Asking, Credentials, CredentialsError, Refusal};
use tokio::time::Instant;

use crate::error::AuthError;
use crate::place::Place;
use crate::secret::Secret;
use crate::source::TokenSource;
use crate::turn::Turn;

/// A token for one server, and never for another.
///
/// ```
/// use switchboard_auth::{Bearer, Place, TokenSource};
///
/// let server = Place::parse("https://mcp.example.com/mcp")?;
/// let token = Bearer::new(&server, TokenSource::environment("EXAMPLE_TOKEN"));
/// # Ok::<(), switchboard_auth::BadPlace>(())
/// ```
pub struct Bearer {
    server: Place,
    source: TokenSource,
    header: Option<HeaderName>,
    held: Mutex<Held>,
    /// Only one reads the source at a time.
    turn: Turn,
}

/// What was read.
#[derive(Default)]
struct Held {
    value: Option<HeaderValue>,
    /// How often the source was read.
    reads: u64,
    /// When the source last gave another value than before.
    changed_at: Option<Instant>,
    /// Did the last reading give another value?
    has_changed: bool,
}

impl Bearer {
    /// What is found there, for a server.
    pub fn new(server: &Place, source: TokenSource) -> Self {
        Self {
            server: server.clone(),
            source,
            header: None,
            held: Mutex::default(),
            turn: Turn::default(),
        }
    }

    /// Sends it, as it is, in another header than as `Authorization: Bearer`.
    #[must_use]
    pub fn header(mut self, name: HeaderName) -> Self {
        self.header = Some(name);
        self
    }

    fn is_for(&self, uri: &Uri) -> bool {
        is_same_origin(self.server.uri(), uri)
    }

    async fn value(&self) -> Result<HeaderValue, AuthError> {
        if let Some(value) = &self.held().value {
            return Ok(value.clone());
        }
        let turn = self.turn.take().await;
        if let Some(value) = &self.held().value {
            return Ok(value.clone());
        }
        turn.check()?;
        let value = self.read().await.map_err(|error| turn.fail(error))?;
        let mut held = self.held();
        held.reads += 1;
        held.value = Some(value.clone());
        Ok(value)
    }

    /// Is there another value than the one that was refused?
    async fn renew(&self, refusal: &Refusal) -> Result<bool, AuthError> {
        let reads = self.held().reads;
        let turn = self.turn.take().await;
        {
            let held = self.held();
            if self.was_sent_before(&held, refusal) {
                return Ok(true);
            }
            // Somebody else who was refused has looked while this one waited.
            if held.reads != reads {
                return Ok(held.has_changed);
            }
        }
        turn.check()?;
        let value = self.read().await.map_err(|error| turn.fail(error))?;
        let mut held = self.held();
        held.reads += 1;
        held.has_changed = held.value.as_ref() != Some(&value);
        if held.has_changed {
            held.value = Some(value);
            held.changed_at = Some(Instant::now());
        }
        Ok(held.has_changed)
    }

    /// Was the refused request sent before there was the value that is held now?
    fn was_sent_before(&self, held: &Held, refusal: &Refusal) -> bool {
        if *self.name() == AUTHORIZATION {
            return refusal.authorization != held.value;
        }
        // Other headers are not told. At worst it is sent once more than needed.
        let is_recent = |at: Instant| at.elapsed() < RECENT;
        refusal.attempt == 1 && held.changed_at.is_some_and(is_recent)
    }

    fn name(&self) -> &HeaderName {
        self.header.as_ref().unwrap_or(&AUTHORIZATION)
    }

    async fn read(&self) -> Result<HeaderValue, AuthError> {
        let token = self.source.read().await?;
        let value = match self.header {
            None => without_scheme(token).header(SCHEME),
            Some(_) => HeaderValue::from_str(token.reveal()).ok(),
        };
        let mut value = value.ok_or_else(|| {
            self.source
                .error("it has characters that cannot stand in a header")
        })?;
        value.set_sensitive(true);
        Ok(value)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Credentials for Bearer {
    fn authorize<'a>(&'a self, request: &'a mut http::request::Parts) -> Asking<'a, ()> {
        Box::pin(async move {
            let name = self.name();
            if !self.is_for(&request.uri) || request.headers.contains_key(name) {
                return Ok(());
            }
            let value = self.value().await.map_err(CredentialsError::from)?;
            request.headers.insert(name, value);
            Ok(())
        })
    }

    fn refused<'a>(&'a self, refusal: &'a Refusal) -> Asking<'a, bool> {
        Box::pin(async move {
            // A 403 is about what may be done with the token, not about the token.
            let is_about_token = refusal.status == StatusCode::UNAUTHORIZED;
            if !is_about_token || !self.is_for(&refusal.uri) || self.source.is_fixed() {
                return Ok(false);
            }
            self.renew(refusal).await.map_err(CredentialsError::from)
        })
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bearer")
            .field("server", &self.server)
            .field("source", &self.source)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

/// Many copy the whole header.
fn without_scheme(token: Secret) -> Secret {
    match token.reveal().split_once(' ') {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(SCHEME) => {
            Secret::new(rest.trim_start())
        }
        _ => token,
    }
}

const SCHEME: &str = "Bearer";
// As long as a request may have been on its way.
const RECENT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
