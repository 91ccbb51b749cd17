//! An issuer for tests: its keys, its tokens, and what becomes of them.

use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::Request;
use http::header::AUTHORIZATION;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384,
    RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
};
use serde_json::{Value, json};

use super::jwt::{Fault, Jwt};
use super::{ChallengeError, Denied, JwkSet, Principal, ProtectedResource};

pub(super) const NOW: u64 = 1_800_000_000;
pub(super) const ISSUER: &str = "https://login.example.com";
pub(super) const RESOURCE: &str = "https://mcp.example.com/mcp";

/// A key of an issuer, as its tokens and its key set show it.
pub(super) struct Signer {
    pair: Pair,
    /// Its part of the key set, without an id.
    pub(super) public: Value,
}

enum Pair {
    Edwards(Ed25519KeyPair),
    Curve(EcdsaKeyPair),
    Rsa(Box<RsaKeyPair>),
}

impl Signer {
    pub(super) fn ed25519() -> Self {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap();
        let x = encode(pair.public_key());
        Self {
            pair: Pair::Edwards(pair),
            public: json!({"kty": "OKP", "crv": "Ed25519", "x": x}),
        }
    }

    fn curve(name: &str, algorithm: &'static EcdsaSigningAlgorithm) -> Self {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, made.as_ref(), &random).unwrap();
        let point = &pair.public_key().as_ref()[1..];
        let (x, y) = point.split_at(point.len() / 2);
        let public = json!({"kty": "EC", "crv": name, "x": encode(x), "y": encode(y)});
        Self {
            pair: Pair::Curve(pair),
            public,
        }
    }

    pub(super) fn p256() -> Self {
        Self::curve("P-256", &ECDSA_P256_SHA256_FIXED_SIGNING)
    }

    pub(super) fn p384() -> Self {
        Self::curve("P-384", &ECDSA_P384_SHA384_FIXED_SIGNING)
    }

    pub(super) fn rsa() -> Self {
        let pair = RsaKeyPair::from_pkcs8(&STANDARD.decode(RSA_TEST_KEY).unwrap()).unwrap();
        let parts: PublicKeyComponents<Vec<u8>> = pair.public().into();
        Self {
            pair: Pair::Rsa(Box::new(pair)),
            public: json!({"kty": "RSA", "n": encode(parts.n), "e": encode(parts.e)}),
        }
    }

    pub(super) fn jwk(&self, more: Value) -> Value {
        let mut jwk = self.public.clone();
        let members = more.as_object().unwrap().clone();
        jwk.as_object_mut().unwrap().extend(members);
        jwk
    }

