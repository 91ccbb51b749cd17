//! What the tests of the workspace share.
//!
//! [`transcript`] runs text files that hold a conversation against a machine,
//! [`clock`] is a clock that a test moves, [`pair`] connects a client machine and
//! a server machine in memory, [`generate`] makes random messages, [`faulty`] has servers that
//! misbehave, [`fault_proxy`] spoils the way between peers, [`process`] tells what this process has
//! left behind, [`dice`] is chance that is the same in every run, [`span`] reads how long one shall
//! take.

pub mod clock;
pub mod dice;
pub mod fault_proxy;
pub mod faulty;
pub mod generate;
pub mod pair;
pub mod process;
pub mod span;
pub mod transcript;
