//! The engine of `cargo xtask fuzz`: runs targets on all cores, and says what was found.
//!
//! It is an example rather than a binary because cargo-fuzz takes every binary for a
//! target of libFuzzer.

mod options;
mod target_run;

use std::path::Path;
use std::process::ExitCode;
use std::{fs, panic};

use switchboard_fuzz::Target;

use options::Options;
use target_run::TargetRun;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words
        .iter()
        .any(|word| matches!(word.as_str(), "--help" | "-h"))
    {
        println!("{}", options::help());
        return ExitCode::SUCCESS;
    }
    let options = match Options::read(words) {
        Ok(options) => options,
        Err(reason) => {
            eprintln!("error: {reason}\n\n{}", options::help());
            return ExitCode::from(2);
        }
    };
    if let Some(file) = &options.input {
        return replay(&options.targets, file);
    }
    let mut findings = 0;
    for target in &options.targets {
        match TargetRun::new(target, &options).and_then(TargetRun::run) {
            Ok(found) => findings += u64::from(found),
            Err(reason) => {
                eprintln!("error: {}: {reason}", target.name);
                return ExitCode::FAILURE;
            }
        }
    }
    match findings {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// One input once more. A finding ends as any panic does.
fn replay(targets: &[&'static Target], file: &Path) -> ExitCode {
    let input = match fs::read(file) {
        Ok(input) => input,
        Err(error) => {
            eprintln!("error: {}: {error}", file.display());
            return ExitCode::from(2);
        }
    };
    let mut is_good = true;
    for target in targets {
        let outcome = panic::catch_unwind(|| (target.check)(&input));
        let verdict = if outcome.is_ok() {
            "holds"
        } else {
            "a finding"
        };
        println!("{}: {verdict}", target.name);
        is_good &= outcome.is_ok();
    }
    ExitCode::from(u8::from(!is_good))
}
