//! The limit of a client: requests are copied together, answers found by byte search.
//!
//! It checks no JSON, has no time limits and can cancel nothing, so it is no client: it bounds
//! what one could reach. The contract is in `calling`.

mod http;
mod stdio;

use std::process::ExitCode;

use switchboard_bench::calling::{self, Era, Figures, Target, Work};
use switchboard_bench::message;

fn main() -> ExitCode {
    calling::main(run)
}

async fn run(work: Work) -> Result<Figures, String> {
    let era = match work.era {
        Some(Era::Modern) => message::Era::Stateless,
        Some(Era::Legacy) | None => message::Era::Handshake,
    };
    match &work.target {
        Target::Command(words) => stdio::run(&work, words, era),
        Target::Url(url) => http::run(&work, url, era).await,
    }
}
