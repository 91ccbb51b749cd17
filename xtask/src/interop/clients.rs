//! The example servers, met by foreign clients: each client, in each revision it speaks, over
//! stdio and HTTP, is one check.
//!
//! What is done with an example is in `interop/examples.json`. A program of ours or of a peer
//! takes those steps; here is which client speaks what, and that none of them is left out.

use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::interop::script::{answer_of, record, run_script};
use crate::process;
use crate::report::Outcome;
use crate::tools;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace) -> Outcome {
    let clients = match Clients::prepare(workspace) {
        Ok(clients) => clients,
        Err(reason) => return Outcome::failed(reason),
    };
    let mut outcome = Outcome::default();
    for example in EXAMPLES {
        let met = clients.meet(example, &mut outcome);
        outcome.failures.extend(met.err());
    }
    outcome
}

/// One client, how it is started, and what it speaks.
struct Client {
    name: &'static str,
    /// What comes before the example, the revisions and the server.
    words: Vec<PathBuf>,
    revisions: Vec<&'static str>,
}

struct Clients<'a> {
    workspace: &'a Workspace,
    clients: Vec<Client>,
    inspector: PathBuf,
}

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

    /// Every client meets one example, over stdio and then over HTTP.
    fn meet(&self, example: &str, outcome: &mut Outcome) -> Result<(), String> {
        let folder = scratch(self.workspace, example)?;
        let program = self.workspace.binary(example);
        let own: &[&str] = match example {
            "tasks" => &["--file", "tasks.db"],
            _ => &[],
        };
        let mut command = Command::new(&program);
        command.args(own).args(["--http", "0"]).current_dir(&folder);
        let server = iter::once(program).chain(own.iter().map(PathBuf::from));
        self.visit(example, &folder, &server.collect::<Vec<_>>(), outcome);
        process::with_server(&mut command, LISTENING, |url| {
            self.visit(example, &folder, &[url.into()], outcome);
        })
    }

    /// Every client meets one server: a command and its arguments, or an address.
    fn visit(&self, example: &str, folder: &Path, server: &[PathBuf], outcome: &mut Outcome) {
        for client in &self.clients {
            let mut words = client.words.iter();
            let mut command = Command::new(words.next().map_or(Path::new(""), PathBuf::as_path));
            command.args(words).current_dir(folder);
            // Python would keep what it has compiled beside the scripts.
            command.env("PYTHONDONTWRITEBYTECODE", "1");
            let revisions = client.revisions.join(",");
            command.args(["--example", example, "--revisions", &revisions]);
            command.args(server);
            let before = outcome.passed + outcome.failures.len();
            run_script(outcome, client.name, &mut command);
            let reported = outcome.passed + outcome.failures.len() - before;
            if reported < client.revisions.len() {
                outcome.failures.push(format!(
                    "{}, {example}: {reported} of {} revisions reported",
                    client.name,
                    client.revisions.len()
                ));
            }
        }
        for era in ["legacy", "modern"] {
            let transport = transport_of(server);
            let name = format!("inspector, {era}, {transport}, {example}");
            record(outcome, &name, self.inspect(example, era, folder, server));
        }
    }

    /// The Inspector's command line makes one request each time it is started.
    fn inspect(
        &self,
        example: &str,
        era: &str,
        folder: &Path,
        server: &[PathBuf],
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
        arguments: &["--method", "tools/list"],
        pointer: "/tools/0/name",
        contains: "",
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
        arguments: &["--method", "tools/list"],
        pointer: "/tools/0/name",
        contains: "",
    },
    Inspected {
        example: "everything",
        arguments: &["--method", "tools/call", "--tool-name", "test_simple_text"],
        pointer: "/content/0/text",
        contains: "simple text",
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

fn transport_of(server: &[PathBuf]) -> &'static str {
    let is_address = |word: &PathBuf| word.to_string_lossy().starts_with("http://");
    match server.first().is_some_and(is_address) {
        true => "http",
        false => "stdio",
    }
}

/// An empty folder to run in: what an example stores is of this run.
fn scratch(workspace: &Workspace, example: &str) -> Result<PathBuf, String> {
    let folder = workspace.target.join("interop").join(example);
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
