//! Logging in: the first request leads there, and everything after it goes without.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue};
use serde_json::json;
use switchboard_auth::{Browser, ClientMethod, Grant, OAuthBuilder, Scopes, Secret, Store};
use switchboard_client::{Mode, Spec};

use crate::authority::{
    Authority, BACK, Client, Conduct, MetadataAt, Protected, ScriptedPerson, Site,
};
use crate::flow::{
    LOGIN, Program, chain, direct, expire, memory, seen, seen_after, with_nobody, with_person,
};
use crate::folder::Folder;

fn agreeing() -> ScriptedPerson {
    ScriptedPerson::new(Conduct::Agrees)
}

#[tokio::test]
async fn the_first_request_registers_and_logs_in_and_the_second_does_not() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let person = agreeing();
    let program = Program::start(&server, &memory(), |set| set.interaction(person.clone()));
    program.works().await;
    assert_eq!(seen(&authority), LOGIN);
    program.works().await;
    assert_eq!(seen(&authority), LOGIN);
    let paths: Vec<_> = server.site.lines();
    assert_eq!(
        paths,
        [
            "POST /mcp",
            "GET /.well-known/oauth-protected-resource/mcp",
            "POST /mcp",
            "POST /mcp"
        ]
    );
    let page = &person.pages()[0];
    assert_eq!(page.issuer, authority.issuer());
    assert_eq!(page.server.as_str(), server.url());
    assert_eq!(page.scopes, Scopes::parse("read write offline_access"));
}

#[tokio::test]
async fn a_client_of_this_workspace_logs_in_on_the_way() {
    let authority = Authority::start().await;
    let server = Protected::start_with(&authority, |knobs| {
        knobs.challenge_scope = Some("read");
        knobs.needs.insert("tools/call", vec!["write"]);
    })
    .await;
    let program = Program::start(&server, &memory(), with_person);
    let spec = Spec::url(&server.url())
        .unwrap()
        .mode(Mode::Legacy)
        .http(direct())
        .credentials(Arc::new(program.login));
    let client = switchboard_client::Client::connect(spec).await.unwrap();
    assert_eq!(seen(&authority), LOGIN);
    // A call needs more, a token may end in between: nobody who calls hears of it.
    let result = client.call("who").await.unwrap();
    assert!(format!("{result:?}").contains("somebody"), "{result:?}");
    assert_eq!(seen_after(&authority, 4), LOGIN);
    authority.expire_access();
    client.call("who").await.unwrap();
    assert_eq!(seen_after(&authority, 8), "metadata token");
    client.close().await;
}

#[tokio::test]
async fn a_client_of_this_workspace_says_that_a_login_is_needed() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let program = Program::start(&server, &memory(), |set| {
        set.hint("run switchboard login demo")
    });
    let spec = Spec::url(&server.url())
        .unwrap()
        .http(direct())
        .credentials(Arc::new(program.login));
    let error = switchboard_client::Client::connect(spec).await.unwrap_err();
    let error = chain(&error);
    assert!(error.contains("run switchboard login demo"), "{error}");
    assert_eq!(seen(&authority), "");
}

#[tokio::test]
async fn after_a_restart_nobody_is_asked_and_nothing_registered() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let folder = Folder::new("restart");
    let store: Arc<dyn Store> = Arc::new(folder.store());
    let program = Program::start(&server, &store, with_person);
    program.works().await;
    drop((program, store));
    let store: Arc<dyn Store> = Arc::new(folder.store());
    Program::start(&server, &store, |set| set).works().await;
    assert_eq!(seen(&authority), LOGIN);
    assert_eq!(server.count(), 3);
}

#[tokio::test]
async fn a_document_is_an_id_where_the_issuer_takes_it() {
    const DOCUMENT: &str = "https://example.com/client.json";
    let authority = Authority::start_with(|knobs| {
        knobs.takes_documents = true;
        let document = json!({
            "client_id": DOCUMENT,
            "client_name": "a client",
            "redirect_uris": [BACK],
            "grant_types": ["authorization_code", "refresh_token"],
        });
        knobs.documents.insert(DOCUMENT.to_owned(), document);
    })
    .await;
    let server = Protected::start(&authority).await;
    let set = |set: OAuthBuilder| with_person(set).client_document(DOCUMENT).unwrap();
    let program = Program::start(&server, &memory(), set);
    program.works().await;
    assert_eq!(seen(&authority), "metadata authorize token");
    let status = program.login.status().await.unwrap().unwrap();
    assert_eq!(status.client_id, DOCUMENT);
    // Where it is not taken, we register.
    let other = Authority::start().await;
    let server = Protected::start(&other).await;
    Program::start(&server, &memory(), set).works().await;
    assert_eq!(seen(&other), LOGIN);
}

