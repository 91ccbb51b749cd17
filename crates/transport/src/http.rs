//! To come.

pub mod access;
