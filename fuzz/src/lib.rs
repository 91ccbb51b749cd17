//! What must hold for any bytes that a peer sends.
//!
//! One function for each parser, with all its assertions: no panic, no more
//! memory than allowed, the same result however the bytes were cut, the same as a
//! plain reading of the rules. libFuzzer calls them from `fuzz_targets/`, the test
//! in `tests/` and the soak from [`TARGETS`].

mod event_stream;
mod headers;
mod jsonrpc;
mod line;
mod mutate;
mod types;
mod uri_template;

pub use event_stream::event_stream;
pub use headers::headers;
pub use jsonrpc::jsonrpc;
pub use line::line;
pub use mutate::{Mutator, seeds};
pub use types::types;
pub use uri_template::uri_template;

/// A target: takes any bytes and panics if something does not hold.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("line", line),
    ("event_stream", event_stream),
    ("uri_template", uri_template),
    ("jsonrpc", jsonrpc),
    ("headers", headers),
    ("types", types),
];

/// Takes two bytes off the front that choose a limit and how the rest is cut.
fn settings(data: &[u8]) -> Option<(usize, usize, &[u8])> {
    let (&[limit, cut], rest) = data.split_first_chunk()?;
    Some((usize::from(limit), usize::from(cut % 16) + 1, rest))
}

/// Cuts bytes into pieces whose sizes go from one to `largest` and again.
fn pieces(mut rest: &[u8], largest: usize) -> impl Iterator<Item = &[u8]> {
    let mut size = 0;
    std::iter::from_fn(move || {
        size = size % largest + 1;
        let (piece, after) = rest.split_at(rest.len().min(size));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
