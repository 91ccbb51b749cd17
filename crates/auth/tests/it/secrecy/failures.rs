//! Logins that fail, at those who say back what they were told.

use std::sync::Arc;

use serde_json::json;
use switchboard_auth::{Entry, Grant, MemoryStore, OAuth, Secret, Store};

use super::Watch;
use crate::authority::{Asked, Conduct, Reply, ScriptedPerson, Site, fresh};
use crate::hostile::{bounded, call};

type Says = fn(&Asked) -> Reply;

/// A server and its issuer in one, which gives out nothing but what it was told.
async fn parrot(token: Says, server: Says, gives: bool) -> Site {
    let site = Site::start().await;
    let origin = site.origin().to_owned();
    site.add_route(Box::new(move |asked| {
        let place = |path: &str| format!("{origin}{path}");
        Some(match &*asked.path {
            "/mcp" => server(&asked),
            "/.well-known/oauth-protected-resource/mcp" => {
                let document = json!({
                    "resource": place("/mcp"), "authorization_servers": [origin],
                });
                Reply::json(200, &document)
            }
            "/.well-known/oauth-authorization-server" => {
                let document = json!({
                    "issuer": origin, "token_endpoint": place("/token"),
                    "authorization_endpoint": place("/authorize"),
                    "registration_endpoint": place("/register"),
                    "revocation_endpoint": place("/token"),
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["client_secret_post"],
                });
                Reply::json(200, &document)
            }
            "/register" => {
                let client = json!({
                    "client_id": "parrot", "client_secret": "of/the+registered=client-0123",
                });
                Reply::json(201, &client)
            }
            "/authorize" => {
                let state = asked.query.find("state").unwrap_or_default();
                let back = asked.query.find("redirect_uri").unwrap_or_default();
                let location = format!("{back}?code={}&state={state}", fresh("code"));
                Reply::new(302).header("location", &location)
            }
            "/token" if gives && asked.form.find("grant_type") == Some("authorization_code") => {
                let tokens = json!({
                    "access_token": fresh("access"), "token_type": "Bearer",
                    "refresh_token": fresh("refresh"), "expires_in": 3600,
                });
                Reply::json(200, &tokens)
            }
            "/token" => token(&asked),
            _ => return None,
        })
    }));
    site
}

fn told(asked: &Asked) -> String {
    let header = |name| asked.header(name).unwrap_or_default().to_owned();
    format!(
        "{} {} {}",
        asked.body,
        header("authorization"),
        header("dpop")
    )
}

/// The ways in which something is said back.
const PARROTS: [Says; 9] = [
    |asked| {
        Reply::json(
            400,
            &json!({ "error": "invalid_grant", "error_description": told(asked) }),
        )
    },
    |asked| Reply::json(400, &json!({ "error": told(asked) })),
    |asked| {
        Reply::json(
            401,
            &json!({ "error": { "code": told(asked), "message": told(asked) } }),
        )
    },
    |asked| {
        Reply::json(
            500,
            &json!({ "error": "server_error", "message": told(asked) }),
        )
    },
    |asked| Reply::new(500).body("text/html", &told(asked)),
    |asked| Reply::new(200).body("text/html", &told(asked)),
    |asked| Reply::json(200, &json!({ "access_token": { "not": told(asked) } })),
    |asked| {
        Reply::json(
            200,
            &json!({ "token_type": told(asked), "access_token": "a-token" }),
        )
    },
    |asked| {
        let query = told(asked).replace(' ', "&");
        Reply::new(307).header("location", &format!("https://elsewhere.example/?{query}"))
    },
];

fn refuses(asked: &Asked) -> Reply {
    let challenge = format!(
        "Bearer error=\"invalid_token\", error_description=\"{} is old\", realm=\"{}\"",
        asked.header("authorization").unwrap_or_default(),
        asked.header("authorization").unwrap_or_default(),
    );
    Reply::new(401)
        .header("www-authenticate", &challenge)
        .body("text/plain", &told(asked))
}

