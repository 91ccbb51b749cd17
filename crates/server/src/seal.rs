//! What a client carries for us, so that we can trust it when it comes back.
//!
//! `requestState` leaves this process and returns as input of whoever sends it. It is
//! sealed: encrypted and authenticated, bound to the caller and the request that it was
//! made for (see [`Binding`]), valid for a limited time. A seal may be presented twice; who
//! needs single use keeps a record. Cursors of lists are not sealed: they name an entry that
//! the list has shown already.
//!
//! ```text
//!  version 1 │ key id 4 │ nonce 12 │ ciphertext of (expiry 8, content) │ tag 16
//! ```
//! as base64url without padding; version, key id and binding are authenticated too.
//!
//! Specification: 2026-07-28, basic/patterns/mrtr, `requestState`.

// Their places are named for `fuzz/`, which takes this file by its path.
#[path = "seal/binding.rs"]
mod binding;

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::{SecureRandom, SystemRandom};

pub(crate) use binding::Binding;

/// The keys that seal what clients carry for a server. Clones share them.
///
/// [`random`](Self::random) suits one process. Instances behind a load balancer
/// must open each other's seals and share [secrets](Self::from_secrets) instead.
#[derive(Clone)]
pub struct SealingKeys(Arc<Keys>);

impl SealingKeys {
    /// Keys of this process alone: a new one every twelve hours; each is kept until
    /// the last of its seals has expired. A restart invalidates what was sealed.
    pub fn random() -> Self {
        Self(Arc::new(Keys::Rotating(Mutex::new(Vec::new()))))
    }

    /// Keys derived from shared secrets: the first one seals, all of them open.
    ///
    /// To rotate, put a new secret in front and drop the old one a day later; do so
    /// before 2³² seals were made with one secret.
    ///
    /// # Errors
    /// When there is no secret, or one is shorter than 32 bytes.
    pub fn from_secrets<S: AsRef<[u8]>>(
        secrets: impl IntoIterator<Item = S>,
    ) -> Result<Self, SecretError> {
        let mut keys = Vec::new();
        for (position, secret) in secrets.into_iter().enumerate() {
            let secret = secret.as_ref();
            if secret.len() < MIN_SECRET {
                let length = secret.len();
                return Err(SecretError::TooShort { position, length });
            }
            keys.push(Arc::new(Key::derive(secret)));
        }
        if keys.is_empty() {
            return Err(SecretError::None);
        }
        Ok(Self(Arc::new(Keys::Shared(keys))))
    }

    /// Seals `content` for one caller and request, until `expires` (at most a day).
    ///
    /// # Errors
    /// When the sealed text would be longer than 64 KiB, or there is no randomness.
    pub(crate) fn seal(
        &self,
        binding: &Binding,
        now: SystemTime,
        expires: SystemTime,
        content: &[u8],
    ) -> Result<String, SealError> {
        if content.len() > MAX_CONTENT {
            return Err(SealError::TooLarge { limit: MAX_SEALED });
        }
        let expires = expires.min(now.checked_add(MAX_LIFE).unwrap_or(now));
        let mut nonce = [0; NONCE];
        SystemRandom::new()
            .fill(&mut nonce)
            .map_err(|_| SealError::NoRandomness)?;
        let key = self.sealing_key(now, expires)?;

        let header = header(&key.id);
        let mut body = Vec::with_capacity(EXPIRY + content.len() + TAG);
        body.extend_from_slice(&milliseconds(expires).to_be_bytes());
        body.extend_from_slice(content);
        key.aead
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(binding.authenticated(&header)),
                &mut body,
            )
            .map_err(|_| SealError::TooLarge { limit: MAX_SEALED })?;

        let mut sealed = Vec::with_capacity(header.len() + NONCE + body.len());
        sealed.extend_from_slice(&header);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&body);
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// What was sealed for this caller and request, if it has not expired.
    ///
    /// # Errors
    /// When the text is not one of our seals, was made for something else, or is too old.
    pub(crate) fn open(
        &self,
        binding: &Binding,
        now: SystemTime,
        sealed: &str,
    ) -> Result<Vec<u8>, SealError> {
        if sealed.len() > MAX_SEALED {
            return Err(SealError::TooLarge { limit: MAX_SEALED });
        }
        let bytes = URL_SAFE_NO_PAD
            .decode(sealed)
            .map_err(|_| SealError::Malformed)?;
        let (header, rest) = bytes
            .split_first_chunk::<HEADER>()
            .ok_or(SealError::Malformed)?;
        let (nonce, body) = rest
            .split_first_chunk::<NONCE>()
            .ok_or(SealError::Malformed)?;
        let [version, id @ ..] = header;
        if *version != VERSION || body.len() < EXPIRY + TAG {
            return Err(SealError::Malformed);
        }
        let keys = self.opening_keys(id);
        if keys.is_empty() {
            return Err(SealError::Foreign);
        }
        let authenticated = binding.authenticated(header);
        for key in keys {
            let mut body = body.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let Ok(open) = key
                .aead
                .open_in_place(nonce, Aad::from(&authenticated), &mut body)
            else {
                continue;
            };
            let (expires, content) = open
                .split_first_chunk::<EXPIRY>()
                .ok_or(SealError::Malformed)?;
            if milliseconds(now) >= u64::from_be_bytes(*expires) {
                return Err(SealError::Expired);
            }
            return Ok(content.to_vec());
        }
        Err(SealError::Forged)
    }

    /// The key to seal with, kept until `expires` at least.
    fn sealing_key(&self, now: SystemTime, expires: SystemTime) -> Result<Arc<Key>, SealError> {
        let keys = match &*self.0 {
            Keys::Shared(keys) => return keys.first().cloned().ok_or(SealError::NoRandomness),
            Keys::Rotating(keys) => keys,
        };
        let mut keys = keys.lock().unwrap_or_else(PoisonError::into_inner);
        let rotate = keys.last().is_none_or(|newest| {
            // Either way: a clock that was set back must not stop the rotation.
            let age = now.duration_since(newest.made);
            age.unwrap_or_else(|ahead| ahead.duration()) >= ROTATION
        });
        if rotate {
            // Seals live for two rotations at most, so that few keys are ever kept.
            keys.retain(|kept| kept.needed_until > now);
            let mut secret = [0; MIN_SECRET];
            SystemRandom::new()
                .fill(&mut secret)
                .map_err(|_| SealError::NoRandomness)?;
            keys.push(Kept {
                key: Arc::new(Key::derive(&secret)),
                made: now,
                needed_until: expires,
            });
        }
        let newest = keys.last_mut().ok_or(SealError::NoRandomness)?;
        newest.needed_until = newest.needed_until.max(expires);
        Ok(newest.key.clone())
    }

    /// The keys of this id: one, unless two secrets share it by chance.
    fn opening_keys(&self, id: &[u8; KEY_ID]) -> Vec<Arc<Key>> {
        let matches = |key: &&Arc<Key>| key.id == *id;
        match &*self.0 {
            Keys::Shared(keys) => keys.iter().filter(matches).cloned().collect(),
            Keys::Rotating(keys) => {
                let keys = keys.lock().unwrap_or_else(PoisonError::into_inner);
                keys.iter()
                    .map(|kept| &kept.key)
                    .filter(matches)
                    .cloned()
                    .collect()
            }
        }
    }
}

