//! One gateway before real servers of both eras, met by clients of both: each client with each feature is
//! one check.
//!
//! 1. `driven`: a client that does what it is told; `features`: what that is, and what has to come of it
//! 2. `exceptions`: what a client's library cannot do itself
//! 3. `catalogue`, `together`: everybody sees the same, and nobody what is somebody else's
//! 4. `inspector`: one more client, by its command line
//!
//! Over HTTP all clients are there at the same time; on stdio each starts a gateway of its own.

mod catalogue;
mod driven;
mod exceptions;
mod features;
mod inspector;
mod together;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::interop::clients::LISTENING;
use crate::interop::conformance::gateway::wait_until_ready;
use crate::interop::gateway::catalogue::Catalogue;
use crate::interop::gateway::driven::Driven;
use crate::interop::gateway::features::{FEATURES, era_of};
use crate::interop::gateway::together::check_apart;
use crate::interop::script::record;
use crate::process::{self, Show};
use crate::report::Outcome;
use crate::tools;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace) -> Outcome {
    let house = match House::prepare(workspace) {
        Ok(house) => house,
        Err(reason) => return Outcome::failed(reason),
    };
    let mut outcome = Outcome::default();
    let served = house.with_distant_servers(|servers| {
        outcome.add(house.meet_over_http(&servers));
        outcome.add(house.meet_on_stdio(&servers));
    });
    outcome.failures.extend(served.err());
    outcome
}

/// One client: how it is started, and which era it is told to speak.
struct Client {
    name: &'static str,
    era: &'static str,
    /// What comes before its name, its era and the server.
    words: Vec<PathBuf>,
}

/// Where everything is that is needed.
struct House {
    switchboard: PathBuf,
    folder: PathBuf,
    node: PathBuf,
    python: PathBuf,
    scripts: PathBuf,
    ours: PathBuf,
    added: PathBuf,
    clients: Vec<Client>,
}

impl House {
    fn prepare(workspace: &Workspace) -> Result<Self, String> {
        let mut command = workspace.cargo();
        command.args(["build", "--package", "switchboard-cli"]);
        process::run(&mut command, Show::All)?.check("cargo build")?;
        workspace.build_examples()?;
        let node = tools::node(workspace)?;
        let scripts = workspace.root.join("interop").join("gateway");
        let python = tools::python(workspace, "requirements.txt")?;
        let python_v1 = tools::python(workspace, "requirements-v1.txt")?;
        let rmcp = tools::rmcp_client(workspace)?.with_file_name("gateway");
        let script = |name: &str| vec!["node".into(), node.join("gateway").join(name)];
        let client_py = |folder: &Path| vec![folder.join("python"), scripts.join("client.py")];
        let client = |name, era, words| Client { name, era, words };
        let clients = vec![
            client("typescript-1", HANDSHAKE, script("client_v1.mjs")),
            client("typescript-2-handshake", HANDSHAKE, script("client_v2.mjs")),
            client("typescript-2-stateless", STATELESS, script("client_v2.mjs")),
            client("python-1", HANDSHAKE, client_py(&python_v1)),
            client("python-2-handshake", HANDSHAKE, client_py(&python)),
            client("python-2-stateless", STATELESS, client_py(&python)),
            client("rmcp-handshake", HANDSHAKE, vec![rmcp.clone()]),
            client("rmcp-stateless", STATELESS, vec![rmcp]),
        ];
        let folder = workspace.target.join("interop").join("gateway");
        // It is not there the first time.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)
            .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
        make_history(&folder.join("history"))?;
        Ok(Self {
            switchboard: workspace.binary("switchboard"),
            folder,
            node,
            python,
            scripts,
            ours: workspace.binary("everything"),
            added: workspace.binary("echo"),
            clients,
        })
    }

    /// Starts the servers that are met over HTTP.
    fn with_distant_servers(&self, body: impl FnOnce(Value)) -> Result<(), String> {
        let mut cards = Command::new("node");
        cards.arg(self.node.join("gateway").join("server_v1.mjs"));
        let mut memos = Command::new(self.python.join("python"));
        memos.arg(self.scripts.join("server.py"));
        memos.env("PYTHONDONTWRITEBYTECODE", "1");
        let mut inner = Ok(());
        process::with_server(&mut cards, LISTENING, |cards| {
            inner = process::with_server(&mut memos, LISTENING, |memos| {
                body(self.servers(cards, memos));
            });
        })?;
        inner
    }

