//! Who may call over HTTP, and what each caller sees.
//!
//! Keys that are known here, tokens of an authorization server, or both. What a caller sends to be
//! let in is for the gateway alone: no server ever sees it.
//!
//! Specification: basic/authorization; security best practices (no token passthrough).

mod issuer_keys;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use http::request::Parts;
use ring::digest::{SHA256, digest};
use switchboard_server::access::{
    Access, BearerTokens, Challenge, Denied, Identifying, Jwt, Principal, TokenError,
};

use crate::turnstile::CallerLimits;

pub use issuer_keys::{IssuerError, IssuerKeys};

/// A key that lets a caller in.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    name: String,
    digest: [u8; 32],
    /// What the caller sees, if not everything.
    profile: Option<String>,
    limits: CallerLimits,
}

impl Key {
    /// A key, and what its caller is called. Make keys of at least 128 random bits.
    pub fn new(name: impl Into<String>, value: &str) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, value.as_bytes()).as_ref());
        Self::from_sha256(name, bytes)
    }

    /// A key of which only the SHA-256 is known here.
    pub fn from_sha256(name: impl Into<String>, digest: [u8; 32]) -> Self {
        Self {
            name: name.into(),
            digest,
            profile: None,
            limits: CallerLimits::default(),
        }
    }

    /// What its caller is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its caller sees what is in this profile, wherever it calls.
    #[must_use]
    pub fn profile(mut self, profile: impl Into<String>) -> Self {
        self.profile = Some(profile.into());
        self
    }

    /// Its caller has these limits.
    #[must_use]
    pub const fn limits(mut self, limits: CallerLimits) -> Self {
        self.limits = limits;
        self
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("name", &self.name)
            .field("profile", &self.profile)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Who may call.
#[derive(Debug, Default)]
pub(crate) struct Door {
    known: RwLock<Arc<Known>>,
    tokens: Option<Jwt>,
    /// Must callers prove who they are? That stays so when the last key is gone.
    is_locked: bool,
}

/// The keys that let callers in now.
#[derive(Debug, Default)]
struct Known {
    keys: Option<BearerTokens>,
    /// The profiles of keys, by name.
    profiles: HashMap<String, String>,
}

impl Known {
    fn new(keys: &[Key]) -> Result<Self, TokenError> {
        let profiles = keys.iter().filter_map(|key| {
            let profile = key.profile.clone()?;
            Some((key.name.clone(), profile))
        });
        let profiles = profiles.collect();
        let known = keys
            .iter()
            .map(|key| (key.digest, Principal::new(&*key.name)));
        let keys = match keys.is_empty() {
            true => None,
            false => Some(BearerTokens::from_digests(known)?),
        };
        Ok(Self { keys, profiles })
    }

    /// What a caller sees, if its key says so.
    fn profile_of(&self, principal: &Principal) -> Option<&str> {
        // A token of an issuer may stand for somebody of the same name.
        match principal.issuer {
            None => self.profiles.get(&principal.subject).map(String::as_str),
            Some(_) => None,
        }
    }
}

impl Door {
    /// # Errors
    /// When two keys are the same, or the system has no randomness.
    pub(crate) fn new(keys: &[Key], tokens: Option<Jwt>) -> Result<Self, TokenError> {
        Ok(Self {
            is_locked: !keys.is_empty() || tokens.is_some(),
            known: RwLock::new(Arc::new(Known::new(keys)?)),
            tokens,
        })
    }

    /// From now on these keys let callers in, and no others.
    ///
    /// # Errors
    /// When two keys are the same, or the system has no randomness.
    pub(crate) fn set_keys(&self, keys: &[Key]) -> Result<(), TokenError> {
        let known = Arc::new(Known::new(keys)?);
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(())
    }

    /// Must callers prove who they are?
    pub(crate) const fn is_locked(&self) -> bool {
        self.is_locked
    }

    /// What the caller of a request sees, if its key says so.
    pub(crate) fn profile_of(&self, head: &Parts) -> Option<String> {
        let known = self.known();
        if known.profiles.is_empty() {
            return None;
        }
        let principal = known.keys.as_ref()?.check(head).ok()?;
        known.profile_of(&principal).map(str::to_owned)
    }

    /// The caller, and what it sees if its key says so.
    async fn identify(&self, head: &Parts) -> Result<(Principal, Option<String>), Denied> {
        let known = self.known();
        let by_key = known.keys.as_ref().map(|keys| keys.check(head));
        let principal = match (by_key, &self.tokens) {
            (Some(Ok(principal)), _) => principal,
            (_, Some(tokens)) => tokens.identify(head).await?,
            (Some(refused), None) => refused?,
            (None, None) => return Err(Denied::Unauthorized(Challenge::default())),
        };
        let profile = known.profile_of(&principal).map(str::to_owned);
        Ok((principal, profile))
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The door of one endpoint: callers whose key is for another profile are refused.
#[derive(Debug)]
pub(crate) struct DoorOf {
    pub(crate) door: Arc<Door>,
    /// What its clients see. None: everything.
    pub(crate) profile: Option<Arc<str>>,
}

impl Access for DoorOf {
    fn identify<'a>(&'a self, head: &'a Parts) -> Identifying<'a> {
        Box::pin(async move {
            let (principal, profile) = self.door.identify(head).await?;
            match profile {
                Some(profile) if self.profile.as_deref() != Some(&*profile) => {
                    let mut challenge = Challenge::default();
                    let reason = format!("the key is for the profile {profile}");
                    challenge.description = Some(reason);
                    Err(Denied::Forbidden(challenge))
                }
                _ => Ok(principal),
            }
        })
    }

    fn metadata(&self) -> Option<Bytes> {
        self.door.tokens.as_ref().and_then(Access::metadata)
    }
}

/// Limits of single callers, by the names of their keys.
pub(crate) fn limits_of(keys: &[Key]) -> HashMap<String, CallerLimits> {
    let special = keys
        .iter()
        .filter(|key| key.limits != CallerLimits::default());
    special.map(|key| (key.name.clone(), key.limits)).collect()
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn head(token: Option<&str>) -> Parts {
        let mut request = Request::post("/mcp");
        if let Some(token) = token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        request.body(()).unwrap().into_parts().0
    }

    fn door() -> Arc<Door> {
        let keys = [
            Key::new("ada", "secret-a"),
            Key::new("ci", "secret-c").profile("work"),
        ];
        Arc::new(Door::new(&keys, None).unwrap())
    }

    #[tokio::test]
    async fn a_key_with_a_profile_is_for_that_alone() {
        let check = async |profile: Option<&str>, token: Option<&str>, status: Option<u16>| {
            let of = DoorOf {
                door: door(),
                profile: profile.map(Arc::from),
            };
            let denied = of.identify(&head(token)).await.err();
            let denied = denied.map(|denied| denied.status().as_u16());
            assert_eq!(denied, status, "{profile:?} {token:?}");
        };
        check(None, Some("secret-a"), None).await;
        check(Some("work"), Some("secret-a"), None).await;
        check(Some("work"), Some("secret-c"), None).await;
        check(None, Some("secret-c"), Some(403)).await;
        check(Some("home"), Some("secret-c"), Some(403)).await;
        check(None, None, Some(401)).await;
        check(None, Some("secret-x"), Some(401)).await;
    }

    #[test]
    fn the_profile_of_a_caller_is_known_by_its_key() {
        let door = door();
        let profile = door.profile_of(&head(Some("secret-c")));
        assert_eq!(profile.as_deref(), Some("work"));
        assert_eq!(door.profile_of(&head(Some("secret-a"))), None);
        assert_eq!(door.profile_of(&head(Some("secret-x"))), None);
        assert_eq!(door.profile_of(&head(None)), None);
    }

    #[tokio::test]
    async fn keys_come_and_go_and_the_door_stays_locked() {
        let door = door();
        let of = DoorOf {
            door: Arc::clone(&door),
            profile: None,
        };
        door.set_keys(&[Key::new("bob", "secret-b")]).unwrap();
        assert!(of.identify(&head(Some("secret-b"))).await.is_ok());
        assert!(of.identify(&head(Some("secret-a"))).await.is_err());
        // Two of the same are refused, and those before stay.
        let same = [Key::new("bob", "x"), Key::new("eve", "x")];
        assert!(door.set_keys(&same).is_err());
        assert!(of.identify(&head(Some("secret-b"))).await.is_ok());
        door.set_keys(&[]).unwrap();
        assert!(door.is_locked());
        assert!(of.identify(&head(Some("secret-b"))).await.is_err());
        assert!(of.identify(&head(None)).await.is_err());
    }

    #[test]
    fn keys_are_not_printed() {
        let key = Key::new("ada", "secret-a");
        assert!(!format!("{key:?} {:?}", door()).contains("secret"));
    }
}
