//! An endpoint of Streamable HTTP, as a server sees it.
//!
//! Everything about HTTP that is not the meaning of a message: routes, the order of checks,
//! bodies and their bounds, event streams, connections, sessions as a table. What a message
//! means is for the [`Host`] behind the [`Endpoint`]. Rules of the protocol come from
//! `switchboard_protocol::http`.
//!
//! 1. [`server`](Endpoint): from request to response; [`serve`] listens for one alone, or for
//!    a [`Front`] before several
//! 2. [`Host`]: what stands behind, with [`Post`], [`Get`], [`Delete`]
//! 3. [`Access`]: who is the caller?
//! 4. [`Body`], [`events`], [`json`] and its kin: what goes back
//! 5. [`Sessions`] and [`Replay`]: what the handshake era keeps between requests
//!
//! Specification: basic/transports of each revision.

mod access;
mod answer;
mod body;
mod chunks;
#[cfg(feature = "connect")]
pub mod client;
mod connection;
mod cross_origin;
mod event_queue;
mod event_sender;
mod framing;
mod gather;
mod host;
mod legacy;
mod listen;
mod receive;
mod replay;
mod request_head;
mod room;
mod route;
mod server;
mod session_limits;
mod settings;
mod socket;

pub use access::{Access, Challenge, ChallengeError, Denied, Identifying, Principal, is_scope};
pub use answer::{accepted, busy, event_stream, json, no_content, refuse};
pub use body::Body;
pub use connection::Incoming;
pub use event_queue::{StreamSettings, events, message_event};
pub use event_sender::{EventSender, SendError};
pub use host::{Delete, Get, Host, OldGet, OldPost, Post};
pub use legacy::Sessions;
pub use listen::{Front, serve, serve_stream};
pub use replay::{Replay, ReplayLimits, ResumeError, Resumed};
pub use request_head::RequestHead;
pub use server::Endpoint;
pub use session_limits::{Full, SessionLimits};
pub use settings::{HttpSettings, OldPaths};
