//! How does a server keep something, for several clients and processes, across restarts?
//!
//! A to-do list in a SQLite file. The server is in `crates/demo`, because `switchboard demo` shows
//! it too; this is how it is started.
//!
//! ```sh
//! cargo run --release -p switchboard-examples --bin tasks                           # on stdio
//! cargo run --release -p switchboard-examples --bin tasks -- --db todo.sqlite       # in a file of your choice
//! cargo run --release -p switchboard-examples --bin tasks -- --http 8000            # at http://127.0.0.1:8000/mcp
//! ```

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use switchboard_examples::{Options, OwnOption};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    switchboard_examples::exit_code(start().await)
}

async fn start() -> io::Result<()> {
    let Some(options) = Options::of_process("A to-do list in a SQLite file.", &[DB])? else {
        return Ok(());
    };
    let path = match options.value(DB.name) {
        Some(path) => PathBuf::from(path),
        None => switchboard_demo::file_of_user()?,
    };
    let server = switchboard_demo::task_server(&path)?;
    switchboard_examples::serve(server, &options).await
}

const DB: OwnOption = OwnOption {
    name: "--db",
    value: "FILE",
    help: "the file of the tasks; without it, one in the data folder of the user",
};
