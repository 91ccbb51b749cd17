//! Tokens that are bound to a key: each request comes with a proof of its own.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use switchboard_auth::{Grant, Nobody, OAuthBuilder, Secret, Store};

use crate::authority::{
    Asked, Authority, BACK, Client, Fault, Proofs, Protected, decode, thumbprint,
};
use crate::flow::{LOGIN, Program, expire, kept, memory, seen, seen_after, with_person};
use crate::folder::Folder;
use crate::watched_store::WatchedStore;

/// Header and claims of the proof of a request.
fn proof(asked: &Asked) -> Option<(Value, Value)> {
    let mut parts = asked.header("dpop")?.split('.').map(|part| {
        let bytes = decode(part).unwrap();
        serde_json::from_slice(&bytes).unwrap_or_default()
    });
    Some((parts.next()?, parts.next()?))
}

fn keys(asked: &[Arc<Asked>]) -> HashSet<String> {
    let proofs = asked.iter().filter_map(|asked| proof(asked));
    proofs
        .map(|(header, _)| thumbprint(&header["jwk"]))
        .collect()
}

#[tokio::test]
async fn a_server_that_wants_proofs_gets_a_fresh_one_with_each_request() {
    let authority = Authority::start().await;
    let server = Protected::start_with(&authority, |knobs| knobs.proofs = Proofs::Needed).await;
    let program = Program::start(&server, &memory(), with_person);
    for _ in 0..3 {
        program.works().await;
    }
    assert_eq!(seen(&authority), LOGIN);
    let asked = server.asked();
    let ids: HashSet<_> = asked
        .iter()
        .filter_map(|asked| proof(asked))
        .map(|(_, claims)| claims["jti"].to_string())
        .collect();
    assert_eq!((asked.len(), ids.len()), (4, 3));
    assert!(
        asked[1]
            .header("authorization")
            .unwrap()
            .starts_with("DPoP ")
    );
    let mut all = keys(&asked);
    all.extend(keys(&authority.asked("/token")));
    assert_eq!(all.len(), 1, "one key for everything");
}

#[tokio::test]
async fn who_wants_it_proves_wherever_the_issuer_can() {
    for (proofs, scheme) in [(Proofs::Taken, "DPoP "), (Proofs::Unknown, "Bearer ")] {
        let authority = Authority::start_with(|knobs| knobs.proofs = proofs).await;
        let server = Protected::start(&authority).await;
        let program = Program::start(&server, &memory(), |set| {
            with_person(set).prove_possession()
        });
        program.works().await;
        let shown = server.asked()[1]
            .header("authorization")
            .unwrap()
            .to_owned();
        assert!(shown.starts_with(scheme), "{proofs:?}");
    }
}

#[tokio::test]
async fn the_key_is_kept_over_a_restart_and_a_renewal() {
    let authority = Authority::start().await;
    let server = Protected::start_with(&authority, |knobs| knobs.proofs = Proofs::Needed).await;
    let folder = Folder::new("proof-key");
    let store: Arc<dyn Store> = Arc::new(folder.store());
    Program::start(&server, &store, with_person).works().await;
    Program::start(&server, &store, |set| set).works().await;
    assert_eq!(seen(&authority), LOGIN);
    expire(&store, &server).await;
    let program = Program::start(&server, &store, |set| set.interaction(Nobody));
    program.works().await;
    assert_eq!(seen_after(&authority, 4), "metadata token");
    let mut all = keys(&server.asked());
    all.extend(keys(&authority.asked("/token")));
    assert_eq!(all.len(), 1);
    let record = kept(&store, &server).await.records[0].clone();
    assert!(record.proof_key.is_some());
}

#[tokio::test]
async fn nonces_are_taken_from_both_ends() {
    let authority = Authority::start_with(|knobs| knobs.demands_nonce = true).await;
    let server = Protected::start_with(&authority, |knobs| {
        knobs.proofs = Proofs::Needed;
        knobs.demands_nonce = true;
    })
    .await;
    let store = memory();
    let program = Program::start(&server, &store, with_person);
    program.works().await;
    assert_eq!(
        seen(&authority),
        format!("{LOGIN} token"),
        "once more with it"
    );
    assert_eq!(server.count(), 3, "no token, no nonce, both");
    program.works().await;
    assert_eq!(server.count(), 4);
    server.renew_nonce();
    program.works().await;
    assert_eq!(server.count(), 6);
    assert_eq!(authority.count("/token"), 2);
    authority.renew_nonce();
    authority.expire_access();
    program.works().await;
    assert_eq!(authority.count("/token"), 4);
    // After a restart no nonce is known, and the first proof of each end tells it.
    expire(&store, &server).await;
    Program::start(&server, &store, |set| set.interaction(Nobody))
        .works()
        .await;
    assert_eq!(authority.count("/token"), 6);
    assert_eq!(authority.count("/authorize"), 1);
}

