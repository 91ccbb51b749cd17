//! What can a server do?
//!
//! Everything that the official conformance suite asks of a server, in every revision. Each
//! module answers one question; read them in this order:
//!
//! 1. `content`: what may a tool give back?
//! 2. `schemas`: what if the arguments are not a Rust type, or go into headers?
//! 3. `reporting`: how does a tool say how far it is?
//! 4. `asking`: how does a tool ask the user, the model, or where the files are?
//! 5. `forms`: what can stand in a form?
//! 6. `rounds`: what does a question become where nobody keeps a connection open?
//! 7. `tasks`: what if the work takes longer than anybody waits?
//! 8. `changes`: what if tools and prompts come and go?
//! 9. `prompts`, `resources`: what else is there to offer?
//!
//! ```sh
//! cargo run --release -p switchboard-examples --bin everything                 # on stdio
//! cargo run --release -p switchboard-examples --bin everything -- --http 8000  # at http://127.0.0.1:8000/mcp
//! ```

mod asking;
mod changes;
mod content;
mod forms;
mod prompts;
mod reporting;
mod resources;
mod rounds;
mod samples;
mod schemas;
mod tasks;

use std::io;
use std::process::ExitCode;

use switchboard_server::Server;
use switchboard_server::skills::Skills;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    switchboard_examples::exit_code(start().await)
}

async fn start() -> io::Result<()> {
    let skills = Skills::folder(SKILLS).map_err(io::Error::other)?;
    let server = Server::new("everything", env!("CARGO_PKG_VERSION"))
        .title("Everything")
        .description("Shows every feature of the protocol.")
        .instructions("Every tool shows one feature; none of them changes anything outside.")
        .skills(skills);
    let server = content::offer(server);
    let server = schemas::offer(server);
    let server = reporting::offer(server);
    let server = asking::offer(server);
    let server = forms::offer(server);
    let server = rounds::offer(server);
    let server = tasks::offer(server);
    let server = changes::offer(server);
    let server = prompts::offer(server);
    let server = resources::offer(server);
    switchboard_examples::run(server).await
}

/// The folder of skills beside the sources of the examples.
const SKILLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/skills");
