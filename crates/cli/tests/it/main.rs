//! The command line as its users see it: words in; standard output, standard error and a number
//! out.
//!
//! - `place`: a folder with a configuration, and the binary run in it
//! - `child`: servers that are really run
//! - `looking`: what servers offer; `calling`: what is done with it; `asking`: what they ask
//! - `inputs`: what configurations ask for; `terminal`: somebody who types
//! - `judging`: what is said about tools and written for them; `examining`: what is wrong with
//!   servers; `completing`: what could come next
//! - `locking`: what was approved, and what has changed since
//! - `trusting`: what a project's file may start
//! - `serving`: servers as one, for other programs; `running`: a gateway as it runs, and what is
//!   said to it meanwhile; `guarding`: who may call it, what they see, how much they may do
//! - `ending`: every number that a command can end with

#![expect(
    clippy::unwrap_used,
    reason = "clippy knows tests by their attribute, not the functions that they share"
)]

mod asking;
mod calling;
mod child;
mod completing;
mod ending;
mod examining;
#[cfg(unix)]
mod guarding;
mod inputs;
mod judging;
#[cfg(unix)]
mod locking;
mod looking;
mod place;
#[cfg(unix)]
mod running;
mod serving;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod trusting;
