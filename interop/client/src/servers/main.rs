//! Our client at servers that others wrote: each started, asked, closed, and nothing left of it.
//!
//! ```text
//! real-servers --node <folder> --python <folder> --python-v1 <folder> --rust <folder> --scratch <folder> [name …]
//! real-servers --hold <mark> --node <folder> …
//! ```
//!
//! Prints one line per check, as `interop/report.mjs` describes. Names choose the servers whose
//! names contain them. With `--hold` it is the host that is killed: it starts five servers and
//! waits for its end.
//!
//! 1. `catalog.rs`: which servers, and what is asked of each
//! 2. `visit.rs`: what is done with every server; `everything.rs`: what only one can do
//! 3. `started.rs`: a server behind a URL; `page.rs`: a page for those that read from the web
//! 4. `processes.rs`: what is left; `killed.rs`: what is left when the host is killed

mod catalog;
mod everything;
mod killed;
mod page;
mod places;
mod processes;
#[path = "../report.rs"]
mod report;
mod started;
mod visit;

use std::process::ExitCode;

use crate::places::Places;
use crate::report::Report;

#[tokio::main]
async fn main() -> ExitCode {
    let mut report = Report::default();
    match Places::from_arguments() {
        Err(reason) => report.check("real servers", Err(reason)),
        Ok(places) => match &places.hold {
            Some(mark) => killed::hold(&places, mark).await,
            None => run(&places, &mut report).await,
        },
    }
    match report.has_failed() {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

async fn run(places: &Places, report: &mut Report) {
    let page = match page::serve().await {
        Ok(page) => page,
        Err(error) => return report.check("a page on the loopback", Err(error.to_string())),
    };
    report.check("an empty repository", places.make_repository());
    for server in catalog::servers(places, &page) {
        if places.wants(&server.name) {
            visit::visit(&server, report).await;
        }
    }
    if places.wants("kill") {
        killed::check(killed::NAME, places, report).await;
    }
}
