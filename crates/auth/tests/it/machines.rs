//! Tokens without a person: a client for itself, a workload, an organisation; and codes for
//! those without a browser.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_auth::{
    ClientMethod, Grant, IdentityProvider, Nobody, OAuthBuilder, Scopes, Secret, SigningKey, Store,
    TokenSource,
};

use crate::authority::{
    Authority, BACK, Client, Conduct, DeviceEnd, Key, Protected, ScriptedPerson, fresh, now,
};
use crate::flow::{Program, expire, memory, seen, seen_after};
use crate::folder::Folder;
use crate::watched_store::WatchedStore;

const BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

#[tokio::test]
async fn a_client_proves_itself_with_its_secret_as_it_was_told() {
    for (name, method, is_method_first) in [
        (
            "client_secret_basic",
            ClientMethod::ClientSecretBasic,
            false,
        ),
        ("client_secret_post", ClientMethod::ClientSecretPost, false),
        ("client_secret_post", ClientMethod::ClientSecretPost, true),
    ] {
        let authority = Authority::start().await;
        authority.add_client(Client::with_secret("robot", BACK, name, "a word: & more"));
        let server = Protected::start(&authority).await;
        let store = memory();
        let set = |set: OAuthBuilder| {
            let set = set.grant(Grant::ClientCredentials);
            let secret = Some(Secret::new("a word: & more"));
            match is_method_first {
                true => set.client_method(method).client("robot", secret),
                false => set.client("robot", secret).client_method(method),
            }
        };
        let program = Program::start(&server, &store, set);
        program.works().await;
        program.works().await;
        assert_eq!(seen(&authority), "metadata token", "{name}");
        let asked = &authority.asked("/token")[0];
        assert_eq!(asked.form.find("grant_type"), Some("client_credentials"));
        assert_eq!(asked.form.find("resource"), Some(server.url().as_str()));
        assert_eq!(asked.form.find("scope"), Some("read write"));
        let is_basic = asked.header("authorization").is_some();
        assert_eq!(is_basic, name == "client_secret_basic");
        // There is no refresh token: the same again, ahead of time or after a refusal.
        Program::start(&server, &store, set).works().await;
        assert_eq!(authority.count("/token"), 1);
        expire(&store, &server).await;
        let program = Program::start(&server, &store, set);
        program.works().await;
        authority.expire_access();
        program.works().await;
        assert_eq!(seen_after(&authority, 2), "metadata token metadata token");
        assert_eq!(server.count(), 6 + 1, "the first, and one that had ended");
    }
}

#[tokio::test]
async fn a_client_signs_that_it_is_itself() {
    let authority = Authority::start().await;
    let key = Key::generate();
    authority.add_client(Client::with_key("robot", BACK, &key));
    let server = Protected::start(&authority).await;
    let program = Program::start(&server, &memory(), |set| {
        let key = SigningKey::from_pem(&Secret::new(key.pem()), None, None).unwrap();
        set.grant(Grant::ClientCredentials)
            .client("robot", None)
            .signing_key(key)
    });
    program.works().await;
    authority.expire_access();
    // The authority takes each assertion once.
    program.works().await;
    assert_eq!(seen(&authority), "metadata token metadata token");
}

#[tokio::test]
async fn who_signs_for_a_place_that_was_given_signs_for_the_issuer_that_was_named() {
    let authority = Authority::start_with(|knobs| knobs.issuer_path = "/tenant".to_owned()).await;
    let key = Key::generate();
    authority.add_client(Client::with_key("robot", BACK, &key));
    let server = Protected::start(&authority).await;
    let set = |set: OAuthBuilder| {
        let key = SigningKey::from_pem(&Secret::new(key.pem()), None, None).unwrap();
        set.grant(Grant::ClientCredentials)
            .signing_key(key)
            .client("robot", None)
            .token_endpoint(&authority.url("/token"))
            .unwrap()
    };
    let error = Program::start(&server, &memory(), set).fails().await;
    assert!(error.contains("invalid_client"), "{error}");
    let store = memory();
    let named = |builder| set(builder).client_issuer(authority.issuer());
    Program::start(&server, &store, named).works().await;
    expire(&store, &server).await;
    Program::start(&server, &store, named).works().await;
    assert_eq!(seen(&authority), "token token token");
}

