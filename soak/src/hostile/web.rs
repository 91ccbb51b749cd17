//! A server over HTTP that misbehaves when its tool `defect` is called.

use std::fs;
use std::io::{self, Read};
use std::process::ExitCode;

use switchboard_testkit::faulty::http::HttpServer;
use switchboard_testkit::faulty::{Eras, Role};

/// Serves until its input ends. Where it is stands in a file.
pub(super) fn run(kind: &str, era: &str, file: &str) -> Result<ExitCode, String> {
    let eras = match era {
        "handshake" => Eras::Legacy,
        _ => Eras::Modern,
    };
    let server = HttpServer::start(&Role::new(kind).eras(eras));
    let beside = format!("{file}.new");
    let written = fs::write(&beside, server.url()).and_then(|()| fs::rename(&beside, file));
    written.map_err(|error| error.to_string())?;
    let _ = io::stdin().read(&mut [0]);
    // Not by dropping the server: it would wait for its own floods.
    std::process::abort();
}