    /// What is behind the gateway.
    fn servers(&self, cards: &str, memos: &str) -> Value {
        let npm = self.node.join("node_modules").join(".bin");
        let history = self.folder.join("history");
        let stateless = json!({"era": "modern", "required": true});
        // On a pipe it is not seen whose log it is, so each client has its own.
        let alone = json!({"era": "modern", "required": true, "share": "per-client"});
        let required = json!({"required": true});
        // It says to all its clients what one of them has answered, so each has its own.
        let own = json!({"share": "per-client", "required": true});
        json!({
            "everything": {"command": npm.join("mcp-server-everything"), "args": ["stdio"], "x-switchboard": own},
            "memory": {
                "command": npm.join("mcp-server-memory"),
                "env": {"MEMORY_FILE_PATH": self.folder.join("memory.jsonl")},
                "x-switchboard": required,
            },
            "time": {
                "command": self.python.join("mcp-server-time"),
                "args": ["--local-timezone", "UTC"],
                "x-switchboard": required,
            },
            "git": {
                "command": self.python.join("mcp-server-git"),
                "args": ["--repository", history],
                "cwd": history,
                "x-switchboard": required,
            },
            "cards": {"url": cards, "x-switchboard": required},
            "notes": {
                "command": "node",
                "args": [self.node.join("gateway").join("server_v2.mjs")],
                "x-switchboard": alone,
            },
            "memos": {"url": memos, "x-switchboard": stateless},
            "ours": {"command": self.ours, "x-switchboard": stateless},
        })
    }

    /// All clients at one gateway, at the same time.
    fn meet_over_http(&self, servers: &Value) -> Outcome {
        let mut outcome = Outcome::default();
        let config = match self.configure("http", servers) {
            Ok(config) => config,
            Err(reason) => return Outcome::failed(reason),
        };
        let mut command = Command::new(&self.switchboard);
        command
            .args(["serve", "--http", "0", "--config"])
            .arg(&config);
        let served = process::with_server(&mut command, LISTENING, |url| {
            outcome = match wait_until_ready(url) {
                Ok(()) => self.meet_at(url, &config, servers),
                Err(reason) => Outcome::failed(reason),
            };
        });
        outcome.failures.extend(served.err());
        outcome
    }

    fn meet_at(&self, url: &str, config: &Path, servers: &Value) -> Outcome {
        let all = Mutex::new(Vec::new());
        let mut outcome = at_once(&self.clients, self.clients.len(), |client| {
            let mut outcome = Outcome::default();
            if let Some(came) = self.come(client, "http", &[url.to_owned()], &mut outcome) {
                try_features(&came.0, &came.2, &mut outcome);
                all.lock()
                    .unwrap_or_else(|gone| gone.into_inner())
                    .push(came);
            }
            outcome
        });
        let all = all.into_inner().unwrap_or_else(|gone| gone.into_inner());
        check_catalogues(&all, &mut outcome);
        check_pairs(&all, &mut outcome);
        inspector::look(&self.node.join(tools::INSPECTOR), url, &mut outcome);
        check_reload(&all, config, servers, &self.added, &mut outcome);
        outcome
    }

    /// Each client at a gateway of its own, which it starts.
    fn meet_on_stdio(&self, servers: &Value) -> Outcome {
        let all = Mutex::new(Vec::new());
        // A gateway has half a dozen processes of its own.
        let mut outcome = at_once(&self.clients, 2, |client| {
            let mut outcome = Outcome::default();
            let config = match self.configure(client.name, servers) {
                Ok(config) => config.display().to_string(),
                Err(reason) => return Outcome::failed(reason),
            };
            let switchboard = self.switchboard.display().to_string();
            let words = [switchboard, "serve".into(), "--config".into(), config];
            if let Some(came) = self.come(client, "stdio", &words, &mut outcome) {
                try_features(&came.0, &came.2, &mut outcome);
                all.lock()
                    .unwrap_or_else(|gone| gone.into_inner())
                    .push(came);
            }
            outcome
        });
        let all = all.into_inner().unwrap_or_else(|gone| gone.into_inner());
        check_catalogues(&all, &mut outcome);
        outcome
    }

    /// A client that is connected, what it sees, and how it is called in checks.
    fn come(
        &self,
        client: &Client,
        transport: &str,
        server: &[String],
        outcome: &mut Outcome,
    ) -> Option<Came> {
        let label = format!("{}, {transport}", client.name);
        let mut words = client.words.iter();
        let mut command = Command::new(words.next()?);
        let name = format!("{}-{transport}", client.name);
        command.args(words).args([&name, client.era]).args(server);
        // Python would keep what it has compiled beside the scripts.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        let log = self.folder.join(format!("{name}.log"));
        let opened = Driven::start(&name, client.era, &mut command, &log).and_then(|driven| {
            let wanted = match client.era {
                STATELESS => "2026-07-28",
                _ => "2025-11-25",
            };
            let revision = driven.revision()?;
            features::check(revision == wanted, || {
                format!("wanted {wanted}, came {revision}")
            })?;
            // Slow servers may come after the first answer; clients are told then.
            let ends = Instant::now() + READY_LIMIT;
            loop {
                let catalogue = Catalogue::read(&driven)?;
                match catalogue.check_complete(&SERVERS) {
                    Err(reason) if Instant::now() > ends => return Err(reason),
                    Err(_) => thread::sleep(BETWEEN_LOOKS),
                    Ok(()) => return Ok((driven, catalogue)),
                }
            }
        });
        let (opened, verdict) = match opened {
            Ok(opened) => (Some(opened), Ok(())),
            Err(reason) => (None, Err(reason)),
        };
        record(outcome, &format!("{label}: it connects and lists"), verdict);
        opened.map(|(driven, catalogue)| (driven, catalogue, label))
    }

