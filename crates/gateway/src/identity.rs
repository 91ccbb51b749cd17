//! Whether two calls are of one client.

use switchboard_protocol::Era;
use switchboard_protocol::machine::server::Caller;
use switchboard_protocol::types::Implementation;
use switchboard_server::{Connection, Context};

/// Who made a call, as far as it can be known.
///
/// A client of the handshake era is its connection. One of the stateless era has none: it is who
/// its key says it is, under the name that it gives itself.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    connection: Option<Connection>,
    /// The issuer of its token and whom that stands for.
    principal: Option<(Option<String>, String)>,
    /// What a client without a connection calls itself.
    stateless: Option<Option<Implementation>>,
}

impl Identity {
    pub(crate) fn of(context: &Context) -> Self {
        let is_stateless = context.revision().era() == Era::Stateless;
        Self {
            connection: context.connection(),
            principal: context
                .principal()
                .map(|principal| (principal.issuer.clone(), principal.subject.clone())),
            stateless: is_stateless.then(|| context.caller().info.clone()),
        }
    }

    /// The one who listens on this connection, who is of the stateless era.
    pub(crate) fn of_listener(connection: &Connection, caller: &Caller) -> Self {
        Self {
            connection: Some(connection.clone()),
            principal: connection
                .principal()
                .map(|principal| (principal.issuer.clone(), principal.subject.clone())),
            stateless: Some(caller.info.clone()),
        }
    }

    /// Somebody of whom nothing is known.
    pub(crate) const fn nobody() -> Self {
        Self {
            connection: None,
            principal: None,
            stateless: None,
        }
    }

    /// Somebody with this key, or without one.
    #[cfg(test)]
    pub(crate) fn with_key(key: Option<&str>) -> Self {
        Self {
            connection: None,
            principal: key.map(|key| (None, key.to_owned())),
            stateless: Some(None),
        }
    }

    /// Is it still there? Nobody knows of a client that has no connection.
    pub(crate) fn is_connected(&self) -> Option<bool> {
        match (&self.stateless, &self.connection) {
            (None, Some(connection)) => Some(connection.is_open()),
            (None, None) => Some(false),
            (Some(_), _) => None,
        }
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let connections = (&self.connection, &other.connection);
        if let (Some(connection), Some(other)) = connections
            && connection.is_same(other)
        {
            return true;
        }
        self.stateless.is_some() && self.stateless == other.stateless && self.has_same_rights(other)
    }

    /// Is it nobody in particular? Where callers are known, nobody is.
    pub(crate) const fn is_anonymous(&self) -> bool {
        self.principal.is_none()
    }

    /// May the one know what the other does? Those without keys are all on this machine.
    pub(crate) fn has_same_rights(&self, other: &Self) -> bool {
        self.principal == other.principal
    }
}
