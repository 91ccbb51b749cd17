//! `cargo xtask bench`: what our code costs, beside a peer in the same run.
//!
//! `core.rs` counts the instructions of a message, `server.rs` measures whole servers
//! (what: `plan.rs`, what was promised: `bars.rs`), `client.rs` whole clients (what:
//! `client_plan.rs`), `cli.rs` whole command lines, `gateway.rs` what stands between clients and
//! servers. What rounds say together is in `figures.rs`. The peers and the driver are in `bench/`, a
//! workspace of its own.

mod bars;
mod cli;
mod client;
mod client_plan;
mod core;
mod figures;
mod gateway;
mod options;
mod plan;
mod server;
mod stand_in;

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{self, Show};
use crate::workspace::Workspace;

pub(crate) use self::cli::run as cli;
pub(crate) use self::client::run as client;
pub(crate) use self::core::run as core;
pub(crate) use self::gateway::run as gateway;
pub(crate) use self::options::Options;
pub(crate) use self::server::run as server;
pub(crate) use self::stand_in::answer;

/// Builds everything in `bench/`; gives the folder of its programs.
fn build_peers(workspace: &Workspace, show: Show) -> Result<PathBuf, String> {
    let target = workspace.target.join("bench-peer");
    let mut command = workspace.cargo();
    command.args(["build", "--release", "--locked"]);
    command.args(["--manifest-path", "bench/Cargo.toml"]);
    command.arg("--target-dir").arg(&target);
    process::run(&mut command, show)?.check("cargo build of the peers")?;
    Ok(target.join("release"))
}

/// Where our server is once it is built.
fn echo(workspace: &Workspace) -> PathBuf {
    workspace.target.join("release/echo")
}

fn build_echo(workspace: &Workspace) -> Result<(), String> {
    let mut command = workspace.cargo();
    command.args(["build", "--release", "--package", "switchboard-examples"]);
    command.args(["--bin", "echo"]);
    process::run(&mut command, Show::AsProgress)?.check("cargo build of echo")
}

/// Everything that callgrind counted.
fn total_instructions(counts: &Path) -> Result<u64, String> {
    let text = fs::read_to_string(counts).map_err(|e| format!("{}: {e}", counts.display()))?;
    text.lines()
        .find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok())
        .ok_or_else(|| "callgrind wrote no totals".to_owned())
}
