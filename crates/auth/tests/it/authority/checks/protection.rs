//! The server that wants tokens.

use serde_json::{Value, json};

use super::{BACK, Form, VERIFIER, go, location, text, visit, with_app};
use crate::authority::{
    Authority, Client, Edit, HeaderUrl, Proofs, Protected, Reply, ResourceAt, ask,
};

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#;

/// A token for a resource, with scopes.
async fn token(authority: &Authority, resource: &str, scope: &str) -> String {
    let visit = visit("app").with("resource", resource).with("scope", scope);
    let came_back = location(&go(authority, &visit).await);
    let form = Form::new(&[
        ("grant_type", "authorization_code"),
        ("client_id", "app"),
        ("code", came_back.find("code").unwrap()),
        ("code_verifier", VERIFIER),
        ("redirect_uri", BACK),
        ("resource", resource),
    ]);
    let reply = form.post(&authority.url("/token")).await;
    text(&reply, "access_token")
}

async fn call(server: &Protected, token: &str) -> Reply {
    let shown = format!("Bearer {token}");
    ask("POST", &server.url(), &[("authorization", &shown)], CALL).await
}

fn challenges(reply: &Reply) -> Vec<String> {
    let all = reply.headers.get_all("www-authenticate").iter();
    all.map(|value| value.to_str().unwrap().to_owned())
        .collect()
}

async fn get(server: &Protected, path: &str) -> Option<Value> {
    let reply = ask("GET", &server.site.url(path), &[], "").await;
    (reply.status == 200).then(|| serde_json::from_str(&reply.body).unwrap())
}

#[tokio::test]
async fn a_token_opens_what_it_is_for_until_it_ends() {
    let authority = with_app().await;
    let server = Protected::start(&authority).await;
    let good = token(&authority, &server.url(), "read").await;
    let reply = call(&server, &good).await;
    let body: Value = serde_json::from_str(&reply.body).unwrap();
    let expected = json!({ "jsonrpc": "2.0", "id": 7, "result": { "content": [{ "type": "text", "text": "somebody" }] } });
    assert_eq!(body, expected);
    let shown = format!("Bearer {good}");
    let headers = [("authorization", shown.as_str())];
    assert_eq!(ask("GET", &server.url(), &headers, "").await.status, 200);
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(
        ask("POST", &server.url(), &headers, notification)
            .await
            .status,
        202
    );
    assert_eq!(server.count(), 3);
    assert_eq!(
        server.asked()[0].header("authorization"),
        Some(shown.as_str())
    );
    authority.expire_access();
    assert_eq!(call(&server, &good).await.status, 401);
    authority.change(|knobs| knobs.expires_in = Some(0));
    let ended = token(&authority, &server.url(), "read").await;
    assert_eq!(call(&server, &ended).await.status, 401);
}

#[tokio::test]
async fn a_token_opens_nothing_else() {
    let authority = with_app().await;
    let server = Protected::start(&authority).await;
    let other = Protected::start_with(&authority, |knobs| knobs.path = "/b".to_owned()).await;
    let of_other = token(&authority, &other.url(), "read").await;
    assert_eq!(call(&other, &of_other).await.status, 200);
    for scheme in ["DPoP", "Basic"] {
        let shown = format!("{scheme} {of_other}");
        let reply = ask("POST", &other.url(), &[("authorization", &shown)], CALL).await;
        assert_eq!(reply.status, 401, "{scheme}");
    }
    for wrong in [of_other.as_str(), "access-made-up", ""] {
        let reply = call(&server, wrong).await;
        assert_eq!(reply.status, 401, "{wrong}");
        assert!(challenges(&reply)[0].contains("error=\"invalid_token\""));
    }
    server.change(|knobs| knobs.checks_resource = false);
    assert_eq!(call(&server, &of_other).await.status, 200);
    let in_query = format!("{}?access_token={of_other}", server.url());
    assert_eq!(ask("POST", &in_query, &[], CALL).await.status, 400);
    server.change(|knobs| knobs.proofs = Proofs::Needed);
    let reply = call(&server, &of_other).await;
    assert!(challenges(&reply)[0].starts_with("DPoP "));
    // Another authority never heard of it.
    let new = Authority::start().await;
    new.add_client(Client::public("app", BACK));
    server.change(|knobs| knobs.proofs = Proofs::Taken);
    server.move_to(&new);
    assert_eq!(call(&server, &of_other).await.status, 401);
    let moved = token(&new, &server.url(), "read").await;
    assert_eq!(call(&server, &moved).await.status, 200);
}

