//! How many crates a package may stand on, and which never.
//!
//! The table is the rule; the counting follows `cargo tree -p <package> -e normal`, with the
//! features that are on by default. Which crates may be there in two versions is in
//! `duplicates.rs`.

use std::collections::BTreeSet;

use crate::process::{self, Show};
use crate::report::{self, Outcome};
use crate::workspace::Workspace;

/// What one package may depend on.
struct Budget {
    package: &'static str,
    /// The package itself counts.
    most: usize,
    never: &'static [&'static str],
}

/// A new row, or a larger number, is a decision: see `docs/decisions/`.
const BUDGETS: &[Budget] = &[
    Budget {
        package: "switchboard-protocol",
        most: 15,
        never: RUNTIMES,
    },
    Budget {
        package: "switchboard-transport",
        most: 35,
        never: HEAVY,
    },
    // jsonschema and what it stands on; whoever wants none of it leaves `validate` off.
    Budget {
        package: "switchboard-schema",
        most: 70,
        never: RUNTIMES,
    },
    // YAML and SHA-256; whoever wants none of it leaves `skills` off.
    Budget {
        package: "switchboard-skills",
        most: 16,
        never: RUNTIMES,
    },
    // A server on stdio with typed tools.
    Budget {
        package: "switchboard-server",
        most: 43,
        never: HEAVY,
    },
    // A client over stdio and HTTP with TLS, without logins.
    Budget {
        package: "switchboard-client",
        most: 60,
        never: LARGE,
    },
    // Many servers, with logins.
    Budget {
        package: "switchboard-hub",
        most: 75,
        never: LARGE,
    },
    // What is exported of many servers: the hub, and a registry of spans.
    Budget {
        package: "switchboard-telemetry",
        most: 80,
        never: LARGE,
    },
    // What logs in. With the client it is a dozen crates more than the client alone.
    Budget {
        package: "switchboard-auth",
        most: 70,
        never: LARGE,
    },
    // A server on stdio with typed tools, and SQLite.
    Budget {
        package: "switchboard-demo",
        most: 54,
        never: HEAVY,
    },
    // All of it in one binary: hub, gateway and demonstration, words, TOML and YAML, an allocator.
    Budget {
        package: "switchboard-cli",
        most: 92,
        never: LARGE,
    },
];

/// What would mean that the core waits, or opens something.
const RUNTIMES: &[&str] = &[
    "async-std",
    "futures",
    "futures-core",
    "futures-util",
    "hyper",
    "mio",
    "reqwest",
    "smol",
    "socket2",
    "tokio",
];

/// What is large and has been done without so far: a second HTTP client or TLS, URLs that are
/// normalized, regular expressions, calendars.
const LARGE: &[&str] = &[
    "chrono",
    "futures",
    "native-tls",
    "openssl",
    "regex",
    "reqwest",
    "url",
];

/// What a server can do without: a second family of futures, tracing, TLS, a second random
/// source, regular expressions.
const HEAVY: &[&str] = &[
    "chrono",
    "futures",
    "futures-util",
    "openssl",
    "rand",
    "regex",
    "reqwest",
    "rustls",
    "tokio-util",
    "tracing",
];

/// Every package of the table within its budget.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let mut outcome = Outcome::default();
    for budget in BUDGETS {
        match crates_of(workspace, budget.package) {
            Ok(crates) => {
                let faults = faults(budget, &crates);
                report::line(&format!(
                    "{}: {} of {} crates",
                    budget.package,
                    crates.len(),
                    budget.most
                ));
                if faults.is_empty() {
                    outcome.passed += 1;
                }
                outcome.failures.extend(faults);
            }
            Err(reason) => outcome.failures.push(reason),
        }
    }
    outcome
}

/// `name version`, each once.
fn crates_of(workspace: &Workspace, package: &str) -> Result<BTreeSet<String>, String> {
    let mut command = workspace.cargo();
    command.args(["tree", "-p", package, "-e", "normal", "--prefix", "none"]);
    let tree = process::run(&mut command, Show::OnlyErrors)?;
    tree.check("cargo tree")?;
    Ok(tree
        .stdout
        .iter()
        .filter_map(|line| name_and_version(line))
        .collect())
}

fn name_and_version(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    Some(format!("{} {}", words.next()?, words.next()?))
}

fn faults(budget: &Budget, crates: &BTreeSet<String>) -> Vec<String> {
    let Budget {
        package,
        most,
        never,
    } = budget;
    let mut faults = Vec::new();
    if crates.is_empty() {
        faults.push(format!("{package}: cargo tree listed nothing"));
    }
    if crates.len() > *most {
        let list: Vec<&str> = crates.iter().map(String::as_str).collect();
        let count = crates.len();
        let list = list.join(", ");
        faults.push(format!("{package}: {count} crates, {most} allowed: {list}"));
    }
    for found in crates {
        let name = found.split(' ').next().unwrap_or_default();
        if never.contains(&name) {
            faults.push(format!("{package}: stands on {name}"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], most: usize, wanted: usize) {
        let crates = lines.iter().filter_map(|line| name_and_version(line));
        let budget = Budget {
            package: "core",
            most,
            never: RUNTIMES,
        };
        assert_eq!(faults(&budget, &crates.collect()).len(), wanted);
    }

    #[test]
    fn a_crate_listed_twice_counts_once() {
        check(&["core v1 (path)", "bytes v1", "bytes v1 (*)"], 2, 0);
    }

    #[test]
    fn two_versions_of_a_crate_count_twice() {
        check(&["core v1 (path)", "bytes v1", "bytes v2"], 2, 1);
    }

    #[test]
    fn a_runtime_is_refused_within_the_budget() {
        check(&["core v1 (path)", "tokio v1"], 15, 1);
    }

    #[test]
    fn an_empty_tree_is_not_a_good_one() {
        check(&[], 15, 1);
    }
}
