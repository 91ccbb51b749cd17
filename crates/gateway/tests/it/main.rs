//! The gateway between clients and servers of both eras.
//!
//! - `child`: a server of one era; `cell`: a client of one era at a gateway before it
//! - `calling`, `asking`, `listing`, `tracing`: what must be the same in all four cells

#![expect(
    clippy::unwrap_used,
    reason = "clippy knows tests by their attribute, not the functions that they share"
)]

mod asking;
mod calling;
mod cell;
mod child;
mod listing;
mod tracing;
