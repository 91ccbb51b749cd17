//! What is run: the words of the command line.

use std::path::PathBuf;
use std::time::Duration;

use switchboard_fuzz::{TARGETS, Target};
use switchboard_testkit::span;

/// What the command line asks for.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) targets: Vec<&'static Target>,
    pub(crate) most: Most,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    /// Only this input, and nothing else.
    pub(crate) input: Option<PathBuf>,
}

/// When a target has been run enough.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Most {
    Executions(u64),
    Time(Duration),
}

impl Options {
    pub(crate) fn read(words: Vec<String>) -> Result<Self, String> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut options = Self {
            targets: Vec::new(),
            most: Most::Executions(1_000_000),
            seed: 0x50AC,
            threads: cores,
            input: None,
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if !word.starts_with('-') {
                let target = TARGETS.iter().find(|target| target.name == word);
                let target = target.ok_or_else(|| format!("there is no target {word}"))?;
                options.targets.push(target);
                continue;
            }
            let value = words
                .next()
                .ok_or_else(|| format!("{word} wants a value"))?;
            let number = || {
                let digits = value.replace('_', "");
                digits
                    .parse::<u64>()
                    .map_err(|error| format!("{word} {value}: {error}"))
            };
            match word.as_str() {
                "--executions" => options.most = Most::Executions(number()?),
                "--for" => options.most = Most::Time(span::read(&value)?),
                "--seed" => options.seed = number()?,
                "--threads" => options.threads = number()?.clamp(1, 1024) as usize,
                "--input" => options.input = Some(value.into()),
                _ => return Err(format!("unknown word {word}")),
            }
        }
        if options.targets.is_empty() {
            options.targets = TARGETS.iter().collect();
        }
        Ok(options)
    }
}

/// How the command is used, with the targets that there are.
pub(crate) fn help() -> String {
    let mut text = HELP.to_owned();
    for target in TARGETS {
        text += &format!("\n  {:<18} {}", target.name, target.input);
    }
    text
}

const HELP: &str = "\
cargo xtask fuzz [TARGET…] [option…]

Changes to the stored corpus, as fast as they can be tried, on all cores; without a name,
every target. The first finding of a target ends it, is stored in fuzz/artifacts, and makes
the exit code 1.

  --executions N   so many of each target (1 000 000)
  --for TIME       as many of each as there is time for: 90s, 15m, 1h
  --seed S         the same seed and number of threads give the same inputs (20652)
  --threads N      so many at once (all cores)
  --input FILE     only this input, once: a finding again

Targets, and what their input is:
";
