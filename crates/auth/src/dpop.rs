//! Proofs that we hold the key that a token is bound to.
//!
//! Every request has a proof of its own. Servers may want a word of theirs in it (a nonce): the
//! last one of each origin is remembered. Asking again with it is for whoever asked.
//!
//! Specification: RFC 9449; RFC 7517 and 7518, section 6.2.1 (the public key in a proof).

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Map, Value, json};
use switchboard_protocol::http::location::is_same_origin;
use zeroize::Zeroizing;

use crate::error::AuthError;
use crate::jwt::SigningKey;
use crate::pkce::{hashed, random_text};
use crate::secret::Secret;

/// A key that tokens are bound to, and what servers want in proofs of it.
pub(crate) struct Prover {
    key: SigningKey,
    /// Its public half, as it stands in proofs.
    public: Value,
    stored: Secret,
    /// The last one of each origin, the newest at the end.
    nonces: Mutex<Vec<(Uri, String)>>,
}

impl Prover {
    /// A new key.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub(crate) fn generate() -> Result<Self, AuthError> {
        let made =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let made = made.map_err(|_| AuthError::Setup {
            reason: "the system gives no random bytes for a key".to_owned(),
        })?;
        Self::of(made.as_ref(), Secret::new(STANDARD.encode(made.as_ref())))
    }

    /// A key that was kept.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn from_stored(stored: &Secret) -> Result<Self, AuthError> {
        let unreadable = |_| AuthError::Setup {
            reason: "the key that the tokens are bound to cannot be read; log in again".to_owned(),
        };
        let der = STANDARD.decode(stored.reveal()).map(Zeroizing::new);
        let der = der.map_err(|_| unreadable(()))?;
        Self::of(&der, stored.clone()).map_err(|_| unreadable(()))
    }

    fn of(der: &[u8], stored: Secret) -> Result<Self, AuthError> {
        let key = SigningKey::from_pkcs8(der)?;
        let (x, y) = key.point().unwrap_or_default();
        let encode = |bytes| URL_SAFE_NO_PAD.encode(bytes);
        let public = json!({"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)});
        Ok(Self {
            key,
            public,
            stored,
            nonces: Mutex::default(),
        })
    }

    /// The key, to be kept.
    pub(crate) fn stored(&self) -> Secret {
        self.stored.clone()
    }

    /// A proof for one request: its method, where it goes, and the token it carries.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub(crate) fn proof(
        &self,
        method: &Method,
        uri: &Uri,
        access: Option<&Secret>,
        now: u64,
    ) -> Result<HeaderValue, AuthError> {
        let header = Map::from_iter([
            ("typ".to_owned(), "dpop+jwt".into()),
            ("jwk".to_owned(), self.public.clone()),
        ]);
        let mut claims = json!({
            "jti": random_text(ID_BYTES)?,
            "htm": method.as_str(),
            "htu": target(uri),
            "iat": now,
        });
        if let Some(access) = access {
            claims["ath"] = hashed(access.reveal()).into();
        }
        if let Some(nonce) = self.nonce(uri) {
            claims["nonce"] = nonce.into();
        }
        let proof = self.key.sign(header, &claims)?;
        let proof = HeaderValue::from_str(proof.reveal());
        let mut proof = proof.map_err(|_| AuthError::Setup {
            reason: "a proof cannot stand in a header".to_owned(),
        })?;
        proof.set_sensitive(true);
        Ok(proof)
    }

    /// Remembers what a server wants in the next proof. Did it say so? Whether that is new does
    /// not count: another request of ours may have been told the same.
    pub(crate) fn remember_nonce(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let Some(nonce) = nonce_of(headers) else {
            return false;
        };
        let mut nonces = self.nonces();
        nonces.retain(|(own, _)| !is_same_origin(own, uri));
        if nonces.len() >= MOST_NONCES {
            nonces.remove(0);
        }
        nonces.push((uri.clone(), nonce.to_owned()));
        true
    }

    fn nonce(&self, uri: &Uri) -> Option<String> {
        let nonces = self.nonces();
        let known = nonces.iter().find(|(own, _)| is_same_origin(own, uri));
        known.map(|(_, nonce)| nonce.clone())
    }

    fn nonces(&self) -> MutexGuard<'_, Vec<(Uri, String)>> {
        self.nonces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Prover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prover")
    }
}

/// The nonce in an answer: exactly one, of the characters that RFC 9449, section 8.1, allows.
fn nonce_of(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(DPOP_NONCE).iter();
    let (Some(nonce), None) = (values.next(), values.next()) else {
        return None;
    };
    let nonce = nonce.to_str().ok()?;
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    let is_nonce = (1..=LONGEST_NONCE).contains(&nonce.len()) && nonce.bytes().all(is_allowed);
    is_nonce.then_some(nonce)
}

/// The URI without query and fragment.
fn target(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or("https");
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    format!("{scheme}://{authority}{}", uri.path())
}