#[tokio::test]
async fn a_token_needs_the_scopes_of_what_it_is_used_for() {
    let authority = with_app().await;
    let server = Protected::start(&authority).await;
    server.change(|knobs| drop(knobs.needs.insert("tools/call", vec!["read", "admin"])));
    let low = token(&authority, &server.url(), "read write").await;
    let reply = call(&server, &low).await;
    assert_eq!(reply.status, 403);
    let challenge = challenges(&reply).remove(0);
    assert!(challenge.contains("error=\"insufficient_scope\", scope=\"read admin\""));
    let high = token(&authority, &server.url(), "read admin").await;
    assert_eq!(call(&server, &high).await.status, 200);
    server.change(|knobs| knobs.is_insatiable = true);
    assert!(challenges(&call(&server, &high).await)[0].contains("read admin more"));
}

#[tokio::test]
async fn challenges_say_what_they_are_told() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let ask = async || {
        let reply = ask("POST", &server.url(), &[], CALL).await;
        assert_eq!(reply.status, 401);
        challenges(&reply)
    };
    let place = server.site.url("/.well-known/oauth-protected-resource/mcp");
    assert_eq!(
        ask().await,
        [format!("Bearer resource_metadata=\"{place}\"")]
    );
    server.change(|knobs| {
        knobs.challenge_scope = Some("read");
        knobs.header_url = HeaderUrl::Other("https://evil.example/".to_owned());
        knobs.other_challenges = vec!["Basic realm=\"a, b\""];
    });
    let evil = "Bearer scope=\"read\", resource_metadata=\"https://evil.example/\"";
    assert_eq!(ask().await, ["Basic realm=\"a, b\"", evil]);
    server.change(|knobs| {
        knobs.header_url = HeaderUrl::Absent;
        knobs.other_challenges.clear();
    });
    assert_eq!(ask().await, ["Bearer scope=\"read\""]);
    server.change(|knobs| knobs.challenges = false);
    assert_eq!(ask().await, [""; 0]);
}

#[tokio::test]
async fn metadata_is_where_it_is_told() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let path = "/.well-known/oauth-protected-resource/mcp";
    let root = "/.well-known/oauth-protected-resource";
    let found = get(&server, path).await.unwrap();
    assert_eq!(found["resource"], server.url());
    assert_eq!(found["authorization_servers"], json!([authority.issuer()]));
    assert_eq!(found["scopes_supported"], json!(["read", "write"]));
    assert_eq!(get(&server, root).await, None);
    server.change(|knobs| {
        knobs.metadata_at = vec![ResourceAt::Root, ResourceAt::Other("/else".to_owned())];
        knobs.scopes = vec!["admin"];
        knobs.metadata = Edit::new(|document| document["resource"] = json!("https://evil.example"));
    });
    assert_eq!(get(&server, path).await, None);
    for place in [root, "/else"] {
        let found = get(&server, place).await.unwrap();
        assert_eq!(found["resource"], "https://evil.example");
        assert_eq!(found["scopes_supported"], json!(["admin"]));
    }
}

#[tokio::test]
async fn an_old_server_has_its_origin_in_common_with_its_authority() {
    let authority = with_app().await;
    authority.change(|knobs| {
        knobs.metadata_at.clear();
        knobs.needs_resource = false;
    });
    let server = Protected::beside(&authority, |knobs| {
        knobs.metadata_at.clear();
        knobs.checks_resource = false;
    });
    assert!(server.url().starts_with(authority.site.origin()));
    let reply = ask("POST", &server.url(), &[], CALL).await;
    assert_eq!(challenges(&reply), ["Bearer"]);
    let visit = visit("app").without("resource");
    let came_back = location(&go(&authority, &visit).await);
    let form = Form::new(&[
        ("grant_type", "authorization_code"),
        ("client_id", "app"),
        ("code", came_back.find("code").unwrap()),
        ("code_verifier", VERIFIER),
        ("redirect_uri", BACK),
    ]);
    let reply = form.post(&authority.url("/token")).await;
    let token = text(&reply, "access_token");
    assert_eq!(call(&server, &token).await.status, 200);
}
