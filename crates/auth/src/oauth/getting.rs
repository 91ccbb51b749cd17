//! New tokens: when, for what, and how often. By whom is said in `person` and `machine`.
//!
//! Specification: basic/authorization, "Scope Selection Strategy" and "Step-Up Authorization
//! Flow".

use std::sync::Arc;

use http::HeaderValue;
use tracing::info;

use super::builder::Grant;
use super::finding::Found;
use super::keeping::Got;
use super::{Shared, header_of, now};
use crate::challenge::Demand;
use crate::error::{AuthError, Step};
use crate::pkce::random_text;
use crate::record::Record;
use crate::scope::Scopes;

impl Shared {
    /// Gets tokens that a server wanted, and keeps them.
    ///
    /// Whoever calls has the turn.
    pub(super) async fn log_in(
        &self,
        demand: &Demand,
        refused: Option<&HeaderValue>,
        found: Option<Found>,
    ) -> Result<(), AuthError> {
        let needs_person = matches!(self.settings.grant, Grant::Person);
        if needs_person && !self.settings.interaction.is_possible() {
            return Err(self.login_required(demand));
        }
        let scopes = demand.scopes.clone().unwrap_or_default();
        self.state().attempts.count(&scopes, now())?;
        let wanted = self.wanted(demand);
        let outcome = self.log_in_locked(demand, wanted.as_ref(), refused, found);
        let outcome = outcome.await;
        if let Err(error) = &outcome
            && !(needs_person && has_asked_person(error))
        {
            // What nobody was asked about may be tried as often as requests come.
            self.state().attempts.uncount(&scopes);
        }
        outcome.map(drop)
    }

    async fn log_in_locked(
        &self,
        demand: &Demand,
        wanted: Option<&Scopes>,
        refused: Option<&HeaderValue>,
        found: Option<Found>,
    ) -> Result<Arc<Record>, AuthError> {
        let _login = self.lock_for_login().await?;
        // While we waited, another process may have done it.
        if let Some(record) = self.stored().await?
            && is_newer(&record, wanted, refused)
        {
            let prover = None;
            return self.state().take(Got { record, prover });
        }
        self.get_for(demand, wanted, found).await
    }

    /// What a token must allow, if it is to allow more than the one we have.
    pub(super) fn wanted(&self, demand: &Demand) -> Option<Scopes> {
        if !demand.is_insufficient_scope() {
            return None;
        }
        let record = self.state().record.clone();
        let before = record.and_then(|record| Some(record.tokens.as_ref()?.requested.clone()));
        let wanted = demand.scopes.clone().unwrap_or_default();
        Some(before.unwrap_or_default().union(&wanted))
    }

    /// Gets tokens before anybody asked for them.
    pub(super) async fn get_ahead(&self) -> Result<Arc<Record>, AuthError> {
        let turn = self.logging_in.take().await;
        if let Some(record) = self.current().await?
            && record.tokens.is_some()
        {
            return Ok(record);
        }
        turn.check()?;
        let demand = Demand::default();
        let outcome = self.log_in_locked(&demand, None, None, None).await;
        outcome.map_err(|error| turn.fail(error))
    }

    /// Gets tokens and keeps them.
    pub(super) async fn get_for(
        &self,
        demand: &Demand,
        wanted: Option<&Scopes>,
        found: Option<Found>,
    ) -> Result<Arc<Record>, AuthError> {
        let found = match found {
            Some(found) => found,
            None => self.find(demand).await?,
        };
        let scopes = self.scopes_for(&found, demand, wanted);
        let mut got = match &self.settings.grant {
            Grant::Person => self.by_person(&found, &scopes, demand).await?,
            _ => self.without_person(&found, &scopes).await?,
        };
        got.record.login = Some(random_text(LOGIN_BYTES)?);
        info!(server = %self.server, issuer = %found.issuer.issuer, "logged in");
        self.keep(got).await
    }

    /// What to ask for: what the server wants now, else what it says there is, and what we
    /// were told to.
    fn scopes_for(&self, found: &Found, demand: &Demand, wanted: Option<&Scopes>) -> Scopes {
        let base = match (wanted, &demand.scopes) {
            (Some(wanted), _) => wanted.clone(),
            (None, Some(scopes)) => scopes.clone(),
            (None, None) if self.settings.scopes.is_empty() => found.scopes.clone(),
            (None, None) => Scopes::default(),
        };
        let scopes = base.union(&self.settings.scopes);
        let is_person = matches!(self.settings.grant, Grant::Person);
        let lasts = found.issuer.scopes_supported.has(OFFLINE);
        // Alone it would be all that is asked for, where nothing means the usual.
        match is_person && lasts && !scopes.is_empty() {
            true => scopes.union(&Scopes::parse(OFFLINE)),
            false => scopes,
        }
    }

    pub(super) fn login_required(&self, demand: &Demand) -> AuthError {
        AuthError::LoginRequired {
            server: self.server.to_string(),
            scopes: demand.scopes.clone().unwrap_or_default(),
            hint: self.settings.hint.clone(),
        }
    }
}

/// Is it a token that others got while we waited, and good enough?
fn is_newer(record: &Record, wanted: Option<&Scopes>, refused: Option<&HeaderValue>) -> bool {
    let Some(tokens) = &record.tokens else {
        return false;
    };
    let has_scopes = wanted.is_none_or(|wanted| tokens.requested.has_all(wanted));
    has_scopes && !tokens.is_expired(now()) && header_of(tokens).as_ref() != refused
}

/// Was it a person's time that came to nothing?
fn has_asked_person(error: &AuthError) -> bool {
    let is_theirs = matches!(
        error,
        AuthError::LoginTimedOut { .. }
            | AuthError::LoginAborted { .. }
            | AuthError::Callback { .. }
    );
    is_theirs || matches!(error.step(), Some(Step::Authorization | Step::Token))
}

const OFFLINE: &str = "offline_access";

// Enough to tell logins from each other.
const LOGIN_BYTES: usize = 9;
