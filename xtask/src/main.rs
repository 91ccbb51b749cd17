//! The workspace's own commands: `cargo xtask check`, `interop`, `bench`, `simulate`, `fuzz`,
//! `soak`, `breaks`, `mutants`, `dist`, `pictures`.
//!
//! This file reads the command line and turns the outcome into an exit code.
//! What a command does is in the file of its name; only `report.rs` prints.

mod bench;
mod breaks;
mod budget;
mod check;
mod copy;
mod deny;
mod dist;
#[cfg(test)]
mod documents;
mod duplicates;
mod fault_matrix;
mod fuzz;
mod interop;
mod libtest;
mod mutants;
mod pictures;
mod process;
mod report;
mod simulate;
mod skips;
mod soak;
mod tools;
mod workspace;

use std::env;
use std::process::ExitCode;

use report::Report;
use workspace::Workspace;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if matches!(words.as_slice(), [] | ["help" | "--help" | "-h", ..]) {
        report::line(HELP);
        return ExitCode::SUCCESS;
    }
    // Started by `bench cli`, as often as it measures.
    if let ["answer", file] = words.as_slice() {
        return match bench::answer(file) {
            Ok(()) => ExitCode::SUCCESS,
            Err(reason) => refuse(&reason),
        };
    }
    let workspace = match Workspace::find() {
        Ok(workspace) => workspace,
        Err(reason) => return refuse(&reason),
    };
    let report = match words.as_slice() {
        ["check", names @ ..] => match check::select(names) {
            Ok(steps) => check::run(&workspace, &steps),
            Err(reason) => return refuse(&reason),
        },
        ["interop", names @ ..] => match interop::select(names) {
            Ok(parts) => single("interop", || interop::run_parts(&workspace, &parts)),
            Err(reason) => return refuse(&reason),
        },
        ["bench"] | ["bench", "core"] => single("bench core", || bench::core(&workspace)),
        ["bench", "server", options @ ..] => match bench::Options::read(options) {
            Ok(options) => single("bench server", || bench::server(&workspace, &options)),
            Err(reason) => return refuse(&reason),
        },
        ["bench", "client", options @ ..] => match bench::Options::read(options) {
            Ok(options) => single("bench client", || bench::client(&workspace, &options)),
            Err(reason) => return refuse(&reason),
        },
        ["bench", "cli", options @ ..] => match bench::Options::read(options) {
            Ok(options) => single("bench cli", || bench::cli(&workspace, &options)),
            Err(reason) => return refuse(&reason),
        },
        ["bench", "gateway", options @ ..] => match bench::Options::read(options) {
            Ok(options) => single("bench gateway", || bench::gateway(&workspace, &options)),
            Err(reason) => return refuse(&reason),
        },
        ["simulate", words @ ..] => single("simulate", || simulate::run(&workspace, words)),
        ["fuzz", words @ ..] => single("fuzz", || fuzz::run(&workspace, words)),
        ["soak", options @ ..] => single("soak", || soak::run(&workspace, options)),
        ["breaks", names @ ..] => single("breaks", || breaks::run(&workspace, names)),
        ["mutants", words @ ..] => single("mutants", || mutants::run(&workspace, words)),
        ["dist", words @ ..] => single("dist", || dist::run(&workspace, words)),
        ["pictures"] => single("pictures", || pictures::run(&workspace)),
        _ => return refuse(&format!("unknown command: {}", words.join(" "))),
    };
    if report.finish() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// A command that is one step, reported like a check of one step.
fn single(name: &'static str, body: impl FnOnce() -> report::Outcome) -> Report {
    let mut report = Report::default();
    report.step(name, body);
    report
}

fn refuse(reason: &str) -> ExitCode {
    report::line(&format!("error: {reason}"));
    report::line(HELP);
    ExitCode::from(2)
}

const HELP: &str = "\
cargo xtask <command>

  check            everything a change must pass; the last line counts it
  check <step> …   only these steps; an unknown name lists them
  interop          our programs against foreign clients and servers, and the official suite
  interop <part> … only these parts; an unknown name lists them
  bench core       instruction counts of the core; also plain `bench`
  bench server     our echo beside a peer and the limits: time, CPU, memory
  bench client     our client beside rmcp's, the TypeScript SDK's and the limits
  bench gateway    `switchboard serve` beside a plain proxy of rmcp and the limits
  bench cli        `switchboard` beside mcporter and the Inspector's command lines
    --quick        a tenth of the calls, one round: all but core, as the rest
    --rounds N     how often each program has its turn (3)
    --only A,B     only programs whose names begin so
    --instructions also counts instructions, with valgrind
  simulate         clients, a gateway and servers, as seeds want it: 2 000 schedules
    --for TIME     as many as there is time for: 90s, 15m, 1h
    --seeds N      so many, from the one that --from says (0)
    --seed S       one of them, with all that happens in it
    --steps N      about so many steps of each (100)
  fuzz             what must hold for any bytes, with a million changes to the stored ones
  fuzz TARGET …    only these; --help lists them
    --executions N so many of each; --for TIME: as many of each as there is time for
    --seed S       other changes; --threads N: so many at once (all cores)
    --input FILE   one input once more, such as a finding
  soak             a real gateway under load and faults: lost, wrong, hung, leaked
    --for TIME     how long: 90s, 10m, 1h (60s)
    --clients N    how many of them (20); --servers N: of these (10); --workers N: calls each (10)
    --seed N       what is done, by chance (1)
    --plot FILE    memory, descriptors, processes and calls as curves
    --keep FOLDER  where the files of the run stay
  soak cycles      connects and closes, again and again: what is left; `--help` says more
  soak floods      one peer without measure at a time: memory, and the p99 of a neighbour
  soak kills       kill -9 of servers, gateways and commands: who lives on, what is torn
  breaks           breaks the code in named ways, one at a time: a test must fail each time
  breaks <name> …  only these; an unknown name lists them
  mutants PACKAGE  every mutant of cargo-mutants, in one build: protocol, hub; what survives
                   must be explained in mutants/explained
    --only TEXT    only those with this in their names
    --resume       without those that were tried by the last run
    --rest         what cannot be switched, too: a build for each of these
  dist             the program for others, what it is made of (CycloneDX), and their sums
    --sbom         only what it is made of
    --twice        in two places, and compares: the bytes must be the same
  pictures         the command line as it looks, into docs/pictures; needs tmux, and chromium for
                   the Inspector";
