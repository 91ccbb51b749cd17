//! Notifications of the server that have no input of their own.
//!
//! Specification: 2025-11-25 client/elicitation (completion), basic/utilities/tasks.

use crate::jsonrpc::Notification;
use crate::machine::Lane;
use crate::machine::server::input::{Caller, Output};
use crate::machine::server::{ServeKey, ServerMachine, ServerState};
use crate::method::Method;

impl ServerMachine {
    /// Tells the client something, if its revision has the message and it was declared.
    pub(super) fn notify(
        &self,
        key: Option<ServeKey>,
        notification: Notification,
        out: &mut Vec<Output>,
    ) {
        let (lane, caller) = match key {
            Some(key) => match self.serving.get(key) {
                Some(in_flight) => (in_flight.lane, &in_flight.caller),
                // Cancelled meanwhile.
                None => return,
            },
            None => match self.session.caller() {
                Some(caller) if self.state() == ServerState::Operating => (Lane::SHARED, caller),
                _ => return,
            },
        };
        if self.may_tell(caller, notification.method.known()) {
            out.push(Output::send(lane, notification));
        }
    }

    fn may_tell(&self, caller: &Caller, method: Option<Method>) -> bool {
        match method {
            // What the table does not have is between the handlers and the client.
            None => true,
            Some(method @ Method::ElicitationComplete) => {
                method.exists_in(caller.revision) && caller.capabilities.accepts_url()
            }
            Some(method @ Method::TaskStatusChanged) => {
                method.exists_in(caller.revision) && self.config.capabilities.tasks.is_some()
            }
            // Everything else has an input of its own, which holds it to its rules.
            Some(_) => false,
        }
    }
}
