//! Whether two calls are of one client.

use switchboard_protocol::Era;
use switchboard_protocol::machine::server::Caller;
use switchboard_protocol::types::Implementation;
use switchboard_server::{Connection, Context};

/// Who made a call, as far as it can be known.
///
/// A client of the handshake era is its connection, and so is one on a pipe. One of the stateless
/// era over HTTP has none: it is who its key says it is, under the name that it gives itself.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    connection: Option<Connection>,
    is_on_pipe: bool,
    /// The issuer of its token and whom that stands for.
    principal: Option<(Option<String>, String)>,
    /// What a client without a connection calls itself.
    stateless: Option<Option<Implementation>>,
}

impl Identity {
    pub(crate) fn of(context: &Context) -> Self {
        let is_on_pipe = context.headers().is_none();
        let is_stateless = context.revision().era() == Era::Stateless && !is_on_pipe;
        Self {
            connection: context.connection(),
            is_on_pipe,
            principal: context
                .principal()
                .map(|principal| (principal.issuer.clone(), principal.subject.clone())),
            stateless: is_stateless.then(|| context.caller().info.clone()),
        }
    }

    /// The one who listens on this connection, who is of the stateless era.
    pub(crate) fn of_listener(connection: &Connection, caller: &Caller) -> Self {
        let is_on_pipe = connection.is_pipe();
        Self {
            connection: Some(connection.clone()),
            is_on_pipe,
            principal: connection
                .principal()
                .map(|principal| (principal.issuer.clone(), principal.subject.clone())),
            stateless: (!is_on_pipe).then(|| caller.info.clone()),
        }
    }

    /// The connection that it was known by first.
    pub(crate) const fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref()
    }

    /// Somebody of whom nothing is known.
    pub(crate) const fn nobody() -> Self {
        Self {
            connection: None,
            is_on_pipe: false,
            principal: None,
            stateless: None,
        }
    }

    /// Somebody with this key, or without one.
    #[cfg(test)]
    pub(crate) fn with_key(key: Option<&str>) -> Self {
        Self {
            connection: None,
            is_on_pipe: false,
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
        if self.is_on_same_connection(other) {
            return true;
        }
        self.stateless.is_some() && self.stateless == other.stateless && self.has_same_rights(other)
    }

    /// Somebody with this key, or without one, who calls himself so.
    #[cfg(test)]
    pub(crate) fn named(key: Option<&str>, name: &str) -> Self {
        let info = Implementation::new(name, "1");
        Self {
            stateless: Some(Some(info)),
            ..Self::with_key(key)
        }
    }

    /// May the one be asked what may be for the other? Those who are nobody in particular may.
    pub(crate) fn may_stand_for(&self, other: &Self) -> bool {
        self.is_same(other) || self.is_anonymous() && other.is_anonymous()
    }

    /// Has it a key that says who it is?
    pub(crate) const fn has_key(&self) -> bool {
        self.principal.is_some()
    }

    /// Is it nobody in particular? Where callers are known, nobody is, and nobody on a pipe.
    pub(crate) const fn is_anonymous(&self) -> bool {
        !self.has_key() && !self.is_on_pipe
    }

    /// May the one know what the other does? Those who come without keys over HTTP are all on this
    /// machine; a pipe is for whoever holds its other end.
    pub(crate) fn has_same_rights(&self, other: &Self) -> bool {
        match (&self.principal, &other.principal) {
            (None, None) => {
                let are_anonymous = self.is_anonymous() && other.is_anonymous();
                are_anonymous || self.is_on_same_connection(other)
            }
            (key, other_key) => key == other_key,
        }
    }

    fn is_on_same_connection(&self, other: &Self) -> bool {
        let both = self.connection.as_ref().zip(other.connection.as_ref());
        both.is_some_and(|(one, other)| one.is_same(other))
    }
}
