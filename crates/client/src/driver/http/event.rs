//! What exchanges find, for the owner of the connection.

use http::Uri;
use switchboard_protocol::http::session::SessionId;
use switchboard_protocol::jsonrpc::{Frame, Malformed};
use switchboard_protocol::machine::Lane;
use switchboard_protocol::machine::client::LaneEnd;

use crate::error::HttpFailure;

/// What an exchange has found.
#[derive(Debug)]
pub(super) enum Event {
    /// A message came.
    Received {
        /// On whose stream.
        lane: Lane,
        frame: Result<Frame, Malformed>,
        /// Whether it is the answer, so that nothing else comes.
        is_last: bool,
    },
    /// No answer will come.
    Lost {
        lane: Lane,
        end: LaneEnd,
        failure: HttpFailure,
    },
    /// The answer came before, and now the stream has ended.
    Over(Lane),
    /// The server has opened a session.
    Session(SessionId),
    /// The word after which others may follow was taken.
    Posted {
        /// The session it belongs to.
        epoch: u64,
    },
    /// The server no longer knows the session.
    SessionLost {
        /// Which.
        epoch: u64,
    },
    /// The old transport says where to post.
    Endpoint(Uri),
    /// The one stream of the old transport is gone.
    Gone(HttpFailure),
}
