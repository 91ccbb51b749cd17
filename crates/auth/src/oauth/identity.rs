//! Who we are to an issuer.
//!
//! Specification: basic/authorization, "Client Registration Approaches" and "Authorization
//! Server Binding".

use super::finding::Found;
use super::{Shared, now};
use crate::error::AuthError;
use crate::form::DEVICE_CODE;
use crate::issuer::Issuer;
use crate::record::{ClientIdentity, ClientOrigin, Entry};
use crate::registration::{Registration, register};
use crate::scope::Scopes;

impl Shared {
    /// Who we are to an issuer: as configured, by a document, as registered before, or now.
    pub(super) async fn identify(
        &self,
        found: &Found,
        scopes: &Scopes,
        entry: &Entry,
        known: Option<&ClientIdentity>,
        redirect_uri: &str,
    ) -> Result<ClientIdentity, AuthError> {
        let issuer = &*found.issuer;
        if let Some(client) = &self.settings.client {
            self.check_binding(issuer, entry, client)?;
            return Ok(client.clone());
        }
        if let Some(document) = &self.settings.document
            && issuer.takes_documents
        {
            return Ok(ClientIdentity::new(
                document.as_str(),
                ClientOrigin::Document,
            ));
        }
        if let Some(known) = known
            && fits(known, redirect_uri, scopes, now())
        {
            return Ok(known.clone());
        }
        let wanted = Registration {
            client_name: &self.settings.client_name,
            redirect_uri,
            scopes,
            grants: match redirect_uri.is_empty() {
                true => &[DEVICE_CODE, "refresh_token"],
                false => &["authorization_code", "refresh_token"],
            },
        };
        let client = register(self.fetcher().await?, issuer, &wanted).await?;
        // Whatever becomes of the login: the client exists.
        self.keep_client(found, &client).await?;
        Ok(client)
    }

    /// Are we to an issuer who we say, rather than who it said when we registered?
    pub(super) fn is_known_otherwise(&self, found: &Found) -> bool {
        let settings = &self.settings;
        settings.client.is_some() || (settings.document.is_some() && found.issuer.takes_documents)
    }

    /// A client id is for one issuer. Another that the server names later is not shown it.
    pub(super) fn check_binding(
        &self,
        issuer: &Issuer,
        entry: &Entry,
        client: &ClientIdentity,
    ) -> Result<(), AuthError> {
        if self.settings.client_issuer.is_some() {
            return match self.is_known_by(&issuer.issuer) {
                true => Ok(()),
                false => Err(self.unknown_to(&issuer.issuer)),
            };
        }
        let bound = entry
            .records
            .iter()
            .find(|record| record.client.id == client.id);
        match bound {
            Some(record) if record.issuer != issuer.issuer => Err(AuthError::Setup {
                reason: format!(
                    "the client id is for {}, and {} now takes tokens of {}: ask there for a \
                     client id, or log out first",
                    record.issuer, self.server, issuer.issuer
                ),
            }),
            _ => Ok(()),
        }
    }

    async fn keep_client(&self, found: &Found, client: &ClientIdentity) -> Result<(), AuthError> {
        let _lock = self.settings.store.lock(&self.key).await?;
        let mut entry = self.entry().await?;
        // Behind the record in use, which may still have tokens.
        entry.add(self.record_for(found, client.clone()));
        self.settings.store.save(&entry).await?;
        Ok(())
    }

    /// Forgets a registered client, and what it was given.
    pub(super) async fn forget(&self, issuer: &Issuer) -> Result<(), AuthError> {
        let _lock = self.settings.store.lock(&self.key).await?;
        self.forget_locked(&issuer.issuer).await
    }
}

/// Can a client that is known go on: may the browser come back there, may it ask for this, does
/// its secret count?
fn fits(known: &ClientIdentity, redirect_uri: &str, scopes: &Scopes, now: u64) -> bool {
    let comes_back = redirect_uri.is_empty()
        || known
            .redirect_uris
            .iter()
            .any(|known| known == redirect_uri);
    let may_ask = known.scopes.as_ref();
    let may_ask = may_ask.is_none_or(|known| known.has_all(scopes));
    comes_back && may_ask && known.secret_expires_at.is_none_or(|end| end > now)
}
