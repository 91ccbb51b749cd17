//! New tokens for old ones.
//!
//! Under the lock of the store: read what is there, ask, write, let go. Of many processes with
//! one token that has ended, one asks, and the others find what it got.
//!
//! Specification: RFC 6749, section 6; OAuth 2.1, section 4.3; basic/authorization, "Refresh
//! Tokens", "Step-Up Authorization Flow", "Authorization Server Binding".

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use tokio::time::timeout;
use tracing::{debug, info};

use super::builder::Grant;
use super::finding::Found;
use super::keeping::Got;
use super::{Replaced, Shared, header_of, now};
use crate::challenge::Demand;
use crate::error::{AuthError, Step};
use crate::form::refresh_form;
use crate::record::{ClientOrigin, Record, Tokens};
use crate::scope::Scopes;

impl Shared {
    /// Renews a token that will end soon. As long as the old one counts, nobody waits for
    /// another but whoever asks for it, and not long; a renewal that could not be done is none
    /// of a request's business.
    pub(super) async fn renew_ahead(
        self: &Arc<Self>,
        now: u64,
    ) -> Result<Option<Arc<Record>>, AuthError> {
        let before = self.current().await?;
        let Some((record, tokens)) = with_tokens(before.as_ref()) else {
            return Ok(before);
        };
        let has_ended = tokens.is_expired(now);
        let rests = !has_ended && self.state().rest_until > now;
        if !self.can_renew(tokens) || rests {
            return Ok(before);
        }
        let turn = match self.renewing.try_take() {
            Some(turn) => turn,
            None if !has_ended => return Ok(before),
            None => self.renewing.take().await,
        };
        let current = self.current().await?;
        match with_tokens(current.as_ref()) {
            Some((_, newer)) if newer.access == tokens.access => {}
            _ => return Ok(current),
        }
        turn.check()?;
        if has_ended {
            let renewed = self.renew(record, None).await;
            return renewed.map_err(|error| turn.fail(error));
        }
        match timeout(PATIENCE, self.renew(record, None)).await {
            Ok(Ok(record)) => return Ok(record),
            Ok(Err(error)) => {
                debug!(server = %self.server, %error, "not renewed ahead of time");
            }
            // It goes on without us.
            Err(_) => debug!(server = %self.server, "not renewed ahead of time yet"),
        }
        self.state().rest_until = now.saturating_add(REST);
        Ok(before)
    }

    /// Gets something else than the token that was refused, if that needs no login.
    ///
    /// Whoever calls has the turn.
    pub(super) async fn replace(
        self: &Arc<Self>,
        demand: &Demand,
        refused: Option<&HeaderValue>,
    ) -> Result<Replaced, AuthError> {
        let current = self.current().await?;
        let Some((record, tokens)) = with_tokens(current.as_ref()) else {
            return Ok(Replaced::No(None));
        };
        if !self.can_renew(tokens) {
            return Ok(Replaced::No(None));
        }
        let found = self.find(demand).await?;
        if found.issuer.issuer != record.issuer {
            info!(server = %self.server, issuer = %found.issuer.issuer, "another issuer");
            return Ok(Replaced::No(Some(found)));
        }
        let renewed = self.renew(record, Some(&found)).await?;
        Ok(match with_tokens(renewed.as_ref()) {
            Some((_, tokens)) if header_of(tokens).as_ref() != refused => Replaced::Yes,
            _ => Replaced::No(Some(found)),
        })
    }

    /// Is there a way without a person?
    fn can_renew(&self, tokens: &Tokens) -> bool {
        !matches!(self.settings.grant, Grant::Person) || tokens.refresh.is_some()
    }

