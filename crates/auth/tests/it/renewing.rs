//! New tokens for old ones: ahead of time, after a refusal, and once for everybody who waits.

use std::sync::Arc;
use std::time::Duration;

use switchboard_auth::{OAuthBuilder, Scopes, Store};

use crate::authority::{
    Authority, BACK, Client, Conduct, Edit, Fault, Protected, Refresh, ScriptedPerson,
};
use crate::flow::{
    Begun, LOGIN, Program, expire, kept, make_due, memory, seen, seen_after, with_nobody,
    with_person,
};
use crate::watched_store::WatchedStore;

/// How much an authority saw of a login.
const STEPS: usize = 4;

/// Everything that takes part, after a login.
struct Scene {
    authority: Authority,
    server: Protected,
    watched: Arc<WatchedStore>,
    store: Arc<dyn Store>,
}

impl Scene {
    async fn new() -> Self {
        Self::with(Authority::start().await).await
    }

    async fn with(authority: Authority) -> Self {
        let server = Protected::start(&authority).await;
        let watched = Arc::new(WatchedStore::new());
        let store: Arc<dyn Store> = watched.clone();
        Program::start(&server, &store, with_person).works().await;
        assert_eq!(seen(&authority), LOGIN);
        Self {
            authority,
            server,
            watched,
            store,
        }
    }

    /// A program that starts now.
    fn program(&self, set: impl FnOnce(OAuthBuilder) -> OAuthBuilder) -> Program {
        Program::start(&self.server, &self.store, set)
    }

    /// A program whose one request renews the token ahead of time, and waits for an answer.
    async fn renewal_under_way(&self) -> (Program, Begun) {
        make_due(&self.store, &self.server).await;
        let program = self.program(with_nobody);
        let token = self.token_path();
        self.authority.site.hold(&token);
        let first = program.begin(1);
        self.authority.site.reached(&token, 2).await;
        (program, first)
    }

    /// What the authority saw after the login.
    fn seen(&self) -> String {
        seen_after(&self.authority, STEPS)
    }

    fn token_path(&self) -> String {
        self.authority.path("/token")
    }
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    for refresh in [Refresh::Rotates, Refresh::Stays] {
        let authority = Authority::start_with(|knobs| knobs.refresh = Refresh::Rotates).await;
        let scene = Scene::with(authority).await;
        scene.authority.change(|knobs| knobs.refresh = refresh);
        let before = scene.server.count();
        for round in 1..=3 {
            make_due(&scene.store, &scene.server).await;
            let old = kept(&scene.store, &scene.server).await.records[0].clone();
            let program = scene.program(with_nobody);
            program.works().await;
            program.works().await;
            let new = kept(&scene.store, &scene.server).await.records[0].clone();
            let (old, new) = (old.tokens.unwrap(), new.tokens.unwrap());
            assert_ne!(old.access, new.access);
            let is_same = old.refresh == new.refresh;
            assert_eq!(is_same, refresh == Refresh::Stays, "{refresh:?}");
            assert_eq!(new.requested, old.requested);
            assert_eq!(new.granted, old.granted);
            assert_eq!(scene.authority.count("/token"), 1 + round);
        }
        assert_eq!(scene.seen(), "metadata token metadata token metadata token");
        // No request was refused.
        assert_eq!(scene.server.count(), before + 6);
        let asked = scene.authority.asked("/token");
        let form = &asked[1].form;
        assert_eq!(form.find("grant_type"), Some("refresh_token"));
        assert_eq!(form.find("resource"), Some(scene.server.url().as_str()));
        assert_eq!(form.find("scope"), None);
    }
}

#[tokio::test]
async fn a_token_that_does_not_say_when_it_ends_is_renewed_when_it_is_refused() {
    let authority = Authority::start_with(|knobs| knobs.expires_in = None).await;
    let scene = Scene::with(authority).await;
    let program = scene.program(with_nobody);
    program.works().await;
    assert_eq!(scene.seen(), "");
    scene.authority.expire_access();
    program.works().await;
    assert_eq!(scene.seen(), "metadata token");
    program.works().await;
    assert_eq!(scene.seen(), "metadata token");
}

