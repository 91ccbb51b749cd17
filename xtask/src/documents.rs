//! Documents that name what is in the workspace, held against it.
//!
//! A file for each kind of thing that is named. Nothing of it is in the program: it runs with the
//! tests of this package.

mod fixed_limits;
mod named_limits;
mod named_tests;
