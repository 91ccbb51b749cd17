//! Servers that each client has alone, in all four cells.

use std::path::Path;
use std::time::Duration;

use switchboard_client::{Change, Handlers};
use switchboard_protocol::Era;
use switchboard_protocol::types::SubscriptionFilter;
use tokio::time::timeout;

use crate::cell::{Cell, Eras, connect, in_each, soon};

#[tokio::test]
async fn each_client_has_its_own() {
    in_each(|eras| async move {
        let cell = Cell::open_alone(eras, "one").await;
        let other = connect(&cell.gateway, eras.client, Handlers::new()).await;
        let pid = cell.text("one__pid").await;
        let others = soon(other.call("one__pid")).await.unwrap().joined_text();
        assert_ne!(pid, others, "{eras:?}");
        assert_eq!(cell.text("one__pid").await, pid);
        soon(other.close()).await;
        cell.close().await;
        for pid in [pid, others] {
            assert!(!Path::new("/proc").join(&pid).exists(), "{pid} {eras:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn it_hears_what_the_client_can_do() {
    in_each(|eras| async move {
        let cell = Cell::open_alone(eras, "one").await;
        check_heard(cell, eras).await;
    })
    .await;
}

#[tokio::test]
async fn each_client_hears_of_its_own_resources() {
    in_each(|eras| async move {
        let cell = Cell::open_alone(eras, "one").await;
        let other = connect(&cell.gateway, eras.client, Handlers::new()).await;
        let mut filter = SubscriptionFilter::default();
        filter.resource_subscriptions = Some(vec!["demo://state".to_owned()]);
        let mut changes = soon(cell.client.listen(filter.clone())).await.unwrap();
        let mut of_other = soon(other.listen(filter)).await.unwrap();
        let wanted = Some(Change::Resource("demo://state".to_owned()));
        for (client, changes) in [(&cell.client, &mut changes), (&other, &mut of_other)] {
            let told = async {
                loop {
                    client.call("one__touch").await.unwrap();
                    // In the stateless era the server agrees while the client is answered already.
                    let change = timeout(Duration::from_millis(200), changes.next()).await;
                    if let Ok(change) = change {
                        return change.unwrap();
                    }
                }
            };
            assert_eq!(soon(told).await, wanted, "{eras:?}");
        }
        soon(other.close()).await;
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_stateless_server_hears_it_though_it_is_shared() {
    for client in [Era::Handshake, Era::Stateless] {
        let server = Era::Stateless;
        let eras = Eras { client, server };
        let cell = Cell::open(eras, &["one"]).await;
        check_heard(cell, eras).await;
    }
}

/// The server hears of one client what it can do, and of another that it can do nothing.
async fn check_heard(cell: Cell, eras: Eras) {
    let other = connect(&cell.gateway, eras.client, Handlers::new()).await;
    let can = cell.text("one__abilities").await;
    assert!(can.contains("sampling") && can.contains("roots"), "{can}");
    let can = soon(other.call("one__abilities")).await.unwrap();
    let can = can.joined_text();
    assert!(!can.contains("sampling") && !can.contains("roots"), "{can}");
    cell.close().await;
}