    /// A configuration in a file of its own.
    fn configure(&self, name: &str, servers: &Value) -> Result<PathBuf, String> {
        let file = self.folder.join(format!("{name}.json"));
        write(&file, &json!({"mcpServers": servers}).to_string())?;
        Ok(file)
    }
}

/// A client, what it sees, and how it is called in checks.
type Came = (Driven, Catalogue, String);

fn try_features(client: &Driven, label: &str, outcome: &mut Outcome) {
    for feature in FEATURES {
        if feature.clients.is_some_and(|era| era != client.era) {
            continue;
        }
        for server in feature.servers {
            let era = era_of(server);
            let name = format!("{label}, {server} ({era}): {}", feature.name);
            let came = (feature.check)(client, server);
            let verdict = match exceptions::find(&client.name, feature.name) {
                None => came,
                Some(_) if came.is_err() => Ok(()),
                Some(exception) => Err(format!("it works, though {}", exception.reason)),
            };
            record(outcome, &name, verdict);
        }
    }
}

fn check_catalogues(all: &[Came], outcome: &mut Outcome) {
    let Some((_, first, _)) = all.first() else {
        return;
    };
    for (_, catalogue, label) in all {
        let verdict = first.check_same(catalogue);
        let count = catalogue.len();
        let name = format!("{label}: the same catalogue as all others, of {count} entries");
        record(outcome, &name, verdict);
    }
}

/// Clients of different eras at the same time.
fn check_pairs(all: &[Came], outcome: &mut Outcome) {
    let find = |name: &str| all.iter().find(|came| came.0.name.starts_with(name));
    for (one, other) in PAIRS {
        let name = format!("{one} and {other} at the same time: to each its own");
        let verdict = match (find(one), find(other)) {
            (Some(one), Some(other)) => check_apart(&one.0, &other.0),
            _ => Err("one of them is not there".to_owned()),
        };
        record(outcome, &name, verdict);
    }
}

/// A server is added to the file, and everybody hears of it.
fn check_reload(all: &[Came], config: &Path, servers: &Value, added: &Path, outcome: &mut Outcome) {
    let heard: Vec<_> = all
        .iter()
        .map(|(client, _, _)| {
            let before = client.now();
            client.order(json!({"do": "listen"})).map(|_| before)
        })
        .collect();
    let mut servers = servers.clone();
    servers["added"] = json!({"command": added});
    let written = write(config, &json!({"mcpServers": servers}).to_string());
    for ((client, _, label), before) in all.iter().zip(heard) {
        let verdict = written.clone().and(before).and_then(|before| {
            client.hears(before, "word of the change", |event| {
                event["method"] == "notifications/tools/list_changed"
            })?;
            let catalogue = Catalogue::read(client)?;
            features::check(catalogue.has_tool_of("added"), || {
                "the new server's tools are not listed".to_owned()
            })?;
            let result = client.call("added__echo", json!({"text": client.name}))?;
            features::expect(&json!(features::text_of(&result)), &json!(client.name))
        });
        let name = format!("{label}: a server that is added to the file");
        record(outcome, &name, verdict);
    }
}

/// Several at the same time; what all of them found, in order.
fn at_once<T: Sync>(all: &[T], most: usize, body: impl Fn(&T) -> Outcome + Sync) -> Outcome {
    let mut outcome = Outcome::default();
    for some in all.chunks(most) {
        thread::scope(|scope| {
            let workers: Vec<_> = some.iter().map(|one| scope.spawn(|| body(one))).collect();
            for worker in workers {
                let found = worker.join();
                outcome.add(found.unwrap_or_else(|_| Outcome::failed("a panic, see above")));
            }
        });
    }
    outcome
}

/// A repository with one commit.
fn make_history(folder: &Path) -> Result<(), String> {
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(folder).args(words);
        process::run(&mut command, Show::OnlyErrors)?.check("git")
    };
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    git(&["init", "--quiet"])?;
    git(&[
        "-c",
        "user.name=Ada",
        "-c",
        "user.email=ada@example.com",
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        "first words",
    ])
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

/// What they are called.
const SERVERS: [&str; 8] = [
    "everything",
    "memory",
    "time",
    "git",
    "cards",
    "notes",
    "memos",
    "ours",
];
const READY_LIMIT: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
const HANDSHAKE: &str = "handshake";
const STATELESS: &str = "stateless";
const PAIRS: [(&str, &str); 3] = [
    ("typescript-1", "typescript-2-stateless"),
    ("python-1", "python-2-stateless"),
    ("rmcp-handshake", "rmcp-stateless"),
];
