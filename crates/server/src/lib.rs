//! Write a server of the Model Context Protocol.

pub mod access;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "used once handlers ask clients")
)]
mod seal;

pub use seal::{SealingKeys, SecretError};
