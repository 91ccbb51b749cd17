//! How a document can be answered: never, for ever, from elsewhere.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Stage, bounded};
use crate::authority::{Fault, Reply};

const OF_SERVER: &str = "/.well-known/oauth-protected-resource/mcp";
const OF_ISSUER: &str = "/.well-known/oauth-authorization-server";

#[tokio::test]
async fn a_document_that_is_answered_in_a_wrong_way_is_refused() {
    let text = |kind: &str, body: &str| Fault::Answers(Reply::new(200).body(kind, body));
    let to = Fault::redirects;
    let packed = Reply::new(200)
        .header("content-encoding", "gzip")
        .body("application/json", "\u{1f}packed");
    let nowhere = Fault::Answers(Reply::new(302));
    let deep = "[".repeat(100_000);
    for (fault, says) in [
        (to(302, "http://canary/x"), OUT),
        (
            to(307, "http://canary/x"),
            "PLACE was asked for WHAT: status 307, and it leads out of its origin, where nothing \
             is asked",
        ),
        (
            to(308, "//canary/x"),
            "PLACE was asked for WHAT: status 308, and it leads out of its origin, where nothing \
             is asked",
        ),
        (
            to(301, "https://a.example/x"),
            "PLACE was asked for WHAT: status 301, and it leads out of its origin, where nothing \
             is asked",
        ),
        (to(302, "http://169.254.169.254/latest/meta-data"), OUT),
        (to(302, "http://10.0.0.1/"), OUT),
        (to(302, "http://[::1]/"), OUT),
        (to(302, "javascript:alert(1)"), OUT),
        (to(302, "file:///etc/passwd"), OUT),
        (to(302, "http://a@127.0.0.1/"), OUT),
        (
            nowhere,
            "PLACE was asked for WHAT: status 302, and no one place that it has moved to",
        ),
        (text("application/json", ""), NO_JSON),
        (text("application/json", "[]"), NO_OBJECT),
        (text("application/json", "\"x\""), NO_OBJECT),
        (text("application/json", &deep), NO_JSON),
        (text("text/html", "<html>sign in first</html>"), NO_JSON),
        (Fault::garbage(), NO_JSON),
        (
            Fault::is_huge(300 * 1024),
            "PLACE was asked for WHAT and its answer cannot be read: the body of 307200 bytes or \
             more is over the limit of 262144",
        ),
        (
            Fault::Answers(packed),
            "PLACE was asked for WHAT and its answer cannot be read: the body has the encoding \
             \"gzip\", expected none",
        ),
        (Fault::breaks(), "PLACE was asked for WHAT: status 500"),
        (
            Fault::is_unavailable(),
            "PLACE was asked for WHAT: status 503",
        ),
        (
            Fault::refuses(429, "slow"),
            "PLACE was asked for WHAT: status 429",
        ),
        (
            Fault::Closes,
            "WHAT could not be asked for: the connection to PLACE was lost after the request was \
             sent, it may have run: unexpected end of file",
        ),
    ] {
        let case = format!("{fault:?}");
        let case = &case[..case.len().min(200)];

        let stage = Stage::new().await;
        let fault = placed(&stage, fault);
        stage
            .protected
            .site
            .misbehave_always(OF_SERVER, fault.clone());
        let what = "the metadata of the server";
        let says = says
            .replace("PLACE", &format!("http://server{OF_SERVER}"))
            .replace("WHAT", what);
        assert_eq!(stage.refusal().await, says, "{case}");
        stage.check_asked(case, &[]);

        let stage = Stage::new().await;
        stage.authority.site.misbehave_always(OF_ISSUER, fault);
        let issuer = says.replace(
            &format!("http://server{OF_SERVER}"),
            &format!("http://issuer{OF_ISSUER}"),
        );
        let issuer = issuer.replace(what, "the metadata of the authorization server");
        assert_eq!(stage.refusal().await, issuer, "{case}");
        stage.check_asked(case, &[&format!("GET {OF_ISSUER}")]);
    }
}

/// The same, where it names a place of the stage.
fn placed(stage: &Stage, fault: Fault) -> Fault {
    let Fault::Answers(mut reply) = fault else {
        return fault;
    };
    if let Some(location) = reply.headers.remove("location") {
        let location = stage.with_places(location.to_str().unwrap());
        let location = location.replace(
            "//canary",
            stage.canary.origin().trim_start_matches("http:"),
        );
        reply = reply.header("location", &location);
    }
    Fault::Answers(reply)
}

#[tokio::test]
async fn a_document_that_moves_in_a_circle_is_followed_five_times() {
    let stage = Stage::new().await;
    let site = &stage.protected.site;
    site.misbehave_always(OF_SERVER, Fault::redirects(302, "/second"));
    site.misbehave_always("/second", Fault::redirects(307, OF_SERVER));
    assert_eq!(
        stage.refusal().await,
        "http://server/.well-known/oauth-protected-resource/mcp was asked for the metadata of \
             the server: it has moved more than 5 times"
    );
    assert_eq!(site.count(OF_SERVER) + site.count("/second"), 6);
    stage.check_asked("circle", &[]);
}

