//! Whether two calls are of one client.

use switchboard_protocol::Era;
use switchboard_protocol::types::Implementation;
use switchboard_server::{Connection, Context};

/// Who made a call, as far as it can be known.
///
/// A client of the handshake era is its connection. One of the stateless era has none: it is who
/// its key says it is, under the name that it gives itself.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    connection: Option<Connection>,
    stateless: Option<Stateless>,
}

#[derive(Clone, Debug, PartialEq)]
struct Stateless {
    /// The issuer of its token and whom that stands for.
    principal: Option<(Option<String>, String)>,
    info: Option<Implementation>,
}

impl Identity {
    pub(crate) fn of(context: &Context) -> Self {
        let is_stateless = context.revision().era() == Era::Stateless;
        Self {
            connection: context.connection(),
            stateless: is_stateless.then(|| Stateless {
                principal: context
                    .principal()
                    .map(|principal| (principal.issuer.clone(), principal.subject.clone())),
                info: context.caller().info.clone(),
            }),
        }
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let connections = (&self.connection, &other.connection);
        if let (Some(connection), Some(other)) = connections
            && connection.is_same(other)
        {
            return true;
        }
        self.stateless.is_some() && self.stateless == other.stateless
    }
}
