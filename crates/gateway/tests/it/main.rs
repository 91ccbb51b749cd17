//! The gateway between clients and servers of both eras.
//!
//! - `child`: a server of one era; `cell`: a client of one era at a gateway before it
//! - `calling`, `asking`, `listing`, `tracing`, `reloading`: what must be the same in all four
//!   cells
//! - `tasks`: calls that go on after their answer, `task_bounds`: how long and how many; `extensions`: what is none of the protocol's, in
//!   all four cells
//! - `rooms`: servers that each client has alone; `searching`: two tools in place of all
//! - `in_process`: servers in this very process, some played by hand
//! - `played`: servers in this very process that answer as the test says, and clients that write what it says;
//!   `caching`: how long lists may be kept; `older`: peers of older revisions; `coming_again`: calls that
//!   end with a question; `passing`: what comes through as it was written
//! - `house`: a gateway over HTTP; `access`, `bounds`: who may call, and how much; `hostile`: clients
//!   that attack it

#![expect(
    clippy::unwrap_used,
    reason = "clippy knows tests by their attribute, not the functions that they share"
)]

mod access;
mod asking;
mod bounds;
mod caching;
mod calling;
mod cell;
mod child;
mod coming_again;
mod extensions;
mod hostile;
mod house;
mod in_process;
mod listing;
mod older;
mod passing;
mod played;
mod reloading;
mod rooms;
mod searching;
mod task_bounds;
mod tasks;
mod tracing;
