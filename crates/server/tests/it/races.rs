//! What happens at the same time: cancel and answer, disconnect and stream, end and call.
//!
//! Most of these drive the endpoint as a service, to stop requests at a known place.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use http::{Request, Response};
use http_body::Body as _;
use serde_json::{Value, json};
use switchboard_server::transport::http::Body;
use switchboard_server::{AskError, Context, HttpService, NoArguments, Server, Site, tool};
use tokio::sync::oneshot;

use crate::fixture::{Witness, server, site};
use crate::peer::{HttpPeer, envelope};
use crate::pipe_client::{PATIENCE, PipeClient, request};

/// A POST, as it comes from a connection.
fn post(text: &Value, headers: &[(&str, &str)]) -> Request<Text> {
    let mut request = Request::post("/mcp")
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Text(Some(text.to_string()))).unwrap()
}

/// A body in one piece.
struct Text(Option<String>);

impl http_body::Body for Text {
    type Data = bytes::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<http_body::Frame<bytes::Bytes>, Self::Error>>> {
        let text = self.0.take().map(bytes::Bytes::from);
        Poll::Ready(text.map(|text| Ok(http_body::Frame::data(text))))
    }
}

/// Opens a session and gives its id.
async fn open(service: &HttpService) -> String {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}});
    let response = service
        .handle(post(&request(1, "initialize", params), &[]))
        .await;
    let id = response.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    service
        .handle(post(&told, &[("mcp-session-id", &id)]))
        .await;
    id
}

fn call(id: u64, tool: &str) -> Value {
    let params = json!({"name": tool, "_meta": {"progressToken": 1}});
    request(id, "tools/call", params)
}

fn stateless_call(id: u64, tool: &str) -> (Value, [(&'static str, String); 3]) {
    let params = envelope(
        json!({"name": tool}),
        &json!({}),
        &json!({"progressToken": 1}),
    );
    let headers = [
        ("mcp-protocol-version", "2026-07-28".to_owned()),
        ("mcp-method", "tools/call".to_owned()),
        ("mcp-name", tool.to_owned()),
    ];
    (request(id, "tools/call", params), headers)
}

/// Runs a test that would wait for ever if it failed.
fn within_patience(test: impl AsyncFnOnce() + Send + 'static) {
    let (done, wait) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(test());
        done.send(()).unwrap();
    });
    match wait.recv_timeout(PATIENCE) {
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("it waits for ever"),
        _ => thread.join().unwrap(),
    }
}

#[test]
fn a_client_that_goes_just_when_its_stream_begins_harms_nobody() {
    within_patience(async || {
        let witness = Witness::new();
        let late = witness.clone();
        let server =
            server(&witness).tool(tool("late", move |_: NoArguments, context: Context| {
                let witness = late.clone();
                async move {
                    let _working = witness.start();
                    witness.wait().await;
                    context.progress(1.0).await;
                    let _reported = witness.start();
                    std::future::pending::<String>().await
                }
            }));
        let site = server.site().unwrap();
        let service = site.endpoint(site.http_settings());
        let session = open(&service).await;
        {
            let mut waiting =
                pin!(service.handle(post(&call(2, "late"), &[("mcp-session-id", &session)])));
            let mut task = TaskContext::from_waker(Waker::noop());
            assert!(waiting.as_mut().poll(&mut task).is_pending());
            // The handler reports progress, so the answer is a stream that nobody has taken.
            witness.let_go(1);
            witness.started(2).await;
        }
        // In the handshake era that is no cancel.
        assert_eq!(witness.dropped_so_far(), 0);
        let (text, headers) = stateless_call(1, "late");
        let headers = headers
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        {
            let mut waiting = pin!(service.handle(post(&text, &headers)));
            let mut task = TaskContext::from_waker(Waker::noop());
            assert!(waiting.as_mut().poll(&mut task).is_pending());
            witness.let_go(1);
            witness.started(4).await;
        }
        witness.dropped(2).await;
        let response = service
            .handle(post(
                &request(3, "tools/list", json!({})),
                &[("mcp-session-id", &session)],
            ))
            .await;
        assert_eq!(response.status(), 200);
    });
}

#[tokio::test]
async fn a_stream_outlives_the_reader_that_was_replaced() {
    let witness = Witness::new();
    let site = site(&witness);
    let service = site.endpoint(site.http_settings());
    let session = open(&service).await;
    let headers = [("mcp-session-id", session.as_str())];
    let first = service.handle(post(&call(2, "progress"), &headers)).await;
    // Nothing of it is read; the client comes back, since it thinks that it has lost it.
    let get = Request::get("/mcp")
        .header("host", "127.0.0.1")
        .header("accept", "text/event-stream")
        .header("mcp-session-id", &session)
        .header("last-event-id", "1-0")
        .body(Text(None))
        .unwrap();
    let second = service.handle(get).await;
    assert_eq!(second.status(), 200);
    drop(first);
    witness.let_go(1);
    let text = tokio::time::timeout(PATIENCE, text_of(second))
        .await
        .unwrap();
    assert_eq!(text.matches("data: {").count(), 3, "{text}");
    assert!(text.contains("\"done\""), "{text}");
}

