//! The example servers, met by foreign clients: each client, in each revision it speaks, over
//! stdio and HTTP, with each example, is one check.
//!
//! What is done with an example is in `interop/examples.json`. A program of ours or of a peer
//! takes those steps; here is which client speaks what, and that none of them is left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::interop::script::{answer_of, record, run_script, two_at_once};
use crate::process;
use crate::report::Outcome;
use crate::tools;
use crate::workspace::Workspace;

/// The two transports have nothing to do with each other, so both are tried at the same time.
pub(super) fn run(workspace: &Workspace) -> Outcome {
    let clients = match Clients::prepare(workspace) {
        Ok(clients) => clients,
        Err(reason) => return Outcome::failed(reason),
    };
    two_at_once(|| clients.meet_on_stdio(), || clients.meet_over_http())
}

/// One client, how it is started, and what it speaks.
struct Client {
    name: &'static str,
    /// What comes before the servers and the revisions.
    words: Vec<PathBuf>,
    revisions: Vec<&'static str>,
}

struct Clients<'a> {
    workspace: &'a Workspace,
    clients: Vec<Client>,
    inspector: PathBuf,
}

/// Where each example is: a command and its arguments, or an address.
type Servers = BTreeMap<&'static str, Vec<String>>;

impl<'a> Clients<'a> {
    fn prepare(workspace: &'a Workspace) -> Result<Self, String> {
        workspace.build_examples()?;
        let node = tools::node(workspace)?;
        let script = |name: &str| vec!["node".into(), node.join(name)];
        let python = |requirements: &str| {
            let program = tools::python(workspace, requirements)?.join("python");
            let script = workspace.root.join("interop").join("python_examples.py");
            Ok::<_, String>(vec![program, script])
        };
        let both_eras = || [HANDSHAKE, STATELESS].concat();
        let clients = vec![
            Client {
                name: "typescript sdk 1.x",
                words: script("typescript_v1.mjs"),
                revisions: HANDSHAKE.to_vec(),
            },
            Client {
                name: "typescript sdk 2.x",
                words: script("typescript_v2.mjs"),
                revisions: both_eras(),
            },
            Client {
                name: "python sdk 1.x",
                words: python("requirements-v1.txt")?,
                revisions: HANDSHAKE.to_vec(),
            },
            Client {
                name: "python sdk 2.x",
                words: python("requirements.txt")?,
                revisions: both_eras(),
            },
            Client {
                name: "rmcp 3.8",
                words: vec![tools::rmcp_client(workspace)?],
                revisions: both_eras(),
            },
        ];
        Ok(Self {
            workspace,
            clients,
            inspector: node.join(tools::INSPECTOR),
        })
    }

