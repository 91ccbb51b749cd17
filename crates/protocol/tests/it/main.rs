//! The crate as its user sees it.

mod examples;
mod official;
mod samples;
mod schema;
mod survival;
mod transcripts;
