//! `cargo xtask bench server`: our `echo` beside rmcp's and the limits, in one run.
//!
//! The programs take turns, round by round, so that whatever else the machine does falls on
//! all of them. It reports and never fails for a figure: a loaded machine is no fault.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::bars::bars;
use super::figures::{Table, bars_table};
use super::options::Options;
use super::plan::{self, Era, Measurement, Programs, Route};
use crate::process::{self, Show};
use crate::report::{self, Outcome};
use crate::tools;
use crate::workspace::Workspace;

/// Builds, measures, reports.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Outcome {
    if options.instructions && tools::on_path("valgrind").is_none() {
        return Outcome::failed("valgrind is not on the search path");
    }
    measure(workspace, options).into()
}

fn measure(workspace: &Workspace, options: &Options) -> Result<(), String> {
    let peers = super::build_peers(workspace, Show::AsProgress)?;
    let ours = super::echo(workspace);
    if options.wants(plan::OURS) {
        super::build_echo(workspace)?;
    }
    let programs = Programs {
        peers: &peers,
        ours: &ours,
    };
    let driver = peers.join("load");
    let mut text = vec![options.machine()];
    let mut measured = plan::plan(&programs, options.share, &|name| options.wants(name));
    for round in 1..=options.rounds {
        for measurement in &mut measured {
            let title = &measurement.table.title;
            report::progress(&format!("round {round} of {}: {title}", options.rounds));
            one_round(&driver, measurement);
        }
    }
    text.extend(
        measured
            .iter()
            .map(|measurement| measurement.table.markdown()),
    );
    if options.instructions {
        let scratch = workspace.target.join("bench");
        text.push(instructions(&driver, &measured, &scratch)?.markdown());
    }
    text.push(bars_table(&bars(&measured)));
    report::line(&text.join("\n"));
    Ok(())
}

/// Every program once.
pub(super) fn one_round(driver: &Path, measurement: &mut Measurement) {
    for (row, words) in measurement.table.rows.iter_mut().zip(&measurement.runs) {
        let figures = drive(driver, words).unwrap_or_else(|reason| {
            report::progress(&format!("{}: {reason}", row.name));
            row.failures.push(reason);
            BTreeMap::new()
        });
        row.rounds.push(figures);
    }
}

/// Runs the driver and reads its figures.
fn drive(driver: &Path, words: &[String]) -> Result<BTreeMap<String, f64>, String> {
    let mut command = Command::new(driver);
    command.args(words);
    let finished = process::run_bounded(&mut command, Show::AsProgressQuietly, LIMIT)?;
    let mut figures = BTreeMap::new();
    for line in &finished.stdout {
        match line.split_once(' ') {
            Some(("error", reason)) => return Err(reason.to_owned()),
            Some((name, value)) => {
                let value = value.parse().map_err(|_| format!("no figure: {line}"))?;
                figures.insert(name.to_owned(), value);
            }
            None => return Err(format!("no figure: {line}")),
        }
    }
    finished.check("the driver")?;
    Ok(figures)
}

/// Instructions per call with 64 in flight: two runs, so that the start does not count.
fn instructions(driver: &Path, measured: &[Measurement], scratch: &Path) -> Result<Table, String> {
    fs::create_dir_all(scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    let counts = scratch.join("callgrind.server");
    let mut table = Table {
        title: "stdio: instructions per call, 64 calls in flight".to_owned(),
        columns: &[("2025-11-25", "2025-11-25"), ("2026-07-28", "2026-07-28")],
        judged: "2025-11-25",
        rows: Vec::new(),
    };
    for era in [Era::Handshake, Era::Stateless] {
        let flights = measured.iter().filter(|it| it.route == Route::Flight(era));
        for (flight, words) in flights.flat_map(|it| it.table.rows.iter().zip(&it.runs)) {
            report::progress(&format!(
                "instructions of {}, {}",
                flight.name,
                era.revision()
            ));
            let found = per_call(driver, words, era, &counts);
            let row = table.row(flight.name, flight.role);
            match found {
                Ok(found) => {
                    row.rounds.resize_with(1, BTreeMap::new);
                    row.rounds[0].insert(era.revision().to_owned(), found);
                }
                Err(reason) => row.failures.push(reason),
            }
        }
    }
    Ok(table)
}

fn per_call(driver: &Path, words: &[String], era: Era, counts: &Path) -> Result<f64, String> {
    let split = words
        .iter()
        .position(|word| word == "--")
        .unwrap_or(words.len());
    let server = words.get(split + 1..).unwrap_or_default();
    let total = |count: u64| {
        let mut words = ["flight", "--warm-up", "0", "--era", era.revision()]
            .map(str::to_owned)
            .to_vec();
        words.extend(["--count".to_owned(), count.to_string(), "--".to_owned()]);
        words.extend(["valgrind".to_owned(), "--tool=callgrind".to_owned()]);
        words.push(format!("--callgrind-out-file={}", counts.display()));
        words.extend_from_slice(server);
        drive(driver, &words)?;
        super::total_instructions(counts)
    };
    let (few, many) = (total(FEW)?, total(MANY)?);
    Ok(many.saturating_sub(few) as f64 / (MANY - FEW) as f64)
}

/// Far more than any measurement needs.
const LIMIT: Duration = Duration::from_secs(180);
const FEW: u64 = 1_000;
const MANY: u64 = 3_000;
