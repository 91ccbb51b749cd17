//! `cargo xtask bench cli`: `switchboard tools` and a call beside mcporter and the Inspector, in one
//! run.
//!
//! Each command is run at `server-memory`, and at a server that gives the same answers at once
//! (`stand_in.rs`): the second is the command's own time. The programs take turns. It reports and
//! never fails for a figure: a loaded machine is no fault.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::figures::{Bar, Bound, Role, Row, Spread, Table, bars_table};
use super::options::Options;
use super::stand_in;
use crate::process::{self, Show};
use crate::report::{self, Outcome};
use crate::tools;
use crate::workspace::Workspace;

/// Builds, measures, reports.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Outcome {
    measure(workspace, options).into()
}

fn measure(workspace: &Workspace, options: &Options) -> Result<(), String> {
    let place = Place::prepare(workspace)?;
    let programs: Vec<Program> = programs(workspace, &place)
        .into_iter()
        .filter(|program| options.wants(program.name))
        .collect();
    let mut tables = VERBS.map(|verb| Table {
        title: verb.title.to_owned(),
        columns: &[],
        judged: OWN,
        rows: Vec::new(),
    });
    for program in &programs {
        place.check(program)?;
    }
    for round in 1..=options.rounds {
        for (verb, table) in VERBS.iter().zip(&mut tables) {
            report::progress(&format!(
                "round {round} of {}: {}",
                options.rounds, verb.title
            ));
            one_round(&place, verb, &programs, table, RUNS / options.share);
        }
    }
    for program in &programs {
        program
            .after
            .iter()
            .for_each(|words| drop(place.time(words)));
    }
    let mut text = vec![options.place()];
    text.extend(tables.iter().map(markdown));
    text.push(bars_table(&bars(&tables)));
    report::line(&text.join("\n"));
    Ok(())
}

/// Every program so many times at both servers, in turns; the median of them is the round's.
fn one_round(place: &Place, verb: &Verb, programs: &[Program], table: &mut Table, runs: u32) {
    let mut found: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for _ in 0..runs {
        for (server, figure) in [(MEMORY, WHOLE), (STAND_IN, OWN)] {
            let bare = place.bare(server, verb);
            let mut note = |name, time: Result<f64, String>| match time {
                Ok(time) => found.entry((name, figure)).or_default().push(time),
                Err(reason) => report::progress(&format!("{name}: {reason}")),
            };
            note(BARE, bare);
            for program in programs {
                note(program.name, place.time(&program.words(verb, server)));
            }
        }
    }
    let names = programs.iter().map(|it| (it.name, it.role));
    for (name, role) in std::iter::once((BARE, Role::Limit)).chain(names) {
        let figures = [WHOLE, OWN].into_iter().filter_map(|figure| {
            let times = found.remove(&(name, figure))?;
            Some((figure.to_owned(), Spread::of(times)?.median))
        });
        let figures = figures.collect();
        table.row(name, role).rounds.push(figures);
    }
}

/// A command line that is measured.
struct Program {
    name: &'static str,
    role: Role,
    /// What is typed for the list and for the call, with `SERVER` in place of the server's name.
    verbs: [Vec<String>; 2],
    /// What has to be done before, and afterwards.
    before: Vec<Vec<String>>,
    after: Vec<Vec<String>>,
}

impl Program {
    fn words(&self, verb: &Verb, server: &str) -> Vec<String> {
        let words = self.verbs.get(verb.place).into_iter().flatten();
        words.map(|word| word.replace("SERVER", server)).collect()
    }
}

