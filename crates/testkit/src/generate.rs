//! Random messages, for property tests.
