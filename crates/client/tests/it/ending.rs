//! The end of a client: asked for, by drop, with its runtime; early and late.

use std::future::poll_fn;
use std::io::{BufRead, BufReader, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use serde_json::Value;
use switchboard_client::{Class, Client, ErrorKind, Handlers, NoHost, Spec, State};
use switchboard_testkit::faulty::{Eras, Role};
use tokio::time::timeout;

use crate::case::{alive, check_error, check_over};
use crate::peer::{Peer, text};
use crate::server::{MOMENT, On, Server};
use crate::stdio::received;

/// Servers that never finish the opening.
const NEVER_OPEN: [(On, &str); 3] = [
    (On::Stdio, "no-handshake"),
    (On::Http, "silence"),
    (On::Http, "old-sse-silence"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_closes_a_server_that_ends_badly_hears_of_it() {
    // 50
    for (kind, expected) in [
        ("fails-on-close", &["exited with status 9"][..]),
        ("honest", &[]),
        ("dies-after-answer", &[]),
    ] {
        let server = Server::stdio(kind, Eras::Modern);
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hear = Arc::clone(&heard);
        let host = Handlers::new().on_bad_end(move |end| hear.lock().unwrap().push(end.to_owned()));
        let client = Client::connect_with(server.spec(), host).await.unwrap();
        client.call("defect").await.unwrap();
        if kind == "dies-after-answer" {
            // That is in the report of the connection, and not said twice.
            check_over(&client).await.unwrap();
        }
        client.close().await;
        assert_eq!(*heard.lock().unwrap(), expected, "{kind}");
        server.check_gone().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_can_be_closed_while_it_connects() {
    for (on, kind) in NEVER_OPEN {
        let server = Server::start(on, Role::new(kind).everywhere());
        let client = Client::start(server.spec(), NoHost);
        let waiting = tokio::spawn(client.call("echo").into_future());
        let ready = tokio::spawn({
            let client = client.clone();
            async move { client.ready().await }
        });
        // It has begun: there is a process, or a request.
        begun(&server).await;
        assert!(matches!(client.state(), State::Connecting));
        let start = Instant::now();
        client.close().await;
        assert!(start.elapsed() < MOMENT, "{kind}: {:?}", start.elapsed());
        assert!(
            matches!(client.state(), State::Closed),
            "{}",
            client.state()
        );
        server
            .check_gone()
            .unwrap_or_else(|left| panic!("{kind}: {left}"));
        let error = waiting.await.unwrap().expect_err("it is closed");
        assert!(matches!(error.kind(), ErrorKind::Closed), "{error:?}");
        check_error(&error, Class::Ended, &["closed"], false).unwrap();
        let error = ready.await.unwrap().expect_err("it is closed");
        assert_eq!(error.class(), Class::Ended);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_a_client_that_is_dropped_while_it_connects() {
    for (on, kind) in NEVER_OPEN {
        let server = Server::start(on, Role::new(kind).everywhere());
        let connecting = timeout(Duration::from_millis(300), server.connect());
        connecting.await.expect_err("it never opens");
        server
            .check_goes()
            .unwrap_or_else(|left| panic!("{kind}: {left}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_clone_ends_the_connection_and_no_other_does() {
    for on in [On::Stdio, On::Http] {
        for eras in [Eras::Legacy, Eras::Modern] {
            let server = Server::start(on, Role::new("honest").eras(eras));
            let client = server.connect().await.unwrap();
            let clone = client.clone();
            drop(client);
            alive(&clone).await.unwrap();
            // A call under way keeps it, too.
            let call = clone.call("slow").arg("ms", 200).into_future();
            drop(clone);
            assert_eq!(call.await.unwrap().joined_text(), "at last");
            server.check_goes().unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_ends_the_calls_in_flight_and_can_be_done_twice() {
    for (on, kind) in [(On::Stdio, "never-answers"), (On::Http, "silence")] {
        for eras in [Eras::Legacy, Eras::Modern] {
            let server = Server::start(on, Role::new(kind).eras(eras));
            let client = server.connect().await.unwrap();
            let call = tokio::spawn(client.call("defect").into_future());
            called(&server, &client).await;
            tokio::join!(client.close(), client.close());
            client.close().await;
            let error = call.await.unwrap().expect_err("it is closed");
            check_error(&error, Class::Ended, &["closed"], true).unwrap();
            let error = client.call("echo").await.expect_err("it is closed");
            check_error(&error, Class::Ended, &["closed"], false).unwrap();
            let mut states = client.states();
            assert!(states.next().await.is_none(), "there are no more");
            let ready = states.until(|state| matches!(state, State::Ready(_)));
            assert!(ready.await.is_none(), "it never will be");
            server.check_gone().unwrap();
        }
    }
}

#[test]
fn nothing_is_left_when_the_whole_process_is_killed() {
    // 52
    for kind in [
        "honest",
        "below-a-shell",
        "grandchildren",
        "ignores-stdin-close",
    ] {
        let server = Server::stdio(kind, Eras::Modern);
        let Server::Stdio(launch, _) = &server else {
            unreachable!()
        };
        let words: Vec<_> = launch
            .arguments
            .iter()
            .map(|word| word.to_str().unwrap())
            .collect();
        let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "ending::the_victim", "--nocapture"])
            .env(VICTIM, serde_json::to_string(&words).unwrap())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(victim.stdout.take().unwrap()).lines();
        assert!(
            told.any(|line| line.unwrap().contains("is alive")),
            "{kind}"
        );
        assert!(!launch.survivors().is_empty(), "{kind}");
        victim.kill().unwrap();
        victim.wait().unwrap();
        assert!(launch.survivors_after(MOMENT).is_empty(), "{kind}");
    }
}

/// Not a test by itself: what is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_victim() {
    let Ok(words) = std::env::var(VICTIM) else {
        return;
    };
    let words: Vec<String> = serde_json::from_str(&words).unwrap();
    let client = Client::connect(Spec::command("sh").args(words))
        .await
        .unwrap();
    alive(&client).await.unwrap();
    writeln!(std::io::stdout(), "the server is alive").unwrap();
    std::future::pending::<()>().await;
}

#[test]
fn nothing_is_left_when_the_runtime_is_dropped() {
    for (on, kind) in [(On::Stdio, "never-answers"), (On::Http, "silence")] {
        for is_busy in [false, true] {
            let server = Server::start(on, Role::new(kind));
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let client = runtime.block_on(async {
                let client = server.connect().await.unwrap();
                alive(&client).await.unwrap();
                client
            });
            let call = is_busy.then(|| {
                let call = runtime.spawn(client.call("defect").into_future());
                runtime.block_on(called(&server, &client));
                call
            });
            drop(runtime);
            let gone = match &server {
                Server::Stdio(launch, _) => launch.survivors_after(MOMENT).is_empty(),
                Server::Http(server) => server.wait_until(MOMENT, |seen| seen.open == 0),
            };
            assert!(gone, "{on:?}, busy: {is_busy}");
            // What is left of the client is harmless, in another runtime too.
            assert!(client.state().is_over(), "{}", client.state());
            let other = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            other.unwrap().block_on(async {
                let error = client.call("echo").await.expect_err("it is over");
                assert!(!error.may_have_run(), "{error}");
                timeout(MOMENT, client.close()).await.expect("it is over");
            });
            drop(call);
        }
    }
}

#[tokio::test]
async fn an_answer_that_was_written_before_the_end_is_read() {
    let (client, mut peer) = Peer::open(true, NoHost).await;
    let first = tokio::spawn(client.call("x").into_future());
    let request = peer.next().await;
    // The next call finds a closed pipe, while the answer to the first one waits in the other.
    let mut second = client.call("y").into_future();
    poll_fn(|cx| Poll::Ready(Pin::new(&mut second).poll(cx).is_pending())).await;
    peer.answer(&request, text("just in time")).await;
    drop(peer);
    assert_eq!(first.await.unwrap().unwrap().joined_text(), "just in time");
    let error = second.await.expect_err("it is over");
    check_error(&error, Class::Connection, &["closed the connection"], true).unwrap();
    client.close().await;
}

/// Waits until the server has a call of `defect`.
async fn called(server: &Server, client: &Client) {
    let is_call = |message: &Value| message["params"]["name"] == "defect";
    loop {
        let has_come = match server {
            Server::Stdio(..) => received(client).await.iter().any(is_call),
            Server::Http(server) => {
                let seen = server.seen();
                seen.requests
                    .iter()
                    .any(|request| is_call(&request.message()))
            }
        };
        if has_come {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Waits until a process is there, or a request has come.
async fn begun(server: &Server) {
    match server {
        Server::Stdio(launch, _) => {
            while launch.survivors().is_empty() {
                tokio::task::yield_now().await;
            }
        }
        Server::Http(server) => {
            let has_begun = tokio::task::block_in_place(|| {
                server.wait_until(MOMENT, |seen| !seen.requests.is_empty())
            });
            assert!(has_begun);
        }
    }
}

/// Tells a process to be a victim, and of whom.
const VICTIM: &str = "SWITCHBOARD_VICTIM";