#[tokio::test]
async fn a_program_finds_what_another_got_before_it_does_anything() {
    let scene = Scene::new().await;
    let (first, second) = (scene.program(with_nobody), scene.program(with_nobody));
    first.works().await;
    second.works().await;
    scene.authority.expire_access();
    second.works().await;
    assert_eq!(scene.seen(), "metadata token");
    first.works().await;
    assert_eq!(scene.seen(), "metadata token");
}

#[tokio::test]
async fn a_program_finds_the_login_of_another() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let store = memory();
    let first = Program::start(&server, &store, with_nobody);
    let error = first.fails().await;
    assert!(error.contains("wants a login"), "{error}");
    let second = Program::start(&server, &store, with_person);
    second.login.login().await.unwrap();
    first.works().await;
    assert_eq!(seen(&authority), LOGIN);
    // The same with a token that no longer counts, in place of none.
    authority.revoke_all();
    let error = first.fails().await;
    assert!(error.contains("run switchboard login demo"), "{error}");
    assert_eq!(seen_after(&authority, STEPS), "metadata token");
    second.works().await;
    first.works().await;
    let after = seen_after(&authority, STEPS + 2);
    assert_eq!(after, "metadata authorize token");
}

#[tokio::test]
async fn a_logout_of_another_program_is_respected() {
    let scene = Scene::new().await;
    let first = scene.program(with_nobody);
    first.works().await;
    assert!(scene.program(with_nobody).login.logout().await.unwrap());
    assert_eq!(scene.seen(), "metadata revoke revoke");
    let error = first.fails().await;
    assert!(error.contains("wants a login"), "{error}");
    assert_eq!(scene.seen(), "metadata revoke revoke");
    assert!(first.login.status().await.unwrap().is_none());
}

#[tokio::test]
async fn a_refresh_token_that_ended_means_a_login_or_a_word_about_it() {
    let scene = Scene::new().await;
    scene.authority.revoke_all();
    let error = scene.program(with_nobody).fails().await;
    let expected = format!(
        "{} wants a login: run switchboard login demo",
        scene.server.url()
    );
    assert!(error.contains(&expected), "{error}");
    assert_eq!(scene.seen(), "metadata token");
    // It is remembered that nothing is left to renew.
    let error = scene.program(with_nobody).fails().await;
    assert!(error.contains(&expected), "{error}");
    assert_eq!(scene.seen(), "metadata token");
    scene.program(with_person).works().await;
    assert_eq!(scene.seen(), "metadata token metadata authorize token");
}

#[tokio::test]
async fn one_lookup_serves_a_renewal_and_the_login_after_it() {
    let scene = Scene::new().await;
    scene.authority.revoke_all();
    scene.program(with_person).works().await;
    assert_eq!(scene.seen(), "metadata token authorize token");
}

#[tokio::test]
async fn a_client_that_was_forgotten_registers_again() {
    let scene = Scene::new().await;
    scene.authority.forget_clients();
    scene.authority.expire_access();
    scene.program(with_person).works().await;
    assert_eq!(scene.seen(), "metadata token register authorize token");
    let ids = scene.authority.clients().len();
    assert_eq!(ids, 1);
    assert_eq!(kept(&scene.store, &scene.server).await.records.len(), 1);
    // Ahead of time as well.
    scene.authority.forget_clients();
    make_due(&scene.store, &scene.server).await;
    scene.program(with_person).works().await;
    let after = seen_after(&scene.authority, STEPS + 5);
    assert_eq!(after, "metadata token metadata register authorize token");
}

