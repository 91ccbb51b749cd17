//! Streamable HTTP and the older HTTP+SSE, as rules.
//!
//! Which headers to send and to check, in which order, and which status says
//! what. All are pure functions over the types of the `http` crate: no socket, no
//! body, no clock. The transport reads and writes; these files decide.
//!
//! - [`client`][]: headers to send, answers to read
//! - [`server`][]: what a request is, and whether it may come in
//! - [`origin`][]: is the caller a page that has no business here?
//! - [`negotiate`][]: `Accept` and `Content-Type`
//! - [`session`][]: `Mcp-Session-Id`
//! - [`mirror`][]: headers that repeat a part of the body
//! - [`parameter`][]: `x-mcp-header` in a tool's schema
//! - [`location`][]: URIs that a peer names, kept to its own origin
//! - [`old_sse`][]: the two endpoints of 2024-11-05
//!
//! Specification: basic/transports of each revision.

pub mod client;
mod fields;
pub mod location;
pub mod mirror;
pub mod negotiate;
pub mod old_sse;
pub mod origin;
pub mod parameter;
pub mod server;
pub mod session;

/// Names of the headers that MCP gives a meaning.
///
/// Names are compared without regard to case; `http` keeps them in lower case.
pub mod header {
    use http::HeaderName;

    /// `MCP-Protocol-Version`: the revision of this request.
    pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
    /// `Mcp-Method`: repeats `method`.
    pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
    /// `Mcp-Name`: repeats `params.name`, `params.uri` or `params.taskId`.
    pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
    /// `Mcp-Session-Id`: the session of the handshake era.
    pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
    /// `Last-Event-ID`: resumes a stream of the handshake era.
    pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
    /// `X-Accel-Buffering`: `no` keeps a proxy from holding events back.
    pub const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
    /// What the header of an annotated parameter begins with.
    pub const PARAMETER_PREFIX: &str = "mcp-param-";
}

/// The beginning of a peer's text, for a message: the rest could be megabytes.
fn excerpt(text: &str) -> String {
    let mut characters = text.chars();
    let mut shown: String = characters.by_ref().take(EXCERPT).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

// Long enough for any tool name or URI that a person would recognise.
const EXCERPT: usize = 120;
