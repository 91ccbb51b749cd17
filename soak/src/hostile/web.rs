//! A server over HTTP that misbehaves when its tool `defect` is called.

use std::fs;
use std::io::{self, Read};
use std::process::ExitCode;

use rustix::net::sockopt;
use switchboard_testkit::faulty::http::HttpServer;
use switchboard_testkit::faulty::{Eras, Role};

/// Serves until its input ends. Where it is stands in a file.
pub(super) fn run(kind: &str, era: &str, file: &str) -> Result<ExitCode, String> {
    let eras = match era {
        "handshake" => Eras::Legacy,
        _ => Eras::Modern,
    };
    let server = HttpServer::start_prepared(&Role::new(kind).eras(eras), |listener| {
        // Each connection has what its listener has.
        let _ = sockopt::set_socket_send_buffer_size(listener, UNSENT);
    });
    let beside = format!("{file}.new");
    let written = fs::write(&beside, server.url()).and_then(|()| fs::rename(&beside, file));
    written.map_err(|error| error.to_string())?;
    let _ = io::stdin().read(&mut [0]);
    // Not by dropping the server: it would wait for its own floods.
    std::process::abort();
}

/// What Linux holds of a connection that this server has written and the gateway has not taken. Whoever closes a
/// connection to a peer on its own machine has all of that given back in the same step, on its own processor: with
/// the 4 MiB that Linux likes the gateway did the hostile server's tidying up (docs/reliability.md).
const UNSENT: usize = 128 * 1024;
