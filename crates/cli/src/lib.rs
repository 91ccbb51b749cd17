//! The command line of Switchboard.
//!
//! 1. `args`: what can be said; `app`: what all verbs are given
//! 2. `source`: where servers come from; `servers`: those that a verb needs, as a hub; `logins`: how
//!    they find the user's logins; `locking`: where what was approved is written down; `trust`: whether a
//!    project's file may start anything
//! 3. `command`: the verbs, a file each: what was said in, an `Outcome` or a `Failure` out
//! 4. `target`: what of which server is meant; `arguments`: words typed by a schema; `signature`:
//!    schemas as people read them; `parts`: what is shown of results; `json`: JSON in its order;
//!    `host`: what servers ask
//! 5. `edit`: files changed in place; `import`: files of other programs
//! 6. `lint`, `codegen`: what can be known from definitions alone, with `pointer` and `tool_file`;
//!    `doctor`: what is wrong with servers; `completion`, `manual`: what is known of the verbs
//! 7. `journal`: what a gateway says while it runs; `control`: what is said to it
//! 8. `output`: the only code that prints; `exit`: how it ended, as a number with a meaning
//!
//! `docs/decisions/0008-a-command-line-over-the-hub.md` in the repository says why.

mod app;
mod args;
mod arguments;
mod codegen;
mod command;
mod completion;
mod control;
mod doctor;
mod edit;
mod exit;
mod host;
mod import;
mod journal;
mod json;
mod lint;
mod locking;
mod logins;
mod manual;
mod output;
mod parts;
mod pointer;
mod servers;
mod signature;
mod source;
mod surroundings;
mod target;
mod tool_file;
mod trust;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::app::App;
use crate::args::{Cli, Verb};
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Does what the words of a command line say, and says how it ended.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => {
            let own = words.iter().take_while(|word| *word != "--");
            let is_json = own
                .into_iter()
                .any(|word| word == "--json" || word == "--jsonl");
            return output::show_usage(&error, is_json).code();
        }
    };
    let app = App::new(cli.global);
    // One thread: a command line waits more than it works.
    let runtime = tokio::runtime::Builder::new_current_thread()
        // Of many tasks that are ready, so many are run before it looks whether anything has come for others: those
        // of 16 connections at once, and of the pipes behind them.
        .event_interval(24)
        .enable_all()
        .build();
    let done = match runtime {
        Ok(runtime) => {
            let work = command::run(&cli.verb, &app);
            let done = match cli.verb {
                Verb::Serve(_) => runtime.block_on(app.run_on(work)),
                _ => runtime.block_on(app.run(work)),
            };
            // A thread may still wait for a line that nobody types.
            runtime.shutdown_background();
            done
        }
        Err(error) => Err(Failure::unexpected(format!("no runtime: {error}"))),
    };
    finish(&app.output, done).code()
}

fn finish(output: &Output, done: Result<output::Outcome, Failure>) -> Exit {
    let outcome = match done {
        Ok(outcome) => outcome,
        Err(failure) => return output.fail(&failure),
    };
    match output.show(&outcome) {
        Ok(()) => {}
        // Whoever read us has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Exit::Done,
        Err(error) => {
            let failure = Failure::unexpected(format!("standard output: {error}"));
            return output.fail(&failure);
        }
    }
    match outcome.failure() {
        Some(failure) => output.fail(failure),
        None => Exit::Done,
    }
}