fn programs(workspace: &Workspace, place: &Place) -> Vec<Program> {
    let words = |program: &[&str], rest: &str| -> Vec<String> {
        let rest = rest.split_whitespace();
        program
            .iter()
            .copied()
            .chain(rest)
            .map(str::to_owned)
            .collect()
    };
    let ours = workspace.target.join("release/switchboard");
    let ours = ours.display().to_string();
    let [mcporter, inspector, mcpdo] = [MCPORTER, tools::INSPECTOR, MCPDO].map(|script| {
        let folder = if script == MCPORTER {
            &place.peers
        } else {
            &place.node
        };
        folder.join(script).display().to_string()
    });
    let newer = place.newer_node.display().to_string();
    let mcporter = [newer.as_str(), &mcporter];
    let inspector = ["node", &inspector];
    let mcpdo = ["node", &mcpdo];
    let plain = |name, role, list, call| Program {
        name,
        role,
        verbs: [list, call],
        before: Vec::new(),
        after: Vec::new(),
    };
    vec![
        plain(
            OURS,
            Role::Ours,
            words(&[&ours], "--config mcp.json tools SERVER"),
            words(&[&ours], "--config mcp.json call SERVER read_graph"),
        ),
        plain(
            "mcporter",
            Role::Peer,
            words(&mcporter, "--config mcp.json list SERVER"),
            words(&mcporter, "--config mcp.json call SERVER.read_graph"),
        ),
        plain(
            "Inspector, --cli",
            Role::PeerOtherwise,
            words(
                &inspector,
                "--cli --config mcp.json --server SERVER --method tools/list",
            ),
            words(
                &inspector,
                "--cli --config mcp.json --server SERVER --method tools/call --tool-name read_graph",
            ),
        ),
        Program {
            before: [MEMORY, STAND_IN]
                .map(|server| words(&mcpdo, &format!("--config mcp.json connect {server}")))
                .to_vec(),
            after: vec![words(&mcpdo, "daemon stop")],
            ..plain(
                "Inspector, mcpdo, connected before",
                Role::Peer,
                words(&mcpdo, "--connection SERVER tools/list"),
                words(&mcpdo, "--connection SERVER tools/call read_graph"),
            )
        },
    ]
}

