//! Many calls at once, whose answers come together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use switchboard_client::NoHost;
use switchboard_client::memory::pair_holding;

use crate::peer::{Peer, text};

#[tokio::test]
async fn the_first_callers_go_on_before_the_last_answer_is_taken() {
    for is_stateless in [false, true] {
        // Room for all of them: nobody waits for anybody.
        let pipe = pair_holding(1024 * 1024);
        let (client, mut peer) = Peer::open_on(pipe, is_stateless, NoHost).await;
        let answered = Arc::new(AtomicUsize::new(0));
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                let (client, answered) = (client.clone(), Arc::clone(&answered));
                tokio::spawn(async move {
                    client.call("first").await.unwrap();
                    answered.fetch_add(1, Ordering::Relaxed);
                    client.call("second").await.unwrap();
                })
            })
            .collect();
        let server = tokio::spawn(async move {
            for method in ["first", "second"] {
                let mut requests = Vec::new();
                for index in 0..CALLERS {
                    let request = peer.next().await;
                    assert_eq!(request["params"]["name"], method);
                    if method == "second" && index == 0 {
                        assert_eq!(answered.load(Ordering::Relaxed), CALLERS / 2);
                    }
                    requests.push(request);
                }
                peer.answer_all(&requests, &text("done")).await;
            }
            // It stays until the client leaves.
            peer
        });
        for caller in callers {
            caller.await.unwrap();
        }
        server.await.unwrap();
        client.close().await;
    }
}

const CALLERS: usize = 64;