#[tokio::test]
async fn a_client_that_was_set_and_is_refused_keeps_its_tokens() {
    let authority = Authority::start().await;
    authority.add_client(Client::public("app", BACK));
    let server = Protected::start(&authority).await;
    let store = memory();
    let set = |set: OAuthBuilder| with_person(set).client("app", None);
    Program::start(&server, &store, set).works().await;
    expire(&store, &server).await;
    let before = kept(&store, &server).await.to_text();
    let token = authority.path("/token");
    let fault = Fault::refuses(401, "invalid_client");
    authority.site.misbehave_always(&token, fault);
    let program = Program::start(&server, &store, set);
    for _ in 0..2 {
        let error = program.fails().await;
        assert!(
            error.contains("refused a new token: invalid_client"),
            "{error}"
        );
    }
    assert_eq!(kept(&store, &server).await.to_text(), before);
    // Once it is set right, nobody needs to log in.
    authority.site.behave(&token);
    program.works().await;
    assert_eq!(authority.count("/authorize"), 1);
}

#[tokio::test]
async fn as_long_as_the_old_token_counts_a_renewal_that_fails_bothers_nobody() {
    for fault in [Fault::is_unavailable(), Fault::Closes, Fault::breaks()] {
        let scene = Scene::new().await;
        make_due(&scene.store, &scene.server).await;
        let token = scene.token_path();
        scene.authority.site.misbehave_always(&token, fault);
        let program = scene.program(with_nobody);
        for _ in 0..10 {
            program.works().await;
        }
        // It rests: one attempt for all of them.
        assert_eq!(scene.authority.count("/token"), 2);
    }
}

#[tokio::test]
async fn nobody_waits_for_a_renewal_ahead_of_time_but_who_began_it() {
    let scene = Scene::new().await;
    let (program, first) = scene.renewal_under_way().await;
    program.works().await;
    program.works().await;
    assert!(first.all_wait());
    scene.authority.site.release(&scene.token_path());
    first.all_work().await;
    assert_eq!(scene.authority.count("/token"), 2);
}

#[tokio::test]
async fn an_authority_that_is_silent_holds_up_no_request_whose_token_counts() {
    let scene = Scene::new().await;
    let (program, first) = scene.renewal_under_way().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(6)).await;
    tokio::time::resume();
    first.all_work().await;
    program.works().await;
    // What it says in the end is kept all the same.
    let old = kept(&scene.store, &scene.server).await.records[0].clone();
    let mut saves = scene.watched.saves();
    scene.authority.site.release(&scene.token_path());
    saves.changed().await.unwrap();
    let new = kept(&scene.store, &scene.server).await.records[0].clone();
    assert_ne!(new.tokens, old.tokens);
    program.works().await;
    assert_eq!(scene.seen(), "metadata token");
}

#[tokio::test]
async fn after_its_end_the_error_says_why_and_the_next_request_tries_again() {
    for (fault, expected) in [
        (Fault::is_unavailable(), "temporarily_unavailable"),
        (Fault::Closes, "a new token could not be asked for"),
        (Fault::breaks(), "500"),
    ] {
        let scene = Scene::new().await;
        expire(&scene.store, &scene.server).await;
        let token = scene.token_path();
        scene.authority.site.misbehave(&token, fault.clone());
        scene.authority.site.misbehave(&token, fault);
        let program = scene.program(with_person);
        for _ in 0..2 {
            let error = program.fails().await;
            assert!(error.contains(expected), "{error}");
        }
        program.works().await;
        assert_eq!(scene.seen(), "metadata token token token");
    }
}

#[tokio::test]
async fn two_hundred_requests_with_one_token_that_ended_renew_it_once() {
    let scene = Scene::new().await;
    expire(&scene.store, &scene.server).await;
    let before = scene.server.count();
    let program = scene.program(with_nobody);
    let token = scene.token_path();
    scene.authority.site.hold(&token);
    let all = program.begin(200);
    scene.authority.site.reached(&token, 2).await;
    program.has_waiting(200).await;
    scene.authority.site.release(&token);
    all.all_work().await;
    assert_eq!(scene.seen(), "metadata token");
    assert_eq!(scene.server.count(), before + 200);
}

