//! What is asked for, and what happens when it is not enough.

use switchboard_auth::Scopes;

use crate::authority::{Authority, Conduct, Edit, Protected, ScriptedPerson};
use crate::flow::{
    LOGIN, Program, chain, kept, memory, seen, seen_after, with_nobody, with_person,
};

/// What was asked for at the last visit.
fn last_asked(authority: &Authority) -> String {
    let asked = authority.asked("/authorize");
    let query = &asked.last().unwrap().query;
    query.find("scope").unwrap_or_default().to_owned()
}

/// What a login asks for.
async fn asked_for(
    supported: &[&'static str],
    challenge: Option<&'static str>,
    offered: &[&'static str],
    own: &str,
) -> String {
    let supported = supported.to_vec();
    let authority = Authority::start_with(|knobs| {
        knobs.metadata = Edit::new(move |document| {
            document["scopes_supported"] = supported.clone().into();
        });
    })
    .await;
    let server = Protected::start_with(&authority, |knobs| {
        knobs.challenge_scope = challenge;
        knobs.scopes = offered.to_vec();
    })
    .await;
    let own = Scopes::parse(own);
    let program = Program::start(&server, &memory(), |set| with_person(set).scopes(own));
    program.works().await;
    last_asked(&authority)
}

#[tokio::test]
async fn the_challenge_comes_before_the_metadata_and_the_setting_beside_both() {
    assert_eq!(asked_for(&[], Some("admin"), &["read"], "").await, "admin");
    assert_eq!(
        asked_for(&[], None, &["read", "write"], "").await,
        "read write"
    );
    assert_eq!(asked_for(&[], None, &[], "").await, "");
    assert_eq!(
        asked_for(&[], Some("admin"), &["read"], "write").await,
        "admin write"
    );
    assert_eq!(asked_for(&[], None, &["read"], "write").await, "write");
}

#[tokio::test]
async fn what_makes_a_login_last_is_asked_for_where_the_issuer_has_it() {
    let lasts = ["read", "offline_access"];
    assert_eq!(
        asked_for(&lasts, Some("read"), &[], "").await,
        "read offline_access"
    );
    assert_eq!(
        asked_for(&lasts, None, &["read"], "").await,
        "read offline_access"
    );
    assert_eq!(asked_for(&["read"], Some("read"), &[], "").await, "read");
    // Alone it would be all that is asked for.
    assert_eq!(asked_for(&lasts, None, &[], "").await, "");
    assert_eq!(
        asked_for(&["read"], None, &[], "offline_access read").await,
        "offline_access read",
        "who wants it says so"
    );
}

/// A server that wants `write` for calls and `admin` for more, of which the login gives `read`.
async fn graded(authority: &Authority) -> Protected {
    Protected::start_with(authority, |knobs| {
        knobs.challenge_scope = Some("read");
        knobs.needs.insert("tools/call", vec!["write"]);
        knobs.needs.insert("more", vec!["admin"]);
    })
    .await
}

#[tokio::test]
async fn a_step_up_asks_for_what_there_was_and_what_is_missing() {
    // An issuer that says which scopes it registered is asked for a client that may have more.
    for (says_scopes, step_up) in [(false, "metadata authorize token"), (true, LOGIN)] {
        let authority = Authority::start_with(|knobs| {
            knobs.registered = Edit::new(move |client| {
                if !says_scopes {
                    client.as_object_mut().unwrap().remove("scope");
                }
            });
        })
        .await;
        let server = graded(&authority).await;
        let store = memory();
        let program = Program::start(&server, &store, with_person);
        program.works().await;
        assert_eq!(last_asked(&authority), "read offline_access");
        assert_eq!(program.call("tools/call").await.unwrap(), 200);
        assert_eq!(last_asked(&authority), "read offline_access write");
        assert_eq!(seen_after(&authority, 4), step_up);
        // It is remembered, here and after a restart.
        let so_far = authority.site.lines().len();
        for program in [program, Program::start(&server, &store, with_person)] {
            assert_eq!(program.call("tools/call").await.unwrap(), 200);
            program.works().await;
            assert_eq!(seen_after(&authority, so_far), "");
        }
        let program = Program::start(&server, &store, with_person);
        assert_eq!(program.call("more").await.unwrap(), 200);
        assert_eq!(last_asked(&authority), "read offline_access write admin");
        assert_eq!(seen_after(&authority, so_far), step_up);
        let tokens = kept(&store, &server).await.records[0].tokens.clone();
        assert!(tokens.unwrap().granted.unwrap().has("admin"));
    }
}

#[tokio::test]
async fn a_server_that_is_never_satisfied_is_asked_about_three_times_in_all() {
    let authority = Authority::start_with(|knobs| knobs.scopes.push("more")).await;
    let server = Protected::start(&authority).await;
    let person = ScriptedPerson::new(Conduct::Agrees);
    let program = Program::start(&server, &memory(), |set| set.interaction(person.clone()));
    program.works().await;
    // It never gives what it is asked for.
    authority.change(|knobs| knobs.consents_to = Some(vec!["read"]));
    server.change(|knobs| knobs.is_insatiable = true);
    for _ in 0..5 {
        program.call("ping").await.unwrap_err();
    }
    assert_eq!(person.pages().len(), 1 + 3);
    let error = program.fails().await;
    assert!(
        error.contains("3 logins in a row for more did not satisfy the server"),
        "{error}"
    );
    // For something else it is counted anew, and whoever logs in themselves begins anew.
    server.change(|knobs| {
        knobs.is_insatiable = false;
        knobs.needs.insert("tools/call", vec!["write"]);
    });
    authority.change(|knobs| knobs.consents_to = None);
    assert_eq!(program.call("tools/call").await.unwrap(), 200);
    assert_eq!(person.pages().len(), 5);
    authority.change(|knobs| knobs.consents_to = Some(vec!["read"]));
    program.login.login().await.unwrap();
    assert_eq!(person.pages().len(), 6);
    server.change(|knobs| knobs.is_insatiable = true);
    program.call("ping").await.unwrap_err();
    assert!(person.pages().len() > 6);
}

#[tokio::test]
async fn failures_that_nobody_was_asked_about_do_not_count_as_logins() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let program = Program::start(&server, &memory(), with_person);
    let metadata = "/.well-known/oauth-authorization-server";
    let fault = crate::authority::Fault::is_unavailable();
    authority.site.misbehave_always(metadata, fault);
    for _ in 0..5 {
        let error = program.fails().await;
        assert!(error.contains("503"), "{error}");
    }
    authority.site.behave(metadata);
    program.works().await;
    assert_eq!(authority.count("/authorize"), 1);
}

#[tokio::test]
async fn a_403_that_is_not_about_scopes_is_the_callers() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let program = Program::start(&server, &memory(), with_person);
    program.works().await;
    for challenge in [None, Some(r#"Bearer error="access_denied""#)] {
        let mut reply = crate::authority::Reply::new(403);
        if let Some(challenge) = challenge {
            reply = reply.header("www-authenticate", challenge);
        }
        let fault = crate::authority::Fault::Answers(reply);
        server.site.misbehave("/mcp", fault);
        let before = server.count();
        assert_eq!(program.call("ping").await.unwrap(), 403);
        assert_eq!(server.count(), before + 1);
    }
    assert_eq!(seen(&authority), LOGIN);
}

#[tokio::test]
async fn without_anybody_a_step_up_says_what_is_missing() {
    let authority = Authority::start().await;
    let server = graded(&authority).await;
    let store = memory();
    Program::start(&server, &store, with_person).works().await;
    let program = Program::start(&server, &store, with_nobody);
    let error = chain(&program.call("tools/call").await.unwrap_err());
    let expected = "wants a login (for write): run switchboard login demo";
    assert!(error.contains(expected), "{error}");
    program.works().await;
    assert_eq!(seen(&authority), LOGIN);
}

#[tokio::test]
async fn a_login_after_a_step_up_that_failed_asks_for_everything() {
    let authority = Authority::start().await;
    let server = graded(&authority).await;
    let program = Program::start(&server, &memory(), with_person);
    program.works().await;
    authority.site.misbehave(
        &authority.path("/token"),
        crate::authority::Fault::is_unavailable(),
    );
    program.call("tools/call").await.unwrap_err();
    program.login.login().await.unwrap();
    assert_eq!(last_asked(&authority), "read offline_access write");
}

#[tokio::test]
async fn while_a_person_is_asked_for_more_others_go_on_and_renew() {
    let authority = Authority::start().await;
    let server = graded(&authority).await;
    let program = Program::start(&server, &memory(), with_person);
    program.works().await;
    authority.site.hold("/authorize");
    let stepping_up = tokio::spawn({
        let program = program.clone();
        async move { program.call("tools/call").await }
    });
    authority.site.reached("/authorize", 2).await;
    for _ in 0..3 {
        program.works().await;
    }
    // Even when the token they have ends meanwhile.
    authority.expire_access();
    program.works().await;
    assert_eq!(authority.count("/token"), 2);
    assert!(!stepping_up.is_finished());
    authority.site.release("/authorize");
    assert_eq!(stepping_up.await.unwrap().unwrap(), 200);
    assert_eq!(authority.count("/token"), 3);
    assert_eq!(program.call("tools/call").await.unwrap(), 200);
    assert_eq!(authority.count("/authorize"), 2);
}
