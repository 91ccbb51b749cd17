//! Tokens by OAuth 2.1: got when a server asks, renewed before they end, kept over restarts.
//!
//! ```text
//!  authorize ── no token ──────────────────────────▶ the request goes out without one
//!      │ token ── due ──▶ renew ── refused ──▶ dropped, as above
//!      ▼                    │
//!  Authorization ◀──────────┘
//!
//!  refused ── another token is there by now ───────▶ again
//!      │ 401 ── refresh ── refused ──▶ log in ──┬──▶ again
//!      │ 403, scopes ──────────────▶ log in ────┘
//!      └ 403 ──────────────────────────────────────▶ the caller's
//! ```
//!
//! One renewal at a time: in this process by a `Turn`, among processes by a lock of the store.
//! Whoever waited looks first whether the other one did it. Logins have a turn and a lock of
//! their own: they may take minutes, and those who only renew do not wait for them. Of the two
//! turns nobody holds both; locks are taken after turns, that of the login before that of the
//! entry.
//!
//! 1. `builder`: what can be set
//! 2. `finding`: who gives tokens for the server
//! 3. `getting`: new ones, by a `person` or a `machine`; `identity`: who we are to an issuer;
//!    `attempts`: not too often
//! 4. `renewing`: new ones for old ones
//! 5. `keeping`: what is stored of them, and what of it is in use
//!
//! Specification: basic/authorization of each revision.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use http::request::Parts;
use http::{HeaderValue, StatusCode};
use switchboard_protocol::http::location::is_same_origin;
use switchboard_transport::credentials::{self, Credentials, Refusal};
use tokio::sync::OnceCell;
use tracing::debug;

use crate::challenge::Demand;
use crate::dpop::{DPOP, Prover};
use crate::error::AuthError;
use crate::fetch::Fetcher;
use crate::issuer::Issuer;
use crate::place::Place;
use crate::record::{Record, TokenKind, Tokens};
use crate::scope::Scopes;
use crate::turn::Turn;

mod attempts;
mod builder;
mod finding;
mod getting;
mod identity;
mod keeping;
mod machine;
mod person;
mod renewing;

pub use builder::{Grant, IdentityProvider, OAuthBuilder};

use attempts::Attempts;
use builder::Settings;
use finding::Found;

/// The login of one server. Clones share it.
///
/// Give it to a client as its credentials. With an [`Interaction`](crate::Interaction) people
/// are asked when the server wants it; without one, what wants a person fails at once with a
/// word about what to do.
#[derive(Clone)]
pub struct OAuth {
    shared: Arc<Shared>,
}

struct Shared {
    /// Whom the tokens are for. They are sent nowhere else.
    server: Place,
    /// Under what the store keeps them.
    key: String,
    settings: Settings,
    fetcher: OnceCell<Fetcher>,
    state: Mutex<State>,
    /// Held by whoever gets new tokens for old ones.
    renewing: Turn,
    /// Held by whoever gets new tokens in other ways: a person may have to be waited for.
    logging_in: Turn,
}

#[derive(Default)]
struct State {
    is_loaded: bool,
    /// How often a record was taken to use: what was read from the store before the last time
    /// is out of date.
    taken: u64,
    record: Option<Arc<Record>>,
    prover: Option<Arc<Prover>>,
    /// The metadata of the record's issuer, or of the last one that was looked up.
    issuer: Option<Arc<Issuer>>,
    /// What the server wanted when it last refused.
    demand: Option<Demand>,
    /// How often tokens were got lately, for what.
    attempts: Attempts,
    /// No renewal ahead of time before this: the last one was for nothing.
    rest_until: u64,
}

/// What is known about a login, without its secrets.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// Who gave it.
    pub issuer: String,
    /// Who we are there.
    pub client_id: String,
    /// What was given, or asked for where the issuer did not say.
    pub scopes: Scopes,
    /// When the access token ends, in seconds since 1970.
    pub expires_at: Option<u64>,
    /// Can it be renewed without a person?
    pub is_renewable: bool,
}

impl OAuth {
    /// Begins to describe the login of a server.
    ///
    /// # Errors
    /// When the URL is not one that tokens may be sent to.
    pub fn for_server(url: &str) -> Result<OAuthBuilder, AuthError> {
        OAuthBuilder::new(url)
    }

    /// Logs in, whether there are tokens already or not.
    ///
    /// # Errors
    /// When there are none in the end.
    pub async fn login(&self) -> Result<Status, AuthError> {
        let shared = &*self.shared;
        let before = shared.stored().await?.and_then(|record| record.login);
        let turn = shared.logging_in.take().await;
        // What is needed on the way is much, and a caller need not carry it.
        let demand = Box::pin(shared.demand_for_login()).await?;
        let _login = shared.lock_for_login().await?;
        let record = match shared.stored().await? {
            // While we waited, another did it: nobody is asked twice.
            Some(record) if record.login != before && record.tokens.is_some() => {
                shared.state().install(Some(record))?
            }
            _ => {
                let wanted = shared.wanted(&demand);
                let outcome = Box::pin(shared.get_for(&demand, wanted.as_ref(), None)).await;
                Some(outcome.map_err(|error| turn.fail(error))?)
            }
        };
        // Somebody saw to it: whatever did not satisfy the server before may be asked for again.
        shared.state().attempts.clear();
        let status = record.as_deref().and_then(status_of);
        status.ok_or(AuthError::NoInteraction)
    }

