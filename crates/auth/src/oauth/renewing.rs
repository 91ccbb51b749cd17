//! New tokens for old ones.
//!
//! Under the lock of the store: read what is there, ask, write, let go. Of many processes with
//! one token that has ended, one asks, and the others find what it got.
//!
//! Specification: RFC 6749, section 6; OAuth 2.1, section 4.3; basic/authorization, "Refresh
//! Tokens", "Step-Up Authorization Flow", "Authorization Server Binding".

use std::sync::Arc;

use http::HeaderValue;
use tracing::{debug, info};

use super::builder::Grant;
use super::finding::Found;
use super::{Shared, header_of, now};
use crate::challenge::Demand;
use crate::error::{AuthError, Step};
use crate::form::refresh_form;
use crate::record::{ClientOrigin, Record, Tokens};
use crate::scope::Scopes;
use crate::token::TokenAsker;

impl Shared {
    /// Renews a token that will end soon. As long as the old one counts, nobody waits for
    /// another, and a renewal that could not be done is none of a request's business.
    pub(super) async fn renew_ahead(&self, now: u64) -> Result<Option<Arc<Record>>, AuthError> {
        let before = self.current().await?;
        let Some((record, tokens)) = with_tokens(before.as_ref()) else {
            return Ok(before);
        };
        let has_ended = tokens.is_expired(now);
        let rests = !has_ended && self.state().rest_until > now;
        if !self.can_renew(tokens) || rests {
            return Ok(before);
        }
        let _turn = match self.turn.try_lock() {
            Ok(turn) => turn,
            Err(_) if !has_ended => return Ok(before),
            Err(_) => self.turn.lock().await,
        };
        let current = self.current().await?;
        match with_tokens(current.as_ref()) {
            Some((_, newer)) if newer.access == tokens.access => {}
            _ => return Ok(current),
        }
        match self.renew(record, tokens, None).await {
            Ok(record) => Ok(record),
            Err(error) if has_ended => Err(error),
            Err(error) => {
                debug!(server = %self.server, %error, "not renewed ahead of time");
                self.state().rest_until = now.saturating_add(REST);
                Ok(before)
            }
        }
    }

    /// Gets something else than the token that was refused, or than none.
    ///
    /// Whoever calls has the turn.
    pub(super) async fn replace(
        &self,
        demand: &Demand,
        refused: Option<&HeaderValue>,
    ) -> Result<(), AuthError> {
        let current = self.current().await?;
        if let Some((record, tokens)) = with_tokens(current.as_ref())
            && self.can_renew(tokens)
        {
            let found = self.find(demand).await?;
            if found.issuer.issuer == record.issuer {
                let renewed = self.renew(record, tokens, Some(&found)).await?;
                if let Some((_, tokens)) = with_tokens(renewed.as_ref())
                    && header_of(tokens).as_ref() != refused
                {
                    return Ok(());
                }
            } else {
                info!(server = %self.server, issuer = %found.issuer.issuer, "another issuer");
            }
        }
        self.log_in(demand, None, refused).await
    }

    /// Gets a token for more than the one that was refused.
    ///
    /// Whoever calls has the turn.
    pub(super) async fn step_up(
        &self,
        demand: &Demand,
        refused: Option<&HeaderValue>,
    ) -> Result<(), AuthError> {
        let current = self.current().await?;
        let before = with_tokens(current.as_ref()).map(|(_, tokens)| tokens.requested.clone());
        let wanted = demand.scopes.clone().unwrap_or_default();
        let wanted = before.unwrap_or_default().union(&wanted);
        self.log_in(demand, Some(&wanted), refused).await
    }

    /// Is there a way without a person?
    fn can_renew(&self, tokens: &Tokens) -> bool {
        !matches!(self.settings.grant, Grant::Person) || tokens.refresh.is_some()
    }