#[tokio::test]
async fn where_the_place_of_the_tokens_is_given_nothing_is_looked_up() {
    let authority = Authority::start().await;
    let client = Client::with_secret("robot", BACK, "client_secret_basic", "word");
    authority.add_client(client);
    let server = Protected::start(&authority).await;
    let store = memory();
    let endpoint = authority.url("/token");
    let set = |set: OAuthBuilder| {
        set.grant(Grant::ClientCredentials)
            .client("robot", Some(Secret::new("word")))
            .scopes(Scopes::parse("read"))
            .token_endpoint(&endpoint)
            .unwrap()
    };
    let program = Program::start(&server, &store, set);
    program.works().await;
    assert_eq!(seen(&authority), "token");
    assert_eq!(
        server.site.lines(),
        ["POST /mcp"],
        "it is not refused first"
    );
    authority.expire_access();
    program.works().await;
    expire(&store, &server).await;
    Program::start(&server, &store, set).works().await;
    assert_eq!(seen(&authority), "token token token");
    assert!(server.site.lines().iter().all(|line| line == "POST /mcp"));
    assert_eq!(
        authority.asked("/token")[2].form.find("scope"),
        Some("read")
    );
}

/// A client for itself, which is told where tokens are.
fn told(authority: &Authority) -> impl Fn(OAuthBuilder) -> OAuthBuilder {
    let client = Client::with_secret("robot", BACK, "client_secret_basic", "word");
    authority.add_client(client);
    let endpoint = authority.url("/token");
    move |set| {
        set.grant(Grant::ClientCredentials)
            .client("robot", Some(Secret::new("word")))
            .token_endpoint(&endpoint)
            .unwrap()
    }
}

#[tokio::test]
async fn of_two_programs_at_the_start_one_asks_for_a_token() {
    let authority = Authority::start().await;
    let set = told(&authority);
    let server = Protected::start(&authority).await;
    let watched = Arc::new(WatchedStore::new());
    let store: Arc<dyn Store> = watched.clone();
    let token = authority.path("/token");
    authority.site.hold(&token);
    let both = [(); 2].map(|()| {
        let program = Program::start(&server, &store, &set);
        tokio::spawn(async move { program.works().await })
    });
    authority.site.reached(&token, 1).await;
    tokio::select! {
        () = watched.locked_out(1) => {}
        () = authority.site.reached(&token, 2) => {}
    }
    authority.site.release(&token);
    for one in both {
        one.await.unwrap();
    }
    assert_eq!(seen(&authority), "token");
}

#[tokio::test]
async fn a_login_of_another_that_takes_long_is_waited_for() {
    let authority = Authority::start().await;
    let set = told(&authority);
    let server = Protected::start(&authority).await;
    let store = memory();
    let program = Program::start(&server, &store, &set);
    // What the other holds while its person reads a code off another device.
    let held = store.lock(&format!("{}#login", server.url())).await;
    let logging_in = tokio::spawn(async move { program.login.login().await });
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(3500)).await;
    tokio::time::resume();
    assert!(!logging_in.is_finished());
    drop(held);
    logging_in.await.unwrap().unwrap();
    assert_eq!(seen(&authority), "token");
}

#[tokio::test]
async fn many_requests_at_the_start_ask_for_one_token() {
    let authority = Authority::start().await;
    let set = told(&authority);
    let server = Protected::start(&authority).await;
    let program = Program::start(&server, &memory(), set);
    let all = program.begin(50);
    all.all_work().await;
    assert_eq!((seen(&authority), server.count()), ("token".into(), 50));
}