#[tokio::test]
async fn an_issuer_that_gives_no_client_without_a_secret_gives_one_that_can_stay_logged_in() {
    let authority = Authority::start_with(|knobs| knobs.needs_secret = true).await;
    let server = Protected::start(&authority).await;
    let store = memory();
    let program = Program::start(&server, &store, with_person);
    program.works().await;
    assert_eq!(
        seen(&authority),
        "metadata register register authorize token"
    );
    assert!(program.login.status().await.unwrap().unwrap().is_renewable);
    // The secret is kept with the tokens.
    expire(&store, &server).await;
    Program::start(&server, &store, |set| set).works().await;
    assert_eq!(seen_after(&authority, 5), "metadata token");
}

#[tokio::test]
async fn a_client_that_was_set_is_used_and_registers_nothing() {
    for (method, secret) in [
        ("none", None),
        ("client_secret_basic", Some("word: & more")),
        ("client_secret_post", Some("word: & more")),
    ] {
        let authority = Authority::start_with(|knobs| knobs.methods = vec![method]).await;
        authority.add_client(match secret {
            Some(secret) => Client::with_secret("app", BACK, method, secret),
            None => Client::public("app", BACK),
        });
        let server = Protected::start(&authority).await;
        let program = Program::start(&server, &memory(), |set| {
            with_person(set).client("app", secret.map(Secret::new))
        });
        program.works().await;
        assert_eq!(seen(&authority), "metadata authorize token", "{method}");
    }
}

#[tokio::test]
async fn a_server_that_moves_gets_a_new_login_and_the_new_issuer_sees_nothing_of_the_old() {
    let (old, new) = (Authority::start().await, Authority::start().await);
    let server = Protected::start(&old).await;
    let program = Program::start(&server, &memory(), with_person);
    program.works().await;
    server.move_to(&new);
    program.works().await;
    assert_eq!((seen(&old), seen(&new)), (LOGIN.into(), LOGIN.into()));
    let ids: Vec<_> = old.clients().into_iter().map(|client| client.id).collect();
    for line in ["/register", "/authorize", "/token"] {
        for asked in new.asked(line) {
            let all = format!("{asked:?}");
            for secret in old.secrets().iter().chain(&ids) {
                assert!(!all.contains(secret.as_str()), "{line}: {secret}");
            }
        }
    }
    // And back: the old issuer still knows us.
    server.move_to(&old);
    program.works().await;
    assert_eq!(seen_after(&old, 4), "metadata authorize token");
    assert_eq!(seen(&new), LOGIN);
}

#[tokio::test]
async fn a_client_that_was_set_is_shown_to_no_other_issuer() {
    let (old, new) = (Authority::start().await, Authority::start().await);
    old.add_client(Client::public("app", BACK));
    new.add_client(Client::public("app", BACK));
    let server = Protected::start(&old).await;
    let store = memory();
    let person = agreeing();
    let set = |set: OAuthBuilder| set.interaction(person.clone()).client("app", None);
    let program = Program::start(&server, &store, set);
    program.works().await;
    server.move_to(&new);
    let error = program.fails().await;
    let expected = format!("the client id is for {}", old.issuer());
    assert!(error.contains(&expected), "{error}");
    // Nor after a restart, nor when the issuer is said beforehand.
    let error = Program::start(&server, &store, set).fails().await;
    assert!(error.contains(&expected), "{error}");
    let bound = Program::start(&server, &memory(), |builder| {
        set(builder).client_issuer(old.issuer())
    });
    let error = bound.fails().await;
    assert!(error.contains(&expected), "{error}");
    let seen_by_new = seen(&new);
    assert_eq!(seen_by_new.replace("metadata", "").trim(), "");
    assert_eq!(person.pages().len(), 1);
}

/// Everything that was asked of a site holds none of these, as they are or in Base64.
#[track_caller]
fn check_unseen(site: &Site, secret: &str) {
    let basic = STANDARD.encode(format!("app:{secret}"));
    for asked in site.all() {
        let all = format!("{asked:?}");
        assert!(!all.contains(secret) && !all.contains(&basic), "{all}");
    }
}

