//! Signed tokens, as much of them as ES256 needs: keys, signatures, what is checked of each.
//!
//! Written apart from what the crate itself does, so that one mistake is not made twice.
//!
//! Specification: RFC 7515 (signatures), RFC 7518 (ES256), RFC 7638 (thumbprints).

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use serde_json::{Value, json};

/// A key pair for ES256.
#[derive(Debug)]
pub(crate) struct Key {
    pair: EcdsaKeyPair,
    document: Vec<u8>,
}

impl Key {
    pub(crate) fn generate() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self {
            pair: EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap(),
            document: document.as_ref().to_vec(),
        }
    }

    /// The public key, as an uncompressed point.
    pub(crate) fn point(&self) -> Vec<u8> {
        self.pair.public_key().as_ref().to_vec()
    }

    pub(crate) fn jwk(&self) -> Value {
        let point = self.point();
        json!({ "kty": "EC", "crv": "P-256", "x": encode(&point[1..33]), "y": encode(&point[33..]) })
    }

    /// The private key, as a client is given it.
    pub(crate) fn pem(&self) -> String {
        let text = STANDARD.encode(&self.document);
        format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n")
    }

    /// A token with this header, to which `alg` is added if it has none, and these claims.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let mut header = header.clone();
        if header["alg"].is_null() {
            header["alg"] = json!("ES256");
        }
        let signed = [&header, claims].map(|part| encode(part.to_string().as_bytes()));
        let signed = signed.join(".");
        let random = SystemRandom::new();
        let signature = self.pair.sign(&random, signed.as_bytes()).unwrap();
        format!("{signed}.{}", encode(signature.as_ref()))
    }
}

/// A token of which nothing is believed yet.
#[derive(Debug)]
pub(crate) struct Jwt {
    pub(crate) header: Value,
    pub(crate) claims: Value,
    signed: String,
    signature: Vec<u8>,
}

impl Jwt {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (signed, signature) = text.rsplit_once('.').ok_or("a token has three parts")?;
        let (header, claims) = signed.split_once('.').ok_or("a token has three parts")?;
        Ok(Self {
            header: parse_part(header)?,
            claims: parse_part(claims)?,
            signed: signed.to_owned(),
            signature: decode(signature)?,
        })
    }

    pub(crate) fn check_signature(&self, point: &[u8]) -> Result<(), String> {
        if self.header["alg"] != "ES256" {
            return Err("the algorithm is not ES256".to_owned());
        }
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        key.verify(self.signed.as_bytes(), &self.signature)
            .map_err(|_| "the signature is not that of the key".to_owned())
    }

    pub(crate) fn claim(&self, name: &str) -> Result<&str, String> {
        let text = self.claims[name].as_str().filter(|text| !text.is_empty());
        text.ok_or_else(|| format!("there is no {name}"))
    }

    /// Issued in the past, ending in the future, and not for longer than an hour.
    pub(crate) fn check_times(&self, now: u64) -> Result<(), String> {
        let issued = self.claims["iat"].as_u64().ok_or("there is no iat")?;
        let end = self.claims["exp"].as_u64().ok_or("there is no exp")?;
        match () {
            () if issued > now + LEEWAY => Err("iat is in the future".to_owned()),
            () if end <= now => Err("it has expired".to_owned()),
            () if end > now + LONGEST => Err("it lives for more than an hour".to_owned()),
            () => Ok(()),
        }
    }
}

/// The public key in a JWK, as an uncompressed point.
pub(crate) fn point_of(jwk: &Value) -> Result<Vec<u8>, String> {
    if jwk["kty"] != "EC" || jwk["crv"] != "P-256" {
        return Err("the key is not of P-256".to_owned());
    }
    if !jwk["d"].is_null() {
        return Err("the key is a private one".to_owned());
    }
    let mut point = vec![4];
    for name in ["x", "y"] {
        let number = decode(jwk[name].as_str().unwrap_or_default())?;
        if number.len() != 32 {
            return Err(format!("{name} is not 32 bytes"));
        }
        point.extend(number);
    }
    Ok(point)
}

/// RFC 7638: the required members, in order, without white space.
pub(crate) fn thumbprint(jwk: &Value) -> String {
    let text = format!(
        r#"{{"crv":{},"kty":{},"x":{},"y":{}}}"#,
        jwk["crv"], jwk["kty"], jwk["x"], jwk["y"]
    );
    hash(&text)
}

/// SHA-256 as Base64 for URLs.
pub(crate) fn hash(text: &str) -> String {
    encode(digest(&SHA256, text.as_bytes()).as_ref())
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn decode(text: &str) -> Result<Vec<u8>, String> {
    URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|_| "a part is not Base64 for URLs".to_owned())
}

fn parse_part(text: &str) -> Result<Value, String> {
    let value: Option<Value> = serde_json::from_slice(&decode(text)?).ok();
    let value = value.filter(Value::is_object);
    value.ok_or_else(|| "a part is not a JSON object".to_owned())
}

/// A text that nobody guesses, with a word in front that says what it is.
pub(crate) fn fresh(what: &str) -> String {
    let mut bytes = [0; 24];
    SystemRandom::new().fill(&mut bytes).unwrap();
    format!("{what}-{}", encode(&bytes))
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

const LEEWAY: u64 = 60;
const LONGEST: u64 = 3600;
