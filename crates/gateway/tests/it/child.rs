//! A server that speaks one era only: this very program, started once more.

use std::net::Ipv4Addr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_hub::ServerConfig;
use switchboard_protocol::types::{
    CallToolResult, ContentBlock, CreateMessageRequestParams, LoggingLevel, Meta, Resource,
    SamplingMessage,
};
use switchboard_protocol::{Era, Revision};
use switchboard_server::{
    Context, Elicited, Failure, MemoryTasks, Progress, Server, TaskMode, prompt, resource,
    template, tool,
};
use tokio::net::TcpStream;

/// How one of this era is configured.
pub(crate) fn server(name: &str, era: Era) -> ServerConfig {
    let program = std::env::current_exe().unwrap().display().to_string();
    let words = [&*program, "--exact", "child::serves", "--nocapture"];
    ServerConfig::command(name, words).env(VARIABLE, word(era))
}

const fn word(era: Era) -> &'static str {
    match era {
        Era::Handshake => "handshake",
        Era::Stateless => "stateless",
    }
}

/// Not a test by itself: what others start.
#[test]
fn serves() {
    let Ok(era) = std::env::var(VARIABLE) else {
        return;
    };
    let all = Revision::ALL.iter().copied();
    let revisions: Vec<_> = all.filter(|revision| word(revision.era()) == era).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let site = behind().site().unwrap().revisions(revisions);
    runtime.unwrap().block_on(site.serve_stdio()).unwrap();
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
struct Name {
    /// What to call you.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Row {
    id: u64,
}

fn behind() -> Server {
    let server = Server::new("behind", "1.0.0")
        .instructions("Be kind.")
        .tasks(MemoryTasks::default());
    let (handle, touching) = (server.handle(), server.handle());
    server
        .tool(tool("add", async |add: Add| add.a + add.b))
        .tool(tool("pid", async || std::process::id()))
        .tool(tool("abilities", async |context: Context| {
            serde_json::to_string(context.capabilities()).unwrap_or_default()
        }))
        .tool(tool("said", async |context: Context| {
            context.meta().map_or(String::new(), said)
        }))
        .tool(tool("slow", async || "at last").task(TaskMode::WhenPossible))
        .tool(tool("fail", async || -> Result<String, String> {
            Err("it cannot".to_owned())
        }))
        .tool(tool("greet", greet))
        .tool(tool("twice", twice))
        .tool(tool("think", think))
        .tool(tool(
            "folders",
            async |context: Context| -> Result<String, Failure> {
                let roots = context.roots("roots").await?;
                Ok(roots.iter().map(|root| root.uri.clone()).collect())
            },
        ))
        .tool(tool("steps", async |context: Context| {
            for step in 1..=3 {
                context.progress(Progress::of(f64::from(step), 3.0)).await;
            }
            "done"
        }))
        .tool(tool("hold", async |port: Port| -> Result<String, String> {
            let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, port.port)).await;
            let _connection = connected.map_err(|error| error.to_string())?;
            std::future::pending().await
        }))
        .tool(tool("link", async || {
            let resource = Resource::new("demo://state", "state");
            CallToolResult::new(vec![ContentBlock::resource_link(resource)])
        }))
        .tool(tool("trace", async |context: Context| {
            let meta = context.meta().unwrap_or_default();
            meta.traceparent()
                .ok()
                .flatten()
                .unwrap_or("none")
                .to_owned()
        }))
        .tool(tool("touch", move || {
            touching.resource_updated("demo://state");
            std::future::ready("touched")
        }))
        .tool(tool("log", async |context: Context| {
            context.log(LoggingLevel::Warning, "careful").await;
            "logged"
        }))
        .tool(tool("grow", move || {
            let added = handle.add_tool(tool("grown", async || "new"));
            assert!(added.is_ok());
            std::future::ready("grown")
        }))
        .resource(resource("demo://state", async || "fine").name("state"))
        .template(
            template("rows://{id}", async |row: Row| format!("row {}", row.id))
                .complete("id", async |typed| vec![format!("{}1", typed.value)]),
        )
        .prompt(prompt("review", async |name: Name| {
            format!("Review it for {}.", name.name)
        }))
}

/// What a client has attached, but for what the protocol itself wants.
fn said(meta: Meta) -> String {
    let mut meta = serde_json::to_value(meta).unwrap_or_default();
    if let Some(members) = meta.as_object_mut() {
        members.retain(|name, _| name.starts_with("com.example/"));
    }
    meta.to_string()
}

async fn greet(context: Context) -> Result<String, Failure> {
    Ok(
        match context.elicit::<Name>("name", "Who are you?").await? {
            Elicited::Accepted(name) => format!("Hello, {}!", name.name),
            Elicited::Declined => "Hello, whoever you are!".to_owned(),
            Elicited::Cancelled => "Bye.".to_owned(),
        },
    )
}

/// Asks two things, one after the other.
async fn twice(context: Context) -> Result<String, Failure> {
    let mut names = Vec::new();
    for question in ["first", "second"] {
        match context
            .elicit::<Name>(question, format!("The {question}?"))
            .await?
        {
            Elicited::Accepted(name) => names.push(name.name),
            _ => return Ok("no".to_owned()),
        }
    }
    Ok(names.join(" and "))
}

async fn think(context: Context) -> Result<String, Failure> {
    let question = CreateMessageRequestParams::new(vec![SamplingMessage::user("2 + 2?")], 10);
    let answer = context.sample("sum", question).await?;
    Ok(format!("{} says so", answer.model))
}

/// Long enough for whoever must end before.
pub(crate) const LONG: Duration = Duration::from_secs(60);

const VARIABLE: &str = "SWITCHBOARD_GATEWAY_CHILD";
