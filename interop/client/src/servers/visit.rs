//! What is done with every server: connect, list, call, fail, cancel, close, and count what is left.

use std::time::{Duration, Instant};

use switchboard_client::types::CallToolResult;
use switchboard_client::{Class, Client, Error, ErrorKind, Spec, State};

use crate::catalog::{Ask, Server, Slow, Start};
use crate::everything::{self, Told};
use crate::processes::{self, VARIABLE};
use crate::report::{Report, chain};
use crate::started::Started;

/// Takes all steps with one server. What cannot be reached has failed, and nothing else is tried.
pub(crate) async fn visit(server: &Server, report: &mut Report) {
    let mark = processes::new_mark();
    let name = &server.name;
    let started = match &server.start {
        Start::Stdio(_) => None,
        Start::Http(words, listens) => match Started::new(words, *listens, &mark) {
            Ok(started) => Some(started),
            Err(reason) => return report.check(format!("{name}: starts"), Err(reason)),
        },
    };
    let told = Told::default();
    let begun = Instant::now();
    let connected = connect(server, started.as_ref(), &mark, &told).await;
    let client = match connected {
        Ok(client) => client,
        Err(reason) => return report.check(format!("{name}: connects"), Err(reason)),
    };
    report.check(
        format!("{name}: connects, revision {}", server.revision),
        revision(&client, server).await,
    );
    report.check(
        format!("{name}: lists everything"),
        lists(&client, server).await,
    );
    if let Some(ask) = &server.answer {
        report.check(
            format!("{name}: {} answers", ask.tool),
            answers(&client, ask).await,
        );
    }
    report.check(
        format!("{name}: {} is an error", server.error.tool),
        refuses(&client, &server.error).await,
    );
    if let Some(ask) = &server.asking {
        report.check(
            format!("{name}: {} asks and answers", ask.tool),
            answers(&client, ask).await,
        );
    }
    if let Some(slow) = &server.slow {
        report.check(
            format!("{name}: {} is cancelled", slow.tool),
            cancels(&client, slow).await,
        );
    }
    if server.is_everything {
        everything::visit(name, &client, &told, report).await;
    }
    // Else the count below would count nothing.
    let before = processes::left(&mark).map_or(0, |running| running.len());
    client.close().await;
    // What was started behind a URL is not the client's to end.
    drop(started);
    let left = match before {
        0 => Err("no process was there before".to_owned()),
        _ => processes::check_none(&mark),
    };
    report.check(
        format!("{name}: closes, 0 of {before} processes left"),
        left.and_then(|()| gone(&client)),
    );
    crate::report::line(&format!("{name}: {:.1} s", begun.elapsed().as_secs_f64()));
}

async fn connect(
    server: &Server,
    started: Option<&Started>,
    mark: &str,
    told: &Told,
) -> Result<Client, String> {
    let spec = match (&server.start, started) {
        (Start::Stdio(command), _) => {
            let mut words = command.words.iter();
            let program = words.next().ok_or("no program")?;
            let mut spec = Spec::command(program).args(words).env(VARIABLE, mark);
            spec = spec.env("PYTHONDONTWRITEBYTECODE", "1");
            for (name, value) in &command.variables {
                spec = spec.env(name, value);
            }
            spec.cwd(&command.folder)
        }
        (Start::Http(..), Some(started)) => {
            Spec::url(&started.url).map_err(|bad| bad.to_string())?
        }
        (Start::Http(..), None) => return Err("it is not started".to_owned()),
    };
    Client::connect_with(spec.name(&server.name), everything::host(told))
        .await
        .map_err(|error| chain(&error))
}

async fn revision(client: &Client, server: &Server) -> Result<(), String> {
    let ready = client.ready().await.map_err(|error| chain(&error))?;
    same(
        ready.revision.to_string().as_str(),
        server.revision,
        "the revision",
    )
}

/// Every list that the server declares; what it does not declare is not asked for.
async fn lists(client: &Client, server: &Server) -> Result<(), String> {
    let ready = client.ready().await.map_err(|error| chain(&error))?;
    let can = &ready.capabilities;
    let tools = client.tools().await.map_err(|error| chain(&error))?;
    for tool in &server.tools {
        if tools.by_name(tool).is_none() {
            return Err(format!("no tool {tool} among {} tools", tools.len()));
        }
    }
    if !tools.left_out().is_empty() {
        return Err(format!("left out: {}", tools.left_out().join(", ")));
    }
    listed(can.prompts.is_some(), client.prompts().await.map(drop))?;
    listed(can.resources.is_some(), client.resources().await.map(drop))?;
    listed(
        can.resources.is_some(),
        client.resource_templates().await.map(drop),
    )
}

