//! Clients, servers and faults around a real gateway: `cargo xtask soak`.
//!
//! One program in three roles, so that there is nothing else to build:
//!
//! 1. `drive`: starts the gateway and everything around it, calls, disturbs, counts
//! 2. `serve`: a server of one era whose answers can be checked
//! 3. `pipe`: stands between the gateway and a server on its standard streams
//!
//! A package of its own: it needs the client and the server, which neither `testkit` nor `xtask`
//! may, and nothing of it is for users.

mod call;
mod chaos;
mod client;
mod drive;
mod house;
mod ledger;
mod options;
mod pipe;
mod plot;
mod proc;
mod report;
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["serve", options @ ..] => server::run(options),
        ["pipe", seed, "--", command @ ..] => pipe::run(seed, command),
        ["drive", options @ ..] => drive::run(options),
        _ => Err("expected drive, serve or pipe".to_owned()),
    };
    match done {
        Ok(code) => code,
        Err(reason) => {
            report::line(&format!("error: {reason}"));
            ExitCode::from(2)
        }
    }
}
