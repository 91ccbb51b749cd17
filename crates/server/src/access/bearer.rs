//! A few tokens that the server knows by heart.
//!
//! For a service with a handful of callers and no authorization server. Tokens are
//! kept as digests under a key of this process: neither a memory dump nor the time
//! that a comparison takes tells one.
//!
//! Specification: RFC 6750.

use std::collections::HashSet;
use std::error::Error;
use std::fmt;
use std::hint::black_box;

use bytes::Bytes;
use http::request::Parts;
use ring::digest::{SHA256, digest};
use ring::hmac::{self, HMAC_SHA256, Key};
use ring::rand::SystemRandom;

use switchboard_transport::http::{Access, Denied, Identifying, Principal};

use super::metadata::ProtectedResource;
use super::terms::{Terms, is_token};

/// Known tokens, and whom each one stands for.
///
/// Make tokens of at least 128 random bits: nothing slows down who guesses.
pub struct BearerTokens {
    key: Key,
    known: Vec<(hmac::Tag, Principal)>,
    terms: Terms,
}

impl BearerTokens {
    /// Knows these tokens.
    ///
    /// # Errors
    /// When a token cannot stand in a header, comes twice, or the system has no randomness.
    pub fn new<T: AsRef<str>>(
        tokens: impl IntoIterator<Item = (T, Principal)>,
    ) -> Result<Self, TokenError> {
        let mut digests = Vec::new();
        for (position, (token, principal)) in tokens.into_iter().enumerate() {
            let token = token.as_ref();
            if !is_token(token) {
                return Err(TokenError::Unusable { position });
            }
            digests.push((sha256(token), principal));
        }
        Self::from_digests(digests)
    }

    /// Knows the tokens of which these are the SHA-256, so that whoever reads where they are kept
    /// has no token.
    ///
    /// # Errors
    /// When a token comes twice, or the system has no randomness.
    pub fn from_digests(
        digests: impl IntoIterator<Item = ([u8; 32], Principal)>,
    ) -> Result<Self, TokenError> {
        let key = Key::generate(HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| TokenError::NoRandomness)?;
        let mut seen = HashSet::new();
        let mut known = Vec::new();
        for (position, (digest, principal)) in digests.into_iter().enumerate() {
            if !seen.insert(digest) {
                return Err(TokenError::Repeated { position });
            }
            known.push((hmac::sign(&key, &digest), principal));
        }
        Ok(Self {
            key,
            known,
            terms: Terms::default(),
        })
    }

    /// Refuses callers without every one of these scopes.
    #[must_use]
    pub fn require_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.terms.require(scopes);
        self
    }

    /// Whoever has the `broad` scope has the `narrow` one too.
    #[must_use]
    pub fn scope_includes(mut self, broad: impl Into<String>, narrow: impl Into<String>) -> Self {
        self.terms.include(broad.into(), narrow.into());
        self
    }

    /// Tells clients where tokens for this resource are issued.
    #[must_use]
    pub fn resource(mut self, resource: &ProtectedResource) -> Self {
        self.terms.describe(resource);
        self
    }

    /// Who calls, for whoever has to know it before the endpoint asks.
    ///
    /// # Errors
    /// When there is no token, or one that is not known.
    pub fn check(&self, head: &Parts) -> Result<Principal, Denied> {
        let token = self.terms.token(head)?;
        let tag = hmac::sign(&self.key, &sha256(token));
        // All are compared, so that the time does not tell which one it was.
        let mut found = None;
        for (known, principal) in &self.known {
            if is_equal(known.as_ref(), tag.as_ref()) {
                found = Some(principal);
            }
        }
        match found {
            Some(principal) => self.terms.admit(principal.clone()),
            None => Err(self.terms.invalid("the token is not known")),
        }
    }
}

impl Access for BearerTokens {
    fn identify<'a>(&'a self, head: &'a Parts) -> Identifying<'a> {
        Box::pin(std::future::ready(self.check(head)))
    }

    fn metadata(&self) -> Option<Bytes> {
        self.terms.metadata()
    }
}

impl fmt::Debug for BearerTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BearerTokens")
            .field("known", &self.known.len())
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}

