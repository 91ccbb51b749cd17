//! Sessions of the handshake era over HTTP: lost, renewed, mistaken, ended.
//!
//! Fault matrix: 77, 78, 80.

use std::time::{Duration, Instant};

use switchboard_client::{Class, Client, ErrorKind, State};
use switchboard_testkit::faulty::Eras;

use crate::case::{alive, all_words, check_error, check_over};
use crate::server::{MOMENT, Server, timeouts};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_calls_that_meet_a_lost_session_shake_hands_once() {
    let server = Server::http("session-lost-once", Eras::Legacy);
    let client = server.connect().await.unwrap();
    let mut states = client.states();
    let watch = tokio::spawn(async move {
        let recovering = |state: &State| matches!(state, State::Recovering { .. });
        let seen = states.until(recovering).await?;
        states
            .until(|state| matches!(state, State::Ready(_)))
            .await?;
        Some(seen.to_string())
    });
    let calls: Vec<_> = (0..20)
        .map(|number: i32| {
            let call = client.call("defect").arg("text", number.to_string());
            tokio::spawn(call.into_future())
        })
        .collect();
    for (number, call) in calls.into_iter().enumerate() {
        let result = call.await.unwrap().unwrap();
        assert_eq!(result.joined_text(), number.to_string());
    }
    assert_eq!(server.seen().count("initialize"), 2);
    assert_eq!(server.seen().count("notifications/initialized"), 2);
    let seen = watch.await.unwrap().expect("it recovered");
    assert_eq!(seen, "recovering: the server no longer knows the session");
    let sessions = sessions_of(&server, "tools/call");
    assert_eq!(sessions.last().map(String::as_str), Some("session-2"));
    client.close().await;
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_lost_again_is_an_error() {
    let server = Server::http("session-lost-always", Eras::Legacy);
    let client = server.connect().await.unwrap();
    let error = client.call("defect").await.expect_err("it is always lost");
    assert!(matches!(error.kind(), ErrorKind::SessionLost), "{error:?}");
    check_error(&error, Class::Connection, &["session again"], false).unwrap();
    assert!(server.seen().count("initialize") <= 3);
    alive(&client).await.unwrap();
    client.close().await;
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_cannot_be_renewed_is_the_end() {
    let server = Server::http("session-lost-for-good", Eras::Legacy);
    let client = server.connect().await.unwrap();
    let start = Instant::now();
    let error = client
        .call("defect")
        .await
        .expect_err("it cannot be renewed");
    assert!(start.elapsed() < MOMENT);
    let text = all_words(&error);
    assert!(text.contains("503") || text.contains("session"), "{text}");
    assert!(!error.may_have_run(), "{text}");
    check_over(&client).await.unwrap();
    assert_eq!(server.seen().count("initialize"), 2);
    client.close().await;
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_refused_again_and_again_is_no_reason_to_shake_hands_for_ever() {
    let server = Server::http("session-lost-on-get", Eras::Legacy);
    let client = server.connect().await.unwrap();
    for _ in 0..30 {
        alive(&client).await.unwrap();
    }
    let count = server.seen().count("initialize");
    assert!(count <= 3, "shook hands {count} times");
    client.close().await;
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_session_counts_whatever_is_named_later() {
    let server = Server::http("session-changes", Eras::Legacy);
    let client = server.connect().await.unwrap();
    client.call("defect").await.unwrap();
    alive(&client).await.unwrap();
    client.close().await;
    let sessions = sessions_of(&server, "tools/call");
    assert_eq!(sessions, ["session-1", "session-1"]);
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_session_is_told_once_and_waited_for_a_moment() {
    for kind in [
        "honest",
        "delete-silence",
        "delete-not-allowed",
        "delete-error",
    ] {
        for is_dropped in [false, true] {
            let server = Server::http(kind, Eras::Legacy);
            let limits = timeouts(|timeouts| timeouts.farewell = Duration::from_millis(300));
            let client = Client::connect(server.spec().timeouts(limits))
                .await
                .unwrap();
            alive(&client).await.unwrap();
            let start = Instant::now();
            match is_dropped {
                true => drop(client),
                false => client.close().await,
            }
            server
                .check_gone()
                .unwrap_or_else(|left| panic!("{kind}: {left}"));
            assert!(start.elapsed() < MOMENT, "{kind}: {:?}", start.elapsed());
            let seen = server.seen();
            let ends = seen
                .requests
                .iter()
                .filter(|request| request.method == "DELETE");
            let ended: Vec<_> = ends
                .map(|request| request.header("mcp-session-id"))
                .collect();
            assert_eq!(ended, [Some("session-1")], "{kind}, dropped: {is_dropped}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_never_takes_a_notification_is_called_all_the_same() {
    let server = Server::http("notification-silence", Eras::Legacy);
    let client = server.connect().await.unwrap();
    alive(&client).await.unwrap();
    client.roots_changed();
    let short = Duration::from_millis(100);
    let call = tokio::time::timeout(short, client.call("slow").arg("ms", 5000));
    call.await
        .expect_err("it is dropped, and the server is told");
    alive(&client).await.unwrap();
    client.close().await;
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stateless_era_has_no_session() {
    let server = Server::http("honest", Eras::Modern);
    let client = server.connect().await.unwrap();
    alive(&client).await.unwrap();
    client.close().await;
    server.check_gone().unwrap();
    for request in server.seen().requests {
        assert_eq!(request.method, "POST");
        assert_eq!(request.header("mcp-session-id"), None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_silent_for_too_long_is_opened_anew() {
    let server = Server::http("honest", Eras::Legacy);
    let times = timeouts(|times| times.silence = Duration::from_millis(50));
    let client = Client::connect(server.spec().timeouts(times));
    let client = client.await.unwrap();
    let streams = || {
        let requests = server.seen().requests.into_iter();
        requests.filter(|request| request.method == "GET").count()
    };
    let again = async {
        while streams() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(MOMENT, again).await.unwrap();
    alive(&client).await.unwrap();
    client.close().await;
    server.check_gone().unwrap();
}

/// The sessions that requests of this method named.
fn sessions_of(server: &Server, method: &str) -> Vec<String> {
    let requests = server.seen().requests.into_iter();
    requests
        .filter(|request| request.message()["method"] == method)
        .filter_map(|request| Some(request.header("mcp-session-id")?.to_owned()))
        .collect()
}
