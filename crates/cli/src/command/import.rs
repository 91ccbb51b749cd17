//! `switchboard import`: servers that other programs have.
//!
//! What is not there yet is added; what has the same name and is another stays, unless it is to
//! be replaced.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use switchboard_hub::{Config, Dialect};

use crate::app::App;
use crate::args::edit::Import;
use crate::edit::{self, Change};
use crate::exit::Failure;
use crate::import::{Arrival, Client, Fate, Folders, Incoming, Scope, merge, read_any};
use crate::output::{Column, Line, Outcome, Page, Style, Table};

pub(crate) async fn run(args: &Import, app: &App) -> Result<Outcome, Failure> {
    let target = edit::target(&app.global, args.file)?;
    let sources = sources(args.from.as_deref(), &target, app)?;
    let mut change = Change::open(&target)?;
    if change.manner().dialect != Dialect::Standard {
        // The same words would mean something else there.
        let file = target.display();
        let failure = Failure::usage(format!("{file} is another program's, in its own words"));
        return Err(failure.hint("--project, --user or another --config says where to"));
    }
    let folder = project_folder(change.config(), &target);
    let mut incoming = Vec::new();
    let mut inputs: Vec<Value> = Vec::new();
    for source in &sources {
        for problem in source.config.errors() {
            app.output.warn(&format!("not imported: {problem}"));
        }
        if let Some(asked) = source
            .config
            .unknown
            .get("inputs")
            .and_then(Value::as_array)
        {
            inputs.extend(asked.iter().cloned());
        }
        for server in &source.config.servers {
            let mut server = server.clone();
            if source.scope == Some(Scope::User) {
                // It runs wherever its user is.
                server.folder = None;
            }
            let file = source.file.clone();
            incoming.push(Incoming {
                server,
                client: source.client,
                file,
            });
        }
    }
    let arrivals = merge(change.config(), incoming, folder.as_deref(), args.force);
    for arrival in &arrivals {
        if matches!(arrival.fate, Fate::Added | Fate::Replaced) {
            change.add(&arrival.name, &arrival.json)?;
        }
    }
    let is_meant = |input: &Value| {
        let id = input.get("id").and_then(Value::as_str).unwrap_or_default();
        let reference = format!("${{input:{id}}}");
        let written = |arrival: &Arrival| {
            matches!(arrival.fate, Fate::Added | Fate::Replaced)
                && arrival.json.contains(&reference)
        };
        !id.is_empty() && arrivals.iter().any(written)
    };
    inputs.retain(is_meant);
    change.add_inputs(&inputs)?;
    let changes = arrivals
        .iter()
        .any(|arrival| matches!(arrival.fate, Fate::Added | Fate::Replaced));
    if changes && !args.dry_run {
        change.write()?;
    }
    Ok(show(app, args, &change, &arrivals, changes))
}

/// A file that servers come from.
struct Source {
    file: PathBuf,
    /// None: it was named.
    client: Option<Client>,
    scope: Option<Scope>,
    config: Config,
}

fn sources(from: Option<&str>, target: &Path, app: &App) -> Result<Vec<Source>, Failure> {
    let folders = Folders::of_process();
    let clients = match from {
        None => Client::ALL.to_vec(),
        Some(word) => match Client::of(word) {
            Some(client) => vec![client],
            None => return Ok(vec![of_file(word)?]),
        },
    };
    let is_target = |file: &Path| match (file.canonicalize(), target.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => file == target,
    };
    let mut sources = Vec::new();
    for client in &clients {
        for found in client.find(&folders) {
            if is_target(&found.file) {
                continue;
            }
            match found.config {
                Ok(config) => sources.push(Source {
                    file: found.file,
                    client: Some(found.client),
                    scope: Some(found.scope),
                    config,
                }),
                // Whoever names a program wants to know; otherwise the others are no worse for it.
                Err(error) if from.is_some() => return Err(error.into()),
                Err(error) => app.output.warn(&format!("not imported: {error}")),
            }
        }
    }
    match (from, &clients[..], sources.is_empty()) {
        (Some(word), [client], true) => {
            let failure = Failure::usage(format!("{word} has no file with servers here"));
            let places = client.files(&folders);
            let places: Vec<String> = places
                .iter()
                .map(|(_, file)| file.display().to_string())
                .collect();
            Err(failure.hint(format!("looked at {}", places.join(", "))))
        }
        _ => Ok(sources),
    }
}

fn of_file(word: &str) -> Result<Source, Failure> {
    let file = PathBuf::from(word);
    if !file.exists() {
        let clients = Client::ALL.map(Client::word).join(", ");
        let failure = Failure::usage(format!("{word:?} is no file, and no program that is known"));
        return Err(failure.hint(format!("known are {clients}")));
    }
    let config = read_any(&file)?;
    Ok(Source {
        file,
        client: None,
        scope: None,
        config,
    })
}

/// The folder in which servers of a file run.
fn project_folder(config: &Config, target: &Path) -> Option<PathBuf> {
    let known = config
        .servers
        .iter()
        .find_map(|server| server.folder.clone());
    known.or_else(|| {
        let whole = std::path::absolute(target).ok()?;
        whole.parent().map(Path::to_owned)
    })
}

fn show(app: &App, args: &Import, change: &Change, arrivals: &[Arrival], changes: bool) -> Outcome {
    let file = change.path().display().to_string();
    let diff = match args.dry_run && changes {
        true => change.diff(),
        false => String::new(),
    };
    let conflicts = arrivals.iter().any(|it| it.fate == Fate::Conflict);
    let page = || {
        if arrivals.is_empty() {
            return Page::new().line("no servers were found");
        }
        let mut table = Table::new([
            Column::left("SERVER"),
            Column::left(if args.dry_run { "WOULD BE" } else { "IS" }),
            Column::rest("FROM"),
        ]);
        for arrival in arrivals {
            let (style, word) = match arrival.fate {
                Fate::Added => (Style::Good, "added"),
                Fate::Replaced => (Style::Notable, "replaced"),
                Fate::Same => (Style::Faint, "there already"),
                Fate::Conflict => (Style::Bad, "in conflict"),
            };
            table.row([
                Line::new().strong(&arrival.name),
                Line::new().styled(style, word),
                Line::new().faint(arrival.file.display().to_string()),
            ]);
        }
        let mut page = Page::new().table(table);
        if !diff.is_empty() {
            page = page.blank().text(diff.as_str());
        }
        page
    };
    let document = || {
        let servers = arrivals.iter().map(|arrival| {
            json!({
                "server": arrival.name,
                "result": arrival.fate.word(),
                "client": arrival.client.map(Client::word),
                "from": arrival.file.to_string_lossy(),
            })
        });
        json!({
            "file": file,
            "written": changes && !args.dry_run,
            "servers": servers.collect::<Vec<_>>(),
            "diff": diff,
        })
    };
    let outcome = Outcome::of(app, page, document).lines(&["servers"]);
    if conflicts {
        let hint = match args.force {
            true => "two files have different servers of one name; the first was taken",
            false => "other servers of the same name stay as they are; --force replaces them",
        };
        app.output.note(hint);
    }
    outcome
}