impl Default for SealingKeys {
    fn default() -> Self {
        Self::random()
    }
}

impl fmt::Debug for SealingKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self.0 {
            Keys::Shared(_) => "SealingKeys(shared, ***)",
            Keys::Rotating(_) => "SealingKeys(random, ***)",
        })
    }
}

/// Why secrets cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretError {
    /// No secret was given.
    None,
    /// A secret is too short to be one.
    TooShort {
        /// Which one, counted from 0.
        position: usize,
        /// Its length in bytes.
        length: usize,
    },
}

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no sealing secret was given, one is needed"),
            Self::TooShort { position, length } => write!(
                f,
                "sealing secret {position} has {length} bytes, use at least {MIN_SECRET} random ones"
            ),
        }
    }
}

impl Error for SecretError {}

/// Why something was not sealed or not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealError {
    /// Not a seal at all.
    Malformed,
    /// Made with a key that is gone or was never ours: by another server, if it is a seal.
    Foreign,
    /// Made by us for another caller or request, or changed since.
    Forged,
    /// Made by us, too long ago.
    Expired,
    /// Longer than a client has to carry.
    TooLarge {
        /// The longest sealed text, in bytes.
        limit: usize,
    },
    /// The system gave no random bytes.
    NoRandomness,
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("not a value that this server gave out"),
            Self::Foreign => f.write_str("not given out by this server, or too long ago"),
            Self::Forged => f.write_str("not given out by this server for this caller and request"),
            Self::Expired => f.write_str("expired, start over without it"),
            Self::TooLarge { limit } => write!(f, "larger than the limit of {limit} bytes"),
            Self::NoRandomness => f.write_str("the system gave no random bytes"),
        }
    }
}

impl Error for SealError {}

enum Keys {
    /// The first seals.
    Shared(Vec<Arc<Key>>),
    /// The last seals.
    Rotating(Mutex<Vec<Kept>>),
}

struct Kept {
    key: Arc<Key>,
    made: SystemTime,
    needed_until: SystemTime,
}

struct Key {
    id: [u8; KEY_ID],
    aead: LessSafeKey,
}

impl Key {
    fn derive(secret: &[u8]) -> Self {
        let secret = Salt::new(HKDF_SHA256, SALT).extract(secret);
        let aead = secret
            .expand(&[b"aead"], &AES_256_GCM)
            .map(|key| LessSafeKey::new(UnboundKey::from(key)))
            .expect("invariant: an AES key is shorter than HKDF can give");
        let mut id = [0; KEY_ID];
        secret
            .expand(&[b"id"], IdLength)
            .and_then(|id_key| id_key.fill(&mut id))
            .expect("invariant: a key id is shorter than HKDF can give");
        Self { id, aead }
    }
}

struct IdLength;

impl KeyType for IdLength {
    fn len(&self) -> usize {
        KEY_ID
    }
}

fn header(id: &[u8; KEY_ID]) -> [u8; HEADER] {
    let [a, b, c, d] = *id;
    [VERSION, a, b, c, d]
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

const VERSION: u8 = 1;
const KEY_ID: usize = 4;
const HEADER: usize = 1 + KEY_ID;
const NONCE: usize = 12;
const EXPIRY: usize = 8;
const TAG: usize = 16;

/// What a secret must have: as much as the key that is derived from it.
const MIN_SECRET: usize = 32;

const SALT: &[u8] = b"switchboard seal 1";

/// The longest text that we make or look at. It travels in one message each way,
/// beside what the call itself needs.
const MAX_SEALED: usize = 64 * 1024;
const MAX_CONTENT: usize = MAX_SEALED / 4 * 3 - HEADER - NONCE - EXPIRY - TAG;

/// Far fewer seals are made in that time than random nonces allow for one key (2³²).
const ROTATION: Duration = Duration::from_secs(12 * 60 * 60);

/// Nobody answers a question a day later; more only means more keys to keep.
const MAX_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
#[path = "seal/tests.rs"]
mod tests;
