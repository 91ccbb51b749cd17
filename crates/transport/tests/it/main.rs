//! The crate as its user sees it.

mod http;
