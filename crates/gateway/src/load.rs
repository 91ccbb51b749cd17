//! How much is under way in a gateway.

/// How much is under way in a gateway. All of it is nothing once its clients are gone and their
/// calls have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayLoad {
    /// Calls of clients.
    pub calls: usize,
    /// Calls that wait for stateless clients to come again with an answer.
    pub parked: usize,
    /// Calls that shared servers may ask about.
    pub asking: usize,
    /// Resources that somebody wants to hear of.
    pub watched: usize,
    /// Clients that have servers of their own.
    pub rooms: usize,
}