    /// Ends the tokens where they came from, as far as that is possible, and forgets them. Was
    /// there anything to forget?
    ///
    /// # Errors
    /// When the store cannot be changed. That an issuer could not be told is no error.
    pub async fn logout(&self) -> Result<bool, AuthError> {
        let shared = &*self.shared;
        let (entry, was_there) = shared.forget_all().await?;
        // Nobody waits until issuers have answered: what they are told of is used by nobody.
        for record in entry.iter().flat_map(|entry| &entry.records) {
            Box::pin(shared.revoke(record)).await;
        }
        Ok(was_there)
    }

    /// What is known about the login, if there is one.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn status(&self) -> Result<Option<Status>, AuthError> {
        self.shared.state().is_loaded = false;
        let record = self.shared.current().await?;
        Ok(record.as_deref().and_then(status_of))
    }
}

impl Credentials for OAuth {
    fn authorize<'a>(&'a self, request: &'a mut Parts) -> credentials::Asking<'a, ()> {
        Box::pin(async move { Ok(self.shared.authorize(request).await?) })
    }

    fn refused<'a>(&'a self, refusal: &'a Refusal) -> credentials::Asking<'a, bool> {
        Box::pin(async move { Ok(self.shared.refused(refusal).await?) })
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("server", &self.shared.server)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn authorize(self: &Arc<Self>, request: &mut Parts) -> Result<(), AuthError> {
        if !is_same_origin(&request.uri, self.server.uri()) {
            return Ok(());
        }
        let mut record = self.current().await?;
        let tokens = record.as_ref().and_then(|record| record.tokens.as_ref());
        match tokens {
            Some(tokens) if tokens.is_due(now()) => record = self.renew_ahead(now()).await?,
            Some(_) => {}
            // Whoever named the place of the tokens need not be refused first.
            None if self.settings.token_endpoint.is_some() => {
                record = Some(self.get_ahead().await?);
            }
            None => {}
        }
        match record.as_ref().and_then(|record| record.tokens.as_ref()) {
            Some(tokens) => self.show(request, tokens, now()),
            None => Ok(()),
        }
    }

    /// Adds the headers of a token to a request.
    fn show(&self, request: &mut Parts, tokens: &Tokens, now: u64) -> Result<(), AuthError> {
        let Some(value) = header_of(tokens) else {
            return Err(AuthError::Setup {
                reason: "the token cannot stand in a header: log in again".to_owned(),
            });
        };
        if tokens.kind == TokenKind::Dpop
            && let Some(prover) = self.state().prover.clone()
        {
            let proof = prover.proof(&request.method, &request.uri, Some(&tokens.access), now)?;
            request.headers.insert(DPOP, proof);
        }
        request.headers.insert(http::header::AUTHORIZATION, value);
        Ok(())
    }

    async fn refused(self: &Arc<Self>, refusal: &Refusal) -> Result<bool, AuthError> {
        if !is_same_origin(&refusal.uri, self.server.uri()) {
            return Ok(false);
        }
        let demand = Demand::of(&refusal.headers);
        if self.has_nonce(refusal) && demand.wants_nonce() {
            return Ok(true);
        }
        let is_for_scopes =
            refusal.status == StatusCode::FORBIDDEN && demand.is_insufficient_scope();
        if refusal.status != StatusCode::UNAUTHORIZED && !is_for_scopes {
            return Ok(false);
        }
        debug!(server = %self.server, status = refusal.status.as_u16(), "refused");
        self.state().demand = Some(demand.clone());
        let refused = refusal.authorization.as_ref();
        let mut found = None;
        if !is_for_scopes {
            let turn = self.renewing.take().await;
            if self.has_other_than(refused).await? {
                return Ok(true);
            }
            turn.check()?;
            match self.replace(&demand, refused).await {
                Ok(Replaced::Yes) => return Ok(true),
                Ok(Replaced::No(looked_up)) => found = looked_up,
                Err(error) => return Err(turn.fail(error)),
            }
        }
        let turn = self.logging_in.take().await;
        if self.has_other_than(refused).await? {
            return Ok(true);
        }
        turn.check()?;
        let outcome = self.log_in(&demand, refused, found).await;
        outcome.map_err(|error| turn.fail(error))?;
        Ok(true)
    }

    /// Was it said what the next proof must have in it?
    fn has_nonce(&self, refusal: &Refusal) -> bool {
        let prover = self.state().prover.clone();
        prover.is_some_and(|prover| prover.remember_nonce(&refusal.uri, &refusal.headers))
    }

    /// Is there another token by now than the one that was refused: from a request beside this
    /// one, or from another process?
    async fn has_other_than(&self, refused: Option<&HeaderValue>) -> Result<bool, AuthError> {
        let is_other = |record: Option<Arc<Record>>| {
            let own = record.and_then(|record| header_of(record.tokens.as_ref()?));
            own.is_some() && own.as_ref() != refused
        };
        if is_other(self.current().await?) {
            return Ok(true);
        }
        self.state().is_loaded = false;
        Ok(is_other(self.current().await?))
    }
}

/// What became of a token that was refused.
enum Replaced {
    /// There is another.
    Yes,
    /// There is none without a login. Who would give it, if that was looked up.
    No(Option<Found>),
}

fn header_of(tokens: &Tokens) -> Option<HeaderValue> {
    let scheme = match tokens.kind {
        TokenKind::Bearer => "Bearer",
        TokenKind::Dpop => "DPoP",
    };
    tokens.access.header(scheme)
}

fn status_of(record: &Record) -> Option<Status> {
    let tokens = record.tokens.as_ref()?;
    Some(Status {
        issuer: record.issuer.clone(),
        client_id: record.client.id.clone(),
        scopes: tokens
            .granted
            .clone()
            .unwrap_or_else(|| tokens.requested.clone()),
        expires_at: tokens.expires_at,
        is_renewable: tokens.refresh.is_some(),
    })
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
