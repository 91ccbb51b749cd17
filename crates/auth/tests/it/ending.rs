//! Where a token goes and where it does not, and how a login ends.

use std::sync::Arc;

use http::HeaderMap;
use switchboard_auth::{Scopes, Store};

use crate::authority::{Authority, Conduct, Fault, Protected, ScriptedPerson};
use crate::flow::{LOGIN, Program, memory, seen, seen_after, with_person};
use crate::waiters::Waiters;
use crate::watched_store::WatchedStore;

#[tokio::test]
async fn a_token_goes_to_no_other_origin() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let other = Protected::start(&authority).await;
    let program = Program::start(&server, &memory(), with_person);
    program.works().await;
    // Not when a request goes there, and no login for it begins either.
    let url = other.url();
    let status = program.call_at(&url, "ping", HeaderMap::new()).await;
    assert_eq!(status.unwrap(), 401);
    assert_eq!(other.count(), 1);
    assert_eq!(other.asked()[0].header("authorization"), None);
    // Nor when the server sends it there.
    let elsewhere = Fault::redirects(307, &other.url());
    server.site.misbehave("/mcp", elsewhere);
    program.call("ping").await.unwrap_err();
    assert_eq!(other.count(), 1);
    assert_eq!(seen(&authority), LOGIN);
}

#[tokio::test]
async fn a_redirect_within_the_origin_keeps_the_token() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let program = Program::start(&server, &memory(), with_person);
    program.works().await;
    server.site.misbehave("/old", Fault::redirects(307, "/mcp"));
    let old = server.site.url("/old");
    let status = program.call_at(&old, "ping", HeaderMap::new()).await;
    assert_eq!(status.unwrap(), 200);
    assert_eq!(seen(&authority), LOGIN);
}

#[tokio::test]
async fn two_servers_have_two_logins() {
    let authority = Authority::start().await;
    let (one, two) = (
        Protected::start(&authority).await,
        Protected::start(&authority).await,
    );
    let store = memory();
    for server in [&one, &two] {
        Program::start(server, &store, with_person).works().await;
    }
    assert_eq!(authority.count("/authorize"), 2);
    let mut servers = vec![one.url(), two.url()];
    servers.sort();
    assert_eq!(store.servers().await.unwrap(), servers);
    let token = |server: &Protected| {
        let asked = server.asked();
        asked[1].header("authorization").unwrap().to_owned()
    };
    assert_ne!(token(&one), token(&two));
}

#[tokio::test]
async fn the_status_is_that_of_the_store() {
    let authority = Authority::start_with(|knobs| {
        knobs.consents_to = Some(vec!["read"]);
    })
    .await;
    let server = Protected::start(&authority).await;
    let store = memory();
    let idle = Program::start(&server, &store, |set| set);
    assert!(idle.login.status().await.unwrap().is_none());
    let program = Program::start(&server, &store, with_person);
    program.works().await;
    let status = idle.login.status().await.unwrap().unwrap();
    assert_eq!(status.issuer, authority.issuer());
    assert_eq!(status.client_id, authority.clients()[0].id);
    assert_eq!(status.scopes, Scopes::parse("read"), "what was given");
    assert!(status.is_renewable);
    let left = status.expires_at.unwrap() - crate::authority::now();
    assert!((3590..=3600).contains(&left));
    assert!(program.login.logout().await.unwrap());
    assert!(idle.login.status().await.unwrap().is_none());
    assert!(!idle.login.logout().await.unwrap());
}

#[tokio::test]
async fn a_logout_ends_the_tokens_where_they_came_from() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let store = memory();
    let program = Program::start(&server, &store, with_person);
    program.works().await;
    let token = server.asked()[1]
        .header("authorization")
        .unwrap()
        .to_owned();
    assert!(program.login.logout().await.unwrap());
    assert_eq!(seen_after(&authority, 4), "revoke revoke");
    let hints: Vec<_> = authority.asked("/revoke");
    let hints: Vec<_> = hints
        .iter()
        .map(|asked| asked.form.find("token_type_hint").unwrap())
        .collect();
    assert_eq!(hints, ["refresh_token", "access_token"]);
    assert!(store.servers().await.unwrap().is_empty());
    let headers = [("authorization", token.as_str())];
    let reply = crate::authority::ask("POST", &server.url(), &headers, "{}").await;
    assert_eq!(reply.status, 401);
    // And the next request begins anew, with nothing remembered.
    program.works().await;
    assert_eq!(seen_after(&authority, 6), LOGIN);
}

