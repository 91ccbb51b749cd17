//! The sessions of the handshake era, as a table.
//!
//! It makes ids, keeps the caps, and knows which session is whose and which have lapsed. A
//! session costs an entry here and no task or timer. What a session is, and ending it, is
//! for whoever keeps it here.
//!
//! Specification: 2025-11-25 basic/transports, session management;
//! basic/security_best_practices, session hijacking.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ring::rand::{SecureRandom, SystemRandom};
use switchboard_protocol::http::session::SessionId;

use super::{Full, Principal, SessionLimits};

/// The living sessions.
pub struct Sessions<S> {
    limits: SessionLimits,
    random: SystemRandom,
    shards: [Mutex<Shard<S>>; SHARDS],
    count: AtomicUsize,
    /// How many each known caller has.
    callers: Mutex<HashMap<Caller, usize>>,
    next_sweep: Mutex<Option<Instant>>,
}

impl<S> Sessions<S> {
    /// An empty table.
    pub fn new(limits: SessionLimits) -> Self {
        Self {
            limits,
            random: SystemRandom::new(),
            shards: std::array::from_fn(|_| Mutex::new(Shard::default())),
            count: AtomicUsize::new(0),
            callers: Mutex::new(HashMap::new()),
            next_sweep: Mutex::new(None),
        }
    }

    /// Adds a session under a new id, for this caller alone.
    ///
    /// # Errors
    /// When there are too many.
    pub fn insert(
        &self,
        now: Instant,
        session: S,
        principal: Option<Arc<Principal>>,
    ) -> Result<(SessionId, Arc<S>), Full> {
        let id = self.new_id()?;
        if self.count.fetch_add(1, Ordering::Relaxed) >= self.limits.total {
            self.count.fetch_sub(1, Ordering::Relaxed);
            return Err(Full::Total {
                limit: self.limits.total,
            });
        }
        if let Err(full) = self.count_caller(principal.as_deref()) {
            self.count.fetch_sub(1, Ordering::Relaxed);
            return Err(full);
        }
        let session = Arc::new(session);
        let entry = Entry {
            session: Arc::clone(&session),
            principal,
            created: now,
            used: now,
        };
        lock(self.shard(&id)).insert(id.clone(), entry);
        let mut next = lock(&self.next_sweep);
        let lapses = later(now, self.limits.idle.min(self.limits.life));
        *next = Some(next.map_or(lapses, |known| known.min(lapses)));
        Ok((id, session))
    }

    /// The session with this id, if it lives and is this caller's. It counts as used now.
    pub fn find(
        &self,
        now: Instant,
        id: &SessionId,
        principal: Option<&Principal>,
    ) -> Option<Arc<S>> {
        let mut shard = lock(self.shard(id));
        let entry = shard.get_mut(id)?;
        if entry.is_held() {
            entry.used = now;
        }
        if !entry.is_of(principal) || entry.lapses(&self.limits) <= now {
            return None;
        }
        entry.used = now;
        Some(Arc::clone(&entry.session))
    }

    /// Takes out the session with this id, if it is this caller's.
    pub fn remove(&self, id: &SessionId, principal: Option<&Principal>) -> Option<Arc<S>> {
        let mut shard = lock(self.shard(id));
        if !shard.get(id)?.is_of(principal) {
            return None;
        }
        let entry = shard.remove(id)?;
        drop(shard);
        self.discount(&entry);
        Some(entry.session)
    }

    /// Takes out all sessions that have lapsed and gives them back to be ended.
    ///
    /// One that somebody else holds, such as an open stream or a call, is in use; only its
    /// absolute life ends it.
    pub fn sweep(&self, now: Instant) -> Vec<Arc<S>> {
        let mut lapsed = Vec::new();
        let mut next = None;
        for shard in &self.shards {
            let mut shard = lock(shard);
            for entry in shard.values_mut() {
                if entry.is_held() {
                    entry.used = now;
                }
            }
            lapsed.extend(
                shard
                    .extract_if(|_, entry| entry.lapses(&self.limits) <= now)
                    .map(|(_, entry)| entry),
            );
            let earliest = shard.values().map(|entry| entry.lapses(&self.limits)).min();
            next = [next, earliest].into_iter().flatten().min();
        }
        // Not for each one by itself where there are many.
        let soonest = later(now, self.limits.idle.min(self.limits.life) / SWEEPS);
        *lock(&self.next_sweep) = next.map(|next| next.max(soonest));
        lapsed.iter().for_each(|entry| self.discount(entry));
        lapsed.into_iter().map(|entry| entry.session).collect()
    }

