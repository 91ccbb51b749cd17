//! The hub as its users see it.
//!
//! - `given`: servers and what they list, in few words
//! - `catalog`, `search`, `resources`: what is offered, and how it is found
//! - `trace`, with its `listener`: what others see of calls
//! - `any_order`: the same, whatever happens and whatever things are called
//! - `child`: servers that are really run; `running`: a hub of them
//! - `documents`: what the design documents want, under their own numbers
//! - `connecting`, `sleeping`, `changing`: servers that come, go, sleep and change
//! - `locking`: definitions that somebody approved, and such that nobody did
//! - `calling`: tools, resources, prompts, completions; `sessions`: servers that are not shared
//! - `agreeing`: servers that never say that they will tell of changes
//! - `asked`: what servers ask and tell; `together`: many users at once
//! - `remote`: servers over HTTP that come and go
//! - `many`: fifty servers, good and bad; `faults`: one that misbehaves; `churn`: nothing is left

#![expect(
    clippy::unwrap_used,
    reason = "clippy knows tests by their attribute, not the functions that they share"
)]

mod agreeing;
mod any_order;
mod asked;
mod calling;
mod catalog;
mod changing;
mod child;
mod churn;
mod connecting;
mod documents;
mod faults;
mod given;
mod hesitant;
mod listener;
mod locking;
mod many;
mod remote;
mod resources;
mod running;
mod search;
mod sessions;
mod sleeping;
mod together;
mod trace;
