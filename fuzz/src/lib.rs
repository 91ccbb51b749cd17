//! What must hold for any bytes that a peer sends.
//!
//! One function for each parser, with all its assertions: no panic, no more
//! memory than allowed, the same result however the bytes were cut, the same as a
//! plain reading of the rules. libFuzzer calls them from `fuzz_targets/`, the test
//! in `tests/` and `cargo xtask fuzz` from [`TARGETS`].

mod challenge;
mod config;
mod documents;
mod event_stream;
mod frames;
mod headers;
mod http;
mod jsonrpc;
mod line;
mod machine;
mod mutate;
mod payload;
mod schema;
mod seal;
mod token;
mod transcript;
mod types;
mod uri_template;
mod words;

pub use challenge::challenge;
pub use config::config;
pub use documents::{lock, login, skill};
pub use event_stream::event_stream;
pub use frames::frames;
pub use headers::headers;
pub use http::{http_answer, http_endpoint, http_request};
pub use jsonrpc::jsonrpc;
pub use line::line;
pub use machine::{client_machine, machine_pair, server_machine};
pub use mutate::{Mutator, seeds};
pub use payload::payload;
pub use schema::schema;
pub use seal::seal;
pub use token::token;
pub use transcript::transcript;
pub use types::types;
pub use uri_template::uri_template;
pub use words::words;

/// Something that must hold for any bytes.
#[derive(Debug)]
pub struct Target {
    /// What it is called, and the folder of its corpus.
    pub name: &'static str,
    /// What the bytes are taken for.
    pub input: &'static str,
    /// Where else there are inputs for it, from the root of the repository.
    pub more: Option<&'static str>,
    /// How many executions one of the first targets has in the time of one of this one.
    pub weight: u64,
    /// Takes any bytes and panics if something does not hold.
    pub check: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    target("line", "a limit, a cut, bytes of a pipe", 1, line),
    target(
        "event_stream",
        "a limit, a cut, bytes of an event stream",
        1,
        event_stream,
    ),
    target("uri_template", "a template, a URI", 1, uri_template),
    target("jsonrpc", "a frame", 1, jsonrpc),
    target("frames", "the frames of one peer, a line each", 1, frames),
    target(
        "payload",
        "parameters, changes, members of _meta",
        1,
        payload,
    ),
    target("headers", "a line each of what headers hold", 1, headers),
    target(
        "http_answer",
        "a method, a cut, bytes of an answer of HTTP",
        1,
        http_answer,
    ),
    target(
        "http_request",
        "a byte, a cut, bytes of requests of HTTP",
        4,
        http_request,
    ),
    target("challenge", "lines of WWW-Authenticate", 1, challenge),
    target(
        "seal",
        "caller, name, arguments, content, and what is brought back",
        4,
        seal,
    ),
    target("config", "a syntax, a configuration", 4, config),
    target("lock", "an mcp.lock", 1, lock),
    target("skill", "a SKILL.md", 1, skill),
    target("login", "a login as it is kept", 1, login),
    target(
        "words",
        "an address, a trace, a pattern, names, a text with variables, a line each",
        1,
        words,
    ),
    target("schema", "a schema, a value", 20, schema),
    target("token", "header, claims, keys and a token", 20, token),
    target("types", "a method, JSON", 1, types),
    target(
        "client_machine",
        "what server and user do, a byte for each decision",
        10,
        client_machine,
    ),
    target(
        "server_machine",
        "what clients and handlers do, a byte for each decision",
        10,
        server_machine,
    ),
    target(
        "machine_pair",
        "what both sides and the wire between them do, a byte for each decision",
        40,
        machine_pair,
    ),
    Target {
        more: Some("crates/protocol/tests/transcripts"),
        ..target(
            "transcript",
            "a transcript of either machine",
            10,
            transcript,
        )
    },
    target(
        "http_endpoint",
        "requests of HTTP, with a line %% between them",
        40,
        http_endpoint,
    ),
];

const fn target(name: &'static str, input: &'static str, weight: u64, check: fn(&[u8])) -> Target {
    Target {
        name,
        input,
        more: None,
        weight,
        check,
    }
}

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

/// Where the files that we take from other crates look for it.
mod scope {
    pub(crate) use switchboard_auth::Scopes;
}
