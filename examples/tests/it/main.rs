//! The example programs as clients see them: real processes, real pipes and sockets.

mod process;
mod tasks;
