//! A hub of one file: real servers of every kind, each asked something, and nothing left.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_client::types::{CompleteRequestParams, CompletionArgument, CompletionReference};
use switchboard_hub::{Config, Hub, MemberState};

use crate::calls::{self, has, text};
use crate::catalog::{self, Server, Slow};
use crate::members::{self, Members};
use crate::places::Places;
use crate::report::{self, Report};

pub(crate) async fn check(places: &Places, page: &str, report: &mut Report) {
    let servers = catalog::servers(places, page);
    let is_wanted = |server: &&Server| WANTED.contains(&server.name.as_str());
    let servers: Vec<&Server> = servers.iter().filter(is_wanted).collect();
    let mut members = Members::default();
    for server in &servers {
        if let Err(reason) = members.add(&server.name, server) {
            return report.check("file: starts", Err(reason));
        }
    }
    let hub = match open(places, &members) {
        Ok(hub) => hub,
        Err(reason) => return report.check("file: is read", Err(reason)),
    };
    let begun = Instant::now();
    let connected = members::connect(&hub).await;
    if let Ok(time) = &connected {
        report::line(&format!("file: ready after {:.1} s", time.as_secs_f64()));
    }
    let all = match servers.len() == WANTED.len() {
        true => connected.map(drop),
        false => Err(format!("{} of {} are known", servers.len(), WANTED.len())),
    };
    report.check(format!("file: {} servers are ready", servers.len()), all);
    for server in &servers {
        one(&hub, server, report).await;
    }
    features(&hub, report).await;
    let before = members.count().unwrap_or(0);
    hub.close().await;
    report.check(
        format!("file: closes, 0 of {before} processes left"),
        members.check_none(before),
    );
    report::line(&format!("file: {:.1} s", begun.elapsed().as_secs_f64()));
}

fn open(places: &Places, members: &Members) -> Result<Hub, String> {
    let file = members.write(&places.scratch.join("hub"))?;
    let config = Config::from_file(file).map_err(|error| error.to_string())?;
    if let Some(problem) = config.problems.first() {
        return Err(problem.to_string());
    }
    let builder = Hub::builder().config(config).resource_tools(true);
    Ok(builder.build())
}

async fn one(hub: &Hub, server: &Server, report: &mut Report) {
    let name = &server.name;
    report.check(
        format!("file: {name}: revision {}", server.revision),
        revision(hub, server),
    );
    if let Some(ask) = &server.answer {
        report.check(
            format!("file: {name}: {} answers", ask.tool),
            calls::answers(hub, name, ask).await,
        );
    }
    report.check(
        format!("file: {name}: {} is an error", server.error.tool),
        calls::refuses(hub, name, &server.error).await,
    );
    if let Some(slow) = &server.slow {
        report.check(
            format!("file: {name}: {} is cancelled", slow.tool),
            cancels(hub, name, slow).await,
        );
    }
}

fn revision(hub: &Hub, server: &Server) -> Result<(), String> {
    let servers = hub.servers();
    let status = servers.iter().find(|status| *status.name == *server.name);
    let state = status.map(|status| &status.state);
    let state = state.ok_or("it is not there")?;
    let ready = match state {
        MemberState::Ready(ready) => ready,
        // It cannot list resources without its database, and its tools are there all the same.
        MemberState::ListingFailed { ready, reason, .. }
            if server.name == "server-postgres" && reason.contains("ECONNREFUSED") =>
        {
            ready
        }
        other => return Err(other.to_string()),
    };
    match ready.revision.to_string() == server.revision {
        true => Ok(()),
        false => Err(format!("it is {}", ready.revision)),
    }
}

/// The call ends at once, the server goes on, and the call has stopped there too, if it counts.
async fn cancels(hub: &Hub, server: &str, slow: &Slow) -> Result<(), String> {
    let begun = Instant::now();
    let call = hub.call_on(server, slow.tool).args(&slow.arguments);
    match call.cancel_on(tokio::time::sleep(CANCEL_AFTER)).await {
        Err(error) if calls::is_cancelled(&error) => {}
        other => return Err(format!("not cancelled: {other:?}")),
    }
    let Some(counter) = slow.stopped else {
        return Ok(());
    };
    loop {
        let stopped = hub.call_on(server, counter).await;
        let stopped = stopped.map_err(|error| text(&error))?.joined_text();
        if stopped == "1" {
            return Ok(());
        }
        if begun.elapsed() > CANCEL_AFTER + PROMPT {
            return Err(format!("the server stopped {stopped} calls, not 1"));
        }
        tokio::time::sleep(CANCEL_AFTER).await;
    }
}

async fn features(hub: &Hub, report: &mut Report) {
    let steps = [
        ("a resource is read", resource(hub).await),
        ("a prompt is filled in", prompt(hub).await),
        ("an argument is completed", complete(hub).await),
        (
            "resources are listed and read by tools",
            resource_tools(hub).await,
        ),
        (
            "a tool that is not there is an error with a hint",
            unknown(hub).await,
        ),
        (
            "servers with odd names have names of their own",
            prefixes(hub),
        ),
    ];
    for (step, outcome) in steps {
        report.check(format!("file: {step}"), outcome);
    }
    for (words, server, tool) in SEARCHES {
        let hits = hub.search(words, 3);
        let found: Vec<String> = hits
            .iter()
            .map(|hit| format!("{} of {}", hit.tool.tool.name, hit.tool.server))
            .collect();
        let is_first = found.first() == Some(&format!("{tool} of {server}"));
        report.check(
            format!("file: {words:?} finds {tool} first"),
            is_first.then_some(()).ok_or(format!("found {found:?}")),
        );
    }
}

