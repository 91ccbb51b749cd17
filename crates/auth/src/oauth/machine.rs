//! Tokens with nobody asked, and the request that all ways end with.
//!
//! Specification: the extensions for client credentials and enterprise-managed authorization;
//! RFC 7523, RFC 8693, RFC 9449.

use std::sync::Arc;

use super::builder::{Grant, IdentityProvider};
use super::finding::Found;
use super::keeping::Got;
use super::{Shared, now};
use crate::dpop::Prover;
use crate::error::{AuthError, Step};
use crate::form::{Form, assertion_form, client_credentials_form, exchange_form};
use crate::issuer::Issuer;
use crate::record::{ClientIdentity, ClientOrigin, Record};
use crate::scope::Scopes;
use crate::secret::Secret;
use crate::token::TokenAsker;

impl Shared {
    /// Tokens by what is set up, with nobody asked.
    pub(super) async fn without_person(
        &self,
        found: &Found,
        scopes: &Scopes,
    ) -> Result<Got, AuthError> {
        let client = match &self.settings.client {
            Some(client) => {
                self.check_binding(&found.issuer, &self.entry().await?, client)?;
                client.clone()
            }
            // A workload is known by its assertion alone.
            None => ClientIdentity::new("", ClientOrigin::Configured),
        };
        let resource = found.resource.as_deref();
        let form = match &self.settings.grant {
            Grant::Workload(source) => assertion_form(&source.read().await?, resource, scopes),
            Grant::Enterprise(provider) => {
                let assertion = self.exchange(provider, found, scopes).await?;
                assertion_form(&assertion, resource, scopes)
            }
            Grant::ClientCredentials | Grant::Person => client_credentials_form(resource, scopes),
        };
        self.ask(found, client, form, scopes).await
    }

    /// Has the organisation's identity provider say who the user is, for this issuer.
    async fn exchange(
        &self,
        provider: &IdentityProvider,
        found: &Found,
        scopes: &Scopes,
    ) -> Result<Secret, AuthError> {
        let id_token = provider.id_token.read().await?;
        let audience = &found.issuer.issuer;
        let form = exchange_form(&id_token, audience, found.resource.as_deref(), scopes);
        let issuer = Issuer::at(&provider.token_endpoint);
        let asker = TokenAsker {
            // The key is for the issuer of the server.
            key: None,
            ..self.asker(&issuer, &provider.client, None).await?
        };
        Ok(asker.ask(Step::Exchange, form, scopes).await?.access)
    }

    /// One of our clients, where an issuer gives out tokens.
    pub(super) async fn asker<'a>(
        &'a self,
        issuer: &'a Issuer,
        client: &'a ClientIdentity,
        prover: Option<&'a Prover>,
    ) -> Result<TokenAsker<'a>, AuthError> {
        Ok(TokenAsker {
            fetcher: self.fetcher().await?,
            issuer,
            client,
            key: self.settings.signing_key.as_ref(),
            prover,
            now: now(),
        })
    }

    /// Asks for tokens, and makes a record of them.
    pub(super) async fn ask(
        &self,
        found: &Found,
        client: ClientIdentity,
        form: Form,
        scopes: &Scopes,
    ) -> Result<Got, AuthError> {
        let mut got = self.begin(found, client)?;
        let asker = self.asker(&found.issuer, &got.record.client, got.prover.as_deref());
        let tokens = asker.await?.ask(Step::Token, form, scopes).await?;
        got.record.tokens = Some(tokens);
        Ok(got)
    }

    /// A record without tokens, and the key that they are to be bound to.
    pub(super) fn begin(&self, found: &Found, client: ClientIdentity) -> Result<Got, AuthError> {
        let mut record = self.record_for(found, client);
        let prover = self.prover_for(found)?;
        record.proof_key = prover.as_ref().map(|prover| prover.stored());
        Ok(Got { record, prover })
    }

    pub(super) fn record_for(&self, found: &Found, client: ClientIdentity) -> Record {
        let issuer = &found.issuer.issuer;
        let mut record = match &found.resource {
            Some(resource) => Record::new(issuer, resource, client),
            None => Record::new(issuer, self.server.canonical(), client),
        };
        record.is_old = found.resource.is_none();
        record
    }

    /// The key that tokens are bound to, where they must be: the one we have, or a new one.
    fn prover_for(&self, found: &Found) -> Result<Option<Arc<Prover>>, AuthError> {
        let can = found
            .issuer
            .proof_algorithms
            .iter()
            .any(|name| name == "ES256");
        let proves = found.wants_proof || (self.settings.always_proves && can);
        if !proves {
            return Ok(None);
        }
        // What one issuer knows us by is not shown to another.
        let own = {
            let state = self.state();
            let is_same = |record: &Arc<Record>| record.issuer == found.issuer.issuer;
            let is_known = state.record.as_ref().is_some_and(is_same);
            state.prover.clone().filter(|_| is_known)
        };
        Ok(Some(match own {
            Some(prover) => prover,
            None => Arc::new(Prover::generate()?),
        }))
    }
}