/// Why tokens cannot be used. It never shows one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenError {
    /// A token is empty or holds what a bearer token may not.
    Unusable {
        /// Which one, counted from 0.
        position: usize,
    },
    /// A token was given before.
    Repeated {
        /// Which one, counted from 0.
        position: usize,
    },
    /// The system gave no random bytes.
    NoRandomness,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable { position } => write!(
                f,
                "token {position} is empty or holds more than letters, digits and -._~+/="
            ),
            Self::Repeated { position } => {
                write!(
                    f,
                    "token {position} was given before, a token has one owner"
                )
            }
            Self::NoRandomness => f.write_str("the system gave no random bytes"),
        }
    }
}

impl Error for TokenError {}

fn sha256(token: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    bytes
}

/// Compares digests in a time that does not depend on where they differ.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let difference = one
        .iter()
        .zip(other)
        .fold(0, |difference, (a, b)| black_box(difference | (a ^ b)));
    one.len() == other.len() && difference == 0
}

#[cfg(test)]
mod tests {
    use http::Request;
    use http::header::AUTHORIZATION;

    use super::*;

    fn tokens() -> BearerTokens {
        let alice = Principal::new("alice").with_scopes(["write"]);
        BearerTokens::new([("secret-a", alice), ("secret-b", Principal::new("bob"))]).unwrap()
    }

    fn check(access: &BearerTokens, authorization: &str) -> Result<Principal, Denied> {
        let request = Request::post("/mcp").header(AUTHORIZATION, authorization);
        access.check(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn a_known_token_says_who_calls() {
        assert_eq!(
            check(&tokens(), "Bearer secret-a").unwrap().subject,
            "alice"
        );
        assert_eq!(check(&tokens(), "bearer secret-b").unwrap().subject, "bob");
    }

    #[test]
    fn a_token_is_known_by_its_digest() {
        let access = BearerTokens::from_digests([(sha256("secret-a"), Principal::new("alice"))]);
        let access = access.unwrap();
        let known = check(&access, "Bearer secret-a");
        assert_eq!(known.unwrap().subject, "alice");
        assert!(check(&access, "Bearer secret-b").is_err());
    }

    #[test]
    fn any_other_token_is_refused() {
        for token in ["secret", "secret-aa", "secret-A", "secret-c", "secret-a="] {
            let denied = check(&tokens(), &format!("Bearer {token}")).unwrap_err();
            assert_eq!(denied.status(), 401);
            assert_eq!(
                denied.challenge().unwrap().to_header(),
                "Bearer error=\"invalid_token\", error_description=\"the token is not known\""
            );
        }
    }

    #[test]
    fn a_token_without_the_scopes_is_refused() {
        let access = tokens()
            .require_scopes(["read"])
            .scope_includes("write", "read");
        assert!(check(&access, "Bearer secret-a").unwrap().has_scope("read"));
        assert_eq!(check(&access, "Bearer secret-b").unwrap_err().status(), 403);
    }

    #[test]
    fn a_refusal_leads_to_the_metadata() {
        let resource =
            ProtectedResource::new("https://a.example/mcp", "https://b.example").unwrap();
        let access = tokens().resource(&resource);
        assert_eq!(access.metadata(), Some(resource.to_json()));
        let denied = check(&access, "Basic x").unwrap_err();
        assert_eq!(
            denied.challenge().unwrap().to_header(),
            "Bearer resource_metadata=\"https://a.example/.well-known/oauth-protected-resource/mcp\""
        );
    }

    #[test]
    fn tokens_that_cannot_work_are_refused_at_the_start() {
        let new = |tokens: &[&str]| {
            let tokens = tokens.iter().map(|token| (*token, Principal::new("a")));
            BearerTokens::new(tokens).map(|_| ())
        };
        assert_eq!(new(&["a", ""]), Err(TokenError::Unusable { position: 1 }));
        assert_eq!(new(&["a b"]), Err(TokenError::Unusable { position: 0 }));
        assert_eq!(
            new(&["a", "b", "a"]),
            Err(TokenError::Repeated { position: 2 })
        );
        assert_eq!(new(&[]), Ok(()));
    }

    #[test]
    fn tokens_are_not_printed() {
        assert!(!format!("{:?}", tokens()).contains("secret"));
    }
}