#[tokio::test]
async fn a_logout_counts_even_if_the_issuer_cannot_be_told() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let store = memory();
    let program = Program::start(&server, &store, with_person);
    program.works().await;
    authority
        .site
        .misbehave_always("/revoke", Fault::is_unavailable());
    assert!(program.login.logout().await.unwrap());
    assert_eq!(authority.count("/revoke"), 2);
    assert!(store.servers().await.unwrap().is_empty());
    assert!(program.login.status().await.unwrap().is_none());
}

#[tokio::test]
async fn nobody_waits_until_an_issuer_was_told_of_a_logout() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let store = memory();
    let program = Program::start(&server, &store, with_person);
    program.works().await;
    authority.site.hold("/revoke");
    let leaving = tokio::spawn({
        let login = program.login.clone();
        async move { login.logout().await }
    });
    authority.site.reached("/revoke", 1).await;
    assert!(store.servers().await.unwrap().is_empty());
    // Neither another program nor another request of this one.
    Program::start(&server, &store, with_person).works().await;
    program.works().await;
    assert!(!leaving.is_finished());
    authority.site.release("/revoke");
    assert!(leaving.await.unwrap().unwrap());
    assert_eq!(authority.count("/revoke"), 2);
    program.works().await;
    assert_eq!(authority.count("/authorize"), 2);
}

#[tokio::test]
async fn two_logins_at_once_ask_once() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let watched = Arc::new(WatchedStore::new());
    let store: Arc<dyn Store> = watched.clone();
    let person = ScriptedPerson::new(Conduct::Agrees);
    let first = Program::start(&server, &store, |set| set.interaction(person.clone()));
    let second = Program::start(&server, &store, |set| set.interaction(person.clone()));
    authority.site.hold("/authorize");
    // Two of one program, and one of another.
    let waiters = Arc::new(Waiters::default());
    let all = [&first, &first, &second].map(|program| {
        let (login, waiters) = (program.login.clone(), Arc::clone(&waiters));
        tokio::spawn(async move { waiters.count(login.login()).await.unwrap() })
    });
    // One sends its person away, one waits for its turn, and one for the lock.
    authority.site.reached("/authorize", 1).await;
    waiters.reached(3).await;
    watched.locked_out(1).await;
    authority.site.release("/authorize");
    for one in all {
        assert_eq!(one.await.unwrap().issuer, authority.issuer());
    }
    assert_eq!(person.pages().len(), 1);
    assert_eq!(authority.count("/token"), 1);
    first.works().await;
    second.works().await;
}

#[tokio::test]
async fn what_was_read_before_a_logout_is_not_used_after_it() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let slow = Arc::new(WatchedStore::new());
    let store: Arc<dyn Store> = slow.clone();
    let program = Program::start(&server, &store, with_person);
    program.works().await;
    slow.hold_next();
    let asking = tokio::spawn({
        let login = program.login.clone();
        async move { login.status().await }
    });
    slow.began().await;
    assert!(program.login.logout().await.unwrap());
    slow.release();
    assert!(asking.await.unwrap().unwrap().is_none());
    let before = server.count();
    program.works().await;
    assert_eq!(server.asked()[before].header("authorization"), None);
}

#[tokio::test]
async fn what_was_read_before_a_renewal_is_not_used_after_it() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let slow = Arc::new(WatchedStore::new());
    let store: Arc<dyn Store> = slow.clone();
    let program = Program::start(&server, &store, with_person);
    program.works().await;
    slow.hold_next();
    let asking = tokio::spawn({
        let login = program.login.clone();
        async move { login.status().await }
    });
    slow.began().await;
    authority.expire_access();
    program.works().await;
    // Somebody else asks anew, and the slow one ends only then.
    let again = Program::start(&server, &store, with_person);
    again.works().await;
    slow.release();
    asking.await.unwrap().unwrap().unwrap();
    let before = server.count();
    program.works().await;
    assert_eq!(server.count(), before + 1, "with the newest token");
    assert_eq!(authority.count("/token"), 2);
}