fn sends_on(asked: &Asked) -> Reply {
    match asked.header("authorization") {
        None => refuses(asked),
        Some(token) => {
            let token = token.replace(' ', "+");
            let location = format!("https://elsewhere.example/?token={token}");
            Reply::new(307).header("location", &location)
        }
    }
}

fn login(site: &Site) -> switchboard_auth::OAuthBuilder {
    OAuth::for_server(&site.url("/mcp"))
        .unwrap()
        .store(Arc::new(MemoryStore::new()))
        .interaction(ScriptedPerson::new(Conduct::Agrees))
}

#[tokio::test]
async fn who_says_back_what_they_were_told_is_not_repeated() {
    for parrots in PARROTS {
        let watch = Watch::new();
        let site = parrot(parrots, refuses, false).await;
        let known = Some(Secret::new("of-the/known client+0123"));
        for login in [
            login(&site),
            login(&site).client("known", known.clone()),
            login(&site)
                .client("known", known)
                .grant(Grant::ClientCredentials),
        ] {
            let login = login.build().unwrap();
            let error = bounded(Box::pin(login.login())).await.unwrap_err();
            watch.error(&error);
            watch.value(&login);
            let error = call(&site.url("/mcp"), &login).await.unwrap_err();
            watch.error(&error);
        }
        watch.site(&site);
        watch.check(6);
    }
}

#[tokio::test]
async fn a_renewal_that_is_refused_shows_nothing() {
    for parrots in PARROTS {
        let watch = Watch::new();
        let site = parrot(parrots, refuses, true).await;
        let login = login(&site).build().unwrap();
        let error = call(&site.url("/mcp"), &login).await.unwrap_err();
        watch.error(&error);
        // The end of a token is answered in the same way.
        assert!(login.logout().await.unwrap());
        let ended = |asked: &Arc<Asked>| asked.form.find("token_type_hint").is_some();
        assert!(site.all().iter().any(ended));
        watch.site(&site);
        watch.check(6);
    }
}

#[tokio::test]
async fn a_server_that_sends_a_token_elsewhere_shows_nothing() {
    let watch = Watch::new();
    let site = parrot(PARROTS[0], sends_on, true).await;
    let login = login(&site).build().unwrap();
    let error = call(&site.url("/mcp"), &login).await.unwrap_err();
    let error = watch.error(&error);
    assert!(error.contains("elsewhere.example"), "{error}");
    watch.site(&site);
    watch.check(4);
}

#[tokio::test]
async fn what_is_kept_and_cannot_be_read_is_not_shown() {
    let watch = Watch::new();
    let folder = crate::folder::Folder::new("secrecy-broken");
    let store = folder.store();
    let server = "https://mcp.example/mcp?api_key=in-the-query-0123";
    watch.secret("in-the-query-0123");
    watch.secret("kept-token-0123456789");
    let mut entry: Entry = crate::folder::entry(server, 1);
    entry.records[0].tokens.as_mut().unwrap().access = Secret::new("kept-token-0123456789");
    watch.value(&entry);
    store.save(&entry).await.unwrap();
    let file = crate::folder::only(&store, "json");
    watch.value(&file);
    let whole = std::fs::read_to_string(&file).unwrap();
    assert!(whole.contains("kept-token-0123456789"));
    for broken in [
        whole.replace("kept-token-0123456789", "kept-token-0123456789\" x"),
        whole[..whole.find("kept-token-0123456789").unwrap() + 21].to_owned(),
        whole.replace("\"bearer\"", "\"kept-token-0123456789\""),
        whole.replace("\"version\"", "\"kept-token-0123456789\""),
        whole.replace("issued_at\":", "issued_at\":\"kept-token-0123456789\","),
    ] {
        std::fs::write(&file, broken).unwrap();
        let error = store.load(server).await.unwrap_err();
        watch.error(&error);
        let login = OAuth::for_server(server)
            .unwrap()
            .store(Arc::new(folder.store()));
        let login = login.build().unwrap();
        watch.value(&login);
        let error = login.status().await.unwrap_err();
        watch.error(&error);
    }
    watch.check(2);
}
