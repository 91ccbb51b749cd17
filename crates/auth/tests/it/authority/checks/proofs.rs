//! Tokens that are bound to keys.

use serde_json::{Value, json};

use super::{
    BACK, Form, RESOURCE, VERIFIER, code_form, error, go, location, text, visit, with_app,
};
use crate::authority::{
    Authority, Client, Key, Proofs, Protected, Reply, ask, decode, encode, fresh, hash, now,
    thumbprint,
};

/// A proof as it should be, with a change.
fn proof(key: &Key, claims: &Value, change: impl FnOnce(&mut Value, &mut Value)) -> String {
    let mut header = json!({ "typ": "dpop+jwt", "jwk": key.jwk() });
    let mut claims = claims.clone();
    claims["iat"] = json!(now());
    claims["jti"] = json!(fresh("id"));
    change(&mut header, &mut claims);
    key.sign(&header, &claims)
}

fn for_token(authority: &Authority) -> Value {
    json!({ "htm": "POST", "htu": authority.url("/token") })
}

async fn ask_token(authority: &Authority, form: &Form, proof: &str) -> Reply {
    let url = authority.url("/token");
    form.post_with(&url, &[("dpop", proof)]).await
}

async fn bound(authority: &Authority, key: &Key, resource: &str) -> Reply {
    let came_back = location(&go(authority, &visit("app").with("resource", resource)).await);
    let form = Form::new(&[
        ("grant_type", "authorization_code"),
        ("client_id", "app"),
        ("code", came_back.find("code").unwrap()),
        ("code_verifier", VERIFIER),
        ("redirect_uri", BACK),
        ("resource", resource),
    ]);
    let proof = proof(key, &for_token(authority), |_, _| {});
    ask_token(authority, &form, &proof).await
}

#[tokio::test]
async fn a_token_is_bound_to_the_key_that_was_proved() {
    let authority = with_app().await;
    let key = Key::generate();
    assert!(key.pem().starts_with("-----BEGIN PRIVATE KEY-----\n"));
    let reply = bound(&authority, &key, RESOURCE).await;
    assert_eq!(text(&reply, "token_type"), "DPoP");
    let refresh = Form::new(&[
        ("grant_type", "refresh_token"),
        ("client_id", "app"),
        ("refresh_token", &text(&reply, "refresh_token")),
        ("resource", RESOURCE),
    ]);
    let other = proof(&Key::generate(), &for_token(&authority), |_, _| {});
    assert_eq!(
        error(&ask_token(&authority, &refresh, &other).await),
        "invalid_grant"
    );
    assert_eq!(
        error(&refresh.post(&authority.url("/token")).await),
        "invalid_grant"
    );
    let same = proof(&key, &for_token(&authority), |_, _| {});
    assert_eq!(ask_token(&authority, &refresh, &same).await.status, 200);
}

#[tokio::test]
async fn a_code_may_be_bound_before_it_is_given_out() {
    let authority = with_app().await;
    let key = Key::generate();
    for (prover, status) in [(&key, 200), (&Key::generate(), 400)] {
        let bound = visit("app").with("dpop_jkt", &thumbprint(&key.jwk()));
        let came_back = location(&go(&authority, &bound).await);
        let form = code_form(&authority, "app").await;
        let form = form.with("code", came_back.find("code").unwrap());
        let proof = proof(prover, &for_token(&authority), |_, _| {});
        assert_eq!(ask_token(&authority, &form, &proof).await.status, status);
    }
}

#[tokio::test]
async fn a_proof_counts_for_its_request_and_its_time_only() {
    let authority = with_app().await;
    let key = Key::generate();
    let client = Client::with_secret("machine", BACK, "client_secret_post", "word");
    authority.add_client(client);
    let form = Form::new(&[
        ("grant_type", "client_credentials"),
        ("client_id", "machine"),
        ("client_secret", "word"),
        ("resource", RESOURCE),
    ]);
    let claims = for_token(&authority);
    type Change = fn(&mut Value, &mut Value);
    let cases: [(&str, Change); 16] = [
        ("typ", |header, _| header["typ"] = json!("JWT")),
        ("no key", |header, _| header["jwk"] = Value::Null),
        ("private key", |header, _| {
            header["jwk"]["d"] = json!("AAAA")
        }),
        ("curve", |header, _| header["jwk"]["crv"] = json!("P-384")),
        ("another key", |header, _| {
            header["jwk"] = Key::generate().jwk()
        }),
        ("half a key", |header, _| header["jwk"]["y"] = json!("AAAA")),
        ("a key cut elsewhere", |header, _| {
            let [x, y] = ["x", "y"].map(|name| header["jwk"][name].as_str().unwrap().to_owned());
            let point = [decode(&x).unwrap(), decode(&y).unwrap()].concat();
            header["jwk"]["x"] = json!(encode(&point[..31]));
            header["jwk"]["y"] = json!(encode(&point[31..]));
        }),
        ("alg", |header, _| header["alg"] = json!("RS256")),
        ("htm", |_, claims| claims["htm"] = json!("GET")),
        ("no htm", |_, claims| claims["htm"] = Value::Null),
        ("htu", |_, claims| {
            claims["htu"] = json!("https://evil.example/token")
        }),
        ("no htu", |_, claims| claims["htu"] = Value::Null),
        ("old", |_, claims| claims["iat"] = json!(now() - 400)),
        ("early", |_, claims| claims["iat"] = json!(now() + 400)),
        ("no iat", |_, claims| claims["iat"] = Value::Null),
        ("no jti", |_, claims| claims["jti"] = Value::Null),
    ];
    for (name, change) in cases {
        let reply = ask_token(&authority, &form, &proof(&key, &claims, change)).await;
        assert_eq!(error(&reply), "invalid_dpop_proof", "{name}");
    }
    assert_eq!(
        error(&ask_token(&authority, &form, "a.b.c").await),
        "invalid_dpop_proof"
    );
    let correct = proof(&key, &claims, |_, _| {});
    assert_eq!(
        text(&ask_token(&authority, &form, &correct).await, "token_type"),
        "DPoP"
    );
    assert_eq!(
        error(&ask_token(&authority, &form, &correct).await),
        "invalid_dpop_proof"
    );
    let two = [("dpop", correct.as_str()), ("dpop", correct.as_str())];
    let reply = form.post_with(&authority.url("/token"), &two).await;
    assert_eq!(error(&reply), "invalid_dpop_proof");
}