    /// Here the clients start the servers.
    fn meet_on_stdio(&self) -> Outcome {
        let folder = match scratch(self.workspace, "stdio") {
            Ok(folder) => folder,
            Err(reason) => return Outcome::failed(reason),
        };
        let command = |example: &'static str| {
            let program = self.workspace.binary(example).display().to_string();
            let own = options(example).iter().map(|&option| option.to_owned());
            (example, std::iter::once(program).chain(own).collect())
        };
        self.visit("stdio", &folder, &EXAMPLES.map(command).into())
    }

    /// Here the servers are started once, for all clients.
    fn meet_over_http(&self) -> Outcome {
        let folder = match scratch(self.workspace, "http") {
            Ok(folder) => folder,
            Err(reason) => return Outcome::failed(reason),
        };
        self.serve(&EXAMPLES, &folder, Servers::new())
    }

    /// Starts one example after the other; each serves until the clients have been.
    fn serve(&self, examples: &[&'static str], folder: &Path, mut servers: Servers) -> Outcome {
        let Some((example, others)) = examples.split_first() else {
            return self.visit("http", folder, &servers);
        };
        let mut command = Command::new(self.workspace.binary(example));
        command.args(options(example)).args(["--http", "0"]);
        command.current_dir(folder);
        let mut outcome = Outcome::default();
        let served = process::with_server(&mut command, LISTENING, |url| {
            servers.insert(example, vec![url.to_owned()]);
            outcome = self.serve(others, folder, servers);
        });
        outcome.failures.extend(served.err());
        outcome
    }

    /// Every client meets all servers.
    fn visit(&self, transport: &str, folder: &Path, servers: &Servers) -> Outcome {
        let mut outcome = Outcome::default();
        let named = serde_json::json!(servers).to_string();
        for client in &self.clients {
            let mut words = client.words.iter();
            let mut command = Command::new(words.next().map_or(Path::new(""), PathBuf::as_path));
            command.args(words).current_dir(folder);
            // Python would keep what it has compiled beside the scripts.
            command.env("PYTHONDONTWRITEBYTECODE", "1");
            let revisions = client.revisions.join(",");
            command.args(["--examples", &named, "--revisions", &revisions]);
            let before = outcome.passed + outcome.failures.len();
            run_script(&mut outcome, client.name, &mut command);
            let reported = outcome.passed + outcome.failures.len() - before;
            let wanted = client.revisions.len() * servers.len();
            if reported < wanted {
                outcome.failures.push(format!(
                    "{}, {transport}: {reported} of {wanted} visits reported",
                    client.name,
                ));
            }
        }
        for (example, server) in servers {
            for era in ["legacy", "modern"] {
                let name = format!("inspector, {era}, {transport}, {example}");
                let verdict = self.inspect(example, era, folder, server);
                record(&mut outcome, &name, verdict);
            }
        }
        outcome
    }

    /// The Inspector's command line makes one request each time it is started.
    fn inspect(
        &self,
        example: &str,
        era: &str,
        folder: &Path,
        server: &[String],
    ) -> Result<(), String> {
        let requests = INSPECTED
            .iter()
            .filter(|request| request.example == example);
        for request in requests {
            let mut command = Command::new("node");
            command
                .arg(&self.inspector)
                .args(["--cli", "--protocol-era", era, "--quiet"])
                .args(request.arguments)
                .arg("--")
                .args(server)
                .current_dir(folder);
            let answer = answer_of(&mut command)?;
            let found = answer.pointer(request.pointer).and_then(Value::as_str);
            if !found.is_some_and(|found| found.contains(request.contains)) {
                let asked = request.arguments.join(" ");
                return Err(format!("{asked}: answered {answer}"));
            }
        }
        Ok(())
    }
}

/// One request by the Inspector, and what is to be found where in its answer.
struct Inspected {
    example: &'static str,
    arguments: &'static [&'static str],
    pointer: &'static str,
    contains: &'static str,
}

const INSPECTED: &[Inspected] = &[
    Inspected {
        example: "echo",
        arguments: &["--method", "tools/list"],
        pointer: "/tools/0/name",
        contains: "",
    },
    Inspected {
        example: "echo",
        arguments: &[
            "--method",
            "tools/call",
            "--tool-name",
            "echo",
            "--tool-arg",
            "text=hello",
        ],
        pointer: "/content/0/text",
        contains: "hello",
    },
    Inspected {
        example: "tasks",
        arguments: &[
            "--method",
            "tools/call",
            "--tool-name",
            "create_task",
            "--tool-arg",
            "description=inspected",
        ],
        pointer: "/content/0/text",
        contains: "inspected",
    },
    Inspected {
        example: "everything",
        arguments: &["--method", "resources/read", "--uri", "test://static-text"],
        pointer: "/contents/0/text",
        contains: "static text resource",
    },
    Inspected {
        example: "everything",
        arguments: &[
            "--method",
            "prompts/get",
            "--prompt-name",
            "test_simple_prompt",
        ],
        pointer: "/messages/0/content/text",
        contains: "simple prompt",
    },
];

/// What an example wants to be told, beside how to serve.
fn options(example: &str) -> &'static [&'static str] {
    match example {
        "tasks" => &["--db", "tasks.sqlite"],
        _ => &[],
    }
}

/// An empty folder to run in: what an example stores is of this run.
fn scratch(workspace: &Workspace, transport: &str) -> Result<PathBuf, String> {
    let folder = workspace.target.join("interop").join(transport);
    // It is not there the first time.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)
        .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
    Ok(folder)
}

const EXAMPLES: [&str; 3] = ["echo", "tasks", "everything"];

const HANDSHAKE: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// Named, and as a client finds it by itself.
const STATELESS: &[&str] = &["2026-07-28", "auto"];

/// How an example tells on stderr where it serves HTTP.
pub(super) const LISTENING: &str = "listening on ";
