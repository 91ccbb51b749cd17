//! What the tests of the workspace share.
//!
//! [`transcript`] runs text files that hold a conversation against a machine,
//! [`clock`] is a clock that a test moves, [`pair`] connects a client machine and
//! a server machine in memory, [`generate`] makes random messages, [`faulty`] has servers that
//! misbehave.

pub mod clock;
pub mod faulty;
pub mod generate;
pub mod pair;
pub mod transcript;