async fn resource(hub: &Hub) -> Result<(), String> {
    let text = calls::read(hub, "demo://resource/dynamic/text/7").await?;
    has(&text, "Resource 7")
}

async fn prompt(hub: &Hub) -> Result<(), String> {
    let catalog = hub.catalog();
    let prompt = catalog.find_prompt_on(EVERYTHING, "completable-prompt");
    let prompt = prompt.map_err(|error| error.to_string())?;
    let arguments = [("department", "Sales"), ("name", "Eve")];
    let filled = hub.prompt(prompt.name.as_str(), arguments).await;
    let filled = filled.map_err(|error| text(&error))?;
    let said = filled
        .messages
        .first()
        .and_then(|message| message.content.as_text());
    has(
        said.unwrap_or_default(),
        "promote Eve to the head of the Sales team",
    )
}

async fn complete(hub: &Hub) -> Result<(), String> {
    let catalog = hub.catalog();
    let prompt = catalog.find_prompt_on(EVERYTHING, "completable-prompt");
    let prompt = prompt.map_err(|error| error.to_string())?;
    let params = CompleteRequestParams::new(
        CompletionReference::prompt(prompt.name.as_str()),
        CompletionArgument::new("department", "S"),
    );
    let result = hub.complete(params).await.map_err(|error| text(&error))?;
    match result.completion.values == ["Sales", "Support"] {
        true => Ok(()),
        false => Err(format!("came {:?}", result.completion.values)),
    }
}

async fn resource_tools(hub: &Hub) -> Result<(), String> {
    let listed = hub.call("list_resources").arg("server", EVERYTHING).await;
    let listed = listed.map_err(|error| text(&error))?.joined_text();
    let listed: Value = serde_json::from_str(&listed).map_err(|error| error.to_string())?;
    let listed = listed["resources"].as_array().ok_or("no list")?;
    let own = hub.catalog();
    let own = own.resources().filter(|entry| *entry.server == *EVERYTHING);
    let own = own.count();
    let uris = listed
        .iter()
        .filter_map(|resource| resource["uri"].as_str());
    let uris: Vec<&str> = uris.collect();
    if own == 0 || uris.len() != own {
        return Err(format!("{} resources, not {own}", uris.len()));
    }
    let uri = uris.first().copied().unwrap_or_default();
    let read = hub.call("read_resource").args(&json!({"uri": uri})).await;
    let read = read.map_err(|error| text(&error))?.joined_text();
    match read == calls::read(hub, uri).await? && !read.is_empty() {
        true => Ok(()),
        false => Err(format!("{uri}: came {read:?}")),
    }
}

async fn unknown(hub: &Hub) -> Result<(), String> {
    match hub.call("mcp__server-everything__get-sun").await {
        Ok(result) => Err(format!("it answered {:?}", result.joined_text())),
        Err(error) => has(&text(&error), "mcp__server-everything__get-sum"),
    }
}

/// Spaces and commas are not in the names of tools, and yet no two servers share a beginning.
fn prefixes(hub: &Hub) -> Result<(), String> {
    let catalog = hub.catalog();
    let mut owners = BTreeMap::new();
    for entry in catalog.tools() {
        let name = entry.name.as_str();
        let owner = owners.insert(name.to_owned(), &entry.server);
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if owner.is_some() || name.len() > 64 || !name.bytes().all(is_good) {
            return Err(format!("{name} of {}", entry.server));
        }
    }
    Ok(())
}

const EVERYTHING: &str = "server-everything";
/// Which of the catalogue: everything from npm and PyPI, and libraries over HTTP.
const WANTED: [&str; 17] = [
    EVERYTHING,
    "server-filesystem",
    "server-memory",
    "server-sequential-thinking",
    "server-github",
    "server-postgres",
    "excel-mcp-server",
    "context7-mcp",
    "mcp-server-time",
    "mcp-server-fetch",
    "mcp-server-git",
    "typescript sdk 2.x, http",
    "typescript sdk 1.x, http+sse",
    "python sdk 2.x, http",
    "python sdk 1.x, stdio",
    "rmcp, stdio",
    "rmcp, http",
];
/// What somebody might say, and the tool that is meant.
const SEARCHES: [(&str, &str, &str); 6] = [
    (
        "convert a time to another timezone",
        "mcp-server-time",
        "convert_time",
    ),
    ("status of a git repository", "mcp-server-git", "git_status"),
    ("create an issue on GitHub", "server-github", "create_issue"),
    (
        "create entities in the knowledge graph",
        "server-memory",
        "create_entities",
    ),
    ("read a text file", "server-filesystem", "read_text_file"),
    ("fetch a URL", "mcp-server-fetch", "fetch"),
];
/// Long enough for the call to be under way.
const CANCEL_AFTER: Duration = Duration::from_millis(300);
/// Time for the word to get there on a busy machine; the call would take a minute.
const PROMPT: Duration = Duration::from_secs(5);
