//! Who may call.
//!
//! Specification: basic/authorization.

use std::sync::Arc;

use serde_json::json;
use switchboard_server::access::{BearerTokens, Principal, ProtectedResource};
use switchboard_server::{Context, Limits, NoArguments, Server, Site, tool};

use crate::http_client::Served;
use crate::peer::{HttpPeer, StatelessPeer};

fn site() -> Site {
    let mut limits = Limits::default();
    limits.sessions_per_caller = 2;
    Server::new("guarded", "1.0.0")
        .limits(limits)
        .tool(tool("who", |_: NoArguments, context: Context| async move {
            context.principal().unwrap().subject.clone()
        }))
        .site()
        .unwrap()
}

async fn guarded(site: &Site) -> Served {
    let resource =
        ProtectedResource::new("https://mcp.example.com/mcp", "https://login.example.com").unwrap();
    let tokens = [
        ("ada-token", Principal::new("ada").with_scopes(["use"])),
        ("bob-token", Principal::new("bob").with_scopes(["use"])),
        ("guest-token", Principal::new("guest")),
    ];
    let tokens = BearerTokens::new(tokens)
        .unwrap()
        .require_scopes(["use"])
        .resource(&resource);
    let mut settings = site.http_settings();
    settings.access = Some(Arc::new(tokens));
    Served::with(site, settings).await
}

fn bearer(token: &str) -> Vec<String> {
    vec![format!("authorization: Bearer {token}")]
}

#[tokio::test]
async fn whoever_has_no_token_or_too_small_a_one_is_told_what_to_get() {
    let mut peer = StatelessPeer::to(guarded(&site()).await);
    let refused = peer.begin("tools/list", json!({})).await;
    assert_eq!(refused.status, 401);
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(
        challenge.starts_with("Bearer ")
            && challenge.contains("resource_metadata=\"https://mcp.example.com/"),
        "{challenge}"
    );
    peer.extra = bearer("nobody-token");
    let refused = peer.begin("tools/list", json!({})).await;
    assert_eq!(refused.status, 401);
    assert!(
        refused
            .header("www-authenticate")
            .unwrap()
            .contains("invalid_token")
    );
    peer.extra = bearer("guest-token");
    let refused = peer.begin("tools/list", json!({})).await;
    assert_eq!(refused.status, 403);
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(
        challenge.contains("insufficient_scope") && challenge.contains("scope=\"use\""),
        "{challenge}"
    );
    peer.extra = bearer("ada-token");
    let answer = peer.tool("who", json!({})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "ada", "{answer}");
    let place = "/.well-known/oauth-protected-resource/mcp";
    let metadata = peer
        .served
        .request("GET", place, &[], "")
        .await
        .json()
        .await;
    assert_eq!(metadata["resource"], "https://mcp.example.com/mcp");
}

#[tokio::test]
async fn the_session_of_another_caller_is_not_found() {
    let mut peer = HttpPeer::to(guarded(&site()).await);
    peer.extra = bearer("ada-token");
    peer.initialize("2025-11-25", json!({})).await;
    let answer = peer.call("tools/call", json!({"name": "who"})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "ada", "{answer}");
    peer.extra = bearer("bob-token");
    assert_eq!(peer.begin("tools/list", json!({})).await.status, 404);
    assert_eq!(peer.listen(None).await.status, 404);
    assert_eq!(peer.delete().await, 404);
    peer.extra = Vec::new();
    assert_eq!(peer.begin("tools/list", json!({})).await.status, 401);
    peer.extra = bearer("ada-token");
    assert_eq!(peer.begin("tools/list", json!({})).await.status, 200);
    assert_eq!(peer.delete().await, 204);
}

#[tokio::test]
async fn one_caller_cannot_take_all_the_sessions() {
    let mut peer = HttpPeer::to(guarded(&site()).await);
    peer.extra = bearer("ada-token");
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}});
    for status in [200, 200, 429] {
        assert_eq!(
            peer.begin("initialize", params.clone()).await.status,
            status
        );
    }
    peer.extra = bearer("bob-token");
    assert_eq!(peer.begin("initialize", params).await.status, 200);
}
