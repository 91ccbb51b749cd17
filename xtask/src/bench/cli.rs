//! `cargo xtask bench cli`: `switchboard tools` and a call beside mcporter and the Inspector, in one
//! run.
//!
//! Each command is run at `server-memory`, and at a server that gives the same answers at once
//! (`stand_in.rs`). What it needs there beyond a client that does only what has to be done, in the
//! same turn, is its own time. The programs take turns. It reports and
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
    let mut spent: BTreeMap<&str, f64> = BTreeMap::new();
    for _ in 0..runs {
        for (server, figure) in [(MEMORY, WHOLE), (STAND_IN, QUICK)] {
            let mut note = |name, run: &dyn Fn() -> Result<f64, String>| {
                let before = children_cpu();
                let time = run();
                if figure == QUICK {
                    *spent.entry(name).or_default() += children_cpu() - before;
                }
                match time {
                    Ok(time) => found.entry((name, figure)).or_default().push(time),
                    Err(reason) => report::progress(&format!("{name}: {reason}")),
                }
            };
            note(BARE, &|| place.bare(server, verb));
            for program in programs {
                let words = program.words(verb, server);
                note(program.name, &|| place.time(&words));
            }
        }
    }
    let mut figures_of = |name: &'static str| -> BTreeMap<String, f64> {
        let figures = [WHOLE, QUICK].into_iter().filter_map(|figure| {
            let times = found.remove(&(name, figure))?;
            Some((figure.to_owned(), Spread::of(times)?.median))
        });
        // One run is shorter than what the system counts in: all of them together are not.
        let spent = spent.remove(name).unwrap_or_default() / f64::from(runs.max(1));
        figures.chain([(CPU.to_owned(), spent)]).collect()
    };
    let bare = figures_of(BARE);
    for program in programs {
        let mut figures = figures_of(program.name);
        // What it takes to start a server, ask and end it is not the program's own; one that was
        // connected before starts none.
        let start = |figure| match program.before.is_empty() {
            true => bare.get(figure).copied().unwrap_or_default(),
            false => 0.0,
        };
        if let Some(quick) = figures.get(QUICK) {
            figures.insert(OWN.to_owned(), quick - start(QUICK));
        }
        if let Some(cpu) = figures.get_mut(CPU) {
            *cpu -= start(CPU);
        }
        table.row(program.name, program.role).rounds.push(figures);
    }
    table.row(BARE, Role::Limit).rounds.push(bare);
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

/// Milliseconds of CPU that the programs took which we started and which have ended, with all that
/// they started.
fn children_cpu() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may hold anything: the times of children are its 14th and 15th.
    let behind = stat.rsplit(')').next().unwrap_or_default();
    let ticks = behind.split_whitespace().skip(13).take(2);
    let ticks: f64 = ticks.filter_map(|text| text.parse::<f64>().ok()).sum();
    ticks * MILLISECONDS_PER_TICK
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
        "### {}\n\n| program | at server-memory, ms | at the stand-in, ms | **own, ms** | own CPU, ms \
         | own, of ours |\n|---|---:|---:|---:|---:|---:|\n",
        table.title
    );
    let ours = table.best(Role::Ours);
    for row in &table.rows {
        let cell = |key| row.spread(key).map_or("-".to_owned(), |it| it.to_string());
        let ratio = ours.and_then(|ours| table.ratio(row, ours));
        let ratio = ratio.map_or("-".to_owned(), |it| format!("{it}×"));
        let (name, whole, quick) = (row.name, cell(WHOLE), cell(QUICK));
        let (own, cpu) = (cell(OWN), cell(CPU));
        text += &format!("| {name} | {whole} | {quick} | {own} | {cpu} | {ratio} |\n");
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
const QUICK: &str = "quick";
/// That, without what the bare pipe needs there.
const OWN: &str = "own";
/// The CPU of that.
const CPU: &str = "cpu";
/// As Linux counts it for programs, on every machine.
const MILLISECONDS_PER_TICK: f64 = 10.0;
/// Runs of each command in a round.
const RUNS: u32 = 10;
const SERVER: &str = "node_modules/@modelcontextprotocol/server-memory/dist/index.js";
const MCPDO: &str = "node_modules/@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js";
const MCPORTER: &str = "node_modules/mcporter/dist/cli.js";
