//! Lists that do not end, are not right, or do not hold; and how long one is kept.
//!
//! Fault matrix: 30, 55 to 60.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_client::{Change, Class, Client, ErrorKind, Handlers, Limits, NoHost};
use switchboard_testkit::faulty::Eras;

use crate::case::{alive, all_words, check_error};
use crate::peer::Peer;
use crate::server::{MOMENT, Server};

const BOTH: [Eras; 2] = [Eras::Legacy, Eras::Modern];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_leads_round_in_a_circle_is_an_error() {
    // 55
    for eras in BOTH {
        let server = Server::stdio("repeated-cursor", eras);
        let client = server.connect().await.unwrap();
        let error = client.tools().await.expect_err("it never ends");
        assert!(matches!(error.kind(), ErrorKind::RepeatedCursor(cursor) if cursor == "again"));
        check_error(
            &error,
            Class::Peer,
            &["tools/list", "circle", "\"again\""],
            true,
        )
        .unwrap();
        alive(&client).await.unwrap();
        client.close().await;
        server.check_gone().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_never_ends_is_cut_at_the_limit_that_is_named() {
    // 55
    let mut pages = Limits::default();
    pages.pages = 20;
    let mut items = Limits::default();
    items.items = 10;
    let mut bytes = Limits::default();
    bytes.list_bytes = 5000;
    let cases = [
        (pages, "more than 20 pages"),
        (items, "more than 10 items"),
        (bytes, "more than 5000 bytes"),
        (Limits::default(), "more than 1000 pages"),
    ];
    for (limits, words) in cases {
        let server = Server::stdio("endless-pages", Eras::Modern);
        let client = Client::connect(server.spec().limits(limits)).await.unwrap();
        let error = client.tools().await.expect_err("it never ends");
        check_error(&error, Class::Limit, &["tools/list", words], true).unwrap();
        alive(&client).await.unwrap();
        client.close().await;
        server.check_gone().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_is_wrong_does_not_hide_the_others() {
    // 56
    for eras in BOTH {
        let server = Server::stdio("malformed-tools", eras);
        let client = server.connect().await.unwrap();
        let tools = client.tools().await.unwrap();
        for name in ["echo", "add", "slow", "defect"] {
            assert!(tools.by_name(name).is_some(), "{name}: {tools:?}");
        }
        assert!(tools.left_out().len() >= 4, "{:?}", tools.left_out());
        alive(&client).await.unwrap();
        client.close().await;
        server.check_gone().unwrap();

        let server = Server::stdio("wrong-list", eras);
        let client = server.connect().await.unwrap();
        let error = client.tools().await.expect_err("it is no list");
        check_error(&error, Class::Peer, &["tools/list", "shape"], true).unwrap();
        alive(&client).await.unwrap();
        client.close().await;
        server.check_gone().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schema_that_is_a_trap_costs_neither_time_nor_a_connection() {
    // 57
    for kind in ["schema-bomb", "remote-reference", "bad-pattern"] {
        let server = Server::stdio(kind, Eras::Modern);
        let client = server.connect().await.unwrap();
        let start = Instant::now();
        let tools = client.tools().await.unwrap();
        assert!(tools.by_name("echo").is_some(), "{kind}");
        // The result of this tool is held to its schema, if that is wanted: the tool is unknown
        // to the server, but looking at its schema must not hurt.
        let error = client.call("odd").await.expect_err("it is not there");
        assert_eq!(error.class(), Class::Refused, "{kind}: {error}");
        assert!(start.elapsed() < MOMENT, "{kind}: {:?}", start.elapsed());
        alive(&client).await.unwrap();
        client.close().await;
        server.check_gone().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_description_is_given_as_it_came() {
    // 58
    let server = Server::stdio("poisoned-description", Eras::Modern);
    let client = server.connect().await.unwrap();
    let tools = client.tools().await.unwrap();
    let description = tools.by_name("poisoned").unwrap().description.clone();
    let expected = "\u{1b}[2J\u{1b}]0;owned\u{7}a\u{200b}\u{e0041}\u{202e}b";
    assert_eq!(description.as_deref(), Some(expected));
    // What is printed of it is not.
    let error = client
        .call(expected)
        .await
        .expect_err("there is no such tool");
    let text = all_words(&error);
    assert!(
        !text.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{e0041}']),
        "{text:?}"
    );
    client.close().await;
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_that_changes_is_told_and_listed_anew() {
    // 59
    for eras in BOTH {
        let (changed, changes) = channel();
        let host = Handlers::new().on_change(move |change| changed.send(change).unwrap());
        let server = Server::stdio("changing-definitions", eras);
        let client = Client::connect_with(server.spec(), host).await.unwrap();
        let filter = serde_json::from_value(json!({"toolsListChanged": true})).unwrap();
        let mut subscription = client.listen(filter).await.unwrap();
        let before = client.tools().await.unwrap();
        client.call("defect").await.unwrap();
        assert_eq!(subscription.next().await.unwrap(), Some(Change::Tools));
        let after = client.tools().await.unwrap();
        assert_eq!(changes.try_recv(), Ok(Change::Tools), "{eras:?}");
        let echo = |tools: &switchboard_client::Tools| tools.by_name("echo").cloned();
        assert_ne!(
            echo(&before).unwrap().description,
            echo(&after).unwrap().description
        );
        drop(subscription);
        client.close().await;
        server.check_gone().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_changes_is_one_change_to_whoever_was_away() {
    // 30
    for eras in BOTH {
        let server = Server::stdio("list-changed-storm", eras);
        let client = server.connect().await.unwrap();
        let filter = serde_json::from_value(json!({"toolsListChanged": true})).unwrap();
        let mut subscription = client.listen(filter).await.unwrap();
        client.call("defect").await.unwrap();
        assert_eq!(subscription.next().await.unwrap(), Some(Change::Tools));
        let more = tokio::time::timeout(Duration::from_millis(50), subscription.next());
        assert!(more.await.is_err(), "{eras:?}");
        assert_eq!(subscription.dropped(), 0);
        client.close().await;
        server.check_gone().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_is_kept_as_long_as_the_server_says() {
    let (client, mut peer) = Peer::open(true, NoHost).await;
    let served = tokio::spawn(async move {
        let mut count = 0;
        loop {
            let request = peer.next().await;
            match request["method"].as_str() {
                Some("tools/list") => {
                    count += 1;
                    let result = listed(count, json!({"ttlMs": 10_000, "cacheScope": "private"}));
                    peer.answer(&request, result).await;
                }
                _ => return count,
            }
        }
    });
    assert_eq!(client.tools().await.unwrap().len(), 1);
    tokio::time::advance(Duration::from_millis(9_999)).await;
    assert_eq!(client.tools().await.unwrap().len(), 1);
    tokio::time::advance(Duration::from_millis(2)).await;
    assert_eq!(client.tools().await.unwrap().len(), 2);
    assert_eq!(client.refresh_tools().await.unwrap().len(), 3);
    assert_eq!(client.tools().await.unwrap().len(), 3);
    drop(tokio::spawn(client.call("end").into_future()));
    assert_eq!(served.await.unwrap(), 3);
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn in_the_handshake_era_a_list_holds_until_the_server_says_otherwise() {
    let (client, mut peer) = Peer::open(false, NoHost).await;
    let served = tokio::spawn(async move {
        let mut count = 0;
        loop {
            let request = peer.next().await;
            match request["method"].as_str() {
                Some("tools/list") => {
                    count += 1;
                    peer.answer(&request, listed(count, json!({}))).await;
                }
                Some("ping") => {
                    let changed = "notifications/tools/list_changed";
                    peer.tell(changed, json!({})).await;
                    peer.answer(&request, json!({})).await;
                }
                _ => return count,
            }
        }
    });
    assert_eq!(client.tools().await.unwrap().len(), 1);
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert_eq!(client.tools().await.unwrap().len(), 1);
    client.ping().await.unwrap();
    assert_eq!(client.tools().await.unwrap().len(), 2);
    assert_eq!(client.tools().await.unwrap().len(), 2);
    drop(tokio::spawn(client.call("end").into_future()));
    assert_eq!(served.await.unwrap(), 2);
    client.close().await;
}

#[cfg(feature = "validate")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_that_does_not_fit_its_schema_is_an_error() {
    let cases = [
        ("breaks-its-schema", "sum"),
        ("no-structured-content", "structuredContent"),
    ];
    for (kind, word) in cases {
        for eras in BOTH {
            let server = Server::stdio(kind, eras);
            let client = server.connect().await.unwrap();
            client.tools().await.unwrap();
            let error = client.call("add").arg("a", 2).arg("b", 3).await;
            let error = error.expect_err("it does not fit");
            assert!(
                matches!(error.kind(), ErrorKind::InvalidOutput(_)),
                "{error:?}"
            );
            check_error(&error, Class::Peer, &["output schema", word], true).unwrap();
            alive(&client).await.unwrap();
            client.close().await;
            server.check_gone().unwrap();
        }
    }
}

/// A list of so many tools.
fn listed(count: usize, mut more: Value) -> Value {
    let tool =
        |number| json!({"name": format!("tool-{number}"), "inputSchema": {"type": "object"}});
    more["tools"] = (0..count).map(tool).collect();
    more
}

#[tokio::test(start_paused = true)]
async fn all_pages_of_a_list_have_one_time_together() {
    let (client, mut peer) = Peer::open(true, NoHost).await;
    let began = tokio::time::Instant::now();
    let answering = async {
        for number in 0.. {
            let request = peer.next().await;
            if request["method"] != "tools/list" {
                return request;
            }
            tokio::time::sleep(Duration::from_secs(20)).await;
            let page = json!({"tools": [], "nextCursor": number.to_string(),
                "ttlMs": 0, "cacheScope": "private"});
            peer.answer(&request, page).await;
        }
        unreachable!("it ends")
    };
    // Each page comes in the time of a call, the second after that of a list.
    let listing = async { (client.tools().await, began.elapsed()) };
    let ((listed, took), after) = tokio::join!(listing, answering);
    let error = listed.expect_err("it takes too long");
    assert!(error.is_timeout(), "{error}");
    assert!(error.to_string().contains("tools/list"), "{error}");
    assert_eq!(took.as_secs(), 30);
    assert_eq!(after["method"], "notifications/cancelled", "{after}");
}
