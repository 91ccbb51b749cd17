//! Signs tokens: with a key that a client proves itself with, and with one that tokens are
//! bound to.
//!
//! What is signed is for [`client_proof`](crate::client_proof) and [`dpop`](crate::dpop).
//!
//! Specification: RFC 7515, section 7.1; RFC 7518, section 3; RFC 8037 (EdDSA).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::error::KeyRejected;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
    RsaEncoding, RsaKeyPair,
};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::error::AuthError;
use crate::secret::Secret;

/// A private key that a client proves itself with (`private_key_jwt`).
pub struct SigningKey {
    pair: Pair,
    algorithm: Algorithm,
    id: Option<String>,
}

enum Pair {
    Curve(EcdsaKeyPair),
    Edwards(Ed25519KeyPair),
    Rsa(Box<RsaKeyPair>),
}

impl SigningKey {
    /// Reads a key in PEM: PKCS #8, or what OpenSSL wrote before that (`EC PRIVATE KEY`,
    /// `RSA PRIVATE KEY`). It must not be encrypted.
    ///
    /// The algorithm is one of `ES256`, `ES384`, `RS256`, `PS256` and `EdDSA`; if none is named,
    /// the one that the key is for, `RS256` for an RSA key. The id is what the issuer knows the
    /// key by, if it has several.
    ///
    /// # Errors
    /// When it is no such key, or not one for this algorithm.
    pub fn from_pem(
        pem: &Secret,
        algorithm: Option<&str>,
        key_id: Option<String>,
    ) -> Result<Self, AuthError> {
        let algorithm = algorithm.map(Algorithm::parse).transpose()?;
        let key = PrivateKeyDer::from_pem_slice(pem.reveal().as_bytes());
        let key = key.map_err(|_| {
            unusable("it is not a private key in PEM, or it is encrypted".to_owned())
        })?;
        Self::from_der(&Zeroizing::new(key), algorithm, key_id)
    }

    /// A key for ES256, in PKCS #8.
    pub(crate) fn from_pkcs8(der: &[u8]) -> Result<Self, AuthError> {
        let key = PrivateKeyDer::Pkcs8(der.into());
        Self::from_der(&key, Some(Algorithm::Es256), None)
    }

    fn from_der(
        key: &PrivateKeyDer<'_>,
        algorithm: Option<Algorithm>,
        id: Option<String>,
    ) -> Result<Self, AuthError> {
        let candidates = match &algorithm {
            Some(algorithm) => std::slice::from_ref(algorithm),
            None => &Algorithm::ALL,
        };
        let mut rejected = None;
        for algorithm in candidates.iter().copied() {
            match algorithm.read(key) {
                Ok(pair) => {
                    return Ok(Self {
                        pair,
                        algorithm,
                        id,
                    });
                }
                // Of several, the last one's reason says nothing about the others.
                Err(reason) => rejected = Some((algorithm, reason)),
            }
        }
        Err(unusable(match (algorithm, rejected) {
            (Some(_), Some((algorithm, reason))) => {
                format!("it cannot be used for {} ({reason})", algorithm.name())
            }
            _ => "it is neither on the curves P-256, P-384 or Ed25519 with its public half, nor \
                  for RSA with 2048 to 4096 bits"
                .to_owned(),
        }))
    }