    /// When [`Sessions::sweep`] is wanted next; never while there are no sessions.
    pub fn next_sweep(&self) -> Option<Instant> {
        *lock(&self.next_sweep)
    }

    /// Takes out everything, when the server ends.
    pub fn drain(&self) -> Vec<Arc<S>> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let entries = std::mem::take(&mut *lock(shard));
            all.extend(entries.into_values());
        }
        all.iter().for_each(|entry| self.discount(entry));
        all.into_iter().map(|entry| entry.session).collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// 128 random bits in visible ASCII.
    fn new_id(&self) -> Result<SessionId, Full> {
        let mut bits = [0; 16];
        self.random
            .fill(&mut bits)
            .map_err(|_| Full::NoRandomness)?;
        SessionId::new(format!("{:032x}", u128::from_be_bytes(bits)))
            .map_err(|_| Full::NoRandomness)
    }

    fn shard(&self, id: &SessionId) -> &Mutex<Shard<S>> {
        // Ids are random, and one that a client made up is nowhere.
        let last = id.as_bytes().last().copied().unwrap_or_default();
        let [first, ..] = &self.shards;
        self.shards.get(usize::from(last) % SHARDS).unwrap_or(first)
    }

    fn count_caller(&self, principal: Option<&Principal>) -> Result<(), Full> {
        let Some(principal) = principal else {
            return Ok(());
        };
        let mut callers = lock(&self.callers);
        let count = callers.entry(Caller::of(principal)).or_default();
        if *count >= self.limits.per_principal {
            return Err(Full::Principal {
                limit: self.limits.per_principal,
            });
        }
        *count += 1;
        Ok(())
    }

    fn discount(&self, entry: &Entry<S>) {
        self.count.fetch_sub(1, Ordering::Relaxed);
        let Some(principal) = &entry.principal else {
            return;
        };
        let mut callers = lock(&self.callers);
        let caller = Caller::of(principal);
        match callers.get_mut(&caller) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                callers.remove(&caller);
            }
        }
    }
}

impl<S> fmt::Debug for Sessions<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions")
            .field("limits", &self.limits)
            .field("count", &self.len())
            .finish_non_exhaustive()
    }
}

type Shard<S> = HashMap<SessionId, Entry<S>, BuildHasherDefault<IdHasher>>;

/// Hashes ids, quickly: those in the table are random and ours, so that nobody can have
/// chosen them to meet.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        for byte in rest {
            self.write_u8(*byte);
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }

    fn write_u64(&mut self, word: u64) {
        // An odd number without a pattern: that of the golden ratio.
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        // The upper bits are the best mixed, and the lower ones choose the place.
        self.0.rotate_left(26)
    }
}

struct Entry<S> {
    session: Arc<S>,
    principal: Option<Arc<Principal>>,
    created: Instant,
    used: Instant,
}

impl<S> Entry<S> {
    fn is_of(&self, principal: Option<&Principal>) -> bool {
        match (&self.principal, principal) {
            (None, None) => true,
            (Some(own), Some(other)) => own.is_same(other),
            _ => false,
        }
    }

    /// Does somebody use it, such as an open stream or a call?
    fn is_held(&self) -> bool {
        Arc::strong_count(&self.session) > 1
    }

    fn lapses(&self, limits: &SessionLimits) -> Instant {
        later(self.used, limits.idle).min(later(self.created, limits.life))
    }
}

/// What a caller is counted by.
#[derive(PartialEq, Eq, Hash)]
struct Caller {
    issuer: Option<String>,
    subject: String,
}

impl Caller {
    fn of(principal: &Principal) -> Self {
        Self {
            issuer: principal.issuer.clone(),
            subject: principal.subject.clone(),
        }
    }
}

/// A time that is too far away to be told is a year away.
fn later(now: Instant, patience: Duration) -> Instant {
    now.checked_add(patience.min(YEAR)).unwrap_or(now)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code of others runs under these locks, so what they guard is whole in any case.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const SHARDS: usize = 16;

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

// How often, at most, is swept within one idle time.
const SWEEPS: u32 = 16;

#[cfg(test)]
mod tests;
