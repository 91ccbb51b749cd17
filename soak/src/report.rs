//! The only code that prints, and what it prints in the end.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::ledger::{Fault, Ledger};
use crate::options::Options;
use crate::proc::Sample;

/// Says something.
pub(crate) fn line(text: &str) {
    #[expect(
        clippy::print_stdout,
        reason = "the output of this program; no server comes here"
    )]
    {
        println!("{text}");
    }
}

/// Says what can be asked for.
pub(crate) fn help(text: &str) -> ExitCode {
    line(text);
    ExitCode::SUCCESS
}

/// Says how far it is, now and then.
pub(crate) fn progress(what: &str, done: usize, count: usize) {
    if done > 0 && done.is_multiple_of(50) {
        line(&format!("  {what}: {done} of {count}"));
    }
}

/// What is counted against us, and the exit code that says whether anything is.
pub(crate) fn verdict(against: &[String]) -> ExitCode {
    line(&format!("against it: {}", against.len()));
    for words in against {
        line(&format!("  {words}"));
    }
    match against.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// An empty folder of a run, that goes with it.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Result<Self, String> {
        let own = format!("soak-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(own);
        // What an earlier run left there.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It is only in the way.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A third of the samples, by one of their values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Thirds {
    pub(crate) first: f64,
    pub(crate) last: f64,
}

impl Thirds {
    /// Medians of the first and the last third, the beginning left out: what is started, listed
    /// and kept for the first time is no leak.
    pub(crate) fn of(samples: &[Sample], value: impl Fn(&Sample) -> f64) -> Self {
        let values: Vec<f64> = samples.iter().skip(samples.len() / 10).map(value).collect();
        let third = values.len() / 3;
        Self {
            first: median(values.get(..third).unwrap_or_default()),
            last: median(values.get(values.len() - third..).unwrap_or_default()),
        }
    }

    /// Has it not grown by more than a share and an amount?
    pub(crate) fn is_flat(self, share: f64, amount: f64) -> bool {
        self.last <= self.first * (1.0 + share) + amount
    }
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// What came of a run.
pub(crate) fn text(options: &Options, ledger: &Ledger, samples: &[Sample]) -> String {
    let mut text = String::new();
    let seconds = options.time.as_secs();
    let (clients, servers, seed) = (options.clients, options.servers, options.seed);
    let _ = writeln!(
        text,
        "soak: {seconds} s, {clients} clients × {} calls, {servers} servers, seed {seed}",
        options.workers
    );
    let rate = ledger.ended() as f64 / options.time.as_secs_f64();
    let _ = writeln!(
        text,
        "calls: {} ({rate:.0} per second), {} right",
        ledger.ended(),
        ledger.right
    );
    let listed = |pairs: Vec<(String, u64)>| {
        let pairs = pairs.iter().map(|(name, count)| format!("{name} {count}"));
        pairs.collect::<Vec<_>>().join(", ")
    };
    let named = |map: &std::collections::BTreeMap<&'static str, u64>| {
        listed(
            map.iter()
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect(),
        )
    };
    let _ = writeln!(text, "  by kind: {}", named(&ledger.calls));
    let _ = writeln!(
        text,
        "  allowed errors, by cause: {}",
        named(&ledger.allowed)
    );
    let _ = writeln!(text, "done: {}", named(&ledger.done));
    for (name, thirds) in curves(samples) {
        let _ = writeln!(
            text,
            "gateway {name}: median {:.1} in the first third, {:.1} in the last",
            thirds.first, thirds.last
        );
    }
    let faults = Fault::ALL.iter().map(|fault| {
        let count = ledger.faults.get(fault).copied().unwrap_or(0);
        (format!("{fault:?}").to_lowercase(), count)
    });
    let _ = writeln!(text, "against it: {}", listed(faults.collect()));
    for words in &ledger.words {
        let _ = writeln!(text, "  {words}");
    }
    text
}

/// What is looked at over time.
pub(crate) fn curves(samples: &[Sample]) -> [(&'static str, Thirds); 4] {
    [
        ("memory, MiB", Thirds::of(samples, |sample| sample.memory)),
        (
            "descriptors",
            Thirds::of(samples, |sample| sample.descriptors as f64),
        ),
        (
            "threads",
            Thirds::of(samples, |sample| sample.threads as f64),
        ),
        (
            "processes",
            Thirds::of(samples, |sample| sample.processes as f64),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(memory: impl Fn(usize) -> f64) -> Vec<Sample> {
        let numbers = 0..100;
        numbers
            .map(|number| Sample {
                memory: memory(number),
                ..Sample::default()
            })
            .collect()
    }

    #[test]
    fn what_grows_is_not_flat() {
        let grows = Thirds::of(&samples(|number| number as f64), |sample| sample.memory);
        assert!(!grows.is_flat(0.15, 4.0), "{grows:?}");
        // A beginning is no growth, and a single peak is none.
        let stays = samples(|number| match number {
            0..5 => 1.0,
            99 => 500.0,
            _ => 20.0,
        });
        let stays = Thirds::of(&stays, |sample| sample.memory);
        assert!(stays.is_flat(0.15, 0.0), "{stays:?}");
        assert!(Thirds::of(&[], |sample| sample.memory).is_flat(0.0, 0.0));
    }
}
