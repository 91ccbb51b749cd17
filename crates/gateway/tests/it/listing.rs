//! What clients see of the servers, in all four cells.

use std::future::IntoFuture as _;
use std::sync::{Arc, Mutex};

use switchboard_client::types::{LoggingLevel, SubscriptionFilter};
use switchboard_client::{Change, Handlers, State};
use switchboard_gateway::{Gateway, Names};
use switchboard_hub::Hub;
use switchboard_protocol::Era;
use tokio::net::TcpListener;

use crate::cell::{Cell, Eras, connect, in_each, soon};
use crate::child::server;
use crate::house::House;

#[tokio::test]
async fn who_lists_or_calls_at_once_waits_until_servers_have_said_what_they_offer() {
    in_each(|eras| async move {
        let hub = Hub::builder().server(server("one", eras.server));
        let gateway = Gateway::builder(hub).names(Names::Plain).build();
        let connecting = tokio::spawn(gateway.connect_all());
        let client = connect(&gateway, eras.client, Handlers::new()).await;
        let sum = soon(client.call("add").arg("a", 2).arg("b", 3)).await;
        assert_eq!(sum.unwrap().joined_text(), "5");
        let other = connect(&gateway, eras.client, Handlers::new()).await;
        assert!(soon(other.tools()).await.unwrap().by_name("add").is_some());
        soon(connecting).await.unwrap();
        let mut slow = client.call("slow");
        if (eras.client, eras.server) == (Era::Handshake, Era::Handshake) {
            slow = slow.as_task();
        }
        assert_eq!(soon(slow).await.unwrap().joined_text(), "at last");
        soon(client.close()).await;
        soon(gateway.hub().close()).await;
    })
    .await;
}

#[tokio::test]
async fn everything_of_all_servers_is_listed_in_one_order() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["two", "one"]).await;
        let tools = soon(cell.client.tools()).await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names.len(), 56);
        assert!(names[0].starts_with("one__") && names[55].starts_with("two__"));
        let prompts = soon(cell.client.prompts()).await.unwrap();
        let prompts: Vec<_> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        assert_eq!(prompts, ["one__review", "two__review"]);
        assert_eq!(soon(cell.client.resources()).await.unwrap().len(), 2);
        let templates = soon(cell.client.resource_templates()).await.unwrap();
        assert_eq!(templates.len(), 2);
        let State::Ready(ready) = cell.client.state() else {
            panic!("{}", cell.client.state());
        };
        let instructions = ready.instructions.as_deref();
        assert_eq!(instructions, Some("# one\n\nBe kind.\n\n# two\n\nBe kind."));
        assert!(ready.capabilities.completions.is_some());
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn clients_hear_of_new_tools_in_the_manner_of_their_era() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let mut filter = SubscriptionFilter::default();
        filter.tools_list_changed = Some(true);
        let mut changes = soon(cell.client.listen(filter)).await.unwrap();
        assert_eq!(cell.text("one__grow").await, "grown");
        let change = soon(changes.next()).await.unwrap();
        assert_eq!(change, Some(Change::Tools));
        assert_eq!(cell.text("one__grown").await, "new");
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn clients_hear_of_a_resource_that_they_watch() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let mut filter = SubscriptionFilter::default();
        filter.resource_subscriptions = Some(vec!["demo://state".to_owned()]);
        let mut changes = soon(cell.client.listen(filter)).await.unwrap();
        // Once, whether or not the server has agreed by then: nothing is missed.
        cell.text("one__touch").await;
        let change = soon(changes.next()).await.unwrap();
        assert_eq!(change, Some(Change::Resource("demo://state".to_owned())));
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn what_may_have_changed_before_it_was_watched_is_told() {
    for server in [Era::Handshake, Era::Stateless] {
        let client = Era::Stateless;
        let cell = Cell::open(Eras { client, server }, &["one"]).await;
        let mut filter = SubscriptionFilter::default();
        filter.resource_subscriptions = Some(vec!["demo://state".to_owned()]);
        // It is answered before the server has agreed.
        let mut changes = soon(cell.client.listen(filter)).await.unwrap();
        let change = soon(changes.next()).await.unwrap();
        assert_eq!(change, Some(Change::Resource("demo://state".to_owned())));
        cell.close().await;
    }
}

#[tokio::test]
async fn what_a_server_logs_is_heard_by_the_one_who_called() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        soon(cell.client.set_log_level(LoggingLevel::Info))
            .await
            .unwrap();
        assert_eq!(cell.text("one__log").await, "logged");
        let heard = cell.logged.lock().unwrap().clone();
        assert_eq!(heard, ["engine: \"careful\""], "{eras:?}");
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn what_a_distant_server_logs_is_heard_by_the_one_who_called_whoever_else_calls() {
    let house = House::open(|gateway| gateway).await;
    for era in [Era::Handshake, Era::Stateless] {
        // Somebody else's call, which has begun and does not end.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let other = house.client(era, "/mcp", "").await;
        let held = other.call("one__hold").arg("port", port);
        let held = tokio::spawn(held.into_future());
        let held_at = soon(listener.accept()).await.unwrap();

        let logged = Arc::new(Mutex::new(Vec::new()));
        let hearing = Arc::clone(&logged);
        let user = Handlers::new().on_log(move |message| {
            hearing
                .lock()
                .unwrap()
                .push(message.data.as_str().to_owned());
        });
        let client = house.client_of(era, "/mcp", "", user).await;
        soon(client.set_log_level(LoggingLevel::Info))
            .await
            .unwrap();
        soon(client.call("one__log")).await.unwrap();
        assert_eq!(*logged.lock().unwrap(), ["\"careful\""], "{era:?}");
        held.abort();
        drop(held_at);
    }
    house.close().await;
}
