//! Who may call over HTTP, and what each caller sees.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use switchboard_gateway::{CallerLimits, GatewayBuilder, IssuerKeys, Key};
use switchboard_hub::{Profile, ToolFilter};
use switchboard_protocol::Era;
use switchboard_server::access::{Jwt, ProtectedResource, TokenKeys};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::cell::soon;
use crate::child::server;
use crate::house::{Answered, House};

fn work() -> Profile {
    let mut work = Profile::new("work");
    work.servers = ToolFilter::default().allow(["one"]);
    work.tools = ToolFilter::deny(["fail"]);
    work
}

fn with_keys(gateway: GatewayBuilder) -> GatewayBuilder {
    let limits = {
        let mut limits = CallerLimits::default();
        limits.calls_per_minute = Some(6);
        limits
    };
    let keys = [
        Key::new("ada", "secret-ada"),
        Key::new("ci", "secret-ci").profile("work"),
        Key::new("slow", "secret-slow").limits(limits),
        Key::new("lost", "secret-lost").profile("nowhere"),
    ];
    gateway.profiles(vec![work()]).access(&keys, None).unwrap()
}

#[tokio::test]
async fn a_task_is_of_the_caller_that_began_it() {
    let keys = [Key::new("ada", "secret-ada"), Key::new("bob", "secret-bob")];
    let house = House::open(|gateway| gateway.access(&keys, None).unwrap()).await;
    let meta = json!({"io.modelcontextprotocol/clientCapabilities":
        {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
    let params = json!({"name": "one__later", "_meta": meta});
    let ada = Some("secret-ada");
    let made = house
        .request("/mcp", ada, "tools/call", Some("one__later"), params)
        .await
        .json();
    let id = made["result"]["taskId"].as_str().unwrap().to_owned();
    let params = json!({"taskId": id, "_meta": meta});
    for (key, is_his) in [(ada, true), (Some("secret-bob"), false)] {
        for method in ["tasks/get", "tasks/cancel"] {
            let answer = house
                .request("/mcp", key, method, Some(&id), params.clone())
                .await
                .json();
            match is_his {
                true => assert!(answer["result"].is_object(), "{method} {answer}"),
                false => assert_eq!(answer["error"]["code"], -32602, "{method} {answer}"),
            }
        }
    }
    house.close().await;
}

#[tokio::test]
async fn nobody_calls_without_a_key() {
    let house = House::open(with_keys).await;
    for key in [None, Some("secret"), Some("secret-ada2")] {
        let refused = house.call("/mcp", key, "one__echo").await;
        assert_eq!(refused.status, 401, "{refused:?}");
        assert!(refused.headers.contains_key("www-authenticate"));
        assert_eq!(house.get("/metrics", key).await.status, 401);
        // These say nothing that is worth a key.
        assert_eq!(house.get("/healthz", key).await.status, 200);
        assert_eq!(house.get("/readyz", key).await.status, 200);
    }
    let key = Some("secret-ada");
    assert_eq!(house.call("/mcp", key, "one__echo").await.said(), "echo");
    assert_eq!(house.get("/metrics", key).await.status, 200);
    house.close().await;
}

#[tokio::test]
async fn a_profile_has_a_path_and_may_have_keys() {
    let house = House::open(with_keys).await;
    let seen = [
        "one__echo",
        "one__hold",
        "one__log",
        "one__large",
        "one__headers",
        "one__later",
    ];
    let all = house.list("/mcp", Some("secret-ada")).await.tools();
    assert_eq!(all.len(), 14);
    for (path, key) in [
        ("/mcp/work", "secret-ada"),
        ("/mcp/work", "secret-ci"),
        ("/mcp", "secret-ci"),
    ] {
        assert_eq!(
            house.list(path, Some(key)).await.tools(),
            seen,
            "{path} {key}"
        );
        let echo = house.call(path, Some(key), "one__echo").await;
        assert_eq!(echo.said(), "echo");
        for hidden in ["two__echo", "one__fail"] {
            let missing = house.call(path, Some(key), hidden).await;
            assert!(
                missing.json()["error"]["message"].is_string(),
                "{missing:?}"
            );
            assert!(!missing.text.contains("denied"), "{missing:?}");
        }
    }
    // A key is for its profile alone, and not for the numbers of all.
    let refused = house.list("/mcp/none", Some("secret-ci")).await;
    assert_eq!(refused.status, 404);
    assert_eq!(house.get("/metrics", Some("secret-ci")).await.status, 403);
    let lost = house.list("/mcp", Some("secret-lost")).await;
    assert_eq!(lost.status, 403, "{lost:?}");
    house.close().await;
}

#[tokio::test]
async fn a_session_is_of_its_profile() {
    let house = House::open(with_keys).await;
    for path in ["/mcp", "/mcp/work"] {
        let client = house.client(Era::Handshake, path, "secret-ci").await;
        assert_eq!(soon(client.tools()).await.unwrap().len(), 6);
        assert!(soon(client.call("two__echo")).await.is_err());
        soon(client.close()).await;
    }
    house.close().await;
}

#[tokio::test]
async fn nothing_is_said_of_servers_that_are_not_in_a_profile() {
    for era in [Era::Handshake, Era::Stateless] {
        let servers = ["one", "two"].map(|name| server(name, era));
        let house = House::open_before(servers.to_vec(), with_keys).await;
        let said = |key| house.initialize(key);
        let all = said("secret-ada").await.text;
        assert!(all.contains("# one") && all.contains("# two"), "{all}");
        let some = said("secret-ci").await.text;
        assert!(some.contains("# one") && !some.contains("two"), "{some}");
        let missing = house.call("/mcp", Some("secret-ci"), "two__pid").await;
        let unknown = house.call("/mcp", Some("secret-ci"), "six__pid").await;
        let message = |answer: &Answered| {
            let message = answer.json()["error"]["message"].clone();
            message.as_str().unwrap().replace("six", "two")
        };
        assert_eq!(message(&missing), message(&unknown));
        house.close().await;
    }
}

#[tokio::test]
async fn what_lets_a_caller_in_never_reaches_a_server() {
    let house = House::open(with_keys).await;
    for era in [Era::Handshake, Era::Stateless] {
        let client = house.client(era, "/mcp", "secret-ada").await;
        let seen = soon(client.call("one__headers"))
            .await
            .unwrap()
            .joined_text();
        assert!(seen.contains("host: "), "{seen}");
        assert!(!seen.contains("authorization"), "{seen}");
        assert!(!seen.contains("secret"), "{seen}");
        soon(client.close()).await;
    }
    house.close().await;
}

#[tokio::test]
async fn a_caller_that_calls_too_often_is_told_when_to_come_again() {
    let house = House::open(with_keys).await;
    let key = Some("secret-slow");
    assert_eq!(house.call("/mcp", key, "one__echo").await.said(), "echo");
    let refused = house.call("/mcp", key, "one__echo").await;
    assert_eq!(refused.status, 429, "{refused:?}");
    let seconds = refused.headers["retry-after"].to_str().unwrap();
    assert!(matches!(seconds.parse(), Ok(9..=10)), "{seconds}");
    let error = &refused.json()["error"];
    assert_eq!(error["data"]["limit"], "callsPerMinute");
    // Lists cost nothing, and others are not concerned.
    assert_eq!(house.list("/mcp", key).await.status, 200);
    let other = house.call("/mcp", Some("secret-ada"), "one__echo").await;
    assert_eq!(other.said(), "echo");
    house.close().await;
}

#[tokio::test]
async fn tokens_of_an_issuer_are_checked_with_the_keys_that_it_publishes() {
    let issuer = Issuer::open().await;
    let resource = "https://mcp.example.com/mcp";
    let described = ProtectedResource::new(resource, &*issuer.name).unwrap();
    let keys = IssuerKeys::new(&issuer.name, None).unwrap();
    let tokens = Jwt::new(&described, TokenKeys::from_source(keys));
    let house = House::open(|gateway| {
        let keys = [Key::new("ada", "secret-ada")];
        gateway.access(&keys, Some(tokens)).unwrap()
    })
    .await;
    let good = issuer.token(resource);
    let echo = house.call("/mcp", Some(&good), "one__echo").await;
    assert_eq!(echo.status, 200, "{echo:?}");
    let other = issuer.token("https://other.example.com/mcp");
    for key in [None, Some(&*other), Some("secret-x")] {
        let refused = house.call("/mcp", key, "one__echo").await;
        assert_eq!(refused.status, 401, "{refused:?}");
        let challenge = refused.headers["www-authenticate"].to_str().unwrap();
        assert!(challenge.contains("resource_metadata="), "{challenge}");
    }
    let key = house.call("/mcp", Some("secret-ada"), "one__echo").await;
    assert_eq!(key.said(), "echo");
    let metadata = house
        .get("/.well-known/oauth-protected-resource/mcp", None)
        .await;
    assert_eq!(metadata.json()["authorization_servers"][0], *issuer.name);
    house.close().await;
}

/// An authorization server, as far as its keys go.
struct Issuer {
    name: Arc<str>,
    pair: Ed25519KeyPair,
}

impl Issuer {
    async fn open() -> Self {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let name: Arc<str> = format!("http://{}", listener.local_addr().unwrap()).into();
        let public = URL_SAFE_NO_PAD.encode(pair.public_key());
        let keys = json!({"keys": [
            {"kty": "OKP", "crv": "Ed25519", "kid": "k1", "x": public}]});
        let metadata = json!({"issuer": &*name, "jwks_uri": format!("{name}/keys")});
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = vec![0; 4096];
                let length = stream.read(&mut head).await.unwrap();
                let head = String::from_utf8_lossy(&head[..length]);
                let (status, body) = match head.split(' ').nth(1) {
                    // Only one of the two ways that there are.
                    Some("/.well-known/openid-configuration") => ("200 OK", &metadata),
                    Some("/keys") => ("200 OK", &keys),
                    _ => ("404 Not Found", &Value::Null),
                };
                let body = body.to_string();
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self { name, pair }
    }

    fn token(&self, audience: &str) -> String {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let header = json!({"alg": "EdDSA", "typ": "at+jwt", "kid": "k1"});
        let claims = json!({"iss": &*self.name, "aud": audience, "sub": "bob", "iat": now,
            "exp": now + 60, "client_id": "c", "jti": "1"});
        let text = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", text(header), text(claims));
        let signature = self.pair.sign(signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}