#[tokio::test]
async fn a_secret_is_shown_to_no_issuer_but_its_own() {
    let (own, other) = (Authority::start().await, Authority::start().await);
    let secret = "word-of-the-client";
    for authority in [&own, &other] {
        let client = Client::with_secret("app", BACK, "client_secret_basic", secret);
        authority.add_client(client);
    }
    let client = |set: OAuthBuilder| with_person(set).client("app", Some(Secret::new(secret)));
    let bound = |set| client(set).client_issuer(own.issuer());
    let named = Protected::start(&other).await;
    // One that names nobody is its own issuer, in 2025-03-26.
    let unnamed = Protected::beside(&other, |knobs| {
        knobs.metadata_at.clear();
        knobs.checks_resource = false;
    });
    for server in [&named, &unnamed] {
        let store = memory();
        for grant in [Grant::Person, Grant::ClientCredentials] {
            let program = Program::start(server, &store, |set| bound(set).grant(grant));
            let outcomes = [
                program.fails().await,
                chain(&program.login.login().await.unwrap_err()),
            ];
            for error in outcomes {
                let expected = format!("the client id is for {}", own.issuer());
                assert!(error.contains(&expected), "{error}");
            }
        }
        assert!(store.servers().await.unwrap().is_empty());
    }
    check_unseen(&other.site, secret);
    check_unseen(&named.site, secret);
    // What the other gave before it was said whose client it is, is not renewed there.
    let (third, store) = (Authority::start().await, memory());
    let client_of_third = Client::with_secret("app", BACK, "client_secret_post", "another-word");
    third.add_client(client_of_third);
    let server = Protected::start(&third).await;
    let before = Program::start(&server, &store, |set| {
        with_person(set)
            .client("app", Some(Secret::new("another-word")))
            .client_method(ClientMethod::ClientSecretPost)
    });
    before.works().await;
    expire(&store, &server).await;
    let error = Program::start(&server, &store, bound).fails().await;
    assert!(error.contains("the client id is for"), "{error}");
    check_unseen(&third.site, secret);
    check_unseen(&server.site, secret);
}

#[tokio::test]
async fn a_client_that_was_set_and_is_refused_leaves_the_registered_one_alone() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let store = memory();
    Program::start(&server, &store, with_person).works().await;
    let client = Client::with_secret("app", BACK, "client_secret_post", "right");
    authority.add_client(client);
    let program = Program::start(&server, &store, |set| {
        with_person(set).client("app", Some(Secret::new("wrong")))
    });
    let error = program.fails().await;
    assert!(error.contains("invalid_client"), "{error}");
    assert_eq!(authority.count("/authorize"), 2, "nobody is asked again");
    let before = authority.site.lines().len();
    Program::start(&server, &store, |set| set).works().await;
    assert_eq!(seen_after(&authority, before), "");
}

#[tokio::test]
async fn a_server_of_2025_03_26_is_its_own_issuer_with_metadata_or_without() {
    for (metadata_at, expected) in [
        (vec![MetadataAt::OAuth], LOGIN),
        (vec![], "register authorize token"),
    ] {
        let authority = Authority::start_with(|knobs| {
            knobs.metadata_at = metadata_at;
            knobs.needs_resource = false;
        })
        .await;
        let server = Protected::beside(&authority, |knobs| {
            knobs.metadata_at.clear();
            knobs.checks_resource = false;
        });
        let store = memory();
        Program::start(&server, &store, with_person).works().await;
        let lines = authority.site.lines();
        let is_step =
            |line: &&String| !line.contains("protected-resource") && !line.contains("mcp");
        let steps: Vec<_> = lines
            .iter()
            .filter(is_step)
            .map(|line| match line.contains("/.well-known/") {
                true => "metadata",
                false => line.rsplit('/').next().unwrap(),
            })
            .collect();
        let steps = steps.join(" ");
        assert!(steps.ends_with(expected), "{steps}");
        assert_eq!(authority.count("/token"), 1);
        for endpoint in ["/authorize", "/token"] {
            let asked = &authority.asked(endpoint)[0];
            assert_eq!(asked.query.find("resource"), None);
            assert_eq!(asked.form.find("resource"), None);
        }
        // The record says so, and a renewal goes the same way.
        expire(&store, &server).await;
        Program::start(&server, &store, with_person).works().await;
        assert_eq!(authority.count("/token"), 2);
        assert_eq!(authority.count("/authorize"), 1);
        assert_eq!(authority.count("/register"), 1);
    }
}

#[tokio::test]
async fn a_header_of_the_caller_is_left_alone_and_its_refusal_is_the_callers() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let program = Program::start(&server, &memory(), with_person);
    let own = HeaderValue::from_static("Bearer mine");
    let headers = HeaderMap::from_iter([(http::header::AUTHORIZATION, own)]);
    let status = program.call_at(&server.url(), "ping", headers).await;
    assert_eq!(status.unwrap(), 401);
    assert_eq!(server.site.lines(), ["POST /mcp"]);
    assert_eq!(seen(&authority), "");
}

