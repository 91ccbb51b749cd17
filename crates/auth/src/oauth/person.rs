//! Tokens by a person: a browser comes back with a code, or a code is entered elsewhere.
//!
//! Specification: basic/authorization, "Authorization Code Protection"; RFC 8628.

use tracing::info;

use super::Shared;
use super::finding::Found;
use super::keeping::Got;
use super::renewing::is_unknown_client;
use crate::authorization::Pending;
use crate::challenge::Demand;
use crate::device::{ask_device_code, wait_for_device};
use crate::error::AuthError;
use crate::interaction::LoginPage;
use crate::record::{ClientIdentity, ClientOrigin, Entry, Record};
use crate::scope::Scopes;

impl Shared {
    /// Asks a person, who may be sent away a second time if the issuer has forgotten us.
    pub(super) async fn by_person(
        &self,
        found: &Found,
        scopes: &Scopes,
        demand: &Demand,
    ) -> Result<Got, AuthError> {
        let entry = self.entry().await?;
        let known = match self.is_known_otherwise(found) {
            true => None,
            false => entry
                .of_issuer(&found.issuer.issuer)
                .filter(|record| record.client.origin == ClientOrigin::Registered),
        };
        let client = known.map(|record| &record.client);
        let outcome = self.ask_person(found, scopes, &entry, client).await;
        match outcome {
            // An issuer that has forgotten a client shows that to the person or to us.
            Err(error) if known.is_some_and(|known| is_forgotten(known, &error)) => {
                info!(issuer = %found.issuer.issuer, "the registered client is no longer known");
                self.forget(&found.issuer).await?;
                match error.code() {
                    Some(_) => self.ask_person(found, scopes, &entry, None).await,
                    None => Err(error),
                }
            }
            Err(AuthError::NoInteraction) => Err(self.login_required(demand)),
            outcome => outcome,
        }
    }

    async fn ask_person(
        &self,
        found: &Found,
        scopes: &Scopes,
        entry: &Entry,
        known: Option<&ClientIdentity>,
    ) -> Result<Got, AuthError> {
        let issuer = &*found.issuer;
        let interaction = &*self.settings.interaction;
        if interaction.prefers_code() && issuer.device_authorization_endpoint.is_some() {
            return self.by_device(found, scopes, entry, known).await;
        }
        // Before we are known there, for a login that cannot be.
        issuer.login_page()?;
        issuer.check_challenge_method()?;
        let redirect_uris = match (&self.settings.client, known) {
            (Some(client), _) => &client.redirect_uris[..],
            (None, Some(known)) => &known.redirect_uris[..],
            (None, None) => &[],
        };
        let mut visit = interaction.prepare(redirect_uris).await?;
        let redirect_uri = visit.redirect_uri().to_owned();
        let client = self
            .identify(found, scopes, entry, known, &redirect_uri)
            .await?;
        let resource = found.resource.as_deref();
        let (pending, url) = Pending::begin(issuer, &client.id, &redirect_uri, resource, scopes)?;
        let page = LoginPage::new(url, self.server.clone(), &issuer.issuer, scopes.clone());
        let came_back = visit.go(&page).await?;
        let code = pending.check(&came_back)?;
        self.ask(found, client, pending.form(&code), scopes).await
    }

    async fn by_device(
        &self,
        found: &Found,
        scopes: &Scopes,
        entry: &Entry,
        known: Option<&ClientIdentity>,
    ) -> Result<Got, AuthError> {
        let client = self.identify(found, scopes, entry, known, "").await?;
        let mut got = self.begin(found, client)?;
        let asker = self.asker(&found.issuer, &got.record.client, got.prover.as_deref());
        let asker = asker.await?;
        let resource = found.resource.as_deref();
        let (code, device_code, interval) =
            ask_device_code(&asker, resource, scopes, &self.server).await?;
        self.settings.interaction.show_code(&code).await?;
        let lifetime = code.lifetime;
        let waiting = wait_for_device(&asker, &device_code, resource, interval, lifetime, scopes);
        let tokens = waiting.await?;
        got.record.tokens = Some(tokens);
        Ok(got)
    }
}

/// Does it look as if the issuer no longer knew the client?
fn is_forgotten(known: &Record, error: &AuthError) -> bool {
    match error.code() {
        Some(_) => is_unknown_client(error),
        // It may have said so on a page of its own, from which nobody came back.
        None => known.tokens.is_none() && matches!(error, AuthError::LoginTimedOut { .. }),
    }
}
