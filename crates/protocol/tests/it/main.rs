//! The crate as its user sees it.

mod examples;
mod generate;
mod http_driver;
mod http_server;
mod official;
mod revisions_doc;
mod round_trip;
mod samples;
mod schema;
mod simulation;
mod step_down;
mod survival;
mod the_forty;
mod transcripts;
