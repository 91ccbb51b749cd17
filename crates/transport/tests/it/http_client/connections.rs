//! Connections: which are kept, which are given up, and what of that a server sees.

use std::time::Duration;

use super::{Raw, answer, call, client, post};

#[tokio::test]
async fn a_client_and_what_it_awaits_may_move_between_threads() {
    fn check<T: Send>(value: T) -> T {
        value
    }
    fn check_shared<T: Send + Sync + Clone>(_: &T) {}
    let server = Raw::answering(answer("{}")).await;
    let client = client(|_| {});
    check_shared(&client);
    let mut received = check(client.send(post(&server.url("/mcp")))).await.unwrap();
    check(received.body.next_event()).await.unwrap_err();
    check(received.body.collect()).await.unwrap();
}

#[tokio::test]
async fn a_connection_is_used_again_and_again() {
    let server = Raw::answering(answer("{}")).await;
    let client = client(|_| {});
    for _ in 0..20 {
        assert_eq!(call(&client, &server.url("/mcp")).await, "{}");
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn an_answer_without_a_body_gives_its_connection_back_unread() {
    let server = Raw::answering("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").await;
    let client = client(|_| {});
    for _ in 0..5 {
        drop(client.send(post(&server.url("/mcp"))).await.unwrap());
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn calls_at_once_have_connections_of_their_own_and_keep_only_some() {
    let server = Raw::answering(answer("{}")).await;
    let client = client(|settings| settings.max_idle = 3);
    for round in [8, 13] {
        let url = server.url("/mcp");
        let mut answers = Vec::new();
        for _ in 0..8 {
            answers.push(client.send(post(&url)).await.unwrap());
        }
        assert_eq!(server.accepted(), round);
        for answer in answers {
            answer.body.collect().await.unwrap();
        }
    }
}

#[tokio::test]
async fn other_places_have_other_connections() {
    let one = Raw::answering(answer("1")).await;
    let two = Raw::answering(answer("2")).await;
    let client = client(|_| {});
    for _ in 0..3 {
        assert_eq!(call(&client, &one.url("/")).await, "1");
        assert_eq!(call(&client, &two.url("/")).await, "2");
    }
    assert_eq!((one.accepted(), two.accepted()), (1, 1));
}

// Fault matrix: 70.
#[tokio::test]
async fn a_kept_connection_that_the_server_closed_is_replaced() {
    // It says nothing of closing, and closes before the client has seen the answer.
    let server = Raw::once(answer("{}")).await;
    let client = client(|_| {});
    for _ in 0..20 {
        assert_eq!(call(&client, &server.url("/mcp")).await, "{}");
    }
    assert_eq!(server.accepted(), 20);
}

// Fault matrix: 70.
#[tokio::test]
async fn the_connection_of_a_stream_of_its_own_is_not_used_again() {
    let events =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9\r\n\r\ndata: {}\n";
    let server = Raw::answering(events).await;
    let client = client(|_| {});
    for (verb, accepted) in [
        ("POST", 1),
        ("POST", 1),
        ("GET", 1),
        ("GET", 2),
        ("POST", 3),
    ] {
        let request = http::Request::builder()
            .method(verb)
            .uri(server.url("/mcp"));
        let request = request.body(bytes::Bytes::new()).unwrap();
        let received = client.send(request).await.unwrap();
        received.body.collect().await.unwrap();
        assert_eq!(server.accepted(), accepted, "{verb}");
    }
}

// Fault matrix: 71.
#[tokio::test]
async fn an_answer_that_nobody_asked_for_is_never_delivered() {
    let server = Raw::start(|number, mut peer| async move {
        while peer.request().await.is_some() {
            let good = answer(&format!("{{\"from\":{number}}}"));
            peer.say(&format!("{good}{}", answer("{\"evil\":1}"))).await;
        }
    })
    .await;
    let client = client(|_| {});
    for number in 0..5 {
        let found = call(&client, &server.url("/mcp")).await;
        assert_eq!(found, format!("{{\"from\":{number}}}"));
    }
    assert_eq!(server.accepted(), 5);
}

// Fault matrix: 71.
#[tokio::test]
async fn an_answer_that_comes_while_the_connection_is_idle_is_never_delivered() {
    let (go, going) = tokio::sync::watch::channel(false);
    let server = Raw::start(move |number, mut peer| {
        let mut going = going.clone();
        async move {
            while peer.request().await.is_some() {
                peer.say(&answer(&format!("{{\"from\":{number}}}"))).await;
                if number == 0 {
                    going.wait_for(|go| *go).await.unwrap();
                    peer.say(&answer("{\"evil\":1}")).await;
                    let _ = peer.seen.send("said".to_owned());
                }
            }
        }
    });
    let mut server = server.await;
    let client = client(|_| {});
    assert_eq!(call(&client, &server.url("/mcp")).await, "{\"from\":0}");
    server.next_request().await;
    go.send(true).unwrap();
    assert_eq!(server.next_request().await, "said");
    assert_eq!(call(&client, &server.url("/mcp")).await, "{\"from\":1}");
}

#[tokio::test]
async fn a_body_that_is_dropped_closes_its_connection_at_once() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                transfer-encoding: chunked\r\n\r\n";
    let server = Raw::start(move |_, mut peer| async move {
        peer.request().await;
        peer.say(head).await;
        peer.closed().await;
    });
    let mut server = server.await;
    let received = client(|_| {})
        .send(post(&server.url("/mcp")))
        .await
        .unwrap();
    server.next_request().await;
    assert_eq!(server.unread(), 0);
    drop(received);
    assert_eq!(server.next_request().await, "closed");
}

// Fault matrix: 62.
#[tokio::test]
async fn a_request_that_is_dropped_closes_its_connection_at_once() {
    let server = Raw::start(|_, mut peer| async move {
        peer.request().await;
        peer.closed().await;
    });
    let mut server = server.await;
    let client = client(|_| {});
    let limit = Duration::from_millis(100);
    let outcome = tokio::time::timeout(limit, client.send(post(&server.url("/mcp")))).await;
    assert!(outcome.is_err());
    assert!(server.next_request().await.starts_with("POST /mcp"));
    assert_eq!(server.next_request().await, "closed");
}

#[tokio::test]
async fn a_connection_that_was_idle_for_long_is_closed() {
    let server = Raw::start(|_, mut peer| async move {
        peer.request().await;
        peer.say(&answer("{}")).await;
        peer.closed().await;
    });
    let mut server = server.await;
    let client = client(|settings| settings.idle_timeout = Duration::from_millis(50));
    call(&client, &server.url("/mcp")).await;
    server.next_request().await;
    // By nobody's request: the client is only there.
    assert_eq!(server.next_request().await, "closed");
    assert_eq!(call(&client, &server.url("/mcp")).await, "{}");
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn the_last_clone_takes_the_connections_along() {
    let server = Raw::start(|_, mut peer| async move {
        peer.request().await;
        peer.say(&answer("{}")).await;
        peer.closed().await;
    });
    let mut server = server.await;
    let client = client(|_| {});
    call(&client.clone(), &server.url("/mcp")).await;
    server.next_request().await;
    drop(client);
    assert_eq!(server.next_request().await, "closed");
}

#[cfg(target_os = "linux")]
#[test]
fn two_hundred_clients_leave_no_descriptor() {
    // Alone in its runtime, but not in its process: only sockets to this server are counted.
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Raw::start(|_, mut peer| async move {
            while peer.request().await.is_some() {
                peer.say(&answer("{}")).await;
            }
            let _ = peer.seen.send("closed".to_owned());
        });
        let mut server = server.await;
        for _ in 0..200 {
            let client = client(|_| {});
            call(&client, &server.url("/mcp")).await;
            call(&client, &server.url("/mcp")).await;
            let abandoned = client.send(post(&server.url("/mcp"))).await.unwrap();
            drop(abandoned);
            drop(client);
            while server.next_request().await != "closed" {}
        }
        assert_eq!(server.accepted(), 200);
        let handle = tokio::runtime::Handle::current();
        tokio::task::yield_now().await;
        // The listener and its own task are what is left.
        assert!(handle.metrics().num_alive_tasks() <= 2);
    });
}
