//! `cargo xtask bench core`: what a message costs, here and in a peer, as instruction counts.
//!
//! Counts do not depend on what else the machine does, so two runs can be compared. Each
//! program plays a case a number of times; two runs with different numbers tell the cost of
//! one, free of start-up. Ours is the example `core_cost`, the peer's is in `bench/`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Show};
use crate::report::{self, Outcome};
use crate::tools;
use crate::workspace::Workspace;

/// Every measurement there is.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    for tool in ["valgrind", "callgrind_annotate"] {
        if tools::on_path(tool).is_none() {
            return Outcome::failed(format!("{tool} is not on the search path"));
        }
    }
    measure(workspace).into()
}

fn measure(workspace: &Workspace) -> Result<(), String> {
    let ours = build_ours(workspace)?;
    let peer = super::build_peers(workspace, Show::All)?.join("rmcp_cost");
    let scratch = workspace.target.join("bench");
    fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;

    let mut table = vec![
        "one small tools/call: read, route, answer".to_owned(),
        format!(
            "{:<12} {:<12} {:>14} {:>12} {:>8}",
            "case", "program", "instructions", "allocations", "ratio"
        ),
    ];
    for case in ["handshake", "stateless"] {
        let mut first = None;
        for (name, program) in [("switchboard", &ours), ("rmcp", &peer)] {
            let instructions = per_message(|count| instructions(program, case, count, &scratch))?;
            let allocations = per_message(|count| allocations(program, case, count, &scratch))?;
            let base = *first.get_or_insert(instructions);
            table.push(format!(
                "{case:<12} {name:<12} {instructions:>14.0} {allocations:>12.1} {:>7.1}x",
                instructions / base
            ));
        }
    }
    table.push(String::new());
    table.push("one small tools/call of a client: send, read its answer, finish".to_owned());
    for case in ["client_handshake", "client_stateless"] {
        let instructions = per_message(|count| instructions(&ours, case, count, &scratch))?;
        let allocations = per_message(|count| allocations(&ours, case, count, &scratch))?;
        table.push(format!(
            "{case:<25} {instructions:>14.0} {allocations:>12.1}"
        ));
    }
    table.push(String::new());
    table.push("a result passed on: instructions per byte, by function".to_owned());
    for (function, cost) in pass_through(&ours, &scratch)? {
        table.push(format!("{cost:>8.3}  {function}"));
    }
    for line in table {
        report::line(&line);
    }
    Ok(())
}

fn build_ours(workspace: &Workspace) -> Result<PathBuf, String> {
    let mut command = workspace.cargo();
    command.args(["build", "--release", "--package", "switchboard-protocol"]);
    command.args(["--example", "core_cost"]);
    process::run(&mut command, Show::All)?.check("cargo build")?;
    Ok(workspace.target.join("release/examples/core_cost"))
}

/// The cost of one more message.
fn per_message(mut cost: impl FnMut(u64) -> Result<u64, String>) -> Result<f64, String> {
    let few = cost(FEW)?;
    let many = cost(MANY)?;
    Ok(many.saturating_sub(few) as f64 / (MANY - FEW) as f64)
}

fn instructions(program: &Path, case: &str, count: u64, scratch: &Path) -> Result<u64, String> {
    super::total_instructions(&callgrind(program, case, count, scratch)?)
}

fn callgrind(program: &Path, case: &str, count: u64, scratch: &Path) -> Result<PathBuf, String> {
    let counts = scratch.join("callgrind.out");
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind");
    command.arg(format!("--callgrind-out-file={}", counts.display()));
    valgrind(&mut command, program, case, count, scratch)?;
    Ok(counts)
}

fn allocations(program: &Path, case: &str, count: u64, scratch: &Path) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    command.arg("--tool=memcheck");
    let log = valgrind(&mut command, program, case, count, scratch)?;
    let text = fs::read_to_string(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    text.lines()
        .find_map(|line| {
            let (_, rest) = line.split_once("total heap usage: ")?;
            number(rest.split_whitespace().next()?)
        })
        .ok_or_else(|| "memcheck wrote no heap usage".to_owned())
}

fn valgrind(
    command: &mut Command,
    program: &Path,
    case: &str,
    count: u64,
    scratch: &Path,
) -> Result<PathBuf, String> {
    let log = scratch.join("valgrind.log");
    command.arg(format!("--log-file={}", log.display()));
    command.arg(program).arg(case).arg(count.to_string());
    process::run(command, Show::OnlyErrors)?.check("valgrind")?;
    Ok(log)
}

/// Which functions look at the bytes of a result that is passed on, and how closely.
fn pass_through(program: &Path, scratch: &Path) -> Result<Vec<(String, f64)>, String> {
    let small = by_function(program, MEBIBYTE, scratch)?;
    let large = by_function(program, 2 * MEBIBYTE, scratch)?;
    let mut grown: Vec<(String, f64)> = large
        .into_iter()
        .filter_map(|(function, cost)| {
            let before = small.get(&function).copied().unwrap_or_default();
            let per_byte = cost.saturating_sub(before) as f64 / MEBIBYTE as f64;
            (per_byte >= 0.001).then_some((function, per_byte))
        })
        .collect();
    grown.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(grown)
}

fn by_function(program: &Path, size: u64, scratch: &Path) -> Result<BTreeMap<String, u64>, String> {
    let counts = callgrind(program, "pass_through", size, scratch)?;
    let mut command = Command::new("callgrind_annotate");
    command
        .args(["--threshold=100", "--inclusive=no"])
        .arg(&counts);
    let finished = process::run(&mut command, Show::OnlyErrors)?;
    finished.check("callgrind_annotate")?;
    Ok(finished
        .stdout
        .iter()
        .filter_map(|line| {
            let (cost, rest) = line.trim_start().split_once(" (")?;
            let (_, place) = rest.split_once(')')?;
            let place = place.split(" [").next()?.trim();
            let function = place.rsplit_once("???:").map_or(place, |(_, name)| name);
            if function == "PROGRAM TOTALS" {
                return None;
            }
            Some((function.to_owned(), number(cost)?))
        })
        .collect())
}

/// A number with commas between its thousands.
fn number(text: &str) -> Option<u64> {
    text.replace(',', "").parse().ok()
}

const FEW: u64 = 1_000;
const MANY: u64 = 3_000;
const MEBIBYTE: u64 = 1024 * 1024;
