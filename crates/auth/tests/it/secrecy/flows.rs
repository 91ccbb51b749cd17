//! Logins that succeed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, StatusCode};
use switchboard_auth::{
    Bearer, Browser, ClientMethod, Grant, IdentityProvider, OAuth, OAuthBuilder, Place, Secret,
    SigningKey, Store, TokenSource,
};
use switchboard_transport::credentials::Refusal;
use switchboard_transport::http::client::HttpClient;

use super::Watch;
use crate::authority::{BACK, Client, Key, Proofs, ask};
use crate::flow::direct;
use crate::folder::Folder;
use crate::hostile::{Stage, bounded, call};

/// Asks twice, renews, asks, ends; and prints everything meanwhile.
async fn use_login(watch: &Watch, stage: &Stage, builder: OAuthBuilder, store: Arc<dyn Store>) {
    watch.value(&builder);
    let login: OAuth = builder.build().unwrap();
    watch.value(&login);
    let url = format!("{}?api_key=in-the-query-0123", stage.protected.url());
    for _ in 0..3 {
        let answer = call(&url, &login).await;
        watch.value(&answer);
        let answer = answer.unwrap_or_else(|error| panic!("{}", watch.error(&error)));
        assert_eq!(answer.status, 200);
        watch.value(&login.status().await.unwrap());
        watch.store(&*store).await;
        stage.authority.expire_access();
        stage.authority.renew_nonce();
        stage.protected.renew_nonce();
    }
    assert!(login.logout().await.unwrap());
    assert!(stage.authority.count("/revoke") > 0, "tokens were sent");
    for site in [&*stage.authority.site, &*stage.protected.site] {
        watch.site(site);
    }
    for secret in stage.authority.secrets() {
        watch.secret(secret);
    }
    for page in stage.person.pages() {
        watch.value(&page);
    }
    for code in stage.person.codes() {
        watch.value(&code);
    }
}

fn builder(stage: &Stage, store: &Arc<dyn Store>) -> OAuthBuilder {
    let url = format!("{}?api_key=in-the-query-0123", stage.protected.url());
    OAuth::for_server(&url)
        .unwrap()
        .interaction(stage.person.clone())
        .store(Arc::clone(store))
}

#[tokio::test]
async fn a_login_with_a_registered_secret_shows_nothing() {
    let watch = Watch::new();
    let stage = Stage::new().await;
    stage.authority.change(|knobs| {
        knobs.needs_secret = true;
        knobs.methods = vec!["client_secret_basic"];
    });
    // The second time it wants more.
    stage.protected.change(|knobs| {
        knobs.needs = HashMap::from([("ping", vec!["admin"])]);
    });
    let folder = Folder::new("secrecy-registered");
    let store: Arc<dyn Store> = Arc::new(folder.store());
    use_login(&watch, &stage, builder(&stage, &store), Arc::clone(&store)).await;
    assert!(stage.person.pages().len() >= 2);
    watch.check(15);
}

#[tokio::test]
async fn a_login_with_proofs_shows_nothing() {
    let watch = Watch::new();
    let stage = Stage::new().await;
    stage.authority.change(|knobs| {
        knobs.proofs = Proofs::Needed;
        knobs.demands_nonce = true;
    });
    stage.protected.change(|knobs| {
        knobs.proofs = Proofs::Needed;
        knobs.demands_nonce = true;
    });
    let folder = Folder::new("secrecy-proofs");
    let store: Arc<dyn Store> = Arc::new(folder.store());
    let builder = builder(&stage, &store).prove_possession();
    use_login(&watch, &stage, builder, Arc::clone(&store)).await;
    watch.check(15);
}

#[tokio::test]
async fn a_client_that_is_known_shows_nothing() {
    for method in [
        ClientMethod::ClientSecretBasic,
        ClientMethod::ClientSecretPost,
    ] {
        let watch = Watch::new();
        let stage = Stage::new().await;
        let secret = "of-the/client+0123456789";
        watch.secret(secret);
        let client = Client::with_secret("known", BACK, method.as_str(), secret);
        stage.authority.add_client(client);
        let folder = Folder::new(&format!("secrecy-{}", method.as_str()));
        let store: Arc<dyn Store> = Arc::new(folder.store());
        let builder = builder(&stage, &store)
            .grant(Grant::ClientCredentials)
            .client("known", Some(Secret::new(secret)))
            .client_method(method);
        use_login(&watch, &stage, builder, Arc::clone(&store)).await;
        watch.check(5);
    }
}

#[tokio::test]
async fn a_client_that_signs_shows_nothing() {
    let watch = Watch::new();
    let stage = Stage::new().await;
    let key = Key::generate();
    let pem = key.pem();
    let inner: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    watch.secret(inner);
    let signing = SigningKey::from_pem(&Secret::new(pem), None, Some("key-1".to_owned())).unwrap();
    watch.value(&signing);
    stage
        .authority
        .add_client(Client::with_key("known", BACK, &key));
    let folder = Folder::new("secrecy-signs");
    let store: Arc<dyn Store> = Arc::new(folder.store());
    let builder = builder(&stage, &store)
        .grant(Grant::ClientCredentials)
        .client("known", None)
        .signing_key(signing);
    use_login(&watch, &stage, builder, Arc::clone(&store)).await;
    watch.check(7);
}

#[tokio::test]
async fn a_code_for_another_device_shows_nothing_but_itself() {
    let watch = Watch::new();
    let mut stage = Stage::new().await;
    stage.person = stage.person.preferring_code();
    stage.authority.add_client(Client::public("known", BACK));
    let folder = Folder::new("secrecy-device");
    let store: Arc<dyn Store> = Arc::new(folder.store());
    let builder = builder(&stage, &store).client("known", None);
    use_login(&watch, &stage, builder, Arc::clone(&store)).await;
    assert_eq!(stage.person.codes().len(), 1);
    watch.check(5);
}

