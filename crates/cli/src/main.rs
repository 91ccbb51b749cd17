//! The binary `switchboard`. Everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    switchboard_cli::run(std::env::args_os())
}