    fn signature(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Edwards(pair) => pair.sign(message).as_ref().to_vec(),
            Pair::Curve(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Pair::Rsa(pair) => {
                let encoding: &dyn RsaEncoding = match algorithm {
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    "PS256" => &RSA_PSS_SHA256,
                    "PS384" => &RSA_PSS_SHA384,
                    "PS512" => &RSA_PSS_SHA512,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(encoding, &random, message, &mut signature)
                    .unwrap();
                signature
            }
        }
    }

    /// Signs whatever text is to stand for header and claims.
    pub(super) fn sign(&self, header: &str, claims: &str) -> String {
        let written: Value = serde_json::from_str(header).unwrap_or_default();
        let algorithm = written["alg"].as_str().unwrap_or_default();
        let signed = format!("{}.{}", encode(header), encode(claims));
        let signature = self.signature(algorithm, signed.as_bytes());
        format!("{signed}.{}", encode(signature))
    }

    pub(super) fn token(&self, algorithm: &str, claims: &Value) -> String {
        let header = json!({"alg": algorithm, "typ": "at+jwt", "kid": "k1"});
        self.sign(&header.to_string(), &claims.to_string())
    }
}

pub(super) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(super) fn key_set(keys: &[Value]) -> String {
    json!({"keys": keys}).to_string()
}

pub(super) fn resource() -> ProtectedResource {
    ProtectedResource::new(RESOURCE, ISSUER).unwrap()
}

pub(super) fn access(signer: &Signer) -> Jwt {
    let keys = key_set(&[signer.jwk(json!({"kid": "k1"}))]);
    Jwt::new(&resource(), JwkSet::from_json(&keys).unwrap())
}

pub(super) fn claims() -> Value {
    json!({
        "iss": ISSUER, "sub": "alice", "aud": RESOURCE, "exp": NOW + 300, "nbf": NOW - 10,
        "iat": NOW - 10, "jti": "1", "client_id": "app", "scope": "files:read files:write",
    })
}

pub(super) fn with(member: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[member] = value;
    claims
}

pub(super) fn without(member: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().unwrap().remove(member);
    claims
}

pub(super) async fn check(access: &Jwt, token: &str) -> Result<Principal, Denied> {
    let request = Request::post("/mcp").header(AUTHORIZATION, format!("Bearer {token}"));
    let head = request.body(()).unwrap().into_parts().0;
    access
        .check(&head, UNIX_EPOCH + Duration::from_secs(NOW))
        .await
}

pub(super) async fn takes(access: &Jwt, token: &str) -> Principal {
    check(access, token).await.unwrap()
}

/// Refused as an invalid token, for this reason and with no word of the token.
pub(super) async fn refuses(access: &Jwt, token: &str, fault: Fault) {
    let Err(Denied::Unauthorized(challenge)) = check(access, token).await else {
        panic!("{token} was not refused: {fault}");
    };
    assert_eq!(challenge.error, Some(ChallengeError::InvalidToken));
    assert_eq!(challenge.description, Some(fault.to_string()), "{token}");
    assert!(challenge.resource_metadata.is_some());
}

/// An RSA key of 2048 bits in PKCS #8. It was made for these tests and is used nowhere else.
const RSA_TEST_KEY: &str = "\
    MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQC/qL3potatxLdtUfNXVM3E4+FKpB/bYs2Vdp5KdhMI\
    X2JIwtvdVU0mvt/EDvQJAlPdM+Z5sMdlASWjiFQrSep9ZV2c6JAjmNSmiNEeE0xvusZ77BktLS26RRNjYFFsNgDC5+Jf\
    WWq1uHoQdq0jHvCmFr8vQnRLSEa6A5uf2LjF5um75nFwAcqzcP1ucbKSCvbqzdk546eNbsSh2dfKyzVtySXBema7AYmX\
    GoJguTkdzThyYLfRkXPspcAm6IovsZtv+5Mv7QDyBvER2bm0uAYqegAmycBAzel4Rptvlr7ezctBWNn0fzVZyHngETmD\
    UknE+Eethfp+V28Ohut7/8H9AgMBAAECggEAGziwCppMg/9D7zS7y3xZwnx8T/HqLWqF2RPxLRHCp8aGat+0QyY9sEJd\
    fVcDXbE1MJ6Rvlh3pZapXiX7kG9t7PQD/QiCCnBHScT2cJ9clKTyUoEI3WQEkeeENrHkNqqf5o7xVcoZMCi8u5BjjHC1\
    TN2/t0powpWIKBzhkm1BZygi+x2eB1FwkO0IUfz8CYi5GonjWh+s7g5uerGGMiMBVbEl2rUExnTGvIW0feZTnhccNG2Z\
    pzgt+JtMEWMuMnN08P5scPYeBcvjEq1Ah5kgmubPN3/8yQKLMvozxxQCCMzg2XY0pnSmFTatOrvYo3GIUpVnN5gZG4E4\
    YyUfrgTRWQKBgQDy9GmApyNNCnJOk1DQ+zeYUByT5Q5Zi5VCBSN02+ZZZ3O+oHq2mqu71fnBnq4Dky5xru19t1NhO1ST\
    85ocik4KXeCHor+rfx+k20IhrCakDUzF2dQTMzf/hodMuhvfDEhQdKegtEZ+gOQAjByLreNd7bUmNPcDJUTMfr2/5oVz\
    RQKBgQDJ8zwkB8nt1u9fAkGPchM/RZDM3sOpD8NJhv4FDIzFEYjTCDHtu4mCje1C0/6ApWwIeQUeV/16atIiRhj0S2rN\
    hALKKt/tsPOb0UOaPN+RNg/YTsFmURaZXkuhwjn1XnMXFHjlPXaLr5VfGZRld3rnr08EbapqPl2hYDoSoNtjWQKBgGfx\
    x92iJIlGiecyQeZXRM7mn4NrAXuwK3imiCfsGR5xE2UgdcAAZq8jegqroBmpc7pxs+wQbhzwbFwsYegKCB+JUJHXQJfX\
    +Kron9+WLqYLhqgzbPeV90RcwzBBg8EnGR1K+5jW6D4hWOsfBut/xwIdvF4PVQtEe63eH8KllrzdAoGAKpFAnf+eSqnB\
    bu9Uzl2nPPD24pgZ+eq+qSLxLDNHAMr/YiwaChg7le9AkZOJ06gKq4aG06yMW19kx6Cq5eN3sbYfuGltJfbkgnWLoFkw\
    brVMhbWkAmMZNl6v5nrAKL4t2DGSgg+Ai1UJUTBdHT4gA/Hp3+8VuqtGpRtZYk/RrpECgYAvu0q3ZXu8g+H1HPd/k5/b\
    3RJZERok4tX7Zs+1OvWgf24oeh/Mj2Lm3bwPMg4+7YmYZGyEq8knlxv/oQhnv/QMvCVi0gXYSWzG8gjZQrhIh60AxVQe\
    ru86Mg9fuhGZMhilN77fkg2pNUbNEEYLyC90/+7LoDn/t7li+7xFlTvVZg==";
