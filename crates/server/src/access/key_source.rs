//! Where the keys come from, and how long they are good for.
//!
//! A server that speaks no HTTP as a client leaves fetching to a [`KeySource`]. Here
//! it is decided when to fetch: once for all who wait, again when the keys are old or
//! a token names an unknown one, and never more often than an attacker could ask for.
//!
//! ```text
//!  none ── first token ──▶ fresh ── age ──▶ old ── a day without success ──▶ none
//!                            ▲── fetched ────┘  (used on while fetching fails)
//! ```

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::jwks::{JwkSet, JwkSetError};

/// Fetches the key set of an authorization server, from its `jwks_uri`.
pub trait KeySource: Send + Sync + 'static {
    /// Fetches the key set once, without keeping it. It is given ten seconds.
    fn fetch(&self) -> Fetching<'_>;

    /// Told of each attempt that gave no keys, for a log.
    fn report(&self, _problem: &KeyProblem) {}
}

/// What [`KeySource::fetch`] comes to.
pub type Fetching<'a> =
    Pin<Box<dyn Future<Output = Result<FetchedKeys, Box<dyn Error + Send + Sync>>> + Send + 'a>>;

/// A key set as it was fetched.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FetchedKeys {
    /// The JSON Web Key Set.
    pub document: String,
    /// How long it may be used, from `Cache-Control: max-age`; ten minutes if unknown.
    ///
    /// Less than a minute counts as one, more than a day as a day.
    pub max_age: Option<Duration>,
}

impl FetchedKeys {
    /// A key set of which nothing else is known.
    pub fn new(document: impl Into<String>) -> Self {
        Self {
            document: document.into(),
            max_age: None,
        }
    }

    /// The same key set with this age.
    #[must_use]
    pub fn with_max_age(mut self, max_age: Duration) -> Self {
        self.max_age = Some(max_age);
        self
    }
}

/// Why an attempt to fetch keys gave none.
#[derive(Debug)]
#[non_exhaustive]
pub enum KeyProblem {
    /// The source gave an error of its own.
    Source(Box<dyn Error + Send + Sync>),
    /// The source took too long.
    TimedOut(Duration),
    /// What it fetched is not a key set.
    Document(JwkSetError),
}

impl fmt::Display for KeyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(_) => f.write_str("the key set could not be fetched"),
            Self::TimedOut(after) => write!(f, "the key set did not arrive within {after:?}"),
            Self::Document(_) => f.write_str("what was fetched is not a key set"),
        }
    }
}

impl Error for KeyProblem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Source(error) => Some(&**error),
            Self::TimedOut(_) => None,
            Self::Document(error) => Some(error),
        }
    }
}

/// The keys that tokens are checked with: a [`JwkSet`], or what a [`KeySource`] fetches.
pub struct TokenKeys(Keys);

enum Keys {
    Fixed(Arc<JwkSet>),
    Fetched(Arc<Cache>),
}

impl TokenKeys {
    /// Keys that are fetched when they are needed, and kept while they are good.
    pub fn from_source(source: impl KeySource) -> Self {
        Self(Keys::Fetched(Arc::new(Cache {
            source: Box::new(source),
            state: Mutex::default(),
            ended: watch::Sender::new(()),
        })))
    }

    /// The keys to use now; nothing when there are none and none can be had.
    pub(super) async fn current(&self) -> Option<Arc<JwkSet>> {
        let cache = match &self.0 {
            Keys::Fixed(keys) => return Some(keys.clone()),
            Keys::Fetched(cache) => cache,
        };
        let waiting = {
            let mut state = cache.state();
            if state.is_fresh(Instant::now()) {
                return state.keys.clone();
            }
            cache.begin(&mut state)
        };
        cache.wait(waiting).await;
        cache.state().usable(Instant::now())
    }

    /// Keys that came after these, for a token that none of these has signed.
    pub(super) async fn newer(&self, than: &Arc<JwkSet>) -> Option<Arc<JwkSet>> {
        let Keys::Fetched(cache) = &self.0 else {
            return None;
        };
        let is_newer = |keys: &Arc<JwkSet>| !Arc::ptr_eq(keys, than);
        let waiting = {
            let mut state = cache.state();
            let known = state.keys.clone().filter(is_newer);
            if known.is_some() {
                return known;
            }
            cache.begin(&mut state)
        };
        cache.wait(waiting).await;
        cache.state().keys.clone().filter(is_newer)
    }
}

