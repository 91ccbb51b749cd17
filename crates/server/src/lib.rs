//! Write a server of the Model Context Protocol.

#[cfg_attr(
    not(test),
    expect(dead_code, reason = "used once handlers ask clients")
)]
mod seal;
#[cfg(feature = "skills")]
pub mod skills;

pub use seal::{SealingKeys, SecretError};
