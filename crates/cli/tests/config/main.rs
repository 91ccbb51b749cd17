//! Verbs about configurations and logins, as they are typed: what comes out, and how it ends.

#![expect(
    clippy::unwrap_used,
    reason = "clippy knows tests by their attribute, not the functions that they share"
)]

mod editing;
mod importing;
mod issuer;
mod judging;
mod logins;
mod place;
