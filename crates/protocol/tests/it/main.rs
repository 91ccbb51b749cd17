//! The crate as its user sees it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod examples;
mod official;
mod samples;
mod schema;
mod survival;
mod transcripts;
