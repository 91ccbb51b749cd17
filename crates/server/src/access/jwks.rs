//! The public keys of an authorization server, and the signatures they verify.
//!
//! Which algorithm a signature may have is decided by the key, not by the token: an
//! RSA key verifies RSA signatures only, and only the one kind where it names one.
//! There is no symmetric algorithm here to be talked into.
//!
//! Specification: RFC 7517, RFC 7518 sections 3 and 6, RFC 8037.

use std::error::Error;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rsa::PublicKeyComponents;
use ring::signature::{self, RsaParameters, UnparsedPublicKey, VerificationAlgorithm};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The keys of a JSON Web Key Set that can verify signatures.
#[derive(Clone, Debug, Default)]
pub struct JwkSet {
    keys: Vec<Key>,
}

impl JwkSet {
    /// Reads a JSON Web Key Set.
    ///
    /// Keys of other kinds, for encryption, or that cannot be read are skipped.
    ///
    /// # Errors
    /// When the text is not a key set, or holds no key that verifies signatures.
    pub fn from_json(text: &str) -> Result<Self, JwkSetError> {
        let set = Self::read(text)?;
        if set.keys.is_empty() {
            return Err(JwkSetError::NoUsableKey);
        }
        Ok(set)
    }

    /// Reads a key set that may well be empty: all keys were withdrawn.
    pub(super) fn read(text: &str) -> Result<Self, JwkSetError> {
        if text.len() > MAX_DOCUMENT {
            return Err(JwkSetError::TooLarge {
                limit: MAX_DOCUMENT,
            });
        }
        let document: Document<'_> =
            serde_json::from_str(text).map_err(|_| JwkSetError::NotAKeySet)?;
        if document.keys.len() > MAX_KEYS {
            return Err(JwkSetError::TooManyKeys { limit: MAX_KEYS });
        }
        let keys = document.keys.iter().filter_map(|key| Key::read(key.get()));
        Ok(Self {
            keys: keys.collect(),
        })
    }

    /// Whether one of the keys that the token may mean has made its signature.
    pub(super) fn verify(
        &self,
        key_id: Option<&str>,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Verdict {
        let mut verdict = Verdict::UnknownKey;
        let candidates = self.keys.iter().filter(|key| {
            // A key without an id may be meant by any id, and the other way round.
            let named = match (&key.id, key_id) {
                (Some(id), Some(wanted)) => id == wanted,
                _ => true,
            };
            named && key.accepts(algorithm)
        });
        for key in candidates.take(MAX_TRIED) {
            if key.verify(algorithm, message, signature) {
                return Verdict::Verified;
            }
            // Without ids, the right key may be one that we have not seen yet.
            if key_id.is_some() && key.id.is_some() {
                verdict = Verdict::WrongSignature;
            }
        }
        verdict
    }
}

/// What the keys say about a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Verified,
    WrongSignature,
    /// None of them was meant; newer ones may be.
    UnknownKey,
}

/// How a token may be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    Ed25519,
}

impl Algorithm {
    /// The algorithm of this name, unless it is none that we accept.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rs256,
            "RS384" => Self::Rs384,
            "RS512" => Self::Rs512,
            "PS256" => Self::Ps256,
            "PS384" => Self::Ps384,
            "PS512" => Self::Ps512,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            // RFC 9864 gives the curve that everyone means a name of its own.
            "EdDSA" | "Ed25519" => Self::Ed25519,
            _ => return None,
        })
    }

    fn method(self) -> Method {
        match self {
            Self::Rs256 => Method::Rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
            Self::Rs384 => Method::Rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
            Self::Rs512 => Method::Rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
            Self::Ps256 => Method::Rsa(&signature::RSA_PSS_2048_8192_SHA256),
            Self::Ps384 => Method::Rsa(&signature::RSA_PSS_2048_8192_SHA384),
            Self::Ps512 => Method::Rsa(&signature::RSA_PSS_2048_8192_SHA512),
            Self::Es256 => Method::Curve(Curve::P256, &signature::ECDSA_P256_SHA256_FIXED),
            Self::Es384 => Method::Curve(Curve::P384, &signature::ECDSA_P384_SHA384_FIXED),
            Self::Ed25519 => Method::Curve(Curve::Ed25519, &signature::ED25519),
        }
    }
}