/// Where it is done, and with what.
struct Place {
    folder: PathBuf,
    node: PathBuf,
    peers: PathBuf,
    newer_node: PathBuf,
    /// How the two servers are started.
    servers: [(&'static str, Vec<String>); 2],
}

impl Place {
    fn prepare(workspace: &Workspace) -> Result<Self, String> {
        let mut command = workspace.cargo();
        command.args(["build", "--release", "--package", "switchboard-cli"]);
        process::run(&mut command, Show::AsProgress)?.check("cargo build of switchboard")?;
        let node = tools::node(workspace)?;
        let (peers, newer_node) = tools::command_lines(workspace)?;
        let folder = workspace.target.join("bench").join("cli");
        // It is not there the first time.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("home"))
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let own = env::current_exe().map_err(|error| format!("this program: {error}"))?;
        let text = |path: &Path| path.display().to_string();
        let answers = folder.join("answers.json");
        let memory = vec!["node".to_owned(), text(&node.join(SERVER))];
        let stand_in = vec![text(&own), "answer".to_owned(), text(&answers)];
        let known = stand_in::visit(&memory, &VERBS.map(|verb| verb.request()))?.answers;
        let config: Value = [(MEMORY, &memory), (STAND_IN, &stand_in)]
            .into_iter()
            .map(|(name, words)| {
                let (command, arguments) = words.split_first().unzip();
                (name, json!({"command": command, "args": arguments}))
            })
            .collect();
        for (file, value) in [
            (answers, Value::Object(known)),
            (folder.join("mcp.json"), json!({ "mcpServers": config })),
        ] {
            fs::write(&file, value.to_string())
                .map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(Self {
            folder,
            node,
            peers,
            newer_node,
            servers: [(MEMORY, memory), (STAND_IN, stand_in)],
        })
    }

    /// Does it what it is measured for? What has to be done before is done.
    fn check(&self, program: &Program) -> Result<(), String> {
        for words in &program.before {
            self.time(words)?;
        }
        for server in [MEMORY, STAND_IN] {
            for verb in VERBS {
                let output = self.command(&program.words(verb, server))?.output();
                let output = output.map_err(|error| format!("{}: {error}", program.name))?;
                let shown = String::from_utf8_lossy(&output.stdout);
                if !shown.contains(verb.shows) {
                    let said = String::from_utf8_lossy(&output.stderr);
                    return Err(format!("{}: {shown} {said}", program.name));
                }
            }
        }
        Ok(())
    }

    /// How many milliseconds a command takes from start to end.
    fn time(&self, words: &[String]) -> Result<f64, String> {
        let mut command = self.command(words)?;
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        let status = command.status().map_err(|error| error.to_string())?;
        let time = started.elapsed();
        match status.success() {
            true => Ok(milliseconds(time)),
            false => Err(format!("it ended with {status}")),
        }
    }

    fn command(&self, words: &[String]) -> Result<Command, String> {
        let (program, arguments) = words.split_first().ok_or("nothing to run")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null());
        // Nothing of the user's own, and no keyring that has to be looked for.
        command.env("HOME", self.folder.join("home"));
        command.env("MCP_INSPECTOR_SECRET_STORE", "memory");
        Ok(command)
    }

    /// The same by a client that does only what has to be done.
    fn bare(&self, server: &str, verb: &Verb) -> Result<f64, String> {
        let mut servers = self.servers.iter();
        let words = servers.find(|(name, _)| *name == server);
        let (_, words) = words.ok_or("no such server")?;
        let visit = stand_in::visit(words, &[verb.request()])?;
        Ok(milliseconds(visit.time))
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// What is measured.
struct Verb {
    place: usize,
    title: &'static str,
    method: &'static str,
    /// What is in the result.
    shows: &'static str,
}

impl Verb {
    fn request(&self) -> (&'static str, Value) {
        let params = match self.method {
            "tools/call" => json!({"name": "read_graph", "arguments": {}}),
            _ => json!({}),
        };
        (self.method, params)
    }
}

fn markdown(table: &Table) -> String {
    let mut text = format!(
        "### {}\n\n| program | at server-memory, ms | **own, ms** | own, of ours |\n|---|---:|---:|---:|\n",
        table.title
    );
    let ours = table.best(Role::Ours);
    for row in &table.rows {
        let cell = |key| row.spread(key).map_or("-".to_owned(), |it| it.to_string());
        let ratio = ours.and_then(|ours| table.ratio(row, ours));
        let ratio = ratio.map_or("-".to_owned(), |it| format!("{it}×"));
        let (name, whole, own) = (row.name, cell(WHOLE), cell(OWN));
        text += &format!("| {name} | {whole} | {own} | {ratio} |\n");
    }
    text
}

fn bars(tables: &[Table]) -> Vec<Bar> {
    let mut bars = Vec::new();
    for table in tables {
        let ours = table.best(Role::Ours);
        bars.push(Bar {
            claim: format!("{}: own time, ms", table.title),
            found: ours.and_then(|ours| ours.spread(OWN)),
            bound: Bound::AtMost(10.0),
        });
        let is_peer = |row: &&Row| matches!(row.role, Role::Peer | Role::PeerOtherwise);
        bars.extend(table.rows.iter().filter(is_peer).map(|row| Bar {
            claim: format!("{}: times less than {}", table.title, row.name),
            found: ours.and_then(|ours| table.ratio(row, ours)),
            bound: Bound::AtLeast(10.0),
        }));
    }
    bars
}

const VERBS: [&Verb; 2] = [
    &Verb {
        place: 0,
        title: "the tools of server-memory",
        method: "tools/list",
        shows: "create_entities",
    },
    &Verb {
        place: 1,
        title: "a call of server-memory",
        method: "tools/call",
        shows: "entities",
    },
];
const OURS: &str = "switchboard";
const BARE: &str = "a bare pipe";
const MEMORY: &str = "memory";
const STAND_IN: &str = "stand-in";
/// From start to end, the server's start included.
const WHOLE: &str = "whole";
/// The same at the stand-in.
const OWN: &str = "own";
/// Runs of each command in a round.
const RUNS: u32 = 10;
const SERVER: &str = "node_modules/@modelcontextprotocol/server-memory/dist/index.js";
const MCPDO: &str = "node_modules/@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js";
const MCPORTER: &str = "node_modules/mcporter/dist/cli.js";
