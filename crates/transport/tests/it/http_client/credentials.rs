//! Credentials: when they are asked, and when they are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use switchboard_transport::credentials::{Asking, Credentials, CredentialsError, Refusal};
use switchboard_transport::http::client::SendError;

use super::{Raw, answer, call, chain, client, post, refused};

/// Sends the number of the token it has, and gets the next one as often as it may.
#[derive(Debug)]
struct Numbered {
    token: AtomicU32,
    last: u32,
    refusals: AtomicU32,
}

impl Numbered {
    fn new(last: u32) -> Arc<Self> {
        Arc::new(Self {
            token: AtomicU32::new(1),
            last,
            refusals: AtomicU32::new(0),
        })
    }
}

impl Credentials for Numbered {
    fn authorize<'a>(&'a self, request: &'a mut http::request::Parts) -> Asking<'a, ()> {
        Box::pin(async move {
            let token = self.token.load(Ordering::SeqCst);
            let value = format!("Bearer {token}").parse().unwrap();
            request.headers.insert("authorization", value);
            // What it must not do has no effect.
            request.uri = http::Uri::from_static("http://evil.test/");
            request.method = http::Method::DELETE;
            Ok(())
        })
    }

    fn refused<'a>(&'a self, refusal: &'a Refusal) -> Asking<'a, bool> {
        Box::pin(async move {
            let attempt = self.refusals.fetch_add(1, Ordering::SeqCst) + 1;
            assert_eq!(refusal.attempt, attempt);
            let sent = format!("Bearer {}", self.token.load(Ordering::SeqCst));
            assert_eq!(refusal.authorization.as_ref().unwrap(), sent.as_str());
            assert!(!format!("{refusal:?}").contains("Bearer"));
            let challenges: Vec<_> = refusal.challenges().collect();
            assert_eq!(challenges, ["Bearer scope=\"tools\"", "Basic"]);
            let token = self.token.load(Ordering::SeqCst);
            if token == 100 {
                return Err(CredentialsError::LoginRequired {
                    what: "run `login`".to_owned(),
                });
            }
            self.token
                .store((token + 1).min(self.last), Ordering::SeqCst);
            Ok(token < self.last)
        })
    }
}

const REFUSAL: &str = "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer scope=\"tools\"\r\n\
                       www-authenticate: Basic\r\ncontent-length: 0\r\n\r\n";

/// Lets in whoever has the third token.
async fn guarded() -> Raw {
    Raw::start(|_, mut peer| async move {
        while let Some(request) = peer.request().await {
            match request.contains("authorization: Bearer 3\r\n") {
                true => peer.say(&answer("{}")).await,
                false => peer.say(REFUSAL).await,
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_refusal_is_told_to_the_credentials_and_the_request_sent_again() {
    let mut server = guarded().await;
    let credentials = Numbered::new(9);
    let client = client(|settings| settings.credentials = Some(credentials.clone()));
    assert_eq!(call(&client, &server.url("/mcp")).await, "{}");
    for token in 1..=3 {
        let seen = server.next_request().await;
        assert!(seen.starts_with("POST /mcp HTTP/1.1\r\n"), "{seen}");
        assert!(
            seen.contains(&format!("authorization: Bearer {token}\r\n")),
            "{seen}"
        );
        assert!(seen.ends_with("\r\n\r\n{}"), "{seen}");
    }
    assert_eq!(call(&client, &server.url("/mcp")).await, "{}");
    assert_eq!(server.unread(), 1);
    assert_eq!(credentials.refusals.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn four_refusals_are_enough_and_the_last_is_not_told() {
    let mut server = Raw::answering(REFUSAL).await;
    let credentials = Numbered::new(99);
    let client = client(|settings| settings.credentials = Some(credentials.clone()));
    let error = refused(&client, &server.url("/mcp")).await;
    assert!(
        matches!(error, SendError::StillRefused { attempts: 4, .. }),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        format!(
            "{} refused new credentials too (status 401, 4 attempts)",
            server.url("/mcp")
        )
    );
    assert!(!error.may_have_run());
    assert_eq!(server.unread(), 4);
    assert_eq!(credentials.refusals.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn credentials_that_have_nothing_new_leave_the_refusal_to_the_caller() {
    let mut server = Raw::answering(REFUSAL).await;
    let client = client(|settings| settings.credentials = Some(Numbered::new(1)));
    let received = client.send(post(&server.url("/mcp"))).await.unwrap();
    assert_eq!(received.status, 401);
    assert_eq!(
        received.headers.get_all("www-authenticate").iter().count(),
        2
    );
    assert_eq!(server.unread(), 1);
}

#[tokio::test]
async fn a_header_of_the_caller_is_sent_as_it_is_and_asks_nobody() {
    let mut server = Raw::answering(REFUSAL).await;
    let credentials = Numbered::new(9);
    let client = client(|settings| settings.credentials = Some(credentials.clone()));
    let mut request = post(&server.url("/mcp"));
    request
        .headers_mut()
        .insert("authorization", "Bearer mine".parse().unwrap());
    assert_eq!(client.send(request).await.unwrap().status, 401);
    assert!(
        server
            .next_request()
            .await
            .contains("authorization: Bearer mine\r\n")
    );
    assert_eq!(server.unread(), 0);
    assert_eq!(credentials.refusals.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_login_that_is_needed_is_said_to_the_caller() {
    let server = Raw::answering(REFUSAL).await;
    let credentials = Numbered::new(101);
    credentials.token.store(100, Ordering::SeqCst);
    let client = client(|settings| settings.credentials = Some(credentials));
    let error = refused(&client, &server.url("/mcp")).await;
    let SendError::Credentials { source, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(matches!(source, CredentialsError::LoginRequired { .. }));
    assert_eq!(
        chain(&error),
        format!(
            "there are no credentials for {}: a login is needed: run `login`",
            server.url("/mcp")
        )
    );
}