#[tokio::test]
async fn proofs_are_needed_taken_or_unknown() {
    let authority = with_app().await;
    let url = authority.url("/token");
    authority.change(|knobs| knobs.proofs = Proofs::Needed);
    let form = code_form(&authority, "app").await;
    assert_eq!(error(&form.post(&url).await), "invalid_dpop_proof");
    authority.change(|knobs| knobs.proofs = Proofs::Unknown);
    let proof = proof(&Key::generate(), &for_token(&authority), |_, _| {});
    let reply = ask_token(&authority, &form, &proof).await;
    assert_eq!(text(&reply, "token_type"), "Bearer");
}

#[tokio::test]
async fn a_nonce_is_demanded_until_it_is_there_and_uses_up_nothing() {
    let authority = with_app().await;
    authority.change(|knobs| knobs.demands_nonce = true);
    let key = Key::generate();
    let form = code_form(&authority, "app").await;
    let plain = proof(&key, &for_token(&authority), |_, _| {});
    let reply = ask_token(&authority, &form, &plain).await;
    assert_eq!(
        (reply.status, error(&reply).as_str()),
        (400, "use_dpop_nonce")
    );
    let nonce = reply.headers["dpop-nonce"].to_str().unwrap().to_owned();
    let with_nonce = || {
        let nonce = nonce.clone();
        proof(&key, &for_token(&authority), move |_, claims| {
            claims["nonce"] = json!(nonce);
        })
    };
    assert_eq!(
        ask_token(&authority, &form, &with_nonce()).await.status,
        200
    );
    authority.renew_nonce();
    let reply = ask_token(&authority, &form, &with_nonce()).await;
    assert_eq!(error(&reply), "use_dpop_nonce");
}

#[tokio::test]
async fn a_protected_server_wants_the_key_with_the_token() {
    let authority = with_app().await;
    let server = Protected::start(&authority).await;
    let key = Key::generate();
    let tokens = bound(&authority, &key, &server.url()).await;
    let token = text(&tokens, "access_token");
    let claims = json!({ "htm": "POST", "htu": server.url(), "ath": hash(&token) });
    let call = async |scheme: &str, proof: &str| {
        let shown = format!("{scheme} {token}");
        let headers = [("authorization", shown.as_str()), ("dpop", proof)];
        ask("POST", &server.url(), &headers, "{}").await
    };
    let challenge = |reply: &Reply| {
        assert_eq!(reply.status, 401);
        reply.headers["www-authenticate"]
            .to_str()
            .unwrap()
            .to_owned()
    };
    let fresh = || proof(&key, &claims, |_, _| {});
    let correct = fresh();
    assert_eq!(call("DPoP", &correct).await.status, 202);
    let replayed = challenge(&call("DPoP", &correct).await);
    assert!(replayed.starts_with("DPoP ") && replayed.contains("invalid_dpop_proof"));
    challenge(&call("Bearer", &fresh()).await);
    challenge(&call("DPoP", "").await);
    challenge(&call("DPoP", &proof(&Key::generate(), &claims, |_, _| {})).await);
    type Change = fn(&mut Value);
    let cases: [Change; 4] = [
        |claims| claims["ath"] = json!(hash("another")),
        |claims| claims["ath"] = Value::Null,
        |claims| claims["htm"] = json!("GET"),
        |claims| claims["htu"] = json!("https://evil.example/mcp"),
    ];
    for change in cases {
        let wrong = proof(&key, &claims, |_, claims| change(claims));
        challenge(&call("DPoP", &wrong).await);
    }
    server.change(|knobs| knobs.demands_nonce = true);
    let reply = call("DPoP", &fresh()).await;
    assert!(challenge(&reply).contains("use_dpop_nonce"));
    let nonce = reply.headers["dpop-nonce"].to_str().unwrap().to_owned();
    let with_nonce = || proof(&key, &claims, |_, claims| claims["nonce"] = json!(nonce));
    assert_eq!(call("DPoP", &with_nonce()).await.status, 202);
    server.renew_nonce();
    assert!(challenge(&call("DPoP", &with_nonce()).await).contains("use_dpop_nonce"));
}