#[tokio::test]
async fn a_nonce_that_many_are_told_at_once_is_no_reason_to_renew() {
    let authority = Authority::start().await;
    let server = Protected::start_with(&authority, |knobs| knobs.proofs = Proofs::Needed).await;
    let program = Program::start(&server, &memory(), with_person);
    program.works().await;
    server.change(|knobs| knobs.demands_nonce = true);
    server.site.hold("/mcp");
    let all = program.begin(50);
    server.site.reached("/mcp", 2 + 50).await;
    server.site.release("/mcp");
    all.all_work().await;
    assert_eq!(seen(&authority), LOGIN);
    assert_eq!(server.count(), 2 + 100);
}

#[tokio::test]
async fn another_issuer_sees_another_key() {
    let (old, new) = (Authority::start().await, Authority::start().await);
    let server = Protected::start_with(&old, |knobs| knobs.proofs = Proofs::Needed).await;
    let program = Program::start(&server, &memory(), with_person);
    program.works().await;
    server.move_to(&new);
    program.works().await;
    let (old, new) = (keys(&old.asked("/token")), keys(&new.asked("/token")));
    assert!(old.is_disjoint(&new));
}

#[tokio::test]
async fn a_login_that_another_program_bound_to_a_new_key_is_renewed_with_that() {
    let authority = Authority::start().await;
    let server = Protected::start_with(&authority, |knobs| knobs.proofs = Proofs::Needed).await;
    let store = memory();
    Program::start(&server, &store, with_person).works().await;
    expire(&store, &server).await;
    // One that holds a token which has ended, and the key to it.
    let first = Program::start(&server, &store, with_person);
    authority.site.misbehave("/token", Fault::Closes);
    first.fails().await;
    // Another logs in with a key of its own, and its token ends too.
    store.remove(&server.url()).await.unwrap();
    Program::start(&server, &store, with_person).works().await;
    expire(&store, &server).await;
    first.works().await;
    assert_eq!(authority.count("/authorize"), 2);
    assert_eq!(authority.count("/token"), 4);
}

#[tokio::test]
async fn a_key_whose_tokens_could_not_be_kept_is_not_used() {
    let (old, new) = (Authority::start().await, Authority::start().await);
    let server = Protected::start_with(&old, |knobs| knobs.proofs = Proofs::Needed).await;
    let watched = Arc::new(WatchedStore::new());
    let store: Arc<dyn Store> = watched.clone();
    let program = Program::start(&server, &store, with_person);
    program.works().await;
    let known = keys(&server.asked());
    server.move_to(&new);
    // A client is registered and kept, and then there is no room for its tokens.
    let mut saves = watched.saves();
    new.site.hold("/token");
    let failing = program.begin(1);
    new.site.reached("/token", 1).await;
    saves.changed().await.unwrap();
    watched.is_full(true);
    new.site.release("/token");
    failing.all_fail("there is no room").await;
    watched.is_full(false);
    // The tokens of the old issuer go on with the key that they are bound to.
    server.move_to(&old);
    let before = server.count();
    program.works().await;
    assert_eq!(keys(&server.asked()[before..]), known);
    assert_eq!(server.count(), before + 1);
}

#[tokio::test]
async fn a_client_for_itself_that_begins_to_prove_keeps_its_key() {
    let authority = Authority::start().await;
    let client = Client::with_secret("robot", BACK, "client_secret_basic", "word");
    authority.add_client(client);
    let server = Protected::start(&authority).await;
    let store = memory();
    let set = |set: OAuthBuilder| {
        set.grant(Grant::ClientCredentials)
            .client("robot", Some(Secret::new("word")))
    };
    Program::start(&server, &store, set).works().await;
    expire(&store, &server).await;
    let proves = |builder| set(builder).prove_possession();
    Program::start(&server, &store, proves).works().await;
    Program::start(&server, &store, proves).works().await;
    assert_eq!(keys(&server.asked()).len(), 1);
    assert_eq!(authority.count("/token"), 2);
}
