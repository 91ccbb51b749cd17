//! The protocol core on stdio, by its two examples, against clients and servers of others.
//!
//! What a script checks is in the script (`interop/`); here is which peer meets which of the
//! two, and what a server must turn out to be.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::interop::script::{answer_of, record, run_script, two_at_once};
use crate::process::{self, Show};
use crate::report::Outcome;
use crate::tools;
use crate::workspace::Workspace;

/// Counts each check a script printed.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let peers = match Peers::prepare(workspace) {
        Ok(peers) => peers,
        Err(reason) => return Outcome::failed(reason),
    };
    two_at_once(
        || {
            let mut outcome = Outcome::default();
            peers.clients_meet_our_server(&mut outcome);
            outcome
        },
        || {
            let mut outcome = Outcome::default();
            peers.inspector_meets_our_server(&mut outcome);
            peers.our_client_meets_servers(&mut outcome);
            outcome
        },
    )
}

/// Every program that takes part, where it is.
struct Peers {
    our_server: PathBuf,
    our_client: PathBuf,
    /// The scripts of `interop/`, as they are in the workspace.
    scripts: PathBuf,
    /// The npm packages, with copies of the scripts beside them.
    node: PathBuf,
    /// The programs of the Python SDK 2.x, and of 1.x.
    python: PathBuf,
    python_v1: PathBuf,
}

impl Peers {
    fn prepare(workspace: &Workspace) -> Result<Self, String> {
        build_examples(workspace)?;
        Ok(Self {
            our_server: workspace.example(SERVER),
            our_client: workspace.example(CLIENT),
            scripts: workspace.root.join("interop"),
            node: tools::node(workspace)?,
            python: tools::python(workspace, "requirements.txt")?,
            python_v1: tools::python(workspace, "requirements-v1.txt")?,
        })
    }

    fn clients_meet_our_server(&self, outcome: &mut Outcome) {
        for script in ["typescript_v1.mjs", "typescript_v2.mjs"] {
            let mut command = Command::new("node");
            command.arg(self.node.join(script)).arg(&self.our_server);
            run_script(outcome, script, &mut command);
        }
        for (name, programs) in [
            ("python 1.x", &self.python_v1),
            ("python 2.x", &self.python),
        ] {
            let mut command = Command::new(programs.join("python"));
            command
                .arg(self.scripts.join("python_client.py"))
                .arg(&self.our_server);
            run_script(outcome, name, &mut command);
        }
    }

    fn inspector_meets_our_server(&self, outcome: &mut Outcome) {
        let list = ["--method", "tools/list"];
        self.inspect(outcome, "inspector: tools/list", &list, |answer| {
            let tools = answer.get("tools").and_then(Value::as_array);
            tools.is_some_and(|tools| tools.iter().any(|tool| tool["name"] == "echo"))
        });
        let call = [
            "--method",
            "tools/call",
            "--tool-name",
            "echo",
            "--tool-arg",
            "text=hello",
        ];
        self.inspect(outcome, "inspector: tools/call", &call, |answer| {
            answer["content"][0]["text"] == "hello"
        });
    }

    fn inspect(
        &self,
        outcome: &mut Outcome,
        name: &str,
        arguments: &[&str],
        good: fn(&Value) -> bool,
    ) {
        let mut command = Command::new("node");
        command
            .arg(self.node.join(tools::INSPECTOR))
            .arg("--cli")
            .arg(&self.our_server);
        command.args(arguments);
        let verdict = answer_of(&mut command).and_then(|answer| match good(&answer) {
            true => Ok(()),
            false => Err(format!("answered {answer}")),
        });
        record(outcome, name, verdict);
    }

    fn our_client_meets_servers(&self, outcome: &mut Outcome) {
        let package = |name: &str| {
            let main = format!("node_modules/@modelcontextprotocol/{name}/dist/index.js");
            vec!["node".into(), self.node.join(main)]
        };
        let script = |name: &str| vec!["node".into(), self.node.join(name)];
        let python =
            |programs: &Path| vec![programs.join("python"), self.scripts.join("echo_server.py")];
        let with = |mut words: Vec<PathBuf>, more: &[&str]| {
            words.extend(more.iter().map(PathBuf::from));
            words
        };

        // A revision is what the pinned version of the server speaks; a new pin may change it.
        let servers = [
            (
                "server-everything",
                with(package("server-everything"), &["stdio"]),
                HANDSHAKE,
                "get-sum",
            ),
            (
                "server-memory",
                package("server-memory"),
                HANDSHAKE,
                "read_graph",
            ),
            (
                "server-filesystem",
                with(package("server-filesystem"), &["."]),
                HANDSHAKE,
                "read_text_file",
            ),
            (
                "mcp-server-time",
                vec![self.python.join("mcp-server-time")],
                STATELESS,
                "convert_time",
            ),
            (
                "typescript sdk 2.x",
                script("echo_server.mjs"),
                STATELESS,
                "echo",
            ),
            (
                "typescript sdk 2.x, legacy",
                with(script("echo_server.mjs"), &["--legacy"]),
                HANDSHAKE,
                "echo",
            ),
            ("python sdk 2.x", python(&self.python), STATELESS, "echo"),
            ("python sdk 1.x", python(&self.python_v1), HANDSHAKE, "echo"),
        ];
        for (name, server, (revision, era), tool) in servers {
            let mut command = Command::new(&self.our_client);
            command.args(server).current_dir(&self.node);
            let verdict = answer_of(&mut command).and_then(|answer| {
                let tools = answer.get("tools").and_then(Value::as_array);
                let has_tool = tools.is_some_and(|tools| tools.iter().any(|name| name == tool));
                match answer["revision"] == revision && answer["era"] == era && has_tool {
                    true => Ok(()),
                    false => Err(format!(
                        "wanted {revision}, {era}, a tool {tool}; came {answer}"
                    )),
                }
            });
            record(outcome, &format!("our client: {name}"), verdict);
        }
    }
}

fn build_examples(workspace: &Workspace) -> Result<(), String> {
    let package = workspace
        .package(PACKAGE)
        .ok_or_else(|| format!("there is no package {PACKAGE}"))?;
    let mut command = workspace.cargo();
    command.args(["build", "--package", PACKAGE]);
    for name in [SERVER, CLIENT] {
        if !package.examples.iter().any(|example| example == name) {
            return Err(format!(
                "{PACKAGE} has no example {name}, which interop runs"
            ));
        }
        command.args(["--example", name]);
    }
    process::run(&mut command, Show::All)?.check("cargo build")
}

const PACKAGE: &str = "switchboard-protocol";
const SERVER: &str = "stdio_server";
const CLIENT: &str = "stdio_client";

const HANDSHAKE: (&str, &str) = ("2025-11-25", "handshake");
const STATELESS: (&str, &str) = ("2026-07-28", "stateless");