#[tokio::test]
async fn a_client_that_is_refused_fails_at_once() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let program = Program::start(&server, &memory(), |set| {
        set.grant(Grant::ClientCredentials)
            .client("nobody", Some(Secret::new("word")))
    });
    for times in 1..=5 {
        let error = program.fails().await;
        assert!(error.contains("invalid_client"), "{error}");
        assert_eq!(authority.count("/token"), times);
    }
    assert_eq!(
        authority.count("/authorize") + authority.count("/register"),
        0
    );
}

#[tokio::test]
async fn a_workload_is_who_its_platform_says_and_reads_that_anew_each_time() {
    let authority = Authority::start().await;
    let server = Protected::start(&authority).await;
    let key = Key::generate();
    authority.trust("https://platform.example", key.point());
    let folder = Folder::new("workload");
    let file = folder.path().join("token");
    let write = || {
        let claims = json!({
            "iss": "https://platform.example", "sub": "workload", "aud": authority.issuer(),
            "iat": now(), "exp": now() + 300, "jti": fresh("id"),
        });
        std::fs::write(&file, key.sign(&json!({}), &claims)).unwrap();
    };
    let program = Program::start(&server, &memory(), |set| {
        set.grant(Grant::Workload(TokenSource::file(&file)))
    });
    let error = program.fails().await;
    assert!(error.contains("there is no token in the file"), "{error}");
    assert_eq!(authority.count("/token"), 0);
    write();
    program.works().await;
    write();
    authority.expire_access();
    program.works().await;
    assert_eq!(authority.count("/token"), 2);
    // One that was shown before is refused, and that is all there is to it.
    authority.expire_access();
    let error = program.fails().await;
    assert!(error.contains("invalid_grant"), "{error}");
    let asked = authority.asked("/token");
    assert_eq!(asked.len(), 3);
    let is_bearer = |form: &crate::authority::Fields| form.find("grant_type") == Some(BEARER);
    assert!(asked.iter().all(|asked| is_bearer(&asked.form)));
    assert_eq!(
        authority.count("/authorize") + authority.count("/register"),
        0
    );
}

/// An organisation: its identity provider, the authority that trusts it, and a server.
async fn organisation() -> (Authority, Authority, Protected, String) {
    let (provider, authority) = (Authority::start().await, Authority::start().await);
    // The client has one name at both, and a secret for each.
    let client = Client::with_secret("robot", BACK, "client_secret_basic", "word");
    provider.add_client(client);
    let id_token = provider.add_id_token("robot", "alice");
    authority.trust(provider.issuer(), provider.point());
    let client = Client::with_secret("robot", BACK, "client_secret_basic", "other");
    authority.add_client(client);
    let server = Protected::start(&authority).await;
    (provider, authority, server, id_token)
}

fn of_organisation(
    provider: &Authority,
    id_token: &str,
) -> impl FnOnce(OAuthBuilder) -> OAuthBuilder {
    let identity = IdentityProvider::new(
        &provider.url("/token"),
        "robot",
        Some(Secret::new("word")),
        TokenSource::fixed(id_token),
    );
    let identity = Box::new(identity.unwrap());
    |set| {
        set.grant(Grant::Enterprise(identity))
            .client("robot", Some(Secret::new("other")))
    }
}