impl From<JwkSet> for TokenKeys {
    fn from(keys: JwkSet) -> Self {
        Self(Keys::Fixed(Arc::new(keys)))
    }
}

impl fmt::Debug for TokenKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Keys::Fixed(_) => "TokenKeys(fixed)",
            Keys::Fetched(_) => "TokenKeys(fetched)",
        })
    }
}

struct Cache {
    source: Box<dyn KeySource>,
    state: Mutex<State>,
    /// Changes when an attempt has ended.
    ended: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    keys: Option<Arc<JwkSet>>,
    fresh_until: Option<Instant>,
    usable_until: Option<Instant>,
    /// No attempt before that.
    not_before: Option<Instant>,
    is_fetching: bool,
}

impl State {
    fn is_fresh(&self, now: Instant) -> bool {
        self.fresh_until.is_some_and(|until| now < until)
    }

    fn usable(&self, now: Instant) -> Option<Arc<JwkSet>> {
        let usable = self.usable_until.is_some_and(|until| now < until);
        self.keys.clone().filter(|_| usable)
    }
}

impl Cache {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins the attempt under way, or starts one if it is time; gives what to wait for.
    ///
    /// The attempt is a task of its own, ended by its timeout: a caller that goes away
    /// must not take it along, or whoever keeps hanging up would keep new keys out.
    fn begin(self: &Arc<Self>, state: &mut State) -> Option<watch::Receiver<()>> {
        let now = Instant::now();
        if !state.is_fetching {
            if state.not_before.is_some_and(|time| now < time) {
                return None;
            }
            state.is_fetching = true;
            let attempt = Attempt(self.clone());
            tokio::spawn(async move { attempt.run().await });
        }
        // Subscribed under the lock that the end needs too: it cannot be missed.
        Some(self.ended.subscribe())
    }

    async fn wait(&self, attempt: Option<watch::Receiver<()>>) {
        if let Some(mut attempt) = attempt {
            // The sender is ours, so that this ends only when the attempt has.
            let _ = attempt.changed().await;
        }
    }
}

/// An attempt to fetch. However it ends, those who wait are woken.
struct Attempt(Arc<Cache>);

impl Attempt {
    async fn run(self) {
        let fetched = match timeout(FETCH_TIMEOUT, self.0.source.fetch()).await {
            Ok(Ok(fetched)) => JwkSet::read(&fetched.document)
                .map(|keys| (keys, fetched.max_age))
                .map_err(KeyProblem::Document),
            Ok(Err(error)) => Err(KeyProblem::Source(error)),
            Err(_) => Err(KeyProblem::TimedOut(FETCH_TIMEOUT)),
        };
        match fetched {
            Ok((keys, max_age)) => {
                let now = Instant::now();
                let fresh = max_age.map_or(DEFAULT_AGE, |age| age.clamp(MIN_AGE, MAX_AGE));
                let mut state = self.0.state();
                state.keys = Some(Arc::new(keys));
                state.fresh_until = Some(now + fresh);
                state.usable_until = Some(now + fresh + MAX_STALE);
                state.not_before = Some(now + COOL_DOWN);
            }
            Err(problem) => self.0.source.report(&problem),
        }
    }
}

// In `drop`, because a source may panic and its task may be aborted.
impl Drop for Attempt {
    fn drop(&mut self) {
        let now = Instant::now();
        let mut state = self.0.state();
        state.is_fetching = false;
        if state.not_before.is_none_or(|time| time <= now) {
            state.not_before = Some(now + RETRY);
        }
        drop(state);
        self.0.ended.send_replace(());
    }
}

/// What a provider takes that is asked at its worst moment; callers wait as long.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Between a change of keys and the next look because of an unknown one. Anyone can
/// make up unknown keys, so this is what bounds our load on the provider.
const COOL_DOWN: Duration = Duration::from_secs(30);

/// After an attempt that gave nothing.
const RETRY: Duration = Duration::from_secs(5);

const DEFAULT_AGE: Duration = Duration::from_secs(10 * 60);
const MIN_AGE: Duration = Duration::from_secs(60);
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a provider may be away before its keys count as withdrawn.
const MAX_STALE: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests;