    /// What the signatures are called.
    pub(crate) fn algorithm(&self) -> &'static str {
        self.algorithm.name()
    }

    /// Signs claims. `alg`, and the id of the key if it has one, are added to the header.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub(crate) fn sign(
        &self,
        mut header: Map<String, Value>,
        claims: &Value,
    ) -> Result<Secret, AuthError> {
        header.insert("alg".to_owned(), self.algorithm().into());
        if let Some(id) = &self.id {
            header.insert("kid".to_owned(), id.as_str().into());
        }
        let header = Value::Object(header).to_string();
        let mut token = Zeroizing::new(String::with_capacity(ROOM));
        URL_SAFE_NO_PAD.encode_string(header, &mut token);
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(claims.to_string(), &mut token);
        let signature = self.signature(token.as_bytes())?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(Secret::new(token.as_str()))
    }

    /// The coordinates of the public half of a key on a curve of NIST.
    pub(crate) fn point(&self) -> Option<(&[u8], &[u8])> {
        let Pair::Curve(pair) = &self.pair else {
            return None;
        };
        // After the byte that says that neither is compressed.
        let (_, point) = pair.public_key().as_ref().split_first()?;
        point.split_at_checked(point.len() / 2)
    }

    fn signature(&self, message: &[u8]) -> Result<Vec<u8>, AuthError> {
        let random = SystemRandom::new();
        let signature = match &self.pair {
            Pair::Edwards(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Pair::Curve(pair) => pair
                .sign(&random, message)
                .map(|signature| signature.as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let encoding: &dyn RsaEncoding = match self.algorithm {
                    Algorithm::Ps256 => &RSA_PSS_SHA256,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(encoding, &random, message, &mut signature)
                    .map(|()| signature)
            }
        };
        signature.map_err(|_| AuthError::Setup {
            reason: "the system gives no random bytes to sign with".to_owned(),
        })
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("algorithm", &self.algorithm())
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Es256,
    Es384,
    EdDsa,
    Rs256,
    Ps256,
}

impl Algorithm {
    const ALL: [Self; 5] = [
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
        Self::Rs256,
        Self::Ps256,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
        }
    }

    fn parse(name: &str) -> Result<Self, AuthError> {
        let found = Self::ALL.into_iter().find(|known| known.name() == name);
        found.ok_or_else(|| AuthError::Setup {
            reason: format!(
                "the signing algorithm {name:?} is not known; use one of {}",
                Self::ALL.map(Self::name).join(", ")
            ),
        })
    }

    fn read(self, key: &PrivateKeyDer<'_>) -> Result<Pair, KeyRejected> {
        match self {
            Self::Es256 => read_curve(key, &ECDSA_P256_SHA256_FIXED_SIGNING, OID_P256),
            Self::Es384 => read_curve(key, &ECDSA_P384_SHA384_FIXED_SIGNING, OID_P384),
            // Without a check of the public half: OpenSSL leaves it out.
            Self::EdDsa => {
                Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.secret_der()).map(Pair::Edwards)
            }
            Self::Rs256 | Self::Ps256 => {
                let pair = match key {
                    PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
                    key => RsaKeyPair::from_pkcs8(key.secret_der()),
                };
                pair.map(|pair| Pair::Rsa(Box::new(pair)))
            }
        }
    }
}

fn read_curve(
    key: &PrivateKeyDer<'_>,
    algorithm: &'static EcdsaSigningAlgorithm,
    curve: &[u8],
) -> Result<Pair, KeyRejected> {
    let random = SystemRandom::new();
    let pair = match key {
        PrivateKeyDer::Sec1(key) => {
            let wrapped = wrapped_sec1(key.secret_sec1_der(), curve);
            EcdsaKeyPair::from_pkcs8(algorithm, &wrapped, &random)
        }
        key => EcdsaKeyPair::from_pkcs8(algorithm, key.secret_der(), &random),
    };
    pair.map(Pair::Curve)
}

/// RFC 5958: PKCS #8 is what SEC 1 says, in a wrapper that names the curve.
fn wrapped_sec1(key: &[u8], curve: &[u8]) -> Zeroizing<Vec<u8>> {
    let curve = element(SEQUENCE, &[OID_EC_PUBLIC_KEY, curve]);
    let key = element(OCTET_STRING, &[key]);
    element(SEQUENCE, &[VERSION_0, &curve, &key])
}

fn element(tag: u8, parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut der = Zeroizing::new(Vec::with_capacity(length + 4));
    der.push(tag);
    // What is longer than two bytes can say is no key, and is refused as one.
    match length.to_be_bytes() {
        [.., 0, low] if low < 0x80 => der.push(low),
        [.., 0, low] => der.extend([0x81, low]),
        [.., high, low] => der.extend([0x82, high, low]),
    }
    for part in parts {
        der.extend_from_slice(part);
    }
    der
}

fn unusable(reason: String) -> AuthError {
    AuthError::Setup {
        reason: format!("the signing key is not used: {reason}"),
    }
}

