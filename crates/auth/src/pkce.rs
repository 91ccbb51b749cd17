//! Binds a code to whoever asked for it, and makes what nobody can guess.
//!
//! Specification: RFC 7636, with `S256` only; basic/authorization, "Authorization Code
//! Protection".

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use zeroize::Zeroizing;

use crate::error::AuthError;
use crate::secret::Secret;

/// A verifier that stays here until the code is there, and what is sent ahead of it.
#[derive(Debug)]
pub(crate) struct Pkce {
    /// Shown where tokens are given out.
    pub(crate) verifier: Secret,
    /// Shown where people log in.
    pub(crate) challenge: String,
}

impl Pkce {
    /// A new pair.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub(crate) fn new() -> Result<Self, AuthError> {
        Ok(Self::of(Secret::new(random_text(VERIFIER_BYTES)?)))
    }

    fn of(verifier: Secret) -> Self {
        let challenge = hashed(verifier.reveal());
        Self {
            verifier,
            challenge,
        }
    }
}

/// So many random bytes, as text that may stand in a URL.
///
/// # Errors
/// When the system gives none.
pub(crate) fn random_text(bytes: usize) -> Result<String, AuthError> {
    let mut random = Zeroizing::new(vec![0; bytes]);
    SystemRandom::new()
        .fill(&mut random)
        .map_err(|_| AuthError::Setup {
            reason: "the system gives no random bytes".to_owned(),
        })?;
    Ok(URL_SAFE_NO_PAD.encode(&*random))
}

/// The SHA-256 of a text, as text.
pub(crate) fn hashed(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))
}

// RFC 7636, section 4.1, recommends 32: 43 characters, the fewest that are allowed.
const VERIFIER_BYTES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_example_in_rfc_7636() {
        let pkce = Pkce::of(Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"));
        assert_eq!(
            pkce.challenge,
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn a_verifier_is_new_long_enough_and_of_allowed_characters() {
        let (one, other) = (Pkce::new().unwrap(), Pkce::new().unwrap());
        assert_ne!(one.verifier, other.verifier);
        assert_eq!(one.verifier.reveal().len(), 43);
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        assert!(one.verifier.reveal().bytes().all(is_allowed));
        assert_eq!(one.challenge.len(), 43);
    }

    #[test]
    fn a_verifier_is_not_printed() {
        let pkce = Pkce::new().unwrap();
        assert!(!format!("{pkce:?}").contains(pkce.verifier.reveal()));
    }
}
