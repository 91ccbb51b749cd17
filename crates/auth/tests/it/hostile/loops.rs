//! What would go on for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use switchboard_auth::{MemoryStore, OAuth, Scopes};

use super::{Stage, call, chain};
use crate::authority::{Authority, Conduct, Fault, Proofs, Reply, ScriptedPerson, Site};

const DOCUMENT: &str = "/.well-known/oauth-protected-resource/mcp";

/// A server that is never satisfied. What it wants may depend on how often it was asked.
async fn insatiable(
    issuers: Vec<String>,
    challenge: impl Fn(usize) -> Reply + Send + Sync + 'static,
) -> Site {
    let site = Site::start().await;
    let origin = site.origin().to_owned();
    let (documents, calls) = (AtomicUsize::new(0), AtomicUsize::new(0));
    site.add_route(Box::new(move |asked| match &*asked.path {
        DOCUMENT => {
            let turn = documents.fetch_add(1, Ordering::Relaxed);
            let issuer = &issuers[turn % issuers.len()];
            let document = json!({
                "resource": format!("{origin}/mcp"), "authorization_servers": [issuer],
            });
            Some(Reply::json(200, &document))
        }
        "/mcp" => Some(challenge(calls.fetch_add(1, Ordering::Relaxed))),
        _ => None,
    }));
    site
}

fn refuses(challenge: &str) -> Reply {
    Reply::new(401).header("www-authenticate", challenge)
}

fn login(server: &Site, person: &ScriptedPerson) -> OAuth {
    let login = OAuth::for_server(&server.url("/mcp")).unwrap();
    let login = login.store(Arc::new(MemoryStore::new()));
    login.interaction(person.clone()).build().unwrap()
}

/// Asks until there is an error, and gives all of them in the end.
async fn errors(server: &Site, login: &OAuth, times: usize) -> Vec<String> {
    let mut errors = Vec::new();
    for _ in 0..times {
        let error = call(&server.url("/mcp"), login)
            .await
            .expect_err("an error");
        errors.push(chain(&error).replace(server.origin(), "http://server"));
    }
    errors
}

const STILL: &str = "http://server/mcp refused new credentials too (status 401, 4 attempts)";
const GIVES_UP: &str = "there are no credentials for http://server/mcp: they could not be got: \
                        3 logins in a row did not satisfy the server: try again later";

#[tokio::test]
async fn a_server_that_no_token_satisfies_makes_nobody_log_in_for_ever() {
    let authority = Authority::start().await;
    // Without refresh tokens, each would take a login.
    authority.change(|knobs| knobs.refresh = crate::authority::Refresh::None);
    let server = insatiable(vec![authority.issuer().to_owned()], |_| refuses("Bearer")).await;
    let person = ScriptedPerson::new(Conduct::Agrees);
    let login = login(&server, &person);
    assert_eq!(
        errors(&server, &login, 3).await,
        [STILL, GIVES_UP, GIVES_UP]
    );
    assert_eq!(person.pages().len(), 3);
    assert_eq!(authority.count("/token"), 3);
}

#[tokio::test]
async fn tokens_that_can_be_renewed_are_renewed_a_few_times_for_each_request() {
    let authority = Authority::start().await;
    let server = insatiable(vec![authority.issuer().to_owned()], |_| refuses("Bearer")).await;
    let person = ScriptedPerson::new(Conduct::Agrees);
    let login = login(&server, &person);
    assert_eq!(errors(&server, &login, 2).await, [STILL, STILL]);
    assert_eq!(person.pages().len(), 1);
    assert_eq!(authority.count("/token"), 6);
}

#[tokio::test]
async fn a_server_that_wants_other_scopes_each_time_makes_nobody_log_in_for_ever() {
    let authority = Authority::start().await;
    authority.change(|knobs| knobs.refresh = crate::authority::Refresh::None);
    let server = insatiable(vec![authority.issuer().to_owned()], |turn| {
        let scope = [
            "read",
            "write",
            "admin",
            "read write",
            "read admin",
            "write admin",
        ];
        refuses(&format!("Bearer scope=\"{}\"", scope[turn % scope.len()]))
    })
    .await;
    let person = ScriptedPerson::new(Conduct::Agrees);
    let login = login(&server, &person);
    let errors = errors(&server, &login, 20).await;
    assert_eq!(
        errors.last().unwrap(),
        "there are no credentials for http://server/mcp: they could not be got: 10 logins \
         in a row did not satisfy the server: try again later"
    );
    assert_eq!(person.pages().len(), 10);
}

