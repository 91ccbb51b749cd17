//! Streams of requests that stand alone, as their clients see them.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context as TaskContext, Waker};

use http::{HeaderValue, Request, StatusCode};
use http_body::Body as _;
use switchboard_transport::http::Body;
use tokio::sync::Notify;
use tokio::task::yield_now;

use crate::{Context, HttpService, Server, tool};

fn service(server: Server) -> HttpService {
    let site = server.site().unwrap();
    site.endpoint(site.http_settings())
}

/// A call of the stateless era, by this method and with these members of the parameters.
fn call(method: &str, name: Option<&str>, members: &str) -> Request<String> {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":1}"#;
    let request = Request::post("http://127.0.0.1/mcp")
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    let request = match name {
        Some(name) => request.header("mcp-name", name),
        None => request,
    };
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{members},{meta}}}}}"#);
    request.body(body).unwrap()
}

/// The next piece of a body; none at its end.
async fn next(body: &mut Body) -> Option<String> {
    let frame = poll_fn(|task| Pin::new(&mut *body).poll_frame(task)).await?;
    let data = frame.unwrap().into_data().unwrap();
    Some(String::from_utf8(data.to_vec()).unwrap())
}

#[tokio::test]
async fn a_stateless_client_hears_of_changes_for_as_long_as_it_listens() {
    let witness = Arc::new(());
    let held = Arc::clone(&witness);
    let fickle = move || {
        let _ = &held;
        async { "here" }
    };
    let server = Server::new("test", "1").tool(tool("fickle", fickle));
    let handle = server.handle();
    let service = service(server);
    let wanted = r#""notifications":{"toolsListChanged":true}"#;
    let listen = call("subscriptions/listen", None, wanted);
    let mut body = service.handle(listen).await.into_body();
    let first = next(&mut body).await.unwrap();
    assert!(first.contains("notifications/subscriptions/acknowledged"));
    for is_on in [false, true] {
        assert!(handle.enable_tool("fickle", is_on));
        let heard = next(&mut body).await.unwrap();
        assert!(heard.contains("notifications/tools/list_changed"));
    }
    drop((handle, service));
    assert_eq!(Arc::strong_count(&witness), 2);
    drop(body);
    assert_eq!(Arc::strong_count(&witness), 1, "nothing is left behind");
}

#[tokio::test]
async fn a_client_that_goes_as_its_stream_begins_holds_up_nobody() {
    let go = Arc::new(Notify::new());
    let gate = Arc::clone(&go);
    let report = move |context: Context| {
        let gate = Arc::clone(&gate);
        async move {
            gate.notified().await;
            context.progress(1.0).await;
            std::future::pending::<()>().await;
        }
    };
    let service = service(Server::new("test", "1").tool(tool("report", report)));
    {
        let request = call("tools/call", Some("report"), r#""name":"report""#);
        let mut answer = pin!(service.handle(request));
        let mut task = TaskContext::from_waker(Waker::noop());
        assert!(answer.as_mut().poll(&mut task).is_pending());
        go.notify_one();
        // The handler begins a stream, which nobody takes any more.
        yield_now().await;
        yield_now().await;
    }
    let response = service
        .handle(call("tools/list", None, r#""cursor":null"#))
        .await;
    assert_eq!(response.status(), 200);
    drop(service);
    // The runtime lets go of the handler's task when it next comes by.
    yield_now().await;
    assert_eq!(Arc::strong_count(&go), 1, "nothing is left behind");
}

/// A message of the handshake era.
fn posted(session: Option<&HeaderValue>, body: &str) -> Request<String> {
    let request = Request::post("http://127.0.0.1/mcp")
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    let request = match session {
        Some(session) => request.header("mcp-session-id", session),
        None => request,
    };
    request.body(body.to_owned()).unwrap()
}

#[tokio::test]
async fn a_call_is_in_flight_for_whatever_happens_while_its_handler_begins() {
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"meddle"}}"#;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    let opening = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let opened = Arc::new(OnceLock::<(HttpService, HeaderValue)>::new());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (known, told) = (Arc::clone(&opened), Arc::clone(&heard));
    let meddle = move || {
        let (known, told) = (Arc::clone(&known), Arc::clone(&told));
        async move {
            let (service, session) = known.get().unwrap();
            for message in [call, cancel] {
                let response = service.handle(posted(Some(session), message)).await;
                told.lock().unwrap().push(response.status());
            }
            "late"
        }
    };
    let service = service(Server::new("test", "1").tool(tool("meddle", meddle)));
    let response = service.handle(posted(None, opening)).await;
    let session = response.headers()["mcp-session-id"].clone();
    let (service, session) = opened.get_or_init(|| (service, session));
    let response = service.handle(posted(Some(session), call)).await;
    // It was cancelled, so nobody is answered.
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    let expected = [StatusCode::BAD_REQUEST, StatusCode::ACCEPTED];
    assert_eq!(*heard.lock().unwrap(), expected, "its id was taken");
}
