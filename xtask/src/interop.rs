//! `cargo xtask interop`: our programs against clients and servers that others wrote.
//!
//! Every peer is pinned and installed once (`tools.rs`), and runs under a time limit. This
//! file knows the parts; what a part does is in the file of its name.

mod authority;
mod cli;
mod clients;
mod codegen;
mod conformance;
mod core;
mod gateway;
mod hub;
mod program;
mod script;
mod servers;
mod telemetry;

pub(crate) use conformance::gateway::wait_until_ready;

use crate::report::{self, Outcome};
use crate::tools;
use crate::workspace::Workspace;

/// One group of peers.
pub(crate) struct Part {
    name: &'static str,
    run: fn(&Workspace) -> Outcome,
}

const PARTS: &[Part] = &[
    part("core", core::run),
    part("clients", clients::run),
    part("servers", servers::run),
    part("hub", hub::run),
    part("gateway", gateway::run),
    part("authority", authority::run),
    part("telemetry", telemetry::run),
    part("codegen", codegen::run),
    part("cli", cli::run),
    part("conformance", conformance::run),
    part("conformance-client", conformance::client::run),
    part("conformance-gateway", conformance::gateway::run),
];

const fn part(name: &'static str, run: fn(&Workspace) -> Outcome) -> Part {
    Part { name, run }
}

/// The parts of these names, or all of them for no name.
pub(crate) fn select(names: &[&str]) -> Result<Vec<&'static Part>, String> {
    if names.is_empty() {
        return Ok(PARTS.iter().collect());
    }
    let find = |name: &&str| {
        let known = PARTS.iter().find(|part| part.name == *name);
        let parts: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        known.ok_or_else(|| format!("no part named {name}; there are {}", parts.join(", ")))
    };
    names.iter().map(find).collect()
}

/// Every part.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    run_parts(workspace, &PARTS.iter().collect::<Vec<_>>())
}

/// These parts, one after the other; a failure does not stop the next one.
pub(crate) fn run_parts(workspace: &Workspace, parts: &[&Part]) -> Outcome {
    for program in ["node", "npm", "python3"] {
        if tools::on_path(program).is_none() {
            return Outcome::failed(format!("{program} is not on the search path"));
        }
    }
    let mut outcome = Outcome::default();
    for part in parts {
        report::line(&format!("-- {}", part.name));
        let found = (part.run)(workspace);
        report::line(&format!(
            "-- {}: {} passed, {} failed",
            part.name,
            found.passed,
            found.failures.len()
        ));
        outcome.add(found);
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_every_part() {
        assert_eq!(select(&[]).map(|parts| parts.len()), Ok(PARTS.len()));
    }

    #[test]
    fn an_unknown_part_is_refused_with_the_known_ones() {
        let error = select(&["client"]).err().unwrap();
        assert!(error.contains("clients"), "{error}");
    }
}