#[tokio::test]
async fn two_issuers_cannot_send_a_person_to_and_fro_for_ever() {
    let one = Authority::start().await;
    let other = Authority::start().await;
    let issuers = vec![one.issuer().to_owned(), other.issuer().to_owned()];
    let server = insatiable(issuers, |_| refuses("Bearer error=\"invalid_token\"")).await;
    let person = ScriptedPerson::new(Conduct::Agrees);
    let login = login(&server, &person);
    assert_eq!(
        errors(&server, &login, 3).await,
        [STILL, GIVES_UP, GIVES_UP]
    );
    assert_eq!(person.pages().len(), 3);
    // What one gave, the other is not shown.
    for (authority, strange) in [(&one, &other), (&other, &one)] {
        let secrets = strange.secrets();
        for asked in authority.asked("/token") {
            assert!(!secrets.iter().any(|secret| asked.body.contains(secret)));
        }
    }
}

#[tokio::test]
async fn a_server_that_wants_a_nonce_for_ever_is_given_up() {
    let authority = Authority::start().await;
    let server = insatiable(vec![authority.issuer().to_owned()], |turn| {
        refuses("DPoP error=\"use_dpop_nonce\"").header("dpop-nonce", &format!("nonce-{turn}"))
    })
    .await;
    let person = ScriptedPerson::new(Conduct::Agrees);
    let login = login(&server, &person);
    assert_eq!(errors(&server, &login, 2).await, [STILL, STILL]);
    assert_eq!(server.count("/mcp"), 8);
    assert_eq!(person.pages().len(), 1);
}

#[tokio::test]
async fn an_issuer_that_wants_a_nonce_for_ever_is_asked_twice() {
    let stage = Stage::new().await;
    stage
        .protected
        .change(|knobs| knobs.proofs = Proofs::Needed);
    let path = stage.authority.path("/token");
    for turn in 0..10 {
        let body = json!({ "error": "use_dpop_nonce" });
        let reply = Reply::json(400, &body).header("dpop-nonce", &format!("nonce-{turn}"));
        stage.authority.site.misbehave(&path, Fault::Answers(reply));
    }
    assert_eq!(
        stage.refusal().await,
        "http://issuer/token refused a token: use_dpop_nonce"
    );
    assert_eq!(stage.authority.count("/token"), 2);
}

#[tokio::test]
async fn ten_thousand_challenges_are_read_or_refused_at_once() {
    // As many as the head of an answer may hold: the one that counts is the last.
    let many = "Basic a=b,".repeat(5_000);
    let authority = Authority::start().await;
    let issuer = authority.issuer().to_owned();
    let server = insatiable(vec![issuer], move |_| {
        refuses(&format!("{many} Bearer scope=\"read\""))
    })
    .await;
    let person = ScriptedPerson::new(Conduct::Agrees);
    assert_eq!(errors(&server, &login(&server, &person), 1).await, [STILL]);
    assert_eq!(
        person.pages()[0].scopes,
        Scopes::parse("read offline_access")
    );

    let more = "Basic a=b,".repeat(10_000);
    let server = insatiable(vec!["http://127.0.0.1:9".to_owned()], move |_| {
        refuses(&more)
    })
    .await;
    let says = "the headers of the answer of http://server/mcp are over the limit of 65536 bytes \
                or 100 headers";
    assert_eq!(errors(&server, &login(&server, &person), 1).await, [says]);
    let server = insatiable(vec!["http://127.0.0.1:9".to_owned()], |_| {
        let reply = Reply::new(401);
        (0..10_000).fold(reply, |reply, _| reply.header("www-authenticate", "Bearer"))
    })
    .await;
    assert_eq!(errors(&server, &login(&server, &person), 1).await, [says]);
    assert_eq!(person.pages().len(), 1);
}
