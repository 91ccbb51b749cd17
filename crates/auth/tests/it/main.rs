//! Logins as the users of this crate see them, against an authorization server and a protected
//! server that are correct by default and misbehave where they are told.
//!
//! - `authority`: both of them, the person at the browser, and whether they can be trusted
//! - `flow`: a program with a login, and what an authority saw of it
//! - `login`, `scopes`, `renewing`, `proving`, `machines`, `ending`: a login from its beginning
//!   to its end, in one process
//! - `many_processes`: one login in many processes
//! - `foreign`: what was found at authorization servers that others wrote
//! - `store`: what is kept in files, by one process
//! - `processes`: the same, by many at once, some of which are killed
//! - `hostile`: servers and issuers that mean harm, and what is said about each
//! - `secrecy`: nothing that is printed or logged has a secret in it
//! - `folder`, `watched_store`: where the tests keep things; `waiters`: who has to wait;
//!   `child`: this binary as another process

#![expect(
    clippy::unwrap_used,
    reason = "clippy knows tests by their attribute, not the functions that they share"
)]

mod authority;
mod child;
mod ending;
mod flow;
mod folder;
mod foreign;
mod hostile;
mod login;
mod machines;
mod many_processes;
#[cfg(unix)]
mod processes;
mod proving;
mod renewing;
mod scopes;
mod secrecy;
mod store;
mod waiters;
mod watched_store;