enum Method {
    Rsa(&'static RsaParameters),
    Curve(Curve, &'static dyn VerificationAlgorithm),
}

/// Why text is not a set of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JwkSetError {
    /// Not JSON, or without a list `keys`.
    NotAKeySet,
    /// No key that verifies signatures in a way that is accepted here.
    NoUsableKey,
    /// A longer text than any key set.
    TooLarge {
        /// The longest that is read, in bytes.
        limit: usize,
    },
    /// More keys than anyone uses.
    TooManyKeys {
        /// The most that are read.
        limit: usize,
    },
}

impl fmt::Display for JwkSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAKeySet => f.write_str("not a JSON Web Key Set: no object with a list \"keys\""),
            Self::NoUsableKey => f.write_str(
                "the key set holds no signing key of RSA (2048 bits or more), P-256, P-384 or Ed25519",
            ),
            Self::TooLarge { limit } => write!(f, "the key set is larger than {limit} bytes"),
            Self::TooManyKeys { limit } => write!(f, "the key set holds more than {limit} keys"),
        }
    }
}

impl Error for JwkSetError {}

#[derive(Clone, Debug)]
struct Key {
    id: Option<String>,
    /// The only algorithm that it is for, where it says so.
    algorithm: Option<Algorithm>,
    material: Material,
}

#[derive(Clone, Debug)]
enum Material {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    Point { curve: Curve, bytes: Vec<u8> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Curve {
    P256,
    P384,
    Ed25519,
}

impl Key {
    /// Nothing when the key is not for us.
    fn read(text: &str) -> Option<Self> {
        let written: WrittenKey = serde_json::from_str(text).ok()?;
        if written.intent.is_some_and(|intent| intent != "sig") {
            return None;
        }
        if let Some(operations) = &written.key_ops
            && !operations.iter().any(|operation| operation == "verify")
        {
            return None;
        }
        let bytes = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
        let material = match (written.kty.as_str(), written.crv.as_deref()) {
            ("RSA", _) => {
                let modulus = without_leading_zeros(bytes(written.n)?);
                let exponent = without_leading_zeros(bytes(written.e)?);
                if !RSA_BYTES.contains(&modulus.len()) || exponent.is_empty() {
                    return None;
                }
                Material::Rsa { modulus, exponent }
            }
            ("EC", Some("P-256")) => {
                Material::point(Curve::P256, 32, bytes(written.x)?, bytes(written.y)?)?
            }
            ("EC", Some("P-384")) => {
                Material::point(Curve::P384, 48, bytes(written.x)?, bytes(written.y)?)?
            }
            ("OKP", Some("Ed25519")) => {
                let bytes = bytes(written.x)?;
                (bytes.len() == 32).then_some(Material::Point {
                    curve: Curve::Ed25519,
                    bytes,
                })?
            }
            _ => return None,
        };
        let algorithm = match written.alg {
            Some(name) => Some(Algorithm::from_name(&name)?),
            None => None,
        };
        Some(Self {
            id: written.kid,
            algorithm,
            material,
        })
    }

    fn accepts(&self, algorithm: Algorithm) -> bool {
        let kind = match (&self.material, algorithm.method()) {
            (Material::Rsa { .. }, Method::Rsa(_)) => true,
            (Material::Point { curve, .. }, Method::Curve(wanted, _)) => *curve == wanted,
            _ => false,
        };
        kind && self.algorithm.is_none_or(|only| only == algorithm)
    }

