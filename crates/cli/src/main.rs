//! The binary `switchboard`. Everything is in the library.

use std::process::ExitCode;

/// Most of what a gateway does is to take and give back small pieces of memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    switchboard_cli::run(std::env::args_os())
}