    /// Asks for new tokens, unless another process got them already. Without tokens in it, the
    /// record says that the issuer gives no more.
    async fn renew(
        &self,
        before: &Record,
        old: &Tokens,
        found: Option<&Found>,
    ) -> Result<Option<Arc<Record>>, AuthError> {
        let _lock = self.settings.store.lock(&self.key).await?;
        let entry = self.settings.store.load(&self.key).await?;
        let stored = entry.and_then(|entry| self.fitting(entry));
        let Some(mut record) = stored else {
            // Somebody logged out.
            return self.state().install(None);
        };
        // Another process has new ones, or has learned that there will be none.
        let is_other = |tokens: &Tokens| tokens.access != old.access && !tokens.is_expired(now());
        if record.tokens.as_ref().is_none_or(is_other) {
            debug!(server = %self.server, "renewed by another process");
            return self.state().install(Some(record));
        }
        let issuer = match found {
            Some(found) => Arc::clone(&found.issuer),
            None => self.issuer_of(before).await?,
        };
        let outcome = match (&self.settings.grant, &old.refresh) {
            (Grant::Person, None) => return Ok(self.state().record.clone()),
            (Grant::Person, Some(refresh)) => {
                // The newest there is: ours may be one that was used up.
                let newest = record
                    .tokens
                    .as_ref()
                    .and_then(|tokens| tokens.refresh.clone());
                let refresh = newest.as_ref().unwrap_or(refresh);
                let resource = (!record.is_old).then_some(&*record.resource);
                let prover = self.state().prover.clone();
                let asker = TokenAsker {
                    fetcher: self.fetcher().await?,
                    issuer: &issuer,
                    client: self.settings.client.as_ref().unwrap_or(&record.client),
                    key: self.settings.signing_key.as_ref(),
                    prover: prover.as_deref(),
                    now: now(),
                };
                let form = refresh_form(refresh, resource, &Scopes::default());
                asker.ask(Step::Refresh, form, &old.requested).await
            }
            (_, _) => {
                let found = Found {
                    issuer: Arc::clone(&issuer),
                    resource: (!record.is_old).then(|| record.resource.clone()),
                    scopes: Scopes::default(),
                    wants_proof: record.proof_key.is_some(),
                };
                let asked = self.without_person(&found, &old.requested).await;
                asked.and_then(|record| record.tokens.ok_or(AuthError::NoInteraction))
            }
        };
        match outcome {
            Ok(tokens) => {
                debug!(server = %self.server, "renewed");
                record.tokens = Some(tokens);
                self.keep_locked(record).await.map(Some)
            }
            Err(error) if is_final(&error) && matches!(self.settings.grant, Grant::Person) => {
                info!(server = %self.server, %error, "the login has ended");
                if is_unknown_client(&error) && record.client.origin == ClientOrigin::Registered {
                    self.forget_locked(&record.issuer).await?;
                    return Ok(None);
                }
                record.tokens = None;
                self.keep_locked(record).await.map(Some)
            }
            Err(error) => Err(error),
        }
    }

    /// Forgets what an issuer gave, for whoever has the lock.
    pub(super) async fn forget_locked(&self, issuer: &str) -> Result<(), AuthError> {
        let store = &*self.settings.store;
        if let Some(mut entry) = store.load(&self.key).await? {
            entry.records.retain(|record| record.issuer != issuer);
            store.save(&entry).await?;
        }
        self.state().install(None)?;
        Ok(())
    }

    /// Tells the issuer that tokens are no longer needed. It is a courtesy.
    pub(super) async fn revoke(&self, record: &Record) {
        let Some(tokens) = &record.tokens else {
            return;
        };
        let outcome = async {
            let issuer = self.issuer_of(record).await?;
            let asker = TokenAsker {
                fetcher: self.fetcher().await?,
                issuer: &issuer,
                client: &record.client,
                key: self.settings.signing_key.as_ref(),
                prover: None,
                now: now(),
            };
            asker.revoke(tokens).await
        };
        if let Err(error) = outcome.await {
            debug!(server = %self.server, %error, "not revoked");
        }
    }
}

fn with_tokens(record: Option<&Arc<Record>>) -> Option<(&Record, &Tokens)> {
    let record = record?;
    Some((record, record.tokens.as_ref()?))
}

/// Does the issuer no longer know the client? Or not for this, which it registered for: the
/// servers of the Python SDK 1.x say so of clients that they do not know at all.
pub(super) fn is_unknown_client(error: &AuthError) -> bool {
    matches!(error.code(), Some("invalid_client" | "unauthorized_client"))
}

/// Is there no use in asking again with the same token?
fn is_final(error: &AuthError) -> bool {
    matches!(
        error.code(),
        Some(
            "invalid_grant"
                | "invalid_client"
                | "unauthorized_client"
                | "invalid_scope"
                | "invalid_target"
        )
    )
}

// Between renewals ahead of time that came to nothing.
const REST: u64 = 30;
