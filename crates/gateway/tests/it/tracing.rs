//! One trace, from a client through the gateway to a server.

use crate::cell::{Cell, in_each, soon};

#[tokio::test]
async fn the_trace_of_a_client_goes_on_to_the_server() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let call = cell.client.call("one__trace");
        let call = call.meta("traceparent", PARENT).meta("tracestate", "a=b");
        let told = soon(call).await.unwrap().joined_text();
        assert!(
            told.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-"),
            "{told}"
        );
        assert!(told.ends_with("-01"), "{told}");
        // Nobody listens, so that a call without a trace begins none.
        assert_eq!(cell.text("one__trace").await, "none");
        cell.close().await;
    })
    .await;
}

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
