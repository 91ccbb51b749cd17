//! Clients, servers and faults around a real gateway: `cargo xtask soak`.
//!
//! One program in all roles, so that there is nothing else to build:
//!
//! - `drive`: starts the gateway and everything around it, calls, disturbs, counts
//! - `cycles`: connects and closes, again and again, and looks at what is left
//! - `floods`: one peer without measure at a time, beside a neighbour whose calls are timed
//! - `hostile`: such a peer
//! - `kills`: `kill -9` of servers, gateways and commands at any moment
//! - `keep`: saves logins, for whoever kills it
//! - `serve`: a server of one era whose answers can be checked
//! - `pipe`: stands between the gateway and a server on its standard streams
//!
//! A package of its own: it needs the client and the server, which neither `testkit` nor `xtask`
//! may, and nothing of it is for users.

mod call;
mod chaos;
mod client;
mod cores;
mod cycles;
mod drive;
mod floods;
mod gateway;
mod hostile;
mod house;
mod kills;
mod ledger;
mod options;
mod pipe;
mod plot;
mod proc;
mod report;
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    cores::obey();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["serve", options @ ..] => server::run(options),
        ["pipe", seed, "--", command @ ..] => pipe::run(seed, command),
        ["cycles", "--help"] => Ok(report::help(cycles::HELP)),
        ["cycles", options @ ..] => cycles::run(options),
        ["floods", "--help"] => Ok(report::help(floods::HELP)),
        ["floods", options @ ..] => floods::run(options),
        ["kills", "--help"] => Ok(report::help(kills::HELP)),
        ["kills", options @ ..] => kills::run(options),
        ["keep", folder, round, count] => kills::keep(folder, round, count),
        ["hostile", words @ ..] => hostile::run(words),
        ["drive", options @ ..] => drive::run(options),
        _ => Err("expected drive, cycles, floods, kills, or a role of theirs".to_owned()),
    };
    match done {
        Ok(code) => code,
        Err(reason) => {
            report::line(&format!("error: {reason}"));
            ExitCode::from(2)
        }
    }
}