fn listed(is_declared: bool, outcome: Result<(), Error>) -> Result<(), String> {
    match (is_declared, outcome) {
        (true, Ok(())) => Ok(()),
        // Some declare resources and have no templates: they refuse the method.
        (true, Err(error))
            if error
                .refusal()
                .is_some_and(|refusal| refusal.code.0 == -32601) =>
        {
            Ok(())
        }
        // postgres lists its tables, and there is no database.
        (true, Err(error)) if error.to_string().contains("ECONNREFUSED") => Ok(()),
        (true, Err(error)) => Err(chain(&error)),
        (false, Err(error)) if matches!(error.kind(), ErrorKind::NotOffered(_)) => Ok(()),
        (false, other) => Err(format!("asked for what was not declared: {other:?}")),
    }
}

async fn answers(client: &Client, ask: &Ask) -> Result<(), String> {
    let result = call(client, ask).await.map_err(|error| chain(&error))?;
    let found = result.joined_text();
    match !result.is_error() && found.contains(ask.contains) {
        true => Ok(()),
        false => Err(format!("wanted {:?}, came {found:?}", ask.contains)),
    }
}

/// Refused either way counts: as a JSON-RPC error, or as a result that says so.
async fn refuses(client: &Client, ask: &Ask) -> Result<(), String> {
    let found = match call(client, ask).await {
        Ok(result) if result.is_error() => result.joined_text(),
        Ok(result) => return Err(format!("it answered {:?}", result.joined_text())),
        Err(error) if error.class() == Class::Refused => chain(&error),
        Err(error) => return Err(format!("class {:?}: {}", error.class(), chain(&error))),
    };
    match found.contains(ask.contains) {
        true => Ok(()),
        false => Err(format!("wanted {:?}, came {found:?}", ask.contains)),
    }
}

/// The call ends at once, and the connection goes on.
async fn cancels(client: &Client, slow: &Slow) -> Result<(), String> {
    let begun = Instant::now();
    let call = client.call(slow.tool).args(&slow.arguments);
    let outcome = call.cancel_on(tokio::time::sleep(CANCEL_AFTER)).await;
    match outcome {
        Err(error) if matches!(error.kind(), ErrorKind::Cancelled) => {}
        other => return Err(format!("not cancelled: {other:?}")),
    }
    if begun.elapsed() > CANCEL_AFTER + PROMPT {
        return Err(format!("it took {:?}", begun.elapsed()));
    }
    client
        .refresh_tools()
        .await
        .map_err(|error| chain(&error))?;
    let Some(counter) = slow.stopped else {
        return Ok(());
    };
    // The server must have heard of it; when, is up to its scheduling.
    loop {
        let stopped = client.call(counter).await;
        let stopped = stopped.map_err(|error| chain(&error))?.joined_text();
        if stopped == "1" {
            return Ok(());
        }
        if begun.elapsed() > CANCEL_AFTER + PROMPT {
            return Err(format!("the server stopped {stopped} calls, not 1"));
        }
        tokio::time::sleep(CANCEL_AFTER).await;
    }
}

fn gone(client: &Client) -> Result<(), String> {
    match client.state() {
        State::Closed => Ok(()),
        other => Err(format!("the client is not closed but {other}")),
    }
}

async fn call(client: &Client, ask: &Ask) -> Result<CallToolResult, Error> {
    client.call(ask.tool).args(&ask.arguments).await
}

/// `Err` that says what came, unless it is what was wanted.
pub(crate) fn same(came: &str, wanted: &str, what: &str) -> Result<(), String> {
    match came == wanted {
        true => Ok(()),
        false => Err(format!("{what}: wanted {wanted:?}, came {came:?}")),
    }
}

/// Long enough for the call to be under way.
const CANCEL_AFTER: Duration = Duration::from_millis(300);
/// Time for the word to come back on a busy machine; the call would take a minute.
const PROMPT: Duration = Duration::from_secs(5);
