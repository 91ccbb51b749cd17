//! Write a server of the Model Context Protocol.

#[cfg(feature = "skills")]
pub mod skills;
