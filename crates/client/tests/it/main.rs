//! The client as its users see it, with servers that do what they should not.
//!
//! - `case`: one line of the tables, and what is checked for each
//! - `server`: a misbehaving server, and whether anything is left of it
//! - `stdio`, `http`: the tables, by where the server is
//! - the others: what needs more than a line
//!
//! On Linux, which says what is left of a process.

#![cfg(target_os = "linux")]

mod batches;
mod cancelling;
mod case;
mod cycles;
mod ending;
mod flooding;
mod hosting;
mod http;
mod listing;
mod meta;
mod peer;
mod promptly;
mod sent;
mod server;
mod sessions;
#[cfg(feature = "skills")]
mod skills;
mod stdio;

use switchboard_testkit::faulty;

#[test]
fn every_way_to_misbehave_is_tried() {
    const SOURCES: [&str; 7] = [
        include_str!("stdio.rs"),
        include_str!("http.rs"),
        include_str!("sessions.rs"),
        include_str!("listing.rs"),
        include_str!("hosting.rs"),
        include_str!("cancelling.rs"),
        include_str!("ending.rs"),
    ];
    let stdio = faulty::stdio::kinds().map(|kind| kind.name);
    let http = faulty::http::kinds().map(|kind| kind.name);
    let is_tried = |name: &str| {
        let word = format!("\"{name}\"");
        SOURCES.iter().any(|source| source.contains(&word))
    };
    let missing: Vec<_> = stdio.chain(http).filter(|name| !is_tried(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
