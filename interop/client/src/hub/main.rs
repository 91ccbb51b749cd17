//! The hub at servers that others wrote: many as one, whatever some of them do.
//!
//! ```text
//! hub-of-servers --node <folder> --python <folder> --python-v1 <folder> --rust <folder> --scripts <folder> --scratch <folder> [group …]
//! hub-of-servers --hold <mark> --node <folder> --scratch <folder>
//! ```
//!
//! Prints one line per check, as `interop/report.mjs` describes. With `--hold` it is the host that
//! is killed: it starts a hub of five servers and waits for its end.
//!
//! 1. `members.rs`: servers as they are written in a file, each with a mark; `calls.rs`: what is
//!    asked of them
//! 2. `names.rs`, `file.rs`, `everything.rs`, `many.rs`, `kept.rs`, `allowed.rs`, `lives.rs`,
//!    `held.rs`: the groups of checks
//!
//! Which servers there are is in `servers/`, which meets them one at a time.

mod allowed;
mod calls;
#[path = "../servers/catalog.rs"]
#[expect(
    dead_code,
    reason = "what is asked of one server alone is not asked here"
)]
mod catalog;
mod everything;
mod file;
mod held;
mod kept;
#[path = "../servers/killed.rs"]
#[expect(dead_code, reason = "the host is another one here")]
mod killed;
mod lives;
mod many;
mod members;
mod names;
#[path = "../servers/page.rs"]
mod page;
#[path = "../servers/places.rs"]
mod places;
#[path = "../servers/processes.rs"]
#[expect(dead_code, reason = "they are counted for many servers here")]
mod processes;
#[path = "../report.rs"]
mod report;
#[path = "../servers/started.rs"]
mod started;

use std::process::ExitCode;

use switchboard_testkit::faulty::stdio::play;

use crate::places::Places;
use crate::report::Report;

fn main() -> ExitCode {
    // The misbehaving servers are this program too.
    play();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let mut report = Report::default();
    match (runtime, Places::from_arguments()) {
        (Ok(runtime), Ok(places)) => runtime.block_on(async {
            match &places.hold {
                Some(mark) => held::hold(&places, mark).await,
                None => run(&places, &mut report).await,
            }
        }),
        (Err(error), _) => report.check("hub", Err(error.to_string())),
        (_, Err(reason)) => report.check("hub", Err(reason)),
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
    if let Err(reason) = places.make_repository() {
        return report.check("an empty repository", Err(reason));
    }
    if places.wants("names") {
        names::check(places, &page, report).await;
    }
    if places.wants("file") {
        file::check(places, &page, report).await;
    }
    if places.wants("everything") {
        everything::check(places, &page, report).await;
    }
    if places.wants("many") {
        many::check(places, &page, report).await;
    }
    if places.wants("kept") {
        kept::check(places, &page, report).await;
    }
    if places.wants("allowed") {
        allowed::check(places, &page, report).await;
    }
    if places.wants("lives") {
        lives::check(places, &page, report).await;
    }
    if places.wants("killed") {
        killed::check(held::NAME, places, report).await;
    }
}
