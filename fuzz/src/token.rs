//! Tokens and the keys that verify them: the input is a line each of a header, claims, a key set and
//! a token that somebody has made up.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Request;
use http::header::AUTHORIZATION;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use switchboard_server::access::{Access, JwkSet, Jwt, Principal, ProtectedResource};

/// Only what the issuer has signed is taken, with an algorithm of the key, for this server and of
/// this issuer; what is no set of keys is refused.
pub fn token(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.splitn(4, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let (header, claims, keys, made_up) = (line(), line(), line(), line());

    if let Ok(keys) = JwkSet::from_json(keys) {
        let access = Jwt::new(&ISSUER.resource, keys);
        // Whoever made up the keys can sign, but not by chance.
        assert!(identify(&access, made_up).is_none());
    }
    assert!(identify(&ISSUER.access, made_up).is_none());

    let signed = format!("{}.{}", encode(header), encode(claims));
    // Without a signature, and with one of something else.
    for signature in ["", &encode([0; 64]), "AA"] {
        assert!(identify(&ISSUER.access, &format!("{signed}.{signature}")).is_none());
    }
    if !header.contains("Ed") {
        return;
    }
    let signature = ISSUER.pair.sign(signed.as_bytes());
    let token = format!("{signed}.{}", encode(signature));
    let found = identify(&ISSUER.access, &token);
    let Some(principal) = found else {
        return;
    };
    let header = Members::of(header);
    let algorithm = header.value("alg");
    assert!(matches!(algorithm.as_str(), Some("EdDSA" | "Ed25519")));
    assert!(!header.0.contains_key("crit"));
    let claims = Members::of(claims);
    assert_eq!(claims.value("iss"), NAME);
    let audience = claims.value("aud");
    let many = audience.as_array().map(Vec::as_slice).unwrap_or_default();
    assert!(audience == RESOURCE || many.iter().any(|one| *one == RESOURCE));
    assert!(claims.value("exp").as_f64().is_some());
    assert_eq!(claims.value("sub"), principal.subject.as_str());
    assert!(!principal.subject.is_empty());
    // A letter more or less is another token.
    for other in [&token[..token.len() - 1], &format!("{token}A"), &token[1..]] {
        assert!(identify(&ISSUER.access, other).is_none());
    }
}

/// An object of JSON. What nobody asks for may hold half a character, as in any JSON.
struct Members(HashMap<String, Box<RawValue>>);

impl Members {
    fn of(text: &str) -> Self {
        Self(serde_json::from_str(text).expect("it is an object"))
    }

    fn value(&self, name: &str) -> Value {
        let text = self.0.get(name).map_or("null", |value| value.get());
        serde_json::from_str(text).expect("what counts was read")
    }
}

fn identify(access: &Jwt, token: &str) -> Option<Principal> {
    let request = Request::builder().header(AUTHORIZATION, format!("Bearer {token}"));
    let (head, ()) = request.body(()).ok()?.into_parts();
    let mut identifying = pin!(access.identify(&head));
    match identifying
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(outcome) => outcome.ok(),
        Poll::Pending => panic!("keys that are there are not waited for"),
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

struct Issuer {
    pair: Ed25519KeyPair,
    resource: ProtectedResource,
    access: Jwt,
}

static ISSUER: LazyLock<Issuer> = LazyLock::new(|| {
    let pair = Ed25519KeyPair::from_seed_unchecked(&[9; 32]).expect("any seed is a key");
    let keys = json!({"keys": [
        {"kty": "OKP", "crv": "Ed25519", "kid": "k1", "x": encode(pair.public_key())},
    ]});
    let keys = JwkSet::from_json(&keys.to_string()).expect("a key set");
    let resource = ProtectedResource::new(RESOURCE, NAME).expect("good addresses");
    Issuer {
        pair,
        access: Jwt::new(&resource, keys),
        resource,
    }
});

const NAME: &str = "https://login.example.com";
const RESOURCE: &str = "https://mcp.example.com/mcp";