    fn verify(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        match (&self.material, algorithm.method()) {
            (Material::Rsa { modulus, exponent }, Method::Rsa(parameters)) => {
                let key = PublicKeyComponents {
                    n: modulus,
                    e: exponent,
                };
                key.verify(parameters, message, signature).is_ok()
            }
            (Material::Point { curve, bytes }, Method::Curve(wanted, method)) => {
                *curve == wanted
                    && UnparsedPublicKey::new(method, bytes)
                        .verify(message, signature)
                        .is_ok()
            }
            _ => false,
        }
    }
}

impl Material {
    /// An uncompressed point; RFC 7518 wants its coordinates in full length.
    fn point(curve: Curve, length: usize, x: Vec<u8>, y: Vec<u8>) -> Option<Self> {
        if x.len() != length || y.len() != length {
            return None;
        }
        Some(Self::Point {
            curve,
            bytes: [&[4][..], &x, &y].concat(),
        })
    }
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    keys: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct WrittenKey {
    kty: String,
    #[serde(rename = "use")]
    intent: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    kid: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// Some write a sign byte that does not belong there.
fn without_leading_zeros(mut bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.drain(..zeros);
    bytes
}

/// 2048 to 8192 bits: less is broken, more is a way to keep us busy.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

/// Ten times what the largest identity providers publish.
const MAX_DOCUMENT: usize = 256 * 1024;
const MAX_KEYS: usize = 256;

/// How many keys are tried where the token does not say which; an RSA key costs 50 µs.
const MAX_TRIED: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of RFC 8037 appendix A.
    const X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

    fn count(keys: &str) -> usize {
        let set = JwkSet::read(&format!(r#"{{"keys":[{keys}],"more":1}}"#));
        set.unwrap().keys.len()
    }

    fn okp(more: &str) -> String {
        format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{X}"{more}}}"#)
    }

    #[test]
    fn keys_for_signatures_are_read_and_others_skipped() {
        assert_eq!(count(&okp("")), 1);
        assert_eq!(count(&okp(r#","use":"sig","alg":"EdDSA","x5c":["a"]"#)), 1);
        assert_eq!(count(&okp(r#","key_ops":["verify"]"#)), 1);
        assert_eq!(count(&okp(r#","use":"enc""#)), 0);
        assert_eq!(count(&okp(r#","key_ops":["encrypt"]"#)), 0);
        assert_eq!(count(&okp(r#","alg":"HS256""#)), 0);
        assert_eq!(count(&okp(r#","kid":1"#)), 0);
        assert_eq!(count(r#"{"kty":"oct","k":"c2VjcmV0"}"#), 0);
        assert_eq!(count(r#"{"kty":"OKP","crv":"Ed448","x":"AAAA"}"#), 0);
        assert_eq!(count(r#"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#), 0);
        assert_eq!(count(r#"{"kty":"OKP","crv":"Ed25519"}"#), 0);
        assert_eq!(
            count(r#"{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}"#),
            0
        );
        assert_eq!(
            count(r#"{"kty":"EC","crv":"secp256k1","x":"AAAA","y":"AAAA"}"#),
            0
        );
        assert_eq!(count(r#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#), 0);
        assert_eq!(count(r#"1,null,"a",[],{}"#), 0);
        assert_eq!(
            count(&format!("{},{{}},{}", okp(""), okp(r#","kid":"b""#))),
            2
        );
    }

    #[test]
    fn only_some_keys_are_tried_for_a_token_that_names_none() {
        // The seed of the key above.
        let seed = b"\x9d\x61\xb1\x9d\xef\xfd\x5a\x60\xba\x84\x4a\xf4\x92\xec\x2c\xc4\
            \x44\x49\xc5\x69\x7b\x32\x69\x19\x70\x3b\xac\x03\x1c\xae\x7f\x60";
        let pair = signature::Ed25519KeyPair::from_seed_unchecked(seed).unwrap();
        let signed = pair.sign(b"message");
        let other = okp("").replace(X, &"A".repeat(X.len()));
        let verdict_behind = |others: usize| {
            let keys = format!("{}{}", format!("{other},").repeat(others), okp(""));
            let set = JwkSet::read(&format!(r#"{{"keys":[{keys}]}}"#)).unwrap();
            assert_eq!(set.keys.len(), others + 1);
            set.verify(None, Algorithm::Ed25519, b"message", signed.as_ref())
        };
        assert_eq!(verdict_behind(MAX_TRIED - 1), Verdict::Verified);
        assert_eq!(verdict_behind(MAX_TRIED), Verdict::UnknownKey);
    }

    #[test]
    fn what_is_no_key_set_is_refused() {
        let check = |text: &str, error| assert_eq!(JwkSet::from_json(text).unwrap_err(), error);
        check("", JwkSetError::NotAKeySet);
        check("{}", JwkSetError::NotAKeySet);
        check(r#"{"keys":{}}"#, JwkSetError::NotAKeySet);
        check(r#"{"keys":[]}"#, JwkSetError::NoUsableKey);
        check(r#"{"keys":[{"kty":"oct"}]}"#, JwkSetError::NoUsableKey);
        let many = format!(r#"{{"keys":[{}1]}}"#, "1,".repeat(MAX_KEYS));
        check(&many, JwkSetError::TooManyKeys { limit: MAX_KEYS });
        let large = " ".repeat(MAX_DOCUMENT + 1);
        check(
            &large,
            JwkSetError::TooLarge {
                limit: MAX_DOCUMENT,
            },
        );
    }
}