const SEQUENCE: u8 = 0x30;
const OCTET_STRING: u8 = 0x04;
const VERSION_0: &[u8] = &[0x02, 0x01, 0x00];
// 1.2.840.10045.2.1
const OID_EC_PUBLIC_KEY: &[u8] = &[0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
// 1.2.840.10045.3.1.7
const OID_P256: &[u8] = &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
// 1.3.132.0.34
const OID_P384: &[u8] = &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22];
// Of a token with an RSA signature and usual claims.
const ROOM: usize = 1024;

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
        RSA_PSS_2048_8192_SHA256, UnparsedPublicKey, VerificationAlgorithm,
    };
    use serde_json::json;

    use super::*;

    fn pem(label: &str, der: &[u8]) -> Secret {
        let text = STANDARD.encode(der);
        Secret::new(format!(
            "-----BEGIN {label}-----\n{text}\n-----END {label}-----\n"
        ))
    }

    fn curve_key(algorithm: &'static EcdsaSigningAlgorithm) -> Secret {
        let made = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).unwrap();
        pem("PRIVATE KEY", made.as_ref())
    }

    fn edwards_key() -> Secret {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        pem("PRIVATE KEY", made.as_ref())
    }

    fn rsa_key() -> Secret {
        pem("RSA PRIVATE KEY", &STANDARD.decode(RSA_TEST_KEY).unwrap())
    }

    fn rsa_key_in_pkcs8() -> Secret {
        let key = STANDARD.decode(RSA_TEST_KEY).unwrap();
        let key = element(OCTET_STRING, &[&key]);
        let rsa = [
            0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05,
            0x00,
        ];
        let wrapped = element(SEQUENCE, &[VERSION_0, &rsa, &key]);
        pem("PRIVATE KEY", &wrapped)
    }

    fn key(pem: &Secret, algorithm: Option<&str>) -> Result<SigningKey, AuthError> {
        SigningKey::from_pem(pem, algorithm, None)
    }

    fn public(key: &SigningKey) -> Vec<u8> {
        match &key.pair {
            Pair::Curve(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Edwards(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Rsa(pair) => pair.public_key().as_ref().to_vec(),
        }
    }

    /// Reads a key, signs with it, and verifies what was signed.
    fn check(
        pem: &Secret,
        named: Option<&str>,
        algorithm: &str,
        verification: &'static dyn VerificationAlgorithm,
    ) {
        let key = key(pem, named).unwrap();
        let token = key.sign(Map::new(), &json!({"sub": "me"})).unwrap();
        let (signed, signature) = token.reveal().rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        UnparsedPublicKey::new(verification, public(&key))
            .verify(signed.as_bytes(), &signature)
            .unwrap();
        let (header, claims) = signed.split_once('.').unwrap();
        let decode = |part| -> Value {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
        };
        assert_eq!(decode(header), json!({"alg": algorithm}));
        assert_eq!(decode(claims), json!({"sub": "me"}));
    }

    #[test]
    fn a_key_signs_with_the_algorithm_it_is_for() {
        let p256 = curve_key(&ECDSA_P256_SHA256_FIXED_SIGNING);
        let p384 = curve_key(&ECDSA_P384_SHA384_FIXED_SIGNING);
        check(&p256, None, "ES256", &ECDSA_P256_SHA256_FIXED);
        check(&p256, Some("ES256"), "ES256", &ECDSA_P256_SHA256_FIXED);
        check(&p384, None, "ES384", &ECDSA_P384_SHA384_FIXED);
        check(&p384, Some("ES384"), "ES384", &ECDSA_P384_SHA384_FIXED);
        check(&edwards_key(), None, "EdDSA", &ED25519);
        for rsa in [rsa_key(), rsa_key_in_pkcs8()] {
            check(&rsa, None, "RS256", &RSA_PKCS1_2048_8192_SHA256);
            check(&rsa, Some("PS256"), "PS256", &RSA_PSS_2048_8192_SHA256);
        }
    }

    #[test]
    fn keys_as_openssl_writes_them_are_read() {
        let p256 = Secret::new(P256_TEST_KEY);
        check(&p256, None, "ES256", &ECDSA_P256_SHA256_FIXED);
        let p384 = Secret::new(P384_TEST_KEY);
        check(&p384, None, "ES384", &ECDSA_P384_SHA384_FIXED);
        let edwards = Secret::new(EDWARDS_TEST_KEY);
        check(&edwards, Some("EdDSA"), "EdDSA", &ED25519);
    }

    #[test]
    fn the_header_has_the_id_of_the_key_and_what_is_added() {
        let pem = edwards_key();
        let key = SigningKey::from_pem(&pem, None, Some("k\"1".to_owned())).unwrap();
        let header = Map::from_iter([("typ".to_owned(), json!("JWT"))]);
        let token = key.sign(header, &json!({})).unwrap();
        let header = token.reveal().split('.').next().unwrap();
        let header: Value =
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
        assert_eq!(header, json!({"alg": "EdDSA", "kid": "k\"1", "typ": "JWT"}));
    }

    #[test]
    fn what_is_no_key_or_none_for_the_algorithm_is_refused_and_not_shown() {
        let reason = |pem: &Secret, algorithm| key(pem, algorithm).unwrap_err().to_string();
        let p256 = curve_key(&ECDSA_P256_SHA256_FIXED_SIGNING);
        assert!(reason(&p256, Some("ES384")).contains("cannot be used for ES384"));
        assert!(reason(&p256, Some("RS256")).contains("cannot be used for RS256"));
        assert!(reason(&rsa_key(), Some("EdDSA")).contains("cannot be used for EdDSA"));
        assert!(reason(&p256, Some("HS256")).contains("use one of ES256, ES384, EdDSA"));
        assert!(reason(&p256, Some("none")).contains("\"none\" is not known"));
        for text in ["", "s3cret", "-----BEGIN PRIVATE KEY-----\ns3cret"] {
            let reason = reason(&Secret::new(text), None);
            assert!(reason.contains("not a private key in PEM"));
            assert!(!reason.contains("s3cret"));
        }
        let certificate = pem("CERTIFICATE", b"x");
        assert!(reason(&certificate, None).contains("not a private key"));
        for label in ["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"] {
            for length in [0, 1, 200, 70_000] {
                let nonsense = pem(label, &vec![0x30; length]);
                assert!(reason(&nonsense, None).contains("neither on the curves"));
            }
        }
    }

    #[test]
    fn a_key_is_not_printed() {
        let key = key(&Secret::new(P256_TEST_KEY), None).unwrap();
        let shown = format!("{key:?}");
        assert_eq!(shown, r#"SigningKey { algorithm: "ES256", id: None, .. }"#);
    }

    // For tests only: these keys were made for them, and are used nowhere else.
    const P256_TEST_KEY: &str = "\
        -----BEGIN EC PARAMETERS-----\n\
        BggqhkjOPQMBBw==\n\
        -----END EC PARAMETERS-----\n\
        -----BEGIN EC PRIVATE KEY-----\n\
        MHcCAQEEICpbo50BAzf1+PwQ0sPv6AGe5PI0SeK/ZkZiXQBQgMoEoAoGCCqGSM49\n\
        AwEHoUQDQgAE9nTia1qUD7mSoO05RLRKy2CNwxxbOTjCT2hMktsmhVrbkjUi2tbO\n\
        nLh0LwP1OHVaBDwZKHbNUN1010RV+3wGIA==\n\
        -----END EC PRIVATE KEY-----\n";
    const P384_TEST_KEY: &str = "\
        -----BEGIN EC PRIVATE KEY-----\n\
        MIGkAgEBBDA2j5FfWISFjio5WGX7o9+bjaGhtih2Bx3oVPckwQARRBXBdRLOSDqb\n\
        rp8aZNhqMh+gBwYFK4EEACKhZANiAASk9tyjqSKx2j7u0Xv4vxc1bfVEyGijtriq\n\
        69PsYruqXQgdVazd1SOnRq/lAeVM/k8TGozmd+QOfrnxFQeUlaLeySyzbdAKwi9x\n\
        gHZ2Xtwacz/v/CMC8wg2L5LX1GDyvmk=\n\
        -----END EC PRIVATE KEY-----\n";
    const EDWARDS_TEST_KEY: &str = "\
        -----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEIDJed8Cb2e+U7yUlzw/rlMvWjaEAcNZ+gir/Atoor0IG\n\
        -----END PRIVATE KEY-----\n";
    const RSA_TEST_KEY: &str = "\
        MIIEogIBAAKCAQEA3Xj6UbjZ1V+8jqxsX7FK3rrdEE8BaYRXd1OXL9BJCp73x464dD2BMolhyJSFLESjRL7jLXVKq/wI\
        0N+zAsYqvTxEeBwDRHWNhTdnVb6mVqO3qu4v+NzFG0XoKE6TO62sxdTbmL3b0YtUkMwB4JIcMG3sY1U8T1vGwtyXF7Ic\
        +YDakrga3zaAruRlDTl9vTGYe46UO/tUdj2rfONvxH6vqSqSrggPVwzzmPu9WGZbpcVGWhT3Fq2JSGoF7Dc4Ty0EZuFM\
        ndwkmemxhnVPvSQK+l0xrX86Kq9ZOFbWcWNnIA42ilZ2JhhxRrIy9W/IH5d+HLALAApkABjDj5E4lhKlpwIDAQABAoIB\
        AFYcZyumNWBOwIgyx1Jvoz41pqVkKpblw4JcaIDJOdUc2RdoyRQ9I8JMA06TXLJJH7gnhjoTDE0RijX4fGg8N7rrN24B\
        6k1QbY2Z7J48qf0u28dkpBddc2/2vt0JLBr8nJww9o8NZu4y/9bq02IHPVmhK9O1fOUYOJBkZ4TplnV1qIpRkUb6cJWI\
        bskR5PmKc1PATOakYOVQs9CSWgcOqnYD/A3OW9vPN3kYkYSiRcpI2C4eCfT6hFHZ4q6RnZQOq4Ywwrt2IdfJN1TqpbC1\
        hSRtQL1Ewy8aai6/rZt6OIk1PDgwpNtI50PModnsOOPkRlgRCqmB7pZ9ROjEHxAFl+0CgYEA9NQXmqn2/sNSyqg9gWOL\
        mBWjH75ju8jw3tZ+0uaPcxdcYJVzdOALy3fH3bEZE6PYxL3DannVg4VdrxgEUCHo+EPo6aZx1JzLVto+T3Av5OmJOKvJ\
        3sORe25n1svajLoneMmPDxiYRnVENMSPwqL3omcyHDl9cXNoHxe4uV6KKcsCgYEA55QPD8bwt5gKvZuBQI56joi265uI\
        cNxXfhvR5cugul68Dle1ZL1PJ6ypqvKRPyQSEMTHVW/lYuoXhUY71jjTq+Hn/xobcwlrgAeAq85QvmlVcLh5c0EqPaQP\
        RkMOMflhnFbQlad3OvsahSFG8yK/K7sfx5Qi4rO2SiPBkpHwqBUCgYBt3xy0sSACVt+5yOTJQ0YrO1KYdVXGuTe3mWUS\
        +ptX2B0BzzAgPEeuyRNt3wNU+AvYxxyClSiHvHs9j7any4AEol1NNgARnUf3szuRZNRpk5CcWSPgD74jOXnqQFPVIdmC\
        8Fl+Odhkjk3MrIWjoIUnYc5wMjCkkFki0v94WQACHwKBgDnTmfM5nTBrMfto0ly5d1cSQoMQ4oA0NVDTR5WXRHplX5ZB\
        RpVyRErG7dM3IRfgPPac/J2UBHavt9Ha2OREam7YSWNFNKeEKajdtr6wFS+HBAPSvNkP46lix0GnSuslt78fWpSULcy3\
        mUa3KY1bFtunrWbb0d5EO/fFd/fOo4aFAoGAbHIeMSxAKRHy7snKAkIg+2iNZo172wX+CYVnFyX1MjDyeVnHqgqzySiM\
        FmACHL62aodeV3cSNix6sfAQoUNwPQCUjstWhGBS9N84nK+1iIxQ6QM1ofhFHRPXqfYV2wZILHQZh622IacyWfl8/2Sf\
        FTdyz3iOuUR8+wSS6UtZ98k=";
}