/// Where a proof stands.
pub(crate) const DPOP: HeaderName = HeaderName::from_static("dpop");
const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
const ID_BYTES: usize = 16;
// A login knows its issuer and its server; more are only there if they move.
const MOST_NONCES: usize = 8;
const LONGEST_NONCE: usize = 1024;

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn uri(text: &'static str) -> Uri {
        Uri::from_static(text)
    }

    fn nonce(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(DPOP_NONCE, HeaderValue::from_str(value).unwrap())])
    }

    /// Verifies a proof with the key in it, and gives its header and its claims.
    fn opened(proof: &HeaderValue) -> (Value, Value) {
        let (signed, signature) = proof.to_str().unwrap().rsplit_once('.').unwrap();
        let (header, claims) = signed.split_once('.').unwrap();
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
        let read = |part| -> Value { serde_json::from_slice(&decode(part)).unwrap() };
        let header = read(header);
        let coordinate = |name: &str| decode(header["jwk"][name].as_str().unwrap());
        let point = [vec![4], coordinate("x"), coordinate("y")].concat();
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
            .verify(signed.as_bytes(), &decode(signature))
            .unwrap();
        (header, read(claims))
    }

    fn claims(prover: &Prover, to: &'static str) -> Value {
        let proof = prover.proof(&Method::POST, &uri(to), None, NOW).unwrap();
        opened(&proof).1
    }

    #[test]
    fn a_proof_names_the_request_and_shows_the_public_key_only() {
        let prover = Prover::generate().unwrap();
        let to = uri("https://As.example:8443/a/token?key=hidden");
        let proof = prover.proof(&Method::POST, &to, None, NOW).unwrap();
        let (header, claims) = opened(&proof);
        assert_eq!(header["typ"], "dpop+jwt");
        assert_eq!(header["alg"], "ES256");
        let mut members: Vec<_> = header["jwk"].as_object().unwrap().keys().collect();
        members.sort();
        assert_eq!(members, ["crv", "kty", "x", "y"]);
        assert_eq!(claims["htm"], "POST");
        assert_eq!(claims["htu"], "https://As.example:8443/a/token");
        assert_eq!(claims["iat"], NOW);
        assert!(claims.get("ath").is_none() && claims.get("nonce").is_none());
        let proof = prover.proof(&Method::GET, &uri("https://a"), None, NOW);
        let (_, other) = opened(&proof.unwrap());
        assert_eq!(other["htu"], "https://a/");
        assert_eq!(other["htm"], "GET");
        assert_ne!(other["jti"], claims["jti"]);
    }

    #[test]
    fn a_proof_names_the_token_as_in_rfc_9449() {
        let prover = Prover::generate().unwrap();
        let token = Secret::new("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU");
        let to = uri("https://resource.example.org/protectedresource");
        let proof = prover.proof(&Method::GET, &to, Some(&token), NOW).unwrap();
        let (_, claims) = opened(&proof);
        assert_eq!(claims["ath"], "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo");
    }

    #[test]
    fn a_nonce_counts_for_its_origin_until_the_next_one() {
        let prover = Prover::generate().unwrap();
        let token = uri("https://as.example/token");
        assert!(prover.remember_nonce(&token, &nonce("one")));
        assert!(prover.remember_nonce(&token, &nonce("one")));
        assert_eq!(
            claims(&prover, "https://as.example:443/other")["nonce"],
            "one"
        );
        assert!(
            claims(&prover, "https://mcp.example/")
                .get("nonce")
                .is_none()
        );
        assert!(prover.remember_nonce(&token, &nonce("two")));
        assert_eq!(claims(&prover, "https://as.example/token")["nonce"], "two");
        assert!(!prover.remember_nonce(&token, &HeaderMap::new()));
        assert_eq!(claims(&prover, "https://as.example/token")["nonce"], "two");
    }

    #[test]
    fn a_nonce_that_is_none_is_not_remembered() {
        let prover = Prover::generate().unwrap();
        let to = uri("https://as.example/token");
        for value in ["", "a b", "a\"b", "a\\b", &"a".repeat(1025)] {
            assert!(!prover.remember_nonce(&to, &nonce(value)), "{value:?}");
        }
        let mut twice = nonce("one");
        twice.append(DPOP_NONCE, HeaderValue::from_static("two"));
        assert!(!prover.remember_nonce(&to, &twice));
        assert!(
            claims(&prover, "https://as.example/token")
                .get("nonce")
                .is_none()
        );
    }

    #[test]
    fn nonces_are_bounded() {
        let prover = Prover::generate().unwrap();
        for number in 0..100 {
            let origin: Uri = format!("https://a{number}.example/").parse().unwrap();
            assert!(prover.remember_nonce(&origin, &nonce("n")));
        }
        assert_eq!(prover.nonces().len(), MOST_NONCES);
        assert_eq!(claims(&prover, "https://a99.example/")["nonce"], "n");
    }

    #[test]
    fn a_key_is_the_same_after_it_was_kept_and_is_not_printed() {
        let prover = Prover::generate().unwrap();
        let stored = prover.stored();
        let other = Prover::from_stored(&stored).unwrap();
        assert_eq!(other.public, prover.public);
        assert_eq!(other.stored(), stored);
        let proof = prover.proof(&Method::GET, &uri("https://a/"), None, 0);
        let proof = proof.unwrap();
        let shown = format!("{prover:?} {proof:?}");
        assert!(!shown.contains(stored.reveal()) && !shown.contains("ey"));
        for text in ["", "s3cret", "AAAA"] {
            let error = Prover::from_stored(&Secret::new(text)).unwrap_err();
            assert!(error.to_string().contains("log in again"));
        }
    }
}
