//! Servers of the tests: this very program, started once more.

use std::io::{BufRead, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_hub::ServerConfig;
use switchboard_server::protocol::types::{
    CallToolResult, ContentBlock, CreateMessageRequestParams, LoggingLevel, Resource,
    SamplingMessage,
};
use switchboard_server::{
    Context, Elicited, Failure, Handle, Progress, Server, prompt, resource, template, tool,
};
use switchboard_testkit::faulty::stdio::{Launch, play};
use switchboard_testkit::faulty::{Eras, Role};
use tokio::net::TcpStream;
use tokio::sync::Notify;

/// How a good one is configured.
pub(crate) fn server(name: &str) -> ServerConfig {
    played(name, "good")
}

/// One that answers by hand, in the handshake era, with something odd about it.
pub(crate) fn odd(name: &str, oddity: &str) -> ServerConfig {
    played(name, oddity)
}

fn played(name: &str, part: &str) -> ServerConfig {
    let program = std::env::current_exe().unwrap().display().to_string();
    ServerConfig::command(name, [&*program, "--exact", "child::serves", "--nocapture"])
        .env(VARIABLE, part)
}

/// A misbehaving one, and what finds what is left of it.
pub(crate) fn faulty(name: &str, kind: &str) -> (ServerConfig, Launch) {
    let role = Role::new(kind).eras(Eras::Both).everywhere();
    let launch = Launch::new(&role, "child::misbehaves");
    let program = launch.program.to_str().unwrap();
    let arguments = launch.arguments.iter().map(|word| word.to_str().unwrap());
    let words = std::iter::once(program).chain(arguments);
    (ServerConfig::command(name, words), launch)
}

/// Not a test by itself: what others start.
#[test]
fn misbehaves() {
    play();
}

/// Not a test by itself: what others start.
#[test]
fn serves() {
    let Ok(part) = std::env::var(VARIABLE) else {
        return;
    };
    if part != "good" {
        return answer_by_hand(&part);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(good().serve_stdio()).unwrap();
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Port {
    /// Where to connect to.
    port: u16,
}

#[derive(Deserialize, JsonSchema)]
struct Size {
    /// How many bytes.
    bytes: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Row {
    id: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Review {
    /// The language of the code.
    language: String,
}

/// Calls that wait for each other.
#[derive(Default)]
struct Gate {
    waiting: AtomicUsize,
    open: Notify,
}

async fn connect(port: &Port) -> Result<TcpStream, String> {
    let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, port.port)).await;
    connected.map_err(|error| error.to_string())
}

fn good() -> Server {
    let server = Server::new("child", "1.0.0");
    let handle = server.handle();
    let server = server
        .tool(tool("pid", async || std::process::id()).read_only())
        .tool(tool("add", async |add: Add| add.a + add.b))
        .tool(tool("meta", async |context: Context| {
            json!(context.meta()).to_string()
        }))
        // A connection that ends with the call, and one that ends with the process.
        .tool(tool("hold", async |port: Port| -> Result<String, String> {
            let _connection = connect(&port).await?;
            std::future::pending().await
        }))
        .tool(tool("stay", async |port: Port| -> Result<String, String> {
            std::mem::forget(connect(&port).await?);
            Ok("connected".to_owned())
        }))
        .tool(tool("ask", ask))
        .tool(tool("die", async || -> String { std::process::abort() }))
        .tool(tool("big", async |size: Size| "x".repeat(size.bytes)))
        .tool(tool("steps", steps))
        .tool(tool("link", async || {
            CallToolResult::new(vec![ContentBlock::resource_link(Resource::new(
                "demo://shared",
                "shared",
            ))])
        }))
        .resource(resource("demo://state", async || "fine").name("state"))
        .resource(resource("demo://shared", async || std::process::id().to_string()).name("shared"))
        .template(
            template("rows://{id}", async |row: Row| format!("row {}", row.id))
                .complete("id", async |typed| {
                    vec![format!("{}1", typed.value), format!("{}2", typed.value)]
                }),
        )
        .prompt(prompt("review", async |review: Review| {
            format!("Review this {} code.", review.language)
        }));
    gated(changing(server, &handle))
}

/// Tools that change the server.
fn changing(server: Server, handle: &Handle) -> Server {
    let (growing, touching) = (handle.clone(), handle.clone());
    server
        .tool(tool("grow", move || {
            let added = growing.add_tool(tool("grown", async || "new"));
            assert!(added.is_ok());
            std::future::ready("grown")
        }))
        .tool(tool("touch", move || {
            touching.resource_updated("demo://state");
            std::future::ready("touched")
        }))
}

/// Tools that wait, and what lets them go.
fn gated(server: Server) -> Server {
    let gate = Arc::new(Gate::default());
    let (waits, counts, opens) = (Arc::clone(&gate), Arc::clone(&gate), gate);
    server
        .tool(tool("wait", move || {
            let gate = Arc::clone(&waits);
            async move {
                let opened = gate.open.notified();
                gate.waiting.fetch_add(1, Ordering::SeqCst);
                opened.await;
                std::process::id()
            }
        }))
        .tool(tool("waiting", move || {
            std::future::ready(counts.waiting.load(Ordering::SeqCst))
        }))
        .tool(tool("open", move || {
            opens.open.notify_waiters();
            std::future::ready("open")
        }))
}

/// Asks for everything that an application can be asked for.
async fn ask(context: Context) -> Result<String, Failure> {
    let Elicited::Accepted(review) = context.elicit::<Review>("form", "Which language?").await?
    else {
        return Err(Failure::failed("nobody is there"));
    };
    let roots = context.roots("roots").await?;
    let messages = vec![SamplingMessage::user(review.language.clone())];
    let params = CreateMessageRequestParams::new(messages, 10);
    let said = json!(context.sample("sample", params).await?);
    context.log(LoggingLevel::Info, "asked").await;
    Ok(format!(
        "{} {} {}",
        review.language, roots[0].uri, said["content"]["text"]
    ))
}

/// Gets on slowly: for longer than anybody lets a server be unused here.
async fn steps(context: Context) -> u32 {
    for step in 1..=STEPS {
        tokio::time::sleep(STEP).await;
        let progress = Progress::of(f64::from(step), f64::from(STEPS));
        context.progress(progress).await;
    }
    std::process::id()
}

/// A server written by hand: what it answers, and what is odd about it.
fn answer_by_hand(oddity: &str) {
    match oddity {
        "restless" => repeat(json!({"method": "notifications/tools/list_changed"})),
        "chatty" => repeat(json!({
            "method": "notifications/message",
            "params": {"level": "info", "data": "x".repeat(1000)},
        })),
        _ => {}
    }
    let mut lists = 0;
    for line in std::io::stdin().lock().lines() {
        let Ok(Ok(request)) = line.map(|line| serde_json::from_str::<Value>(&line)) else {
            return;
        };
        let Some(id) = request.get("id") else {
            continue;
        };
        let answer = match (request["method"].as_str().unwrap_or_default(), oddity) {
            ("initialize", "tools-only") => json!({"result": {
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": oddity, "version": "1"},
            }}),
            ("initialize", _) => json!({"result": {
                "protocolVersion": "2025-06-18",
                "capabilities": {
                    "tools": {"listChanged": true}, "prompts": {}, "resources": {}, "logging": {}
                },
                "serverInfo": {"name": oddity, "version": "1"},
            }}),
            ("tools/list", _) => {
                lists += 1;
                json!({"result": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}})
            }
            ("prompts/list" | "resources/list" | "resources/templates/list", "mute") => continue,
            ("prompts/list", "partial") => {
                json!({"error": {"code": -32603, "message": "out of prompts"}})
            }
            ("ping", "deaf") => continue,
            (
                "prompts/list" | "resources/list" | "resources/templates/list" | "logging/setLevel",
                "tools-only",
            ) => std::process::abort(),
            // How often it was listed.
            ("tools/call", "restless") => {
                json!({"result": {"content": [{"type": "text", "text": lists.to_string()}]}})
            }
            ("tools/call", _) => json!({"result": {"content": [{"type": "text", "text": "here"}]}}),
            _ => json!({"error": {"code": -32601, "message": "not found"}}),
        };
        let mut answer = answer;
        answer["id"] = id.clone();
        say(answer);
    }
}

fn say(mut message: Value) {
    message["jsonrpc"] = "2.0".into();
    // The harness prints before it, on the same line.
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{message}")
        .and_then(|()| out.flush())
        .is_err()
    {
        std::process::abort();
    }
}

/// Says the same again and again.
fn repeat(message: Value) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(2));
            say(message.clone());
        }
    });
}

const VARIABLE: &str = "SWITCHBOARD_HUB_CHILD";
const STEPS: u32 = 20;
const STEP: Duration = Duration::from_millis(25);