#[tokio::test]
async fn an_organisation_that_says_who_somebody_is_shows_nothing() {
    let watch = Watch::new();
    let stage = Stage::new().await;
    let provider = crate::authority::Authority::start().await;
    let secret = "at-the-provider-0123";
    provider.add_client(Client::with_secret(
        "desk",
        BACK,
        "client_secret_basic",
        secret,
    ));
    stage.authority.add_client(Client::with_secret(
        "desk",
        BACK,
        "client_secret_basic",
        secret,
    ));
    stage.authority.trust(provider.issuer(), provider.point());
    let id_token = provider.add_id_token("desk", "alice");
    watch.secret(secret);
    watch.secret(id_token.as_str());
    let provider_of_login = IdentityProvider::new(
        &provider.url("/token"),
        "desk",
        Some(Secret::new(secret)),
        TokenSource::fixed(id_token.as_str()),
    );
    let grant = Grant::Enterprise(Box::new(provider_of_login.unwrap()));
    watch.value(&grant);
    let folder = Folder::new("secrecy-organisation");
    let store: Arc<dyn Store> = Arc::new(folder.store());
    let builder = builder(&stage, &store)
        .client("desk", Some(Secret::new(secret)))
        .grant(grant);
    use_login(&watch, &stage, builder, Arc::clone(&store)).await;
    watch.site(&provider.site);
    for secret in provider.secrets() {
        watch.secret(secret);
    }
    watch.check(6);
}

/// What a browser is started with is in the list of processes, for all to see.
#[tokio::test]
async fn a_browser_is_given_the_page_and_no_secret() {
    let watch = Watch::new();
    let stage = Stage::new().await;
    let opened: Arc<Mutex<Vec<String>>> = Arc::default();
    let opening = Arc::clone(&opened);
    let browser = Browser::new().opener(move |place| {
        opening.lock().unwrap().push(place.as_str().to_owned());
        let page = place.as_str().to_owned();
        tokio::spawn(async move {
            let reply = ask("GET", &page, &[], "").await;
            let back = reply.headers["location"].to_str().unwrap().to_owned();
            ask("GET", &back, &[], "").await
        });
        Ok(())
    });
    watch.value(&browser);
    let login = stage.builder().interaction(browser).build().unwrap();
    let status = bounded(Box::pin(login.login())).await;
    watch.value(&status);
    assert!(status.is_ok());
    assert_eq!(
        call(&stage.protected.url(), &login).await.unwrap().status,
        200
    );

    let opened = opened.lock().unwrap().clone();
    assert_eq!(opened.len(), 1);
    let state = stage.authority.asked("/authorize")[0]
        .query
        .find("state")
        .unwrap()
        .to_owned();
    watch.site(&stage.authority.site);
    watch.site(&stage.protected.site);
    for secret in stage.authority.secrets() {
        watch.secret(secret);
    }
    watch.check(4);
    // The state is in the page, which is what it is for; nothing else is.
    let page = opened[0].replace(&state, "");
    *watch.printed.lock().unwrap() += &format!("\n{page}");
    watch.check(4);
}

#[tokio::test]
async fn a_token_from_elsewhere_shows_nothing() {
    let watch = Watch::new();
    let stage = Stage::new().await;
    let token = "from-elsewhere-0123456789";
    watch.secret(token);
    let server = Place::parse(&stage.protected.url()).unwrap();
    for (source, expected) in [
        (TokenSource::fixed(token), Ok(401)),
        (TokenSource::command("echo", [token]), Ok(401)),
        (TokenSource::command("false", [token]), Err("\"false\"")),
        (TokenSource::file("/nonexistent/file"), Err("/nonexistent")),
        (TokenSource::environment(NO_VARIABLE), Err(NO_VARIABLE)),
    ] {
        watch.value(&source);
        let bearer = Arc::new(Bearer::new(&server, source));
        watch.value(&bearer);
        let mut settings = direct();
        settings.credentials = Some(bearer);
        watch.value(&settings);
        let client = HttpClient::new(settings).unwrap();
        watch.value(&client);
        let mut request = http::Request::new(bytes::Bytes::new());
        *request.uri_mut() = stage.protected.url().parse().unwrap();
        let before = stage.protected.count();
        let answer = bounded(Box::pin(client.send(request))).await;
        watch.value(&answer);
        match (answer, expected) {
            (Ok(answer), Ok(status)) => {
                assert_eq!(answer.status, status);
                let sent = stage.protected.asked()[before].clone();
                let header = format!("Bearer {token}");
                assert_eq!(sent.header("authorization"), Some(header.as_str()));
            }
            (Err(error), Err(what)) => {
                let error = watch.error(&error);
                assert!(error.contains(what), "{error}");
                assert_eq!(stage.protected.count(), before);
            }
            (answer, expected) => panic!("{answer:?}, expected {expected:?}"),
        }
    }
    let mut headers = HeaderMap::new();
    headers.insert(
        "www-authenticate",
        format!("Bearer realm={token}").parse().unwrap(),
    );
    let sent = Some(format!("Bearer {token}").parse().unwrap());
    let uri = format!("http://127.0.0.1/?token={token}").parse().unwrap();
    watch.value(&Refusal::new(
        uri,
        StatusCode::UNAUTHORIZED,
        headers,
        sent,
        1,
    ));
    for asked in stage.protected.site.all() {
        watch.asked(&asked);
    }
    watch.check(1);
}

const NO_VARIABLE: &str = "SWITCHBOARD_TEST_NONE";
