//! A server that speaks one era only: this very program, started once more.

use std::net::Ipv4Addr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_hub::ServerConfig;
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject, Notification};
use switchboard_protocol::types::{
    CallToolResult, ContentBlock, CreateMessageRequestParams, ElicitAction, ElicitRequestParams,
    ElicitRequestUrlParams, ElicitationCompleteNotificationParams, LoggingLevel,
    LoggingMessageNotificationParams, Meta, Resource, SamplingMessage,
};
use switchboard_protocol::{Era, Method, Payload, RawJson, Revision};
use switchboard_server::{
    Context, Elicited, Failure, Limits, MemoryTasks, Progress, Server, TaskMode, prompt, resource,
    template, tool,
};
use tokio::io::AsyncReadExt;
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

/// Those of one era.
pub(crate) fn revisions(era: Era) -> Vec<Revision> {
    let all = Revision::ALL.iter().copied();
    all.filter(|revision| revision.era() == era).collect()
}

/// Not a test by itself: what others start.
#[test]
fn serves() {
    let Ok(era) = std::env::var(VARIABLE) else {
        return;
    };
    let era = match &*era {
        "handshake" => Era::Handshake,
        _ => Era::Stateless,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let site = behind().site().unwrap().revisions(revisions(era));
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
pub(crate) struct Name {
    /// What to call you.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Row {
    id: u64,
}

pub(crate) fn behind() -> Server {
    let mut limits = Limits::default();
    // Nobody waits here who would have to be spared.
    limits.tasks.poll_interval = Duration::from_millis(50);
    let server = Server::new("behind", "1.0.0")
        .limits(limits)
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
        .tool(tool("must", async || "as a task").task(TaskMode::Always))
        .tool(tool("must_greet", greet).task(TaskMode::Always))
        .tool(tool("greet_later", greet).task(TaskMode::WhenPossible))
        .tool(tool("both", both).task(TaskMode::WhenPossible))
        .tool(tool("released", released).task(TaskMode::WhenPossible))
        .tool(
            tool("fail_later", async || -> Result<String, String> {
                Err("it cannot".to_owned())
            })
            .task(TaskMode::WhenPossible),
        )
        .tool(
            tool("break_later", async || -> Result<String, Failure> {
                Err(Failure::Refused(ErrorObject::invalid_params("broken")))
            })
            .task(TaskMode::WhenPossible),
        )
        .tool(
            tool("link_later", async || {
                let resource = Resource::new("demo://state", "state");
                CallToolResult::new(vec![ContentBlock::resource_link(resource)])
            })
            .task(TaskMode::WhenPossible),
        )
        .tool(tool("fail", async || -> Result<String, String> {
            Err("it cannot".to_owned())
        }))
        .tool(tool("full", async || -> Result<String, Failure> {
            let error = ErrorObject::new(ErrorCode::BUSY, "of the server itself");
            let data = serde_json::json!({"limit": "its own"});
            Err(Failure::Refused(error.with_data(&data)))
        }))
        .tool(tool("greet", greet))
        .tool(tool("twice", twice))
        .tool(tool("think", think))
        .tool(tool("visit", visit))
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
        .tool(tool("hold", hold))
        .tool(tool("must_hold", hold).task(TaskMode::Always))
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
            let careful = RawJson::encode("careful").unwrap();
            let mut message = LoggingMessageNotificationParams::new(LoggingLevel::Warning, careful);
            message.logger = Some("engine".to_owned());
            context.log_message(&message).await;
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

/// Asks two things at once.
async fn both(context: Context) -> Result<String, Failure> {
    let (first, second) = tokio::try_join!(
        context.elicit::<Name>("first", "The first?"),
        context.elicit::<Name>("second", "The second?"),
    )?;
    let names = [first, second].map(|name| name.accepted().map_or_else(String::new, |it| it.name));
    Ok(names.join(" and "))
}

/// Says where it waits, and waits.
async fn hold(port: Port) -> Result<String, String> {
    let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, port.port)).await;
    let _connection = connected.map_err(|error| error.to_string())?;
    std::future::pending().await
}

/// Says where it waits, and waits until it is let go.
async fn released(port: Port) -> Result<String, String> {
    let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, port.port)).await;
    let mut connection = connected.map_err(|error| error.to_string())?;
    let mut said = Vec::new();
    let read = connection.read_to_end(&mut said).await;
    read.map_err(|error| error.to_string())?;
    Ok("released".to_owned())
}

/// Sends the user to a page, and says when he is done there.
async fn visit(context: Context) -> Result<String, Failure> {
    let mut page = ElicitRequestUrlParams::new("Look", "https://example.com/");
    page.elicitation_id = Some("seven".to_owned());
    let page = ElicitRequestParams::Url(page);
    let visited = context.elicit_with("page", page).await?;
    let done = ElicitationCompleteNotificationParams::new("seven");
    let done = Payload::encode(&done)?;
    if let Some(connection) = context.connection() {
        connection.notify(Notification::new(Method::ElicitationComplete, Some(done)));
    }
    Ok(format!(
        "visited: {}",
        visited.action == ElicitAction::Accept
    ))
}

async fn think(context: Context) -> Result<String, Failure> {
    let question = CreateMessageRequestParams::new(vec![SamplingMessage::user("2 + 2?")], 10);
    let answer = context.sample("sum", question).await?;
    Ok(format!("{} says so", answer.model))
}

/// Long enough for whoever must end before.
pub(crate) const LONG: Duration = Duration::from_secs(60);

const VARIABLE: &str = "SWITCHBOARD_GATEWAY_CHILD";
