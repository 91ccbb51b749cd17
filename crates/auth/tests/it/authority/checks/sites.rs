//! The web server: what it keeps, and how it misbehaves.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::authority::{Fault, Reply, Site, ask};

async fn site() -> Site {
    let site = Site::start().await;
    site.add_route(Box::new(|asked| {
        (asked.path == "/a").then(|| Reply::new(200).body("text/plain", "here"))
    }));
    site
}

#[tokio::test]
async fn what_was_asked_is_kept_in_order() {
    let site = site().await;
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let reply = ask("POST", &site.url("/a?x=1"), &form, "y=2&y=3&empty=").await;
    assert_eq!((reply.status, reply.body.as_str()), (200, "here"));
    assert_eq!(
        ask("GET", &site.url("/b"), &[("x", "y")], "").await.status,
        404
    );
    assert_eq!(site.lines(), ["POST /a", "GET /b"]);
    let asked = site.asked("/a");
    assert_eq!(site.count("/a"), 1);
    assert_eq!(asked[0].query.find("x"), Some("1"));
    assert_eq!(asked[0].form.find("y"), Some("2"));
    assert_eq!(asked[0].form.find("empty"), None);
    assert_eq!(asked[0].form.repeated(), Some("y"));
    assert_eq!(site.asked("/b")[0].header("x"), Some("y"));
}

#[tokio::test]
async fn a_fault_is_met_once_or_until_it_is_taken_back() {
    let site = site().await;
    let url = site.url("/a");
    let status = async || ask("GET", &url, &[], "").await.status;
    site.misbehave("/a", Fault::breaks());
    site.misbehave("/a", Fault::is_unavailable());
    assert_eq!(
        (status().await, status().await, status().await),
        (500, 503, 200)
    );
    site.misbehave_always("/a", Fault::refuses(400, "invalid_grant"));
    assert_eq!((status().await, status().await), (400, 400));
    site.behave("/a");
    assert_eq!(status().await, 200);
}

#[tokio::test]
async fn faults_are_what_they_say() {
    let site = site().await;
    let meet = async |fault| {
        site.misbehave("/a", fault);
        ask("GET", &site.url("/a"), &[], "").await
    };
    assert_eq!(meet(Fault::is_huge(300_000)).await.body.len(), 300_000);
    let garbage = meet(Fault::garbage()).await.body;
    assert!(serde_json::from_str::<serde_json::Value>(&garbage).is_err());
    let reply = meet(Fault::redirects(307, "http://127.0.0.1:9/")).await;
    assert_eq!(reply.status, 307);
    assert_eq!(reply.headers["location"], "http://127.0.0.1:9/");
    site.misbehave("/a", Fault::Closes);
    let url = site.url("/a");
    let closed = tokio::spawn(async move { ask("GET", &url, &[], "").await });
    assert!(closed.await.is_err());
    site.misbehave("/a", Fault::StaysSilent);
    let url = site.url("/a");
    let silent = tokio::spawn(async move { ask("GET", &url, &[], "").await });
    site.reached("/a", 5).await;
    assert!(!silent.is_finished());
    silent.abort();
}

#[tokio::test]
async fn a_connection_may_be_kept() {
    let site = site().await;
    let address = site.origin().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let answer = b"HTTP/1.1 200 Said\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\nhere";
    for _ in 0..2 {
        stream.write_all(b"GET /a HTTP/1.1\r\n\r\n").await.unwrap();
        let mut found = vec![0; answer.len()];
        stream.read_exact(&mut found).await.unwrap();
        assert_eq!(found, answer);
    }
    assert_eq!(site.count("/a"), 2);
}

#[tokio::test]
async fn held_requests_are_counted_and_answered_when_they_are_released() {
    let site = Arc::new(site().await);
    site.hold("/a");
    let mut asking = JoinSet::new();
    for _ in 0..10 {
        let url = site.url("/a");
        asking.spawn(async move { ask("GET", &url, &[], "").await.status });
    }
    site.reached("/a", 10).await;
    assert!(asking.try_join_next().is_none());
    site.release("/a");
    assert_eq!(asking.join_all().await, [200; 10]);
}
