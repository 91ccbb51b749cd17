//! Who gives out tokens for the server.
//!
//! Specification: basic/authorization, "Authorization Server Discovery"; 2025-03-26 for
//! servers that say nothing about it.

use std::net::IpAddr;
use std::sync::Arc;

use switchboard_transport::http::client::Reach;

use super::Shared;
use crate::challenge::Demand;
use crate::error::AuthError;
use crate::fetch::Fetcher;
use crate::issuer::{Issuer, find_issuer, find_issuer_of_old};
use crate::record::Record;
use crate::resource::{Resource, find_resource};
use crate::scope::Scopes;

/// Who gives out tokens for the server, and what the server says about them.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) issuer: Arc<Issuer>,
    /// What the tokens are for, as it stands in requests. None for servers of 2025-03-26.
    pub(super) resource: Option<String>,
    /// What there is to ask for.
    pub(super) scopes: Scopes,
    /// Must tokens be bound to a key?
    pub(super) wants_proof: bool,
}

impl Shared {
    /// Looks it up, every time: a server may move from one issuer to another.
    pub(super) async fn find(&self, demand: &Demand) -> Result<Found, AuthError> {
        if let Some(issuer) = self.named_issuer() {
            return Ok(Found {
                issuer,
                resource: Some(self.server.canonical()),
                scopes: Scopes::default(),
                wants_proof: demand.wants_proof,
            });
        }
        let fetcher = self.fetcher().await?;
        match find_resource(fetcher, &self.server, demand).await? {
            None => {
                let issuer = find_issuer_of_old(fetcher, &self.server).await?;
                if !self.is_known_by(&issuer.issuer) {
                    return Err(self.unknown_to(&issuer.issuer));
                }
                Ok(Found {
                    issuer: self.remember(issuer),
                    resource: None,
                    scopes: Scopes::default(),
                    wants_proof: demand.wants_proof,
                })
            }
            Some(resource) => {
                let issuer = find_issuer(fetcher, self.choose(&resource)?).await?;
                Ok(Found {
                    issuer: self.remember(issuer),
                    resource: Some(resource.resource),
                    scopes: resource.scopes,
                    wants_proof: resource.wants_proof || demand.wants_proof,
                })
            }
        }
    }

    /// The issuer that gave a record.
    pub(super) async fn issuer_of(&self, record: &Record) -> Result<Arc<Issuer>, AuthError> {
        if let Some(issuer) = self.named_issuer() {
            return Ok(issuer);
        }
        let known = self.state().issuer.clone();
        if let Some(issuer) = known.filter(|issuer| issuer.issuer == record.issuer) {
            return Ok(issuer);
        }
        let fetcher = self.fetcher().await?;
        let issuer = match record.is_old {
            true => find_issuer_of_old(fetcher, &self.server).await?,
            false => find_issuer(fetcher, &record.issuer).await?,
        };
        Ok(self.remember(issuer))
    }

    pub(super) async fn fetcher(&self) -> Result<&Fetcher, AuthError> {
        let made = self.fetcher.get_or_try_init(async || {
            let reach = match self.settings.reach {
                Some(reach) => reach,
                None => self.own_reach().await,
            };
            Fetcher::new(&self.settings.http, reach)
        });
        made.await
    }

    /// What the server wants: as it said last, or as it says when it is asked now.
    pub(super) async fn demand_for_login(&self) -> Result<Demand, AuthError> {
        let known = self.state().demand.clone();
        if let Some(demand) = known {
            return Ok(demand);
        }
        if self.settings.token_endpoint.is_some() {
            return Ok(Demand::default());
        }
        let fetcher = self.fetcher().await?;
        if let Some(demand) = fetcher.probe(&self.server).await? {
            return Ok(demand);
        }
        // Some let everybody in and want a token for a few things only. They say where from.
        let demand = Demand::default();
        match find_resource(fetcher, &self.server, &demand).await? {
            Some(_) => Ok(demand),
            None => Err(AuthError::Setup {
                reason: format!("{} does not ask for a login", self.server),
            }),
        }
    }

    /// Whoever is on a public address has no business on a private one.
    async fn own_reach(&self) -> Reach {
        let host = self.server.host();
        if self.server.is_loopback() {
            return Reach::Anywhere;
        }
        if let Ok(address) = host.parse::<IpAddr>() {
            return reach_of(&[address]);
        }
        let found = tokio::net::lookup_host((host, 443)).await;
        // Without an address of its own it is behind a proxy, or nowhere.
        let found: Vec<_> = found
            .into_iter()
            .flatten()
            .map(|found| found.ip())
            .collect();
        reach_of(&found)
    }

    /// Of several issuers, the one that knows us, else the first.
    fn choose<'a>(&self, resource: &'a Resource) -> Result<&'a str, AuthError> {
        let named = |issuer: &str| resource.issuers.iter().find(|named| *named == issuer);
        if let Some(wanted) = &self.settings.client_issuer {
            let wanted = named(wanted).map(String::as_str);
            return wanted.ok_or_else(|| self.unknown_to(&resource.issuers.join(", ")));
        }
        let record = self.state().record.clone();
        record
            .and_then(|record| named(&record.issuer))
            .or(resource.issuers.first())
            .map(String::as_str)
            .ok_or_else(|| AuthError::metadata(&resource.place, "it names no authorization server"))
    }

    /// The issuer whose place was set.
    fn named_issuer(&self) -> Option<Arc<Issuer>> {
        let mut issuer = Issuer::at(self.settings.token_endpoint.as_ref()?);
        if let Some(name) = &self.settings.client_issuer {
            issuer.issuer.clone_from(name);
        }
        Some(Arc::new(issuer))
    }

    /// May an issuer be shown who we are, as far as that was set?
    pub(super) fn is_known_by(&self, issuer: &str) -> bool {
        let own = self.settings.client_issuer.as_ref();
        own.is_none_or(|own| own == issuer)
    }

    /// What is said where the server takes tokens of others only.
    pub(super) fn unknown_to(&self, others: &str) -> AuthError {
        let own = self.settings.client_issuer.as_deref().unwrap_or_default();
        AuthError::Setup {
            reason: format!(
                "the client id is for {own}, and {} now takes tokens of {others} only: ask there \
                 for a client id",
                self.server
            ),
        }
    }

    fn remember(&self, issuer: Issuer) -> Arc<Issuer> {
        let issuer = Arc::new(issuer);
        self.state().issuer = Some(Arc::clone(&issuer));
        issuer
    }
}

fn reach_of(addresses: &[IpAddr]) -> Reach {
    // One public address among private ones does not open the rest to whoever owns the name.
    let is_private = |address: &IpAddr| !Reach::Public.includes(*address);
    match !addresses.is_empty() && addresses.iter().all(is_private) {
        true => Reach::Anywhere,
        false => Reach::Public,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_on_a_private_address_reaches_private_ones() {
        let reach = |text: &str| {
            let addresses: Vec<IpAddr> = text.split_whitespace().flat_map(str::parse).collect();
            reach_of(&addresses)
        };
        assert_eq!(reach("1.1.1.1"), Reach::Public);
        assert_eq!(reach(""), Reach::Public);
        assert_eq!(reach("10.0.0.1"), Reach::Anywhere);
        assert_eq!(reach("192.168.1.9 fd00::1"), Reach::Anywhere);
        assert_eq!(reach("2606:4700::1 fd00::1"), Reach::Public);
    }
}
