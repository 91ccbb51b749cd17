//! A server whose answers can be checked: every result repeats who called, and with what.
//!
//! What it has run is written to a file, a line each, so that a call that ran twice is seen.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_protocol::http::origin::Guard;
use switchboard_protocol::types::{
    CreateMessageRequestParams, SamplingMessage, SamplingMessageContentBlock,
};
use switchboard_protocol::{Era, Revision};
use switchboard_server::{
    Context, Elicited, Failure, Progress, Server, resource, shutdown_signal, tool,
};
use tokio::net::TcpListener;

/// Serves until it is told to stop.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode, String> {
    let mut words = words.iter();
    let (mut name, mut era, mut port, mut runs) = (None, None, None, None);
    let mut stays = false;
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("{word} wants a value"))?;
        match *word {
            "--name" => name = Some(*value),
            "--era" => era = Some(read_era(value)?),
            "--http" => port = Some(value.parse::<u16>().map_err(|error| error.to_string())?),
            "--runs" => runs = Some(*value),
            "--stays" => stays = *value == "yes",
            // Only so that one server can be told from its next edition.
            "--edition" => {}
            _ => return Err(format!("serve knows no {word}")),
        }
    }
    let name = name.ok_or("serve wants --name")?;
    let era = era.ok_or("serve wants --era")?;
    let all = Revision::ALL.iter().copied();
    let revisions: Vec<_> = all.filter(|revision| revision.era() == era).collect();
    let work = Work::new(name, runs.ok_or("serve wants --runs")?)?;
    let site = server(&work).site().map_err(|error| error.to_string())?;
    let site = site.revisions(revisions);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let served = runtime.block_on(async {
        let Some(port) = port else {
            return site.serve_stdio().await;
        };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = TcpListener::bind(address).await?;
        let mut settings = site.http_settings();
        settings.guard = Guard::for_address(address);
        site.serve_http_on(listener, settings, shutdown_signal())
            .await
    });
    served.map_err(|error| error.to_string())?;
    if stays {
        // Whatever it is told.
        loop {
            std::thread::park();
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read_era(word: &str) -> Result<Era, String> {
    match word {
        "handshake" => Ok(Era::Handshake),
        "stateless" => Ok(Era::Stateless),
        _ => Err(format!("{word:?} is no era")),
    }
}

/// The resources of a server.
pub(crate) fn state_of(server: &str, number: u64) -> String {
    format!("soak://{server}/state/{number}")
}

/// How many there are.
pub(crate) const STATES: u64 = 4;

/// The tools of a server.
pub(crate) const TOOLS: [&str; 7] = [
    "ask", "banned", "echo", "sample", "status", "steps", "touch",
];

/// What a call of `echo` and its kin gives back.
pub(crate) fn answer(server: &str, caller: &str, number: u64, payload: &str) -> String {
    format!("{server}|{caller}|{number}|{payload}")
}

/// What whoever is asked about a call is to answer.
pub(crate) fn secret(caller: &str, number: u64) -> String {
    format!("{caller} knows {number}")
}

/// The question about a call: who must hear it, and which call it is.
pub(crate) fn question(caller: &str, number: u64) -> String {
    format!("{caller}/{number}")
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Echo {
    caller: String,
    number: u64,
    #[serde(default)]
    payload: String,
    /// How long to wait first, in milliseconds.
    #[serde(default)]
    wait: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Touch {
    uri: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Answered {
    secret: String,
}

/// What all tools share.
struct Work {
    name: String,
    runs: File,
    active: AtomicUsize,
}

/// A handler that runs.
struct Active(Arc<Work>);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Work {
    fn new(name: &str, runs: &str) -> Result<Arc<Self>, String> {
        let runs = OpenOptions::new().append(true).create(true).open(runs);
        Ok(Arc::new(Self {
            name: name.to_owned(),
            runs: runs.map_err(|error| format!("--runs: {error}"))?,
            active: AtomicUsize::new(0),
        }))
    }

    fn begin(self: &Arc<Self>) -> Active {
        self.active.fetch_add(1, Ordering::Relaxed);
        Active(Arc::clone(self))
    }

    /// Writes down that a call has run. One write, so that a kill tears nothing.
    fn ran(&self, echo: &Echo) -> Result<String, Failure> {
        let line = format!("{} {}\n", echo.caller, echo.number);
        (&self.runs).write_all(line.as_bytes())?;
        Ok(answer(&self.name, &echo.caller, echo.number, &echo.payload))
    }
}

fn server(work: &Arc<Work>) -> Server {
    let mut server = Server::new(work.name.clone(), "1.0.0");
    for number in 0..STATES {
        let (uri, text) = (state_of(&work.name, number), format!("state {number}"));
        server = server.resource(resource(uri, move || std::future::ready(text.clone())));
    }
    let handle = server.handle();
    let of = || Arc::clone(work);
    let (one, two, three, four, five, six) = (of(), of(), of(), of(), of(), of());
    server
        .tool(tool("echo", move |echo: Echo| wait(Arc::clone(&one), echo)))
        .tool(tool("banned", move |echo: Echo| {
            wait(Arc::clone(&two), echo)
        }))
        .tool(tool("steps", move |echo: Echo, context: Context| {
            steps(Arc::clone(&three), echo, context)
        }))
        .tool(tool("ask", move |echo: Echo, context: Context| {
            ask(Arc::clone(&four), echo, context)
        }))
        .tool(tool("sample", move |echo: Echo, context: Context| {
            sample(Arc::clone(&five), echo, context)
        }))
        .tool(tool("touch", move |touch: Touch| {
            handle.resource_updated(touch.uri);
            std::future::ready("touched")
        }))
        .tool(tool("status", move || {
            std::future::ready(six.active.load(Ordering::Relaxed).to_string())
        }))
}

async fn wait(work: Arc<Work>, echo: Echo) -> Result<String, Failure> {
    let _active = work.begin();
    if echo.wait > 0 {
        tokio::time::sleep(Duration::from_millis(echo.wait)).await;
    }
    work.ran(&echo)
}

async fn steps(work: Arc<Work>, echo: Echo, context: Context) -> Result<String, Failure> {
    let _active = work.begin();
    for step in 1..=STEPS {
        let message = question(&echo.caller, echo.number);
        let progress = Progress::of(step as f64, STEPS as f64).message(message);
        context.progress(progress).await;
        tokio::time::sleep(Duration::from_millis(echo.wait / STEPS)).await;
    }
    work.ran(&echo)
}

async fn ask(work: Arc<Work>, mut echo: Echo, context: Context) -> Result<String, Failure> {
    let _active = work.begin();
    let asked = question(&echo.caller, echo.number);
    match context.elicit::<Answered>("secret", asked).await? {
        Elicited::Accepted(answered) => echo.payload = answered.secret,
        Elicited::Declined => return Err(Failure::failed("declined")),
        Elicited::Cancelled => return Err(Failure::failed("cancelled")),
    }
    work.ran(&echo)
}

async fn sample(work: Arc<Work>, mut echo: Echo, context: Context) -> Result<String, Failure> {
    let _active = work.begin();
    let asked = SamplingMessage::user(question(&echo.caller, echo.number));
    let sampled = context
        .sample("model", CreateMessageRequestParams::new(vec![asked], 10))
        .await?;
    let blocks = sampled.content.as_slice();
    echo.payload = blocks.iter().filter_map(text_of).collect();
    work.ran(&echo)
}

/// The text of a block, if it is one.
pub(crate) fn text_of(block: &SamplingMessageContentBlock) -> Option<&str> {
    match block {
        SamplingMessageContentBlock::Text(text) => Some(&text.text),
        _ => None,
    }
}

/// How often `steps` says how far it is.
pub(crate) const STEPS: u64 = 4;
