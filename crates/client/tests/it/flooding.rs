//! Servers that write faster than anybody reads, and clients that share one thread with others.
//!
//! Fault matrix: 17, 28, 29, 33, 75.

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_client::memory::pair_holding;
use switchboard_client::{Client, Limits, NoHost, Spec};
use switchboard_testkit::faulty::Eras;

use crate::case::alive;
use crate::peer::{Peer, text};
use crate::server::{MOMENT, Server};

#[tokio::test]
async fn a_flood_puts_off_neither_deadlines_nor_neighbours() {
    for is_stateless in [false, true] {
        let (client, peer) = Peer::open(is_stateless, NoHost).await;
        let message = json!({"jsonrpc": "2.0", "method": "notifications/message",
            "params": {"level": "info", "data": "for ever"}});
        let (neighbour, mut answering) = Peer::open(true, NoHost).await;
        let flood = peer.flood(&message);
        let answered = tokio::spawn(async move {
            for _ in 0..10 {
                let request = answering.next().await;
                assert_eq!(request["method"], "tools/call");
                answering.answer(&request, text("still here")).await;
            }
        });
        let start = Instant::now();
        let call = client.call("x").idle_timeout(Duration::from_millis(300));
        let calls = async {
            for _ in 0..10 {
                alive(&neighbour).await.unwrap();
            }
        };
        let (outcome, ()) = tokio::join!(call, calls);
        assert!(outcome.expect_err("it is never answered").is_timeout());
        assert!(start.elapsed() < MOMENT, "{:?}", start.elapsed());
        answered.await.unwrap();
        client.close().await;
        neighbour.close().await;
        flood.join().unwrap();
    }
}

#[tokio::test]
async fn a_call_that_is_overdue_ends_in_the_middle_of_a_flood() {
    // Room for all of it: nobody waits for anybody.
    let pipe = pair_holding(64 * 1024 * 1024);
    let (client, mut peer) = Peer::open_on(pipe, true, NoHost).await;
    let call = client.call("x").idle_timeout(Duration::from_millis(100));
    let call = tokio::spawn(call.into_future());
    let request = peer.next().await;
    // All of it is there at once, and at its end the answer.
    let message = json!({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "one of many"}});
    peer.raw(&format!("{message}\n").repeat(200_000)).await;
    peer.answer(&request, text("too late")).await;
    let error = call.await.unwrap().expect_err("it is answered too late");
    assert!(error.is_timeout(), "{error}");
    client.close().await;
}

/// A client that takes in few bytes at once, and a server that asks it something.
async fn asking() -> (Client, Peer, String) {
    let mut limits = Limits::default();
    limits.message.bytes = 64 * 1024;
    let spec = Spec::in_memory().name("asks").limits(limits);
    let (client, peer) = Peer::open_as(pair_holding(64 * 1024), spec, false, NoHost).await;
    let asked = |id: usize| {
        json!({"jsonrpc": "2.0", "id": id, "method": "sampling/createMessage",
            "params": {"messages": [], "maxTokens": 1}})
    };
    let questions = (0..QUESTIONS).map(|id| format!("{}\n", asked(id)));
    (client, peer, questions.collect())
}

const QUESTIONS: usize = 100;

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_without_end_and_takes_no_answer_is_not_heard_for_ever() {
    let (client, mut peer, piece) = asking().await;
    let mut written = 0;
    // It stops being read: what it may write is what pipes and queues hold.
    while tokio::time::timeout(Duration::from_millis(500), peer.raw(&piece))
        .await
        .is_ok()
    {
        written += piece.len();
        assert!(written < 4 * 1024 * 1024, "all of it is taken in");
    }
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_its_answers_late_is_heard_again() {
    let (client, mut peer, piece) = asking().await;
    for _ in 0..3 {
        // The clock goes on when nothing else does: by then it is not heard any more.
        let stuck = Duration::from_secs(1);
        peer.raw_and_read(&piece.repeat(50), stuck, 50 * QUESTIONS)
            .await;
    }
    client.close().await;
}

/// A neighbour's calls are answered while a call of this client goes wrong.
async fn holds_up_nobody(kind: &str, client: &Client, neighbour: &Client) {
    let start = Instant::now();
    let call = client
        .call("defect")
        .idle_timeout(Duration::from_millis(500));
    let calls = async {
        for _ in 0..10 {
            alive(neighbour).await.expect("the neighbour is honest");
        }
    };
    let (_, ()) = tokio::join!(call.into_future(), calls);
    assert!(start.elapsed() < MOMENT, "{kind}: {:?}", start.elapsed());
    client.close().await;
}

#[tokio::test]
async fn on_one_thread_a_server_without_measure_holds_up_nobody() {
    let honest = Server::stdio("honest", Eras::Modern);
    let neighbour = honest.connect().await.unwrap();
    for kind in [
        "endless-line",
        "endless-notifications",
        "stderr-endless-line",
    ] {
        let server = Server::stdio(kind, Eras::Modern);
        let client = server.connect().await.unwrap();
        holds_up_nobody(kind, &client, &neighbour).await;
        server.check_gone().unwrap();
    }
    neighbour.close().await;
    honest.check_gone().unwrap();
}

#[tokio::test]
async fn on_one_thread_a_stream_without_measure_holds_up_nobody() {
    let honest = Server::http("honest", Eras::Modern);
    let neighbour = honest.connect().await.unwrap();
    let kinds = [
        ("get-flood", Eras::Legacy),
        ("events-flood", Eras::Modern),
        ("events-endless", Eras::Modern),
        ("endless-body", Eras::Modern),
    ];
    for (kind, eras) in kinds {
        let server = Server::http(kind, eras);
        let client = server.connect().await.unwrap();
        holds_up_nobody(kind, &client, &neighbour).await;
    }
    neighbour.close().await;
}
