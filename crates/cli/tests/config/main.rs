//! Verbs about configurations and logins, as they are typed: what comes out, and how it ends.

#![allow(clippy::unwrap_used, reason = "tests")]

mod editing;
mod importing;
mod issuer;
mod judging;
mod logins;
mod place;
