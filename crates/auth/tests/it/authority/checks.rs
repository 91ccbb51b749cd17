//! Can the authority be trusted? Everything here is asked over HTTP, by hand: each of its
//! checks has a test in which it refuses, beside one in which it does not.

mod assertions;
mod authorizing;
mod clients;
mod devices;
mod metadata;
mod people;
mod proofs;
mod protection;
mod refreshing;
mod registering;
mod revoking;
mod sites;
mod tokens;

use serde_json::Value;

pub(super) use super::BACK;
use super::{Authority, Client, Fields, Reply, ask, hash};

pub(super) const RESOURCE: &str = "https://example.com/mcp";
pub(super) const VERIFIER: &str = "a-verifier-that-is-long-enough-to-be-one-0123456789";

/// A form or a query, as it is about to be sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    pub(super) fn new(pairs: &[(&str, &str)]) -> Self {
        let form = Self::default();
        pairs
            .iter()
            .fold(form, |form, (name, value)| form.also(name, value))
    }

    /// One more, even if it is there.
    pub(super) fn also(mut self, name: &str, value: &str) -> Self {
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    /// In place of what is there.
    pub(super) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).also(name, value)
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.0.retain(|(found, _)| found != name);
        self
    }

    pub(super) fn text(&self) -> String {
        let mut text = form_urlencoded::Serializer::new(String::new());
        text.extend_pairs(&self.0).finish()
    }

    pub(super) async fn post(&self, url: &str) -> Reply {
        self.post_with(url, &[]).await
    }

    pub(super) async fn post_with(&self, url: &str, headers: &[(&str, &str)]) -> Reply {
        let mut all = vec![("content-type", "application/x-www-form-urlencoded")];
        all.extend(headers);
        ask("POST", url, &all, &self.text()).await
    }
}

/// What is wrong, if anything.
pub(super) fn error(reply: &Reply) -> String {
    text(reply, "error")
}

/// A text of the JSON of an answer; empty if there is none.
pub(super) fn text(reply: &Reply, name: &str) -> String {
    let body: Value = serde_json::from_str(&reply.body).unwrap_or_default();
    body[name].as_str().unwrap_or_default().to_owned()
}

/// What a browser brings back.
pub(super) fn location(reply: &Reply) -> Fields {
    assert_eq!(reply.status, 302, "{}", reply.body);
    let location = reply.headers["location"].to_str().unwrap();
    let (_, query) = location.split_once('?').unwrap();
    Fields::parse(query)
}

/// An authority that knows the client `app`.
pub(super) async fn with_app() -> Authority {
    let authority = Authority::start().await;
    authority.add_client(Client::public("app", BACK));
    authority
}

/// What a correct client sends a browser with.
pub(super) fn visit(client: &str) -> Form {
    Form::new(&[
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", BACK),
        ("code_challenge", &hash(VERIFIER)),
        ("code_challenge_method", "S256"),
        ("state", "a state"),
        ("scope", "read write"),
        ("resource", RESOURCE),
    ])
}

pub(super) async fn go(authority: &Authority, visit: &Form) -> Reply {
    let url = format!("{}?{}", authority.url("/authorize"), visit.text());
    ask("GET", &url, &[], "").await
}

/// What a correct client asks for a token with.
pub(super) async fn code_form(authority: &Authority, client: &str) -> Form {
    let came_back = location(&go(authority, &visit(client)).await);
    Form::new(&[
        ("grant_type", "authorization_code"),
        ("client_id", client),
        ("code", came_back.find("code").unwrap()),
        ("code_verifier", VERIFIER),
        ("redirect_uri", BACK),
        ("resource", RESOURCE),
    ])
}

/// The tokens of a correct login.
pub(super) async fn log_in(authority: &Authority, client: &str) -> Reply {
    let form = code_form(authority, client).await;
    let reply = form.post(&authority.url("/token")).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply
}