    /// Asks for new tokens, unless another process got them already. Without tokens in it, the
    /// record says that the issuer gives no more.
    ///
    /// Whoever gives up a request does not give up this: where refresh tokens are good for once,
    /// one that was shown and whose successor nobody wrote down would end the login.
    async fn renew(
        self: &Arc<Self>,
        before: &Arc<Record>,
        found: Option<&Found>,
    ) -> Result<Option<Arc<Record>>, AuthError> {
        let work = Arc::clone(self).renew_to_the_end(Arc::clone(before), found.cloned());
        match tokio::spawn(work).await {
            Ok(outcome) => outcome,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(AuthError::Setup {
                    reason: "the program ends while a token is renewed".to_owned(),
                }),
            },
        }
    }

    async fn renew_to_the_end(
        self: Arc<Self>,
        before: Arc<Record>,
        found: Option<Found>,
    ) -> Result<Option<Arc<Record>>, AuthError> {
        let _lock = self.settings.store.lock(&self.key).await?;
        let Some(mut record) = self.stored().await? else {
            // Somebody logged out.
            return self.state().install(None);
        };
        let old = before.tokens.as_ref().map(|tokens| &tokens.access);
        // Another process has new ones, or has learned that there will be none.
        let is_other = |tokens: &Tokens| Some(&tokens.access) != old && !tokens.is_expired(now());
        let Some(newest) = record.tokens.clone().filter(|newest| !is_other(newest)) else {
            debug!(server = %self.server, "renewed by another process");
            return self.state().install(Some(record));
        };
        // The newest there are, with the key they are bound to: ours may be used up.
        self.state().install(Some(record.clone()))?;
        let issuer = match found {
            Some(found) if found.issuer.issuer == record.issuer => found.issuer,
            _ => self.issuer_of(&record).await?,
        };
        let mut prover = self.state().prover.clone();
        let outcome = match (&self.settings.grant, &newest.refresh) {
            (Grant::Person, None) => return Ok(self.state().record.clone()),
            (Grant::Person, Some(refresh)) => {
                let resource = (!record.is_old).then_some(&*record.resource);
                let client = self.settings.client.as_ref().unwrap_or(&record.client);
                let asker = self.asker(&issuer, client, prover.as_deref()).await?;
                let form = refresh_form(refresh, resource);
                asker.ask(Step::Refresh, form, &newest.requested).await
            }
            (_, _) => {
                let found = Found {
                    issuer: Arc::clone(&issuer),
                    resource: (!record.is_old).then(|| record.resource.clone()),
                    scopes: Scopes::default(),
                    wants_proof: record.proof_key.is_some(),
                };
                let asked = self.without_person(&found, &newest.requested).await;
                asked.and_then(|got| {
                    prover = got.prover;
                    record.proof_key = got.record.proof_key;
                    got.record.tokens.ok_or(AuthError::NoInteraction)
                })
            }
        };
        match outcome {
            Ok(mut tokens) => {
                debug!(server = %self.server, "renewed");
                // RFC 6749, section 6: what is not said is as it was.
                tokens.granted = tokens.granted.or(newest.granted);
                record.tokens = Some(tokens);
                self.keep_locked(Got { record, prover }).await.map(Some)
            }
            // Whoever set the client must see to it, and may: the tokens are as good as before.
            Err(error)
                if error.code() == Some("invalid_client") && self.settings.client.is_some() =>
            {
                Err(error)
            }
            Err(error) if is_final(&error) && matches!(self.settings.grant, Grant::Person) => {
                info!(server = %self.server, %error, "the login has ended");
                if is_unknown_client(&error) && record.client.origin == ClientOrigin::Registered {
                    self.forget_locked(&record.issuer).await?;
                    return Ok(None);
                }
                record.tokens = None;
                self.keep_locked(Got { record, prover }).await.map(Some)
            }
            Err(error) => Err(error),
        }
    }

    /// Tells the issuer that tokens are no longer needed. It is a courtesy.
    pub(super) async fn revoke(&self, record: &Record) {
        let Some(tokens) = &record.tokens else {
            return;
        };
        let outcome = async {
            let issuer = self.issuer_of(record).await?;
            let asker = self.asker(&issuer, &record.client, None).await?;
            asker.revoke(tokens).await
        };
        if let Err(error) = outcome.await {
            debug!(server = %self.server, %error, "not revoked");
        }
    }
}

fn with_tokens(record: Option<&Arc<Record>>) -> Option<(&Arc<Record>, &Tokens)> {
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
// Not nothing: a program that ends after its one request would end its renewal with it, each
// time.
const PATIENCE: Duration = Duration::from_secs(5);