#[tokio::test]
async fn without_anybody_to_ask_the_hint_says_what_to_do() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let program = Program::start(&server, &memory(), with_nobody);
    let error = program.fails().await;
    let expected = format!("{} wants a login: run switchboard login demo", server.url());
    assert!(error.contains(&expected), "{error}");
    assert_eq!(seen(&authority), "");
    assert_eq!(server.site.lines(), ["POST /mcp"]);
    let error = chain(&program.login.login().await.unwrap_err());
    assert!(error.contains("run switchboard login demo"), "{error}");
    assert_eq!(authority.count("/authorize"), 0);
    assert_eq!(authority.count("/register"), 0);
}

#[tokio::test]
async fn a_login_can_come_before_the_first_request() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let person = agreeing();
    let program = Program::start(&server, &memory(), |set| set.interaction(person.clone()));
    let status = program.login.login().await.unwrap();
    assert_eq!(status.issuer, authority.issuer());
    assert!(status.is_renewable && status.expires_at.is_some());
    assert_eq!(status.scopes, Scopes::parse("read write offline_access"));
    program.works().await;
    assert_eq!(seen(&authority), LOGIN);
    assert_eq!(server.count(), 2, "a question, and the request");
    // Asked for again, it happens again, as the client that is known.
    program.login.login().await.unwrap();
    assert_eq!(seen_after(&authority, 4), "metadata authorize token");
    assert_eq!(person.pages().len(), 2);
}

#[tokio::test]
async fn a_login_where_none_is_wanted_says_so() {
    let site = crate::authority::Site::start().await;
    site.add_route(Box::new(|asked| {
        (asked.path == "/mcp").then(|| crate::authority::Reply::json(200, &json!({})))
    }));
    let program = Program::at(&site.url("/mcp"), &memory(), with_person);
    let error = program.login.login().await.unwrap_err();
    let expected = format!("{} does not ask for a login", site.url("/mcp"));
    assert_eq!(error.to_string(), expected);
    assert_eq!(program.call("ping").await.unwrap(), 200);
    assert!(program.login.status().await.unwrap().is_none());
    assert!(!program.login.logout().await.unwrap());
}

#[tokio::test]
async fn whoever_denies_or_brings_back_something_else_is_not_logged_in() {
    for (conduct, expected) in [
        (Conduct::Denies, "the login was given up"),
        (Conduct::Tampers("another".to_owned()), "state"),
        (Conduct::Brings("code=made-up&state=x".to_owned()), "state"),
    ] {
        let authority = Authority::start().await;
        let server = Protected::start(&authority).await;
        let person = ScriptedPerson::new(conduct.clone());
        let program = Program::start(&server, &memory(), |set| set.interaction(person.clone()));
        let error = program.fails().await;
        assert!(error.contains(expected), "{conduct:?}: {error}");
        assert_eq!(person.pages().len(), 1);
        assert_eq!(authority.count("/token"), 0, "{conduct:?}");
        // What was registered stays: the next one goes on with it.
        let error = program.fails().await;
        assert!(error.contains(expected), "{conduct:?}: {error}");
        assert_eq!(authority.count("/register"), 1, "{conduct:?}");
    }
}

#[tokio::test]
async fn whoever_does_not_come_back_in_time_is_not_logged_in() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let browser = Browser::new()
        .opener(|_| Ok(()))
        .timeout(std::time::Duration::from_millis(20));
    let program = Program::start(&server, &memory(), |set| set.interaction(browser));
    let error = program.fails().await;
    assert!(error.contains("nobody logged in within"), "{error}");
    assert_eq!(seen(&authority), "metadata register");
}

#[tokio::test]
async fn a_login_that_is_given_up_leaves_nothing_locked() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let folder = Folder::new("given-up");
    let store: Arc<dyn Store> = Arc::new(folder.store());
    let program = Program::start(&server, &store, with_person);
    authority.site.hold("/authorize");
    {
        let login = program.login.login();
        let held = authority.site.reached("/authorize", 1);
        tokio::select! {
            _ = login => panic!("nobody has agreed"),
            () = held => {}
        }
    }
    authority.site.release("/authorize");
    program.works().await;
    let again = Program::start(&server, &store, with_person);
    again.login.login().await.unwrap();
    assert_eq!(authority.count("/register"), 1);
}