#[tokio::test]
async fn an_organisation_says_who_its_people_are() {
    let (provider, authority, server, id_token) = organisation().await;
    let set = of_organisation(&provider, &id_token);
    let program = Program::start(&server, &memory(), set);
    program.works().await;
    program.works().await;
    assert_eq!(
        (seen(&provider), seen(&authority)),
        ("token".into(), "metadata token".into())
    );
    let exchange = &provider.asked("/token")[0].form;
    assert_eq!(exchange.find("audience"), Some(authority.issuer()));
    assert_eq!(exchange.find("resource"), Some(server.url().as_str()));
    let form = &authority.asked("/token")[0].form;
    assert_eq!(form.find("grant_type"), Some(BEARER));
    // Each assertion is good for once: a new token takes a new one.
    authority.expire_access();
    program.works().await;
    assert_eq!(seen(&provider), "token token");
    assert_eq!(seen(&authority), "metadata token metadata token");
    // Neither sees what is between us and the other.
    let shown = |authority: &Authority| format!("{:?}", authority.asked("/token"));
    assert!(!shown(&authority).contains(&id_token));
}

#[tokio::test]
async fn an_organisation_that_does_not_know_somebody_is_not_asked_twice() {
    let (provider, authority, server, _) = organisation().await;
    let set = of_organisation(&provider, "made up");
    let error = Program::start(&server, &memory(), set).fails().await;
    assert!(error.contains("invalid_request"), "{error}");
    assert!(
        error.contains("an assertion of the identity provider"),
        "{error}"
    );
    assert_eq!(
        (seen(&provider), seen(&authority)),
        ("token".into(), "metadata".into())
    );
}

fn with_code(person: &ScriptedPerson) -> impl Fn(OAuthBuilder) -> OAuthBuilder {
    let person = person.clone().preferring_code();
    move |set| set.interaction(person.clone())
}

#[tokio::test]
async fn a_code_is_shown_where_there_is_no_browser() {
    let authority = Authority::start_with(|knobs| knobs.device_interval = 0).await;
    authority.add_client(Client::public("app", BACK));
    let server = Protected::start(&authority).await;
    let store = memory();
    let person = ScriptedPerson::new(Conduct::Agrees);
    let set = |set: OAuthBuilder| with_code(&person)(set).client("app", None);
    Program::start(&server, &store, set).works().await;
    assert_eq!(seen(&authority), "metadata device token");
    let code = &person.codes()[0];
    assert_eq!(code.user_code, "WDJB-MJHT");
    assert_eq!(code.server.as_str(), server.url());
    assert!(person.pages().is_empty());
    // From here on it is like any other login.
    expire(&store, &server).await;
    Program::start(&server, &store, |set| {
        set.interaction(Nobody).client("app", None)
    })
    .works()
    .await;
    assert_eq!(seen_after(&authority, 3), "metadata token");
}

#[tokio::test]
async fn a_code_that_is_not_entered_or_denied_is_no_login() {
    for (end, expected) in [
        (DeviceEnd::Denies, "given up"),
        (DeviceEnd::Waits, "nobody logged in"),
    ] {
        let authority = Authority::start_with(|knobs| {
            knobs.device_interval = 0;
            knobs.device_end = end;
        })
        .await;
        authority.add_client(Client::public("app", BACK));
        let server = Protected::start(&authority).await;
        let person = ScriptedPerson::new(Conduct::Agrees);
        let program = Program::start(&server, &memory(), |set| {
            with_code(&person)(set).client("app", None)
        });
        let error = program.fails().await;
        assert!(error.contains(expected), "{end:?}: {error}");
        assert_eq!(seen(&authority), "metadata device token");
    }
}

#[tokio::test]
async fn a_person_without_a_browser_registers_a_client_for_codes() {
    let authority = Authority::start_with(|knobs| knobs.device_interval = 0).await;
    let server = Protected::start(&authority).await;
    let person = ScriptedPerson::new(Conduct::Agrees);
    let program = Program::start(&server, &memory(), with_code(&person));
    program.works().await;
    assert_eq!(seen(&authority), "metadata register device token");
    let wanted = authority.asked("/register")[0].json().unwrap();
    let device = "urn:ietf:params:oauth:grant-type:device_code";
    assert_eq!(wanted["grant_types"], json!([device, "refresh_token"]));
    // It is known from here on.
    program.login.login().await.unwrap();
    assert_eq!(authority.count("/register"), 1);
}
