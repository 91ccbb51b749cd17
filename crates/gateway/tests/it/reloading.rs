//! Servers that come and go while clients are there.

use std::future::IntoFuture;

use tokio::net::TcpListener;

use crate::cell::{Cell, in_each, soon};
use crate::child::server;

#[tokio::test]
async fn servers_come_and_go_and_those_that_stay_keep_their_calls() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one", "two"]).await;
        let pid = cell.text("one__pid").await;
        let gate = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = gate.local_addr().unwrap().port();
        let held = cell.client.call("one__hold").arg("port", port);
        let mut held = Box::pin(held.into_future());
        tokio::select! {
            _ = gate.accept() => {}
            never = &mut held => panic!("{never:?}"),
        }

        let servers = ["one", "three"].map(|name| server(name, eras.server));
        let plan = soon(cell.gateway.hub().set_servers(servers.to_vec())).await;
        assert_eq!(plan.keep, ["one"]);
        assert_eq!(
            (&*plan.start, &*plan.stop),
            (&["three".to_owned()][..], &["two".to_owned()][..])
        );

        // Clients hear of it, and see it in the next list.
        loop {
            let tools = soon(cell.client.tools()).await.unwrap();
            let has = |prefix: &str| tools.iter().any(|tool| tool.name.starts_with(prefix));
            if has("three__") && !has("two__") {
                break;
            }
            tokio::task::yield_now().await;
        }
        assert!(soon(cell.client.call("two__pid")).await.is_err());
        assert_eq!(cell.text("one__pid").await, pid);
        // It has not ended meanwhile.
        tokio::select! {
            biased;
            ended = &mut held => panic!("{ended:?}"),
            () = std::future::ready(()) => {}
        }
        drop(held);
        cell.close().await;
    })
    .await;
}