#[tokio::test]
async fn a_document_that_never_comes_is_given_up() {
    let stage = Stage::new().await;
    let site = &stage.protected.site;
    site.misbehave_always(OF_SERVER, Fault::StaysSilent);
    let (refusal, ()) = tokio::join!(stage.refusal(), async {
        bounded(site.reached(OF_SERVER, 1)).await;
        tokio::time::pause();
    });
    assert_eq!(
        refusal,
        "http://server/.well-known/oauth-protected-resource/mcp was asked for the metadata of \
             the server and did not answer within 5s"
    );
    stage.check_asked("silent", &[]);
}

#[tokio::test]
async fn a_document_without_a_proper_end_is_given_up() {
    for (head, rest, says) in [
        (
            "content-length: 100",
            Rest::Ends,
            "http://crooked/.well-known/oauth-authorization-server was asked for the metadata of \
             the authorization server and its answer cannot be read: the body ended before its \
             end: unexpected end of file",
        ),
        (
            "transfer-encoding: chunked",
            Rest::Ends,
            "http://crooked/.well-known/oauth-authorization-server was asked for the metadata of \
             the authorization server and its answer cannot be read: the body ended before its \
             end: unexpected end of file",
        ),
        (
            "transfer-encoding: chunked",
            Rest::ForEver,
            "http://crooked/.well-known/oauth-authorization-server was asked for the metadata of \
             the authorization server and its answer cannot be read: the body of so many bytes or \
             more is over the limit of 262144",
        ),
        (
            "connection: close",
            Rest::ForEver,
            "http://crooked/.well-known/oauth-authorization-server was asked for the metadata of \
             the authorization server and its answer cannot be read: the body of so many bytes or \
             more is over the limit of 262144",
        ),
        (
            "content-length: 1048576",
            Rest::EachSecond,
            "http://crooked/.well-known/oauth-authorization-server was asked for the metadata of \
             the authorization server and its answer cannot be read: the body of 1048576 bytes or \
             more is over the limit of 262144",
        ),
        (
            "content-length: 262144",
            Rest::EachSecond,
            "http://crooked/.well-known/oauth-authorization-server was asked for the metadata of \
             the authorization server and did not answer within 5s",
        ),
    ] {
        let mut crooked = Crooked::start(head, rest).await;
        let stage = Stage::new().await;
        let issuers = format!("[\"{}\"]", crooked.origin);
        let edit = stage.edit("authorization_servers", &issuers);
        stage.protected.change(|knobs| knobs.metadata = edit);
        let is_about_time = says.ends_with("within 5s");
        let (refusal, ()) = tokio::join!(stage.refusal(), async {
            bounded(crooked.began.changed()).await.unwrap();
            // Nothing else is waited for from here on.
            if is_about_time {
                tokio::time::pause();
            }
        });
        if is_about_time {
            tokio::time::resume();
        }
        let mut refusal = refusal.replace(&crooked.origin, "http://crooked");
        // How much of what does not end has come is a matter of time.
        if matches!(rest, Rest::ForEver)
            && let Some((before, counted)) = refusal.split_once("the body of ")
            && let Some((count, after)) = counted.split_once(" bytes")
        {
            assert!(count.parse::<usize>().unwrap() > 262_144, "{refusal}");
            refusal = format!("{before}the body of so many bytes{after}");
        }
        assert_eq!(refusal, says, "{head} {rest:?}");
        stage.check_asked(head, &[]);
    }
}

/// A web server that answers everything with the beginning of a document.
struct Crooked {
    origin: String,
    /// Changes when an answer has begun.
    began: watch::Receiver<()>,
    accepting: JoinHandle<()>,
}

/// What comes after it.
#[derive(Clone, Copy, Debug)]
enum Rest {
    /// The end of the connection.
    Ends,
    /// More and more.
    ForEver,
    /// A little, and then a little.
    EachSecond,
}

impl Crooked {
    async fn start(header: &'static str, rest: Rest) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let (begins, began) = watch::channel(());
        let accepting = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut asked = [0; 4096];
                let _ = stream.read(&mut asked).await;
                let head = format!("HTTP/1.1 200 OK\r\n{header}\r\n\r\n");
                let _ = stream.write_all(head.as_bytes()).await;
                let piece = match header.contains("chunked") {
                    true => "10\r\n{\"issuer\": \"xxxx\r\n",
                    false => "{\"issuer\": \"xxxx",
                };
                loop {
                    let written = stream.write_all(piece.as_bytes()).await;
                    begins.send_replace(());
                    if written.is_err() {
                        break;
                    }
                    match rest {
                        Rest::Ends => break,
                        Rest::ForEver => {}
                        Rest::EachSecond => tokio::time::sleep(Duration::from_secs(1)).await,
                    }
                }
            }
        });
        Self {
            origin,
            began,
            accepting,
        }
    }
}

impl Drop for Crooked {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

const OUT: &str = "PLACE was asked for WHAT: status 302, and it leads out of its origin, where \
    nothing is asked";

const NO_JSON: &str = "the metadata at PLACE is not used: it is not JSON";

const NO_OBJECT: &str = "the metadata at PLACE is not used: it is not an object of JSON";
