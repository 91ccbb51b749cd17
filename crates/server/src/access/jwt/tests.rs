//! Tokens that must be taken, and every way to make one that must not.

use http::Request;
use ring::hmac;
use serde_json::{Value, json};

use crate::access::JwkSet;
use crate::access::test_issuer::{
    ISSUER, NOW, RESOURCE, Signer, access, check, claims, encode, key_set, refuses, resource,
    takes, with, without,
};

use super::*;

#[tokio::test]
async fn a_good_token_says_who_calls() {
    let signer = Signer::ed25519();
    let principal = takes(&access(&signer), &signer.token("EdDSA", &claims())).await;
    assert_eq!(principal.subject, "alice");
    assert_eq!(principal.issuer.as_deref(), Some(ISSUER));
    assert_eq!(principal.client_id.as_deref(), Some("app"));
    assert_eq!(principal.scopes, ["files:read", "files:write"]);
    let written: Value = serde_json::from_slice(&principal.claims.unwrap()).unwrap();
    assert_eq!(written, claims());
}

#[tokio::test]
async fn every_accepted_algorithm_is_verified_with_its_kind_of_key() {
    let signers = [
        (Signer::ed25519(), &["EdDSA", "Ed25519"][..]),
        (Signer::p256(), &["ES256"]),
        (Signer::p384(), &["ES384"]),
        (
            Signer::rsa(),
            &["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
        ),
    ];
    for (signer, own) in &signers {
        let access = access(signer);
        for (_, algorithms) in &signers {
            for algorithm in *algorithms {
                let token = signer.token(algorithm, &claims());
                if own.contains(algorithm) {
                    takes(&access, &token).await;
                    let changed = token.replacen('.', ".e30", 1);
                    assert!(check(&access, &changed).await.is_err());
                } else {
                    refuses(&access, &token, Fault::UnknownKey).await;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_key_that_names_its_algorithm_verifies_no_other() {
    let signer = Signer::rsa();
    let keys = key_set(&[signer.jwk(json!({"kid": "k1", "alg": "PS256"}))]);
    let access = Jwt::new(&resource(), JwkSet::from_json(&keys).unwrap());
    takes(&access, &signer.token("PS256", &claims())).await;
    refuses(
        &access,
        &signer.token("RS256", &claims()),
        Fault::UnknownKey,
    )
    .await;
    refuses(
        &access,
        &signer.token("PS512", &claims()),
        Fault::UnknownKey,
    )
    .await;
}

#[tokio::test]
async fn each_claim_that_does_not_fit_is_refused() {
    let signer = Signer::ed25519();
    let access = access(&signer);
    for (claims, fault) in [
        (without("iss"), Fault::Issuer),
        (with("iss", json!(null)), Fault::Issuer),
        (
            with("iss", json!("https://login.example.com/")),
            Fault::Issuer,
        ),
        (
            with("iss", json!("https://LOGIN.example.com")),
            Fault::Issuer,
        ),
        (with("iss", json!([ISSUER])), Fault::Malformed),
        (without("aud"), Fault::Audience),
        (with("aud", json!([])), Fault::Audience),
        (
            with("aud", json!("https://mcp.example.com")),
            Fault::Audience,
        ),
        (
            with("aud", json!("https://mcp.example.com/mcp/")),
            Fault::Audience,
        ),
        (
            with("aud", json!(["a", "https://mcp.example.com/mcp2"])),
            Fault::Audience,
        ),
        (with("aud", json!({"a": RESOURCE})), Fault::Malformed),
        (with("aud", json!([RESOURCE, 1])), Fault::Malformed),
        (without("exp"), Fault::NoExpiry),
        (with("exp", json!(null)), Fault::NoExpiry),
        (
            with("exp", json!((NOW + 300).to_string())),
            Fault::Malformed,
        ),
        (with("exp", json!(NOW - 60)), Fault::Expired),
        (with("exp", json!(-1)), Fault::Expired),
        (with("nbf", json!(NOW + 61)), Fault::NotYetValid),
        (with("nbf", json!("soon")), Fault::Malformed),
        (without("sub"), Fault::NoSubject),
        (with("sub", json!("")), Fault::NoSubject),
        (with("sub", json!(1)), Fault::Malformed),
        (
            json!([ISSUER, "alice", RESOURCE, NOW + 300]),
            Fault::Malformed,
        ),
        (
            json!([
                ISSUER,
                "alice",
                RESOURCE,
                NOW + 300,
                NOW,
                "a",
                "a",
                "app",
                "app"
            ]),
            Fault::Malformed,
        ),
        (json!("alice"), Fault::Malformed),
    ] {
        refuses(&access, &signer.token("EdDSA", &claims), fault).await;
    }
}

#[tokio::test]
async fn each_claim_that_does_fit_is_taken() {
    let signer = Signer::ed25519();
    let access = access(&signer);
    for claims in [
        with("aud", json!(["https://other.example", RESOURCE])),
        with("exp", json!(NOW - 59)),
        with("exp", json!(NOW as f64 + 0.5)),
        with("nbf", json!(NOW + 60)),
        without("nbf"),
        without("iat"),
        without("scope"),
        with("more", json!({"a": [1]})),
    ] {
        takes(&access, &signer.token("EdDSA", &claims)).await;
    }
}

#[tokio::test]
async fn clocks_may_differ_by_a_minute_at_most() {
    let signer = Signer::ed25519();
    let exact = access(&signer).leeway(Duration::ZERO);
    let token = signer.token("EdDSA", &with("exp", json!(NOW)));
    refuses(&exact, &token, Fault::Expired).await;
    let generous = access(&signer).leeway(Duration::from_secs(3600));
    let token = signer.token("EdDSA", &with("exp", json!(NOW - 60)));
    refuses(&generous, &token, Fault::Expired).await;
}

#[tokio::test]
async fn issuer_and_audience_can_be_other_than_in_the_metadata() {
    let signer = Signer::ed25519();
    let access = access(&signer)
        .issuer("https://sts.example/tenant/")
        .audience("api://files")
        .or_audience("api://old");
    let mut claims = with("iss", json!("https://sts.example/tenant/"));
    for audience in ["api://files", "api://old"] {
        claims["aud"] = json!(audience);
        takes(&access, &signer.token("EdDSA", &claims)).await;
    }
    claims["aud"] = json!(RESOURCE);
    refuses(&access, &signer.token("EdDSA", &claims), Fault::Audience).await;
}

#[tokio::test]
async fn scopes_are_read_in_the_ways_that_issuers_write_them() {
    let signer = Signer::ed25519();
    let access = access(&signer);
    for (member, value) in [
        ("scope", json!("a b")),
        ("scope", json!(" a  b ")),
        ("scope", json!(["a", "b"])),
        ("scp", json!(["a", "b"])),
        ("scp", json!("a b")),
    ] {
        let mut claims = without("scope");
        claims[member] = value;
        let principal = takes(&access, &signer.token("EdDSA", &claims)).await;
        assert_eq!(principal.scopes, ["a", "b"]);
    }
}

#[tokio::test]
async fn too_few_scopes_are_forbidden_with_all_that_are_needed() {
    let signer = Signer::ed25519();
    let access = access(&signer)
        .require_scopes(["files:read", "files:list"])
        .scope_includes("files:write", "files:list");
    takes(&access, &signer.token("EdDSA", &claims())).await;
    let token = signer.token("EdDSA", &with("scope", json!("files:read")));
    let denied = check(&access, &token).await.unwrap_err();
    assert_eq!(denied.status(), 403);
    assert_eq!(
        denied.challenge().unwrap().to_header(),
        "Bearer error=\"insufficient_scope\", \
         error_description=\"the token lacks a scope that is needed here\", \
         scope=\"files:read files:list\", \
         resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\""
    );
}

#[tokio::test]
async fn each_header_that_does_not_fit_is_refused() {
    let signer = Signer::ed25519();
    let access = access(&signer);
    let claims = claims().to_string();
    for (header, fault) in [
        (r#"{"alg":"none"}"#, Fault::Algorithm),
        (r#"{"alg":"None"}"#, Fault::Algorithm),
        (r#"{"alg":"HS256"}"#, Fault::Algorithm),
        (r#"{"alg":"eddsa"}"#, Fault::Algorithm),
        (r#"{"alg":"ES512"}"#, Fault::Algorithm),
        (r#"{"alg":""}"#, Fault::Algorithm),
        (r#"{"alg":null}"#, Fault::Malformed),
        (r#"{"kid":"k1"}"#, Fault::Malformed),
        (r#"{"alg":"EdDSA","alg":"none"}"#, Fault::Malformed),
        (r#"{"alg":"EdDSA","kid":"k1","kid":"k2"}"#, Fault::Malformed),
        (r#"{"alg":"EdDSA","\u0061lg":"none"}"#, Fault::Malformed),
        (r#"{"alg":"EdDSA","kid":"k2"}"#, Fault::UnknownKey),
        (r#"{"alg":"EdDSA","kid":1}"#, Fault::Malformed),
        (
            r#"{"alg":"EdDSA","crit":["b64"],"b64":false}"#,
            Fault::Critical,
        ),
        (r#"{"alg":"EdDSA","crit":[]}"#, Fault::Critical),
        (r#"{"alg":"EdDSA","crit":null}"#, Fault::Critical),
        (r#"{"alg":"EdDSA","typ":"dpop+jwt"}"#, Fault::Type),
        (r#"{"alg":"EdDSA","typ":"logout+jwt"}"#, Fault::Type),
        (r#"["EdDSA"]"#, Fault::Malformed),
        (r#"["EdDSA","k1","JWT"]"#, Fault::Malformed),
        (r#"{"alg":"EdDSA"} {}"#, Fault::Malformed),
        ("", Fault::Malformed),
    ] {
        refuses(&access, &signer.sign(header, &claims), fault).await;
    }
    for header in [
        r#"{"alg":"EdDSA"}"#,
        r#"{"alg":"EdDSA","typ":"JWT"}"#,
        r#"{"typ":"application/AT+jwt","alg":"EdDSA","kid":"k1","x5u":"https://evil.example"}"#,
    ] {
        takes(&access, &signer.sign(header, &claims)).await;
    }
}

#[tokio::test]
async fn claims_that_come_twice_are_refused() {
    let signer = Signer::ed25519();
    let access = access(&signer);
    let claims = claims().to_string();
    let once = claims.strip_suffix('}').unwrap();
    for more in [
        r#","sub":"root"}"#,
        r#","s\u0075b":"root"}"#,
        r#","exp":9999999999}"#,
        r#","aud":"a"}"#,
        r#","scope":"admin"}"#,
    ] {
        let token = signer.sign(r#"{"alg":"EdDSA","kid":"k1"}"#, &format!("{once}{more}"));
        refuses(&access, &token, Fault::Malformed).await;
    }
}

#[tokio::test]
async fn the_form_of_a_token_is_exact() {
    let signer = Signer::ed25519();
    let access = access(&signer);
    let good = signer.token("EdDSA", &claims());
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let (header, body) = signed.split_once('.').unwrap();
    for token in [
        format!("{good}."),
        format!(".{good}"),
        format!("{good}.{signature}"),
        format!("{good}="),
        format!("{good}=="),
        format!("{signed}."),
        signed.to_owned(),
        header.to_owned(),
        format!("{header}..{signature}"),
        format!(".{body}.{signature}"),
        "..".to_owned(),
        ".".to_owned(),
        format!("{signed}.{}", signature.replace(['-', '_'], "+") + "+"),
    ] {
        refuses(&access, &token, Fault::Malformed).await;
    }
    let long = signer.token("EdDSA", &with("more", json!("x".repeat(MAX_TOKEN))));
    refuses(&access, &long, Fault::TooLong).await;
}

#[tokio::test]
async fn every_changed_character_is_refused() {
    let signer = Signer::ed25519();
    let access = access(&signer);
    let good = signer.token("EdDSA", &claims());
    takes(&access, &good).await;
    for at in 0..good.len() {
        for replacement in ["A", "B", "_", ""] {
            let mut changed = good.clone();
            changed.replace_range(at..=at, replacement);
            if changed != good {
                let denied = check(&access, &changed).await.unwrap_err();
                assert_eq!(denied.status(), 401, "{changed}");
            }
        }
    }
}

#[tokio::test]
async fn an_unsigned_token_is_refused_in_every_spelling() {
    let access = access(&Signer::rsa());
    for name in ["none", "None", "NONE", "nOnE", "", "null"] {
        let header = encode(json!({"alg": name, "kid": "k1"}).to_string());
        let body = encode(claims().to_string());
        refuses(&access, &format!("{header}.{body}.AAAA"), Fault::Algorithm).await;
        assert!(check(&access, &format!("{header}.{body}.")).await.is_err());
    }
}

#[tokio::test]
async fn a_public_key_is_not_taken_for_a_shared_secret() {
    let signer = Signer::rsa();
    let access = access(&signer);
    let modulus = signer.public["n"].as_str().unwrap();
    let document = key_set(&[signer.jwk(json!({"kid": "k1"}))]);
    for secret in [
        URL_SAFE_NO_PAD.decode(modulus).unwrap(),
        modulus.as_bytes().to_vec(),
        document.into_bytes(),
    ] {
        for algorithm in ["HS256", "RS256"] {
            let header = json!({"alg": algorithm, "kid": "k1"}).to_string();
            let signed = format!("{}.{}", encode(header), encode(claims().to_string()));
            let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
            let token = format!("{signed}.{}", encode(hmac::sign(&key, signed.as_bytes())));
            let fault = match algorithm {
                "HS256" => Fault::Algorithm,
                _ => Fault::Signature,
            };
            refuses(&access, &token, fault).await;
        }
    }
}

#[tokio::test]
async fn an_id_does_not_lend_a_key_to_another_kind() {
    let (rsa, curve, other) = (Signer::rsa(), Signer::p256(), Signer::p256());
    let keys = key_set(&[
        rsa.jwk(json!({"kid": "rsa"})),
        curve.jwk(json!({"kid": "curve"})),
    ]);
    let access = Jwt::new(&resource(), JwkSet::from_json(&keys).unwrap());
    let claims = claims().to_string();
    let header = r#"{"alg":"ES256","kid":"rsa"}"#;
    refuses(&access, &curve.sign(header, &claims), Fault::UnknownKey).await;
    let header = r#"{"alg":"RS256","kid":"curve"}"#;
    refuses(&access, &rsa.sign(header, &claims), Fault::UnknownKey).await;
    let header = r#"{"alg":"ES256","kid":"curve"}"#;
    refuses(&access, &other.sign(header, &claims), Fault::Signature).await;
    // A key that the token brings along is not looked at.
    let header = json!({"alg": "ES256", "kid": "curve", "jwk": other.public}).to_string();
    refuses(&access, &other.sign(&header, &claims), Fault::Signature).await;
    takes(&access, &curve.sign(r#"{"alg":"ES256"}"#, &claims)).await;
    takes(
        &access,
        &rsa.sign(r#"{"alg":"PS384","kid":"rsa"}"#, &claims),
    )
    .await;
}

#[tokio::test]
async fn a_signature_of_nothing_is_refused() {
    let access = access(&Signer::p256());
    let header = json!({"alg": "ES256", "kid": "k1"}).to_string();
    let signed = format!("{}.{}", encode(header), encode(claims().to_string()));
    for signature in [vec![0; 64], vec![0; 63], vec![0; 65], vec![255; 64]] {
        let token = format!("{signed}.{}", encode(signature));
        refuses(&access, &token, Fault::Signature).await;
    }
}

#[tokio::test]
async fn a_token_in_the_address_is_no_token() {
    let signer = Signer::ed25519();
    let token = signer.token("EdDSA", &claims());
    let request = Request::post(format!("/mcp?access_token={token}"));
    let head = request.body(()).unwrap().into_parts().0;
    let denied = access(&signer).identify(&head).await.unwrap_err();
    assert_eq!(denied.status(), 401);
    assert_eq!(denied.challenge().unwrap().error, None);
}

#[tokio::test]
async fn nothing_of_a_token_is_in_a_refusal() {
    let signer = Signer::ed25519();
    let access = access(&signer);
    let token = signer.token("EdDSA", &with("iss", json!("https://marked.example")));
    let denied = check(&access, &token).await.unwrap_err();
    for text in [
        format!("{denied:?}"),
        denied.to_string(),
        format!("{access:?}"),
    ] {
        assert!(!text.contains("eyJ") && !text.contains("marked"), "{text}");
    }
}
