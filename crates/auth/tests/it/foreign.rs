//! What was found at authorization servers that others wrote, and is not to be lost.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request};
use switchboard_auth::{MemoryStore, OAuth};
use switchboard_transport::http::client::{ClientSettings, HttpClient};

use crate::authority::{Authority, Conduct, Edit, Fault, Protected, ScriptedPerson};

/// A client with a login of its own.
fn connect(server: &Protected, person: &ScriptedPerson) -> (OAuth, HttpClient) {
    let login = OAuth::for_server(&server.url())
        .unwrap()
        .store(Arc::new(MemoryStore::new()))
        .interaction(person.clone())
        .build()
        .unwrap();
    let mut settings = ClientSettings::default();
    settings.credentials = Some(Arc::new(login.clone()));
    (login, HttpClient::new(settings).unwrap())
}

/// Calls a method; gives the status of the answer.
async fn call(client: &HttpClient, server: &Protected, method: &str) -> u16 {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
    let mut request = Request::new(Bytes::from(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = server.url().parse().unwrap();
    client.send(request).await.unwrap().status.as_u16()
}

/// As the Python SDK 1.x says that it does not know a client.
#[tokio::test]
async fn a_client_that_may_not_renew_registers_again() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let person = ScriptedPerson::new(Conduct::Agrees);
    let (login, client) = connect(&server, &person);
    assert_eq!(call(&client, &server, "ping").await, 200);
    let before = login.status().await.unwrap().unwrap().client_id;
    authority.forget_clients();
    authority.revoke_all();
    let fault = Fault::refuses(401, "unauthorized_client");
    authority.site.misbehave(&authority.path("/token"), fault);
    assert_eq!(call(&client, &server, "ping").await, 200);
    assert_eq!(authority.count("/register"), 2);
    assert_eq!(person.pages().len(), 2);
    assert_ne!(login.status().await.unwrap().unwrap().client_id, before);
}

/// As oidc-provider and the Python SDK see it.
#[tokio::test]
async fn a_client_that_registered_for_less_registers_again_before_anybody_is_asked() {
    let authority = Authority::start().await;
    let server = Protected::start_with(&authority, |knobs| {
        knobs.challenge_scope = Some("read");
        knobs.needs.insert("tools/call", vec!["write"]);
    })
    .await;
    let person = ScriptedPerson::new(Conduct::Agrees);
    let (login, client) = connect(&server, &person);
    for method in ["ping", "tools/call", "ping", "tools/call"] {
        assert_eq!(call(&client, &server, method).await, 200);
    }
    let wanted: Vec<_> = authority
        .asked("/register")
        .iter()
        .map(|asked| asked.json().unwrap()["scope"].clone())
        .collect();
    assert_eq!(wanted, ["read offline_access", "read offline_access write"]);
    // One page for each, and no more of it later.
    assert_eq!(person.pages().len(), 2);
    login.login().await.unwrap();
    assert_eq!(authority.count("/register"), 2);
}

/// As those see it that keep no scopes of clients.
#[tokio::test]
async fn a_client_that_may_ask_for_everything_stays() {
    let authority = Authority::start_with(|knobs| {
        knobs.registered = Edit::new(|answer| {
            answer.as_object_mut().unwrap().remove("scope");
        });
    })
    .await;
    let server = Protected::start_with(&authority, |knobs| {
        knobs.challenge_scope = Some("read");
        knobs.needs.insert("tools/call", vec!["write"]);
    })
    .await;
    let person = ScriptedPerson::new(Conduct::Agrees);
    let (_, client) = connect(&server, &person);
    for method in ["ping", "tools/call"] {
        assert_eq!(call(&client, &server, method).await, 200);
    }
    assert_eq!(person.pages().len(), 2);
    assert_eq!(authority.count("/register"), 1);
}
