//! The hub as its users see it.
//!
//! - `given`: servers and what they list, in few words
//! - `catalog`, `search`, `resources`: what is offered, and how it is found
//! - `any_order`: the same, whatever happens and whatever things are called

#![expect(
    clippy::unwrap_used,
    reason = "clippy knows tests by their attribute, not the functions that they share"
)]

mod any_order;
mod catalog;
mod child;
mod given;
mod members;
mod resources;
mod search;