#[tokio::test]
async fn two_hundred_requests_with_one_token_that_was_refused_renew_it_once() {
    let scene = Scene::new().await;
    let program = scene.program(with_nobody);
    program.works().await;
    scene.authority.expire_access();
    let (token, before) = (scene.token_path(), scene.server.count());
    scene.authority.site.hold(&token);
    let all = program.begin(200);
    scene.authority.site.reached(&token, 2).await;
    program.has_waiting(200).await;
    scene.authority.site.release(&token);
    all.all_work().await;
    assert_eq!(scene.seen(), "metadata token");
    assert_eq!(scene.server.count(), before + 400);
}

#[tokio::test]
async fn what_fails_for_one_has_failed_for_all_who_waited() {
    let scene = Scene::new().await;
    expire(&scene.store, &scene.server).await;
    let program = scene.program(with_person);
    let token = scene.token_path();
    scene.authority.site.misbehave(&token, Fault::Closes);
    scene.authority.site.hold(&token);
    let all = program.begin(20);
    scene.authority.site.reached(&token, 2).await;
    program.has_waiting(20).await;
    scene.authority.site.release(&token);
    all.all_fail("a new token could not be asked for").await;
    assert_eq!(scene.seen(), "metadata token");
    program.works().await;
    assert_eq!(scene.seen(), "metadata token token");
}

#[tokio::test]
async fn the_same_holds_for_those_that_were_refused() {
    let scene = Scene::new().await;
    let program = scene.program(with_person);
    program.works().await;
    scene.authority.expire_access();
    let token = scene.token_path();
    scene.authority.site.misbehave(&token, Fault::Closes);
    scene.authority.site.hold(&token);
    let all = program.begin(20);
    scene.authority.site.reached(&token, 2).await;
    program.has_waiting(20).await;
    scene.authority.site.release(&token);
    all.all_fail("a new token could not be asked for").await;
    assert_eq!(scene.seen(), "metadata token");
}

#[tokio::test]
async fn a_person_who_denies_is_not_asked_again_for_those_who_waited() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let person = ScriptedPerson::new(Conduct::Denies);
    let program = Program::start(&server, &memory(), |set| set.interaction(person.clone()));
    authority.site.hold("/authorize");
    let all = program.begin(20);
    authority.site.reached("/authorize", 1).await;
    program.has_waiting(20).await;
    authority.site.release("/authorize");
    all.all_fail("the login was given up").await;
    assert_eq!(person.pages().len(), 1);
}

#[tokio::test]
async fn a_request_that_is_given_up_does_not_lose_the_token_that_was_got_for_it() {
    let scene = Scene::new().await;
    expire(&scene.store, &scene.server).await;
    let program = scene.program(with_nobody);
    let token = scene.token_path();
    scene.authority.site.hold(&token);
    tokio::select! {
        _ = program.call("ping") => panic!("there is no token yet"),
        () = scene.authority.site.reached(&token, 2) => {}
    }
    scene.authority.site.release(&token);
    // Shown twice, the refresh token would have ended the login.
    program.works().await;
    scene.program(with_nobody).works().await;
    assert_eq!(scene.seen(), "metadata token");
}

#[tokio::test]
async fn what_another_program_was_granted_since_is_kept_on_renewal() {
    let scene = Scene::new().await;
    expire(&scene.store, &scene.server).await;
    // One that holds a token which has ended.
    let first = scene.program(with_nobody);
    let token = scene.token_path();
    scene.authority.site.misbehave(&token, Fault::Closes);
    first.fails().await;
    // Another logs in for more, and its token ends before the first looks again. Of the scopes
    // of the next one nothing is said.
    let second = scene.program(|set| with_person(set).scopes(Scopes::parse("admin")));
    second.login.login().await.unwrap();
    expire(&scene.store, &scene.server).await;
    scene.authority.change(|knobs| {
        knobs.tokens = Edit::new(|tokens| {
            tokens.as_object_mut().unwrap().remove("scope");
        });
    });
    first.works().await;
    let entry = kept(&scene.store, &scene.server).await;
    let tokens = entry.records[0].tokens.clone().unwrap();
    assert!(tokens.requested.has("admin"), "{}", tokens.requested);
    assert!(tokens.granted.unwrap().has("admin"));
    assert_eq!(scene.authority.count("/authorize"), 2);
}
