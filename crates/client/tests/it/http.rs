//! The table of faults over HTTP: one test for each part of it.
//!
//! Fault matrix: 7 to 9, 14, 18, 61 to 75, 79 to 81. Sessions are in `sessions`.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_client::{Class, Client, ErrorKind, Handlers, Spec, State};
use switchboard_testkit::faulty::{Eras, Role};
use tokio::io::AsyncWriteExt;
use tokio::task::block_in_place;

use crate::case::{alive, all_words, answers, check, check_error, fails, refuses, times_out};
use crate::server::{MOMENT, On, Server, timeouts};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_be_opened_says_why() {
    check(
        On::Http,
        &[
            // 8, 9
            refuses(
                "no-common-version",
                Class::Peer,
                &["2999-01-01", "2026-07-28"],
            ),
            refuses(
                "unknown-versions",
                Class::Peer,
                &["2999-01-01", "2026-07-28"],
            )
            .modern(),
            refuses("unknown-versions", Class::Peer, &["1999-01-01"]).legacy(),
            // A server that is out of order says nothing about its era.
            refuses("probe-500", Class::Unavailable, &["500"]).legacy(),
            // 78
            refuses("session-malformed", Class::Peer, &["session id"]).legacy(),
            refuses("session-too-long", Class::Peer, &["session id"]).legacy(),
            // 64 to 68, from the first request on
            refuses("unauthorized", Class::Unauthorized, &["401", "log in"]).at_every_request(),
            refuses("forbidden", Class::Refused, &["403"]).at_every_request(),
            refuses("not-found", Class::Refused, &["404", "path"]).at_every_request(),
            refuses("unavailable", Class::Unavailable, &["503", "2065"]).at_every_request(),
            refuses("html-ok", Class::Peer, &["text/html"]).at_every_request(),
            refuses("not-http", Class::Peer, &["not HTTP"]).at_every_request(),
            refuses("empty-reply", Class::Connection, &["lost"]).at_every_request(),
            refuses("redirect-other-origin", Class::Peer, &["elsewhere"]).at_every_request(),
            refuses("gzip", Class::Peer, &["gzip"]).at_every_request(),
            refuses("oversized-body", Class::Limit, &["limit of 16777216"]).at_every_request(),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_opens_in_an_odd_way_is_opened() {
    check(
        On::Http,
        &[
            answers("honest").in_eras(&[Eras::Legacy, Eras::Modern, Eras::Both]),
            // 7
            answers("probe-400-html").legacy(),
            answers("probe-404-html").legacy(),
            answers("probe-405").legacy(),
            answers("probe-accepted").legacy(),
            answers("session-not-given").legacy(),
            answers("old-sse").legacy(),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_breaks_is_the_error_of_its_call_alone() {
    check(
        On::Http,
        &[
            // 62
            times_out("silence"),
            times_out("half-head"),
            times_out("stalled-body"),
            answers("byte-by-byte"),
            // 63
            fails("not-http", Class::Peer, &["not HTTP/1.1"]),
            fails("bad-chunk", Class::Peer, &["chunk has no size"]),
            fails("two-lengths", Class::Peer, &["HTTP"]),
            fails("header-bomb", Class::Peer, &["headers", "limit"]),
            fails("long-header", Class::Peer, &["headers", "limit"]),
            // 69
            fails("empty-reply", Class::Connection, &["lost", "may have run"]),
            fails("reset", Class::Connection, &["lost", "may have run"]),
            // 71
            answers("extra-response"),
            answers("interim"),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_status_is_told_as_what_it_means() {
    check(
        On::Http,
        &[
            // 64
            fails("bad-request", Class::Refused, &["the server refused"]),
            fails("bad-request-html", Class::Refused, &["400"]).not_run(),
            fails("forbidden", Class::Refused, &["403"]),
            fails("not-found", Class::Refused, &["404"])
                .not_run()
                .modern(),
            fails("not-allowed", Class::Refused, &["405"]).not_run(),
            fails("too-many-requests", Class::Unavailable, &["429", "7 s"]).not_run(),
            fails("internal-error", Class::Unavailable, &["500"]),
            fails("bad-gateway", Class::Unavailable, &["502"]),
            fails("unavailable", Class::Unavailable, &["503", "2065"]).not_run(),
            fails("unavailable-once", Class::Unavailable, &["503", "0 s"]).not_run(),
            fails("teapot", Class::Refused, &["418"]),
            // 65
            fails("accepted", Class::Peer, &["202", "nothing"]),
            fails("no-content", Class::Peer, &["204", "nothing"]),
            fails("empty-ok", Class::Peer, &["nothing", "200"]),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_no_answer_is_the_error_of_its_call_alone() {
    check(
        On::Http,
        &[
            // 66
            fails("html-ok", Class::Peer, &["text/html", "application/json"]),
            fails("no-content-type", Class::Peer, &["no content type"]),
            answers("odd-content-type"),
            fails("text-content-type", Class::Peer, &["text/plain"]),
            // 67
            fails(
                "truncated-body",
                Class::Connection,
                &["ended before its end"],
            ),
            fails(
                "truncated-chunks",
                Class::Connection,
                &["ended before its end"],
            ),
            fails("trailing-garbage", Class::Peer, &["no message"]),
            fails("invalid-json", Class::Peer, &["Parse error"]),
            fails("invalid-utf8", Class::Peer, &["UTF-8"]),
            fails("deep-nesting", Class::Peer, &["no message"]),
            // 68
            fails("endless-body", Class::Limit, &["limit of 16777216"]),
            fails("oversized-body", Class::Limit, &["limit of 16777216"]),
            fails("gzip", Class::Peer, &["gzip"]),
            // 20, 21, 24
            fails("wrong-id", Class::Peer, &["not one to this request"]),
            answers("id-as-string"),
            fails("batch", Class::Peer, &["batch"]),
            fails(
                "notification-as-answer",
                Class::Peer,
                &["not one to this request"],
            ),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_is_followed_to_the_same_origin_only() {
    check(
        On::Http,
        &[
            // 72
            answers("redirect-same-origin"),
            fails(
                "redirect-other-origin",
                Class::Peer,
                &["elsewhere", "127.0.0.1"],
            )
            .not_run(),
            fails("redirect-scheme-relative", Class::Peer, &["elsewhere"]).not_run(),
            fails("redirect-found", Class::Peer, &["302"]).not_run(),
            fails("redirect-see-other", Class::Peer, &["303"]).not_run(),
            fails("redirect-loop", Class::Peer, &["elsewhere"]).not_run(),
            fails("redirect-file", Class::Peer, &["file:"]).not_run(),
            fails("redirect-nowhere", Class::Peer, &["elsewhere"]).not_run(),
        ],
    )
    .await;
    for kind in ["redirect-other-origin", "redirect-scheme-relative"] {
        let server = Server::http(kind, Eras::Modern);
        let client = server.connect().await.unwrap();
        client.call("defect").await.expect_err("not followed");
        client.close().await;
        assert_eq!(server.seen().strays, 0, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_stream_is_read_however_it_is_written() {
    check(
        On::Http,
        &[
            // 73
            answers("events"),
            answers("events-cr"),
            answers("events-crlf"),
            answers("events-bom"),
            answers("events-comments"),
            answers("events-unknown-fields"),
            answers("events-split-data"),
            answers("events-empty"),
            answers("events-other-type"),
            answers("events-byte-by-byte"),
            answers("events-between"),
            answers("events-flood"),
            answers("events-stay-open"),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_stream_without_an_answer_is_the_error_of_its_call_alone() {
    check(
        On::Http,
        &[
            // 74
            fails(
                "events-no-answer",
                Class::Connection,
                &["ended without an answer"],
            ),
            fails("events-cut", Class::Connection, &["ended before its end"]),
            fails("events-unfinished", Class::Connection, &["within an event"]),
            // 75
            times_out("events-keep-alive"),
            fails("events-endless", Class::Limit, &["limit of 16777216"]),
            fails("events-endless-lines", Class::Limit, &["limit of 65536"]).limited(65_536),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_can_be_resumed_is_and_another_is_given_up() {
    check(
        On::Http,
        &[
            // 76
            answers("resumable").legacy(),
            answers("resumable-later").legacy(),
            fails("resume-refused", Class::Connection, &["resumed", "400"]).legacy(),
            fails("resume-cut", Class::Connection, &["5 tries"]).legacy(),
            // The server has taken the call: it is not made again in a new session.
            fails("resume-session-lost", Class::Connection, &["resumed"]).legacy(),
            // The stateless era resumes nothing.
            fails("resumable", Class::Connection, &["ended without an answer"]).modern(),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_of_its_own_that_cannot_be_had_keeps_nobody_from_calling() {
    check(
        On::Http,
        &[
            // 79
            answers("get-not-allowed").legacy(),
            answers("get-error").legacy(),
            answers("get-closes").legacy(),
            answers("get-silence").legacy(),
            answers("get-flood").legacy(),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_old_transport_posts_to_its_own_origin_only() {
    // 81
    check(
        On::Http,
        &[
            refuses(
                "old-sse-other-origin",
                Class::Peer,
                &["no usable place to post"],
            )
            .legacy(),
            refuses("old-sse-no-endpoint", Class::Peer, &["endpoint"]).legacy(),
            refuses("old-sse-file", Class::Peer, &["no usable place to post"]).legacy(),
            fails(
                "old-sse-closes",
                Class::Connection,
                &["ended before its end"],
            )
            .legacy()
            .over(),
            fails("old-sse-refuses-post", Class::Unavailable, &["500"]).legacy(),
        ],
    )
    .await;
    let server = Server::http("old-sse-other-origin", Eras::Legacy);
    let spec = Spec::sse(
        match &server {
            Server::Http(server) => server.url(),
            Server::Stdio(..) => unreachable!(),
        }
        .as_str(),
    );
    let spec = spec.unwrap().name("faulty");
    let error = Client::connect(spec).await.expect_err("not its origin");
    check_error(&error, Class::Peer, &["no usable place to post"], false).unwrap();
    let seen = server.seen();
    assert_eq!(seen.strays, 0);
    assert!(seen.requests.iter().all(|request| request.method != "POST"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_old_transport_that_never_says_where_to_post_is_given_up_in_time() {
    let server = Server::http("old-sse-silence", Eras::Legacy);
    let limits = timeouts(|timeouts| timeouts.connect = Duration::from_millis(500));
    let start = Instant::now();
    let error = Client::connect(server.spec().timeouts(limits)).await;
    let error = error.expect_err("there is nowhere to post");
    check_error(&error, Class::Timeout, &["500ms"], false).unwrap();
    assert!(start.elapsed() < MOMENT);
    server.check_goes().unwrap();
    // The same when it is known to be of the old transport.
    let Server::Http(http) = &server else {
        unreachable!()
    };
    let spec = Spec::sse(&http.url()).unwrap().name("faulty");
    let error = Client::connect(spec.timeouts(limits)).await;
    let error = error.expect_err("there is nowhere to post");
    check_error(&error, Class::Timeout, &["500ms"], false).unwrap();
    server.check_goes().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_comes_too_slowly_ends_with_the_call() {
    // 62: there is something to read all the time, and never the answer.
    for eras in [Eras::Legacy, Eras::Modern] {
        let server = Server::http("slow-body", eras);
        let client = server.connect().await.unwrap();
        let call = client.call("defect").deadline(Duration::from_millis(400));
        let error = call.await.expect_err("it is too slow");
        check_error(&error, Class::Timeout, &["400ms"], true).unwrap();
        alive(&client).await.unwrap();
        client.close().await;
        server.check_gone().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_never_answers_the_opening_is_given_up_in_time() {
    // 62
    for kind in ["silence", "half-head", "stalled-body", "events-keep-alive"] {
        let server = Server::start(On::Http, Role::new(kind).everywhere());
        let limits = timeouts(|timeouts| timeouts.connect = Duration::from_millis(300));
        let start = Instant::now();
        let error = Client::connect(server.spec().timeouts(limits)).await;
        let error = error.expect_err("never answered");
        check_error(
            &error,
            Class::Timeout,
            &["http://127.0.0.1", "300ms"],
            false,
        )
        .unwrap();
        assert!(start.elapsed() < MOMENT, "{kind}");
        server.check_goes().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_that_is_dropped_closes_its_stream() {
    let server = Server::http("honest", Eras::Modern);
    let client = server.connect().await.unwrap();
    let filter = serde_json::from_value(json!({"toolsListChanged": true})).unwrap();
    let subscription = client.listen(filter).await.unwrap();
    alive(&client).await.unwrap();
    let before = server.seen().open;
    drop(subscription);
    let Server::Http(http) = &server else {
        unreachable!()
    };
    let is_closed = block_in_place(|| http.wait_until(MOMENT, |seen| seen.open < before));
    assert!(is_closed);
    alive(&client).await.unwrap();
    client.close().await;
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_there_is_said_with_the_url_and_the_reason() {
    // 61
    let port = {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.local_addr().unwrap().port()
    };
    let url = format!("http://127.0.0.1:{port}/mcp?token=secret");
    let spec = Spec::url(&url).unwrap().name("faulty");
    let error = Client::connect(spec).await.expect_err("nobody is there");
    let words = [
        &format!("http://127.0.0.1:{port}/mcp"),
        "connection refused",
    ];
    check_error(&error, Class::Connection, &words, false).unwrap();
    assert!(!all_words(&error).contains("secret"), "{error}");

    let spec = Spec::url("http://no-such-host.invalid/mcp").unwrap();
    let error = Client::connect(spec.name("faulty")).await;
    let error = error.expect_err("there is no such host");
    let words = ["http://no-such-host.invalid/mcp", "not known"];
    check_error(&error, Class::Connection, &words, false).unwrap();

    // It speaks HTTP, but no TLS.
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await
            .unwrap();
        stream
    });
    let spec = Spec::url(&url).unwrap().name("faulty");
    let error = Client::connect(spec).await.expect_err("there is no TLS");
    let words = ["no trusted connection to https://127.0.0.1"];
    check_error(&error, Class::Connection, &words, false).unwrap();
    drop(server.await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_twice() {
    // 64, 69
    let kinds = [
        "reset",
        "empty-reply",
        "unavailable-once",
        "internal-error",
        "bad-gateway",
        "too-many-requests",
        "truncated-body",
        "events-no-answer",
        "events-cut",
        "resume-cut",
        "resume-refused",
        "resume-session-lost",
    ];
    for kind in kinds {
        for eras in [Eras::Legacy, Eras::Modern] {
            let server = Server::http(kind, eras);
            let client = server.connect().await.unwrap();
            client.call("defect").await.expect_err("it breaks");
            client.close().await;
            assert_eq!(server.seen().count("tools/call"), 1, "{kind} {eras:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_whose_connection_breaks_is_brought_again() {
    let server = Server::http("answer-cut-once", Eras::Legacy);
    let host = Handlers::new().roots([]);
    let client = Client::connect_with(server.spec(), host).await.unwrap();
    let result = client.call("defect").arg("text", "there").await.unwrap();
    assert_eq!(result.joined_text(), "there");
    assert_eq!(server.seen().count("tools/call"), 1);
    client.close().await;
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_the_server_closes_are_replaced() {
    // 70: they are at rest when they are closed. What is closed in the moment of being used is
    // an error, because nobody knows whether the request was read.
    let server = Server::http("closes-idle", Eras::Modern);
    let client = server.connect().await.unwrap();
    server.check_gone().unwrap();
    // Else the first call would ask for the list, and be made right behind it.
    client.tools().await.unwrap();
    for _ in 0..20 {
        server.check_gone().unwrap();
        alive(&client).await.unwrap();
    }
    assert_eq!(server.seen().count("tools/call"), 20);
    client.close().await;
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_nobody_asked_for_is_delivered_to_nobody() {
    // 71
    for eras in [Eras::Legacy, Eras::Modern] {
        let server = Server::http("extra-response", eras);
        let client = server.connect().await.unwrap();
        for _ in 0..5 {
            client.call("defect").await.unwrap();
            alive(&client).await.unwrap();
        }
        client.close().await;
        server.check_gone().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_wants_a_login_is_told_from_one_that_is_broken() {
    let role = Role::new("unauthorized").eras(Eras::Both).everywhere();
    let server = Server::start(On::Http, role);
    let client = Client::start(server.spec(), switchboard_client::NoHost);
    let error = client.ready().await.expect_err("it wants a login");
    check_error(&error, Class::Unauthorized, &["401", "log in"], false).unwrap();
    let State::NeedsLogin(report) = client.state() else {
        panic!("{}", client.state())
    };
    assert!(report.needs_login());
    assert!(report.target.starts_with("http://127.0.0.1"), "{report}");
    client.close().await;
    server.check_gone().unwrap();
    // A call that is refused says so by itself, and nothing was done.
    for kind in ["unauthorized", "unauthorized-bare", "insufficient-scope"] {
        for eras in [Eras::Legacy, Eras::Modern] {
            let server = Server::http(kind, eras);
            let client = server.connect().await.unwrap();
            let error = client.call("defect").await.expect_err("it wants a login");
            check_error(&error, Class::Unauthorized, &["log in"], false).unwrap();
            assert!(matches!(error.kind(), ErrorKind::Http(_)), "{error:?}");
            alive(&client).await.unwrap();
            client.close().await;
            server.check_gone().unwrap();
        }
    }
}