async fn text_of(response: Response<Body>) -> String {
    let mut body = pin!(response.into_body());
    let mut text = String::new();
    while let Some(frame) = std::future::poll_fn(|task| body.as_mut().poll_frame(task)).await {
        let data = frame.unwrap().into_data().unwrap();
        text.push_str(std::str::from_utf8(&data).unwrap());
    }
    text
}

#[tokio::test]
async fn an_endpoint_that_is_dropped_stops_what_works_for_it() {
    let witness = Witness::new();
    let site = site(&witness);
    let service = site.endpoint(site.http_settings());
    let session = open(&service).await;
    let response = service
        .handle(post(&call(2, "progress"), &[("mcp-session-id", &session)]))
        .await;
    drop(response);
    witness.started(1).await;
    drop(service);
    witness.dropped(1).await;
}

/// Says once when everything that a server holds is gone.
struct Holds(Arc<AtomicUsize>);

impl Drop for Holds {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_server_that_was_dropped() {
    let freed = Arc::new(AtomicUsize::new(0));
    let witness = Witness::new();
    let holds = Arc::new(Holds(Arc::clone(&freed)));
    let held = Arc::clone(&holds);
    let server = server(&witness).tool(tool("held", move || {
        let _held = Arc::clone(&held);
        async { "held" }
    }));
    drop(holds);
    let site = server.site().unwrap();
    let service = site.endpoint(site.http_settings());
    let sessions = [open(&service).await, open(&service).await];
    for session in &sessions {
        let response = service
            .handle(post(&call(2, "progress"), &[("mcp-session-id", session)]))
            .await;
        drop(response);
    }
    let mut client = PipeClient::open(&site, "2025-11-25", json!({})).await;
    client.begin("tools/call", json!({"name": "wait"})).await;
    witness.started(3).await;
    client.vanish().await;
    drop((site, service));
    witness.dropped(3).await;
    // The last handlers let go of it when their tasks are.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(freed.load(Ordering::SeqCst), 1);
}

/// A tool that gives its context away and waits.
fn giving(give: tokio::sync::mpsc::UnboundedSender<Context>) -> Site {
    Server::new("giving", "1.0.0")
        .tool(tool("give", move |_: NoArguments, context: Context| {
            give.send(context).unwrap();
            std::future::pending::<String>()
        }))
        .site()
        .unwrap()
}

#[tokio::test]
async fn work_that_outlives_its_call_is_told_and_never_kept_waiting() {
    let (give, mut given) = tokio::sync::mpsc::unbounded_channel();
    let site = giving(give);
    let mut client =
        PipeClient::open(&site, "2025-11-25", json!({"elicitation": {}, "roots": {}})).await;
    let params = json!({"name": "give", "_meta": {"progressToken": 1}});
    let id = client.begin("tools/call", params.clone()).await;
    let cancelled = given.recv().await.unwrap();
    let asking = cancelled.clone();
    let asked = tokio::spawn(async move { asking.roots("roots").await });
    client.hear("roots/list").await;
    client
        .tell("notifications/cancelled", json!({"requestId": id}))
        .await;
    let ended = async {
        cancelled.ended().await;
        assert!(cancelled.has_ended());
        assert_eq!(asked.await.unwrap(), Err(AskError::Ended));
        assert_eq!(cancelled.roots("again").await, Err(AskError::Ended));
        for step in 0..1_000 {
            cancelled.progress(f64::from(step)).await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.unwrap();
    client.begin("tools/call", params).await;
    let orphan = given.recv().await.unwrap();
    client.vanish().await;
    let ended = async {
        orphan.ended().await;
        assert_eq!(orphan.roots("roots").await, Err(AskError::Ended));
        for step in 0..1_000 {
            orphan.progress(f64::from(step)).await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.unwrap();
}

#[tokio::test]
async fn work_that_outlives_its_session_is_told_and_never_kept_waiting() {
    let (give, mut given) = tokio::sync::mpsc::unbounded_channel();
    let site = giving(give);
    let mut peer = HttpPeer::open(&site, "2025-11-25", json!({"roots": {}})).await;
    let params = json!({"name": "give", "_meta": {"progressToken": 1}});
    let begun = peer.begin("tools/call", params);
    let end = async {
        let context = given.recv().await.unwrap();
        let asking = context.clone();
        let asked = tokio::spawn(async move { asking.roots("roots").await });
        (context, asked)
    };
    let (mut stream, (context, asked)) = tokio::join!(begun, end);
    assert_eq!(stream.message().await.unwrap()["method"], "roots/list");
    assert_eq!(peer.delete().await, 204);
    let ended = async {
        context.ended().await;
        assert_eq!(asked.await.unwrap(), Err(AskError::Ended));
        assert_eq!(context.roots("again").await, Err(AskError::Ended));
        for step in 0..1_000 {
            context.progress(f64::from(step)).await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.unwrap();
}

#[test]
fn calls_cancels_and_ends_of_sessions_at_the_same_time_leave_nothing_running() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let witness = Witness::new();
        let site = site(&witness);
        let service = site.endpoint(site.http_settings());
        for _ in 0..300 {
            let session = open(&service).await;
            let mut requests = Vec::new();
            for id in 0..4 {
                let (service, session) = (service.clone(), session.clone());
                requests.push(tokio::spawn(async move {
                    let name = if id % 2 == 0 { "wait" } else { "progress" };
                    let headers = [("mcp-session-id", session.as_str())];
                    let response = service.handle(post(&call(10 + id, name), &headers)).await;
                    // To its end, which must come.
                    text_of(response).await;
                }));
            }
            let cancels = (0..4).map(|id| {
                let (service, session) = (service.clone(), session.clone());
                tokio::spawn(async move {
                    let told = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 10 + id}});
                    service.handle(post(&told, &[("mcp-session-id", &session)])).await;
                })
            });
            let cancels: Vec<_> = cancels.collect();
            let ending = service.clone();
            let id = session.clone();
            let end = tokio::spawn(async move {
                let delete = Request::delete("/mcp")
                    .header("host", "127.0.0.1")
                    .header("mcp-session-id", &id)
                    .body(Text(None))
                    .unwrap();
                ending.handle(delete).await.status()
            });
            for task in requests.into_iter().chain(cancels) {
                let ended = tokio::time::timeout(PATIENCE, task).await;
                ended.expect("every request ends").unwrap();
            }
            assert_eq!(end.await.unwrap(), 204);
        }
        assert_eq!(service.sessions(), 0);
        witness.all_dropped().await;
    });
}

#[tokio::test]
async fn answers_are_not_lost_when_input_ends_while_the_client_is_slow() {
    let witness = Witness::new();
    let mut limits = switchboard_server::Limits::default();
    limits.queued = 1;
    limits.drain = Duration::from_secs(600);
    let holding = witness.clone();
    let hold = tool("hold", move || {
        let witness = holding.clone();
        async move {
            let _working = witness.start();
            witness.wait().await;
            "x".repeat(5_000)
        }
    });
    let site = server(&witness).tool(hold).limits(limits).site().unwrap();
    // It holds a part of one answer.
    let mut client = PipeClient::connect_holding(&site, 2_048);
    client.initialize("2025-11-25", json!({})).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(client.begin("tools/call", json!({"name": "hold"})).await);
    }
    witness.started(5).await;
    client.finish().await;
    // One after the other: the first fills the pipe, the others wait behind it.
    for count in 1..=5 {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        witness.let_go(1);
        witness.dropped(count).await;
    }
    let close = tokio::time::timeout(PATIENCE, client.close());
    let heard = close.await.expect("it ends when everything is said");
    let answered = |id: u64| heard.iter().filter(|message| message["id"] == id).count();
    assert!(ids.into_iter().all(|id| answered(id) == 1), "{heard:?}");
}

#[tokio::test]
async fn a_handler_that_asks_in_a_task_of_its_own_is_answered() {
    let (done, answered) = oneshot::channel();
    let done = std::sync::Mutex::new(Some(done));
    let site = Server::new("asking", "1.0.0")
        .tool(tool("ask", move |_: NoArguments, context: Context| {
            let done = done.lock().unwrap().take().unwrap();
            async move {
                let asked = tokio::spawn(async move { context.roots("roots").await });
                let roots = asked.await.unwrap().unwrap();
                done.send(roots.len()).unwrap();
                "asked"
            }
        }))
        .site()
        .unwrap();
    let mut client = PipeClient::open(&site, "2025-11-25", json!({"roots": {}})).await;
    let id = client.begin("tools/call", json!({"name": "ask"})).await;
    let question = client.hear("roots/list").await;
    client
        .reply(&question, json!({"roots": [{"uri": "file:///a"}]}))
        .await;
    assert_eq!(
        client.answer(id).await["result"]["content"][0]["text"],
        "asked"
    );
    assert_eq!(answered.await, Ok(1));
}
