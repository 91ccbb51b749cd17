//! What is kept of a login, and what of it is in use.
//!
//! The store is asked first and told first; what is in memory follows it. The locks are here too:
//! one for the entry, and one for whoever logs in.
//!
//! Specification: basic/authorization, "Authorization Server Binding".

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tracing::debug;

use super::{Shared, State};
use crate::dpop::Prover;
use crate::error::AuthError;
use crate::record::{Entry, Record};
use crate::store::Lock;

impl Shared {
    /// The record in use, from the store when it was not asked yet.
    pub(super) async fn current(&self) -> Result<Option<Arc<Record>>, AuthError> {
        let taken = {
            let state = self.state();
            if state.is_loaded {
                return Ok(state.record.clone());
            }
            state.taken
        };
        let record = self.stored().await?;
        let mut state = self.state();
        // Others may have taken a newer one while this one was read.
        if state.taken == taken {
            state.install(record)?;
        }
        Ok(state.record.clone())
    }

    /// What the store has for us.
    pub(super) async fn stored(&self) -> Result<Option<Record>, AuthError> {
        let entry = self.settings.store.load(&self.key).await?;
        Ok(entry.and_then(|entry| self.fitting(entry)))
    }

    /// Of what was stored, what fits how we are set up now.
    fn fitting(&self, entry: Entry) -> Option<Record> {
        let record = entry.records.into_iter().next()?;
        let client = self.settings.client.as_ref();
        let fits = client.is_none_or(|client| record.client.id == client.id)
            && self.is_known_by(&record.issuer);
        fits.then_some(record)
    }

    /// Puts what was got into the store, and to use.
    pub(super) async fn keep(&self, got: Got) -> Result<Arc<Record>, AuthError> {
        let _lock = self.settings.store.lock(&self.key).await?;
        self.keep_locked(got).await
    }

    /// The same, for whoever has the lock.
    pub(super) async fn keep_locked(&self, got: Got) -> Result<Arc<Record>, AuthError> {
        let mut entry = self.entry().await?;
        entry.put(got.record.clone());
        self.settings.store.save(&entry).await?;
        self.state().take(got)
    }

    /// What is stored for the server, or a place for it.
    pub(super) async fn entry(&self) -> Result<Entry, AuthError> {
        let entry = self.settings.store.load(&self.key).await?;
        Ok(entry.unwrap_or_else(|| Entry::new(&self.key)))
    }

    /// Forgets everything of this server. What there was, and whether there was anything.
    pub(super) async fn forget_all(&self) -> Result<(Option<Entry>, bool), AuthError> {
        let _turn = self.renewing.take().await;
        let _lock = self.settings.store.lock(&self.key).await?;
        let entry = self.settings.store.load(&self.key).await?;
        let was_there = self.settings.store.remove(&self.key).await?;
        // After the store: nobody may find there again what is forgotten here.
        let mut state = self.state();
        *state = State {
            taken: state.taken + 1,
            issuer: state.issuer.take(),
            ..State::default()
        };
        Ok((entry, was_there))
    }

    /// The lock of whoever logs in. It is another than that of the entry: a login may take
    /// minutes, and those who only renew do not wait for it.
    pub(super) async fn lock_for_login(&self) -> Result<Lock, AuthError> {
        let key = format!("{}#login", self.key);
        let end = Instant::now() + LONGEST_LOGIN;
        loop {
            match self.settings.store.lock(&key).await {
                Err(error) if error.is_busy() && Instant::now() < end => {
                    debug!(server = %self.server, "another still logs in");
                    sleep(BETWEEN_LOCKS).await;
                }
                outcome => return Ok(outcome?),
            }
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
}

/// What was got, before it is kept.
pub(super) struct Got {
    pub(super) record: Record,
    /// The key that its tokens are bound to, with what it knows of nonces.
    pub(super) prover: Option<Arc<Prover>>,
}

impl State {
    /// Takes what was got and kept to use.
    pub(super) fn take(&mut self, got: Got) -> Result<Arc<Record>, AuthError> {
        if got.prover.is_some() {
            self.prover = got.prover;
        }
        let record = Arc::new(got.record);
        self.use_record(Some(Arc::clone(&record)))?;
        Ok(record)
    }

    /// Takes a record to use, with the key it is bound to.
    pub(super) fn install(
        &mut self,
        record: Option<Record>,
    ) -> Result<Option<Arc<Record>>, AuthError> {
        self.use_record(record.map(Arc::new))?;
        Ok(self.record.clone())
    }

    fn use_record(&mut self, record: Option<Arc<Record>>) -> Result<(), AuthError> {
        self.is_loaded = true;
        self.taken += 1;
        let key = record.as_ref().and_then(|record| record.proof_key.as_ref());
        self.prover = match (key, &self.prover) {
            // The same key: what it knows of nonces stays.
            (Some(key), Some(prover)) if prover.stored() == *key => Some(Arc::clone(prover)),
            (Some(key), _) => Some(Arc::new(Prover::from_stored(key)?)),
            (None, _) => None,
        };
        if let (Some(record), Some(issuer)) = (&record, &self.issuer)
            && issuer.issuer != record.issuer
        {
            self.issuer = None;
        }
        self.record = record;
        Ok(())
    }
}

// The life of a code for another device, which is the longest that anybody is waited for, and some
// minutes for what comes before and after it.
const LONGEST_LOGIN: Duration = Duration::from_secs(70 * 60);

// For stores that do not wait themselves.
const BETWEEN_LOCKS: Duration = Duration::from_millis(100);
