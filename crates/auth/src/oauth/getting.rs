//! New tokens: by a person, or without one.
//!
//! Specification: basic/authorization, "Client Registration Approaches", "Scope Selection
//! Strategy", "Authorization Code Protection"; the extensions for client credentials and
//! enterprise-managed authorization; RFC 7523, RFC 8693.

use std::sync::Arc;

use http::HeaderValue;
use tracing::info;

use super::builder::{Grant, IdentityProvider};
use super::finding::Found;
use super::renewing::is_unknown_client;
use super::{Got, Shared, header_of, now};
use crate::authorization::Pending;
use crate::challenge::Demand;
use crate::device::{ask_device_code, wait_for_device};
use crate::dpop::Prover;
use crate::error::{AuthError, Step};
use crate::form::{Form, assertion_form, client_credentials_form, exchange_form};
use crate::interaction::LoginPage;
use crate::issuer::Issuer;
use crate::pkce::random_text;
use crate::record::{ClientIdentity, ClientOrigin, Entry, Record};
use crate::registration::{Registration, register};
use crate::scope::Scopes;
use crate::secret::Secret;
use crate::token::TokenAsker;

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
        self.count(demand)?;
        let wanted = self.wanted(demand);
        let outcome = self.log_in_locked(demand, wanted, refused, found).await;
        if let Err(error) = &outcome
            && !(needs_person && has_asked_person(error))
        {
            // What nobody was asked about may be tried as often as requests come.
            self.uncount(demand);
        }
        outcome
    }

    async fn log_in_locked(
        &self,
        demand: &Demand,
        wanted: Option<Scopes>,
        refused: Option<&HeaderValue>,
        found: Option<Found>,
    ) -> Result<(), AuthError> {
        let _login = self.settings.store.lock(&self.login_key()).await?;
        // While we waited, another process may have done it.
        if let Some(record) = self.stored().await?
            && is_newer(&record, wanted.as_ref(), refused)
        {
            self.state().install(Some(record))?;
            return Ok(());
        }
        self.get_for(demand, wanted.as_ref(), found).await?;
        Ok(())
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
        let outcome = self.get_for(&Demand::default(), None, None).await;
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
        let mut record = match &self.settings.grant {
            Grant::Person => self.by_person(&found, &scopes, demand).await?,
            _ => self.without_person(&found, &scopes).await?,
        };
        record.login = Some(random_text(LOGIN_BYTES)?);
        info!(server = %self.server, issuer = %record.issuer, "logged in");
        self.keep(record).await
    }

    /// Asks a person, who may be sent away a second time if the issuer has forgotten us.
    async fn by_person(
        &self,
        found: &Found,
        scopes: &Scopes,
        demand: &Demand,
    ) -> Result<Record, AuthError> {
        let entry = self.settings.store.load(&self.key).await?;
        let entry = entry.unwrap_or_else(|| Entry::new(&self.key));
        let known = entry
            .of_issuer(&found.issuer.issuer)
            .filter(|record| record.client.origin == ClientOrigin::Registered);
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
    ) -> Result<Record, AuthError> {
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
        self.ask(found, client, Step::Token, pending.form(&code), scopes)
            .await
    }

    async fn by_device(
        &self,
        found: &Found,
        scopes: &Scopes,
        entry: &Entry,
        known: Option<&ClientIdentity>,
    ) -> Result<Record, AuthError> {
        let client = self.identify(found, scopes, entry, known, "").await?;
        let mut record = self.record_for(found, client);
        let prover = self.prover_for(found, &mut record)?;
        let fetcher = self.fetcher().await?;
        let asker = TokenAsker {
            fetcher,
            issuer: &found.issuer,
            client: &record.client,
            key: self.settings.signing_key.as_ref(),
            prover: prover.as_deref(),
            now: now(),
        };
        let resource = found.resource.as_deref();
        let (code, device_code, interval) =
            ask_device_code(&asker, resource, scopes, &self.server).await?;
        self.settings.interaction.show_code(&code).await?;
        let lifetime = code.lifetime;
        let waiting = wait_for_device(&asker, &device_code, resource, interval, lifetime, scopes);
        let tokens = waiting.await?;
        record.tokens = Some(tokens);
        Ok(record)
    }

    /// Who we are to an issuer: as configured, by a document, as registered before, or now.
    async fn identify(
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
                true => &[DEVICE, "refresh_token"],
                false => &["authorization_code", "refresh_token"],
            },
        };
        let client = register(self.fetcher().await?, issuer, &wanted).await?;
        // Whatever becomes of the login: the client exists.
        self.keep_client(found, &client).await?;
        Ok(client)
    }

    /// A client id is for one issuer. Another that the server names later is not shown it.
    fn check_binding(
        &self,
        issuer: &Issuer,
        entry: &Entry,
        client: &ClientIdentity,
    ) -> Result<(), AuthError> {
        if self.settings.client_issuer.is_some() {
            // Whoever chose the issuer saw to it.
            return Ok(());
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

    /// Tokens by what is set up, with nobody asked.
    pub(super) async fn without_person(
        &self,
        found: &Found,
        scopes: &Scopes,
    ) -> Result<Record, AuthError> {
        let client = match &self.settings.client {
            Some(client) => client.clone(),
            // A workload is known by its assertion alone.
            None => ClientIdentity::new("", ClientOrigin::Configured),
        };
        let entry = self.settings.store.load(&self.key).await?;
        if let Some(entry) = entry
            && !client.id.is_empty()
        {
            self.check_binding(&found.issuer, &entry, &client)?;
        }
        let resource = found.resource.as_deref();
        let form = match &self.settings.grant {
            Grant::Workload(source) => assertion_form(&source.read().await?, resource, scopes),
            Grant::Enterprise(provider) => {
                let assertion = self.exchange(provider, found, scopes).await?;
                assertion_form(&assertion, resource, scopes)
            }
            Grant::ClientCredentials | Grant::Person => client_credentials_form(resource, scopes),
        };
        self.ask(found, client, Step::Token, form, scopes).await
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
        let form = exchange_form(
            &id_token,
            "id_token",
            audience,
            found.resource.as_deref(),
            scopes,
        );
        let asker = TokenAsker {
            fetcher: self.fetcher().await?,
            issuer: &Issuer::at(&provider.token_endpoint),
            client: &provider.client,
            key: None,
            prover: None,
            now: now(),
        };
        Ok(asker.ask(Step::Exchange, form, scopes).await?.access)
    }

    /// Asks for tokens, and makes a record of them.
    async fn ask(
        &self,
        found: &Found,
        client: ClientIdentity,
        step: Step,
        form: Form,
        scopes: &Scopes,
    ) -> Result<Record, AuthError> {
        let mut record = self.record_for(found, client);
        let prover = self.prover_for(found, &mut record)?;
        let asker = TokenAsker {
            fetcher: self.fetcher().await?,
            issuer: &found.issuer,
            client: &record.client,
            key: self.settings.signing_key.as_ref(),
            prover: prover.as_deref(),
            now: now(),
        };
        let tokens = asker.ask(step, form, scopes).await?;
        record.tokens = Some(tokens);
        if let Some(prover) = prover {
            self.state().prover = Some(prover);
        }
        Ok(record)
    }

    fn record_for(&self, found: &Found, client: ClientIdentity) -> Record {
        let issuer = &found.issuer.issuer;
        let mut record = match &found.resource {
            Some(resource) => Record::new(issuer, resource, client),
            None => Record::new(issuer, self.server.canonical(), client),
        };
        record.is_old = found.resource.is_none();
        record
    }

    /// The key that tokens are bound to, where they must be: the one we have, or a new one.
    fn prover_for(
        &self,
        found: &Found,
        record: &mut Record,
    ) -> Result<Option<Arc<Prover>>, AuthError> {
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
        let prover = match own {
            Some(prover) => prover,
            None => Arc::new(Prover::generate()?),
        };
        record.proof_key = Some(prover.stored());
        Ok(Some(prover))
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

    async fn keep_client(&self, found: &Found, client: &ClientIdentity) -> Result<(), AuthError> {
        let _lock = self.settings.store.lock(&self.key).await?;
        let store = &*self.settings.store;
        let mut entry = store
            .load(&self.key)
            .await?
            .unwrap_or_else(|| Entry::new(&self.key));
        // Behind the record in use, which may still have tokens.
        entry.add(self.record_for(found, client.clone()));
        store.save(&entry).await?;
        Ok(())
    }

    /// Forgets a registered client, and what it was given.
    pub(super) async fn forget(&self, issuer: &Issuer) -> Result<(), AuthError> {
        let _lock = self.settings.store.lock(&self.key).await?;
        self.forget_locked(&issuer.issuer).await
    }

    /// Is it one too many for the same thing, within a short time?
    fn count(&self, demand: &Demand) -> Result<(), AuthError> {
        let scopes = demand.scopes.clone().unwrap_or_default();
        let now = now();
        let mut state = self.state();
        state
            .got
            .retain(|got| got.since.saturating_add(WINDOW) > now);
        let in_all: u32 = state.got.iter().map(|got| got.times).sum();
        let known = state.got.iter_mut().find(|got| got.scopes == scopes);
        let times = known.as_ref().map_or(0, |got| got.times);
        if times >= MOST_TIMES {
            return Err(AuthError::ScopesExhausted {
                scopes,
                attempts: times,
            });
        }
        // A server may want something else each time, and never be satisfied either.
        if in_all >= MOST_IN_ALL {
            return Err(AuthError::ScopesExhausted {
                scopes: Scopes::default(),
                attempts: in_all,
            });
        }
        match known {
            Some(got) => got.times += 1,
            None => {
                state.got.insert(
                    0,
                    Got {
                        scopes,
                        times: 1,
                        since: now,
                    },
                );
                state.got.truncate(MOST_COUNTED);
            }
        }
        Ok(())
    }

    /// Takes back what was counted last.
    fn uncount(&self, demand: &Demand) {
        let scopes = demand.scopes.clone().unwrap_or_default();
        let mut state = self.state();
        if let Some(got) = state.got.iter_mut().find(|got| got.scopes == scopes) {
            got.times = got.times.saturating_sub(1);
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

/// Does it look as if the issuer no longer knew the client?
fn is_forgotten(known: &Record, error: &AuthError) -> bool {
    match error.code() {
        Some(_) => is_unknown_client(error),
        // It may have said so on a page of its own, from which nobody came back.
        None => known.tokens.is_none() && matches!(error, AuthError::LoginTimedOut { .. }),
    }
}

const OFFLINE: &str = "offline_access";
const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";

// Enough to tell logins from each other.
const LOGIN_BYTES: usize = 9;
// A server that is not satisfied by then never will be.
const MOST_TIMES: u32 = 3;
// Nobody goes through more steps than this in so short a time.
const MOST_IN_ALL: u32 = 10;
const WINDOW: u64 = 600;
const MOST_COUNTED: usize = 32;
