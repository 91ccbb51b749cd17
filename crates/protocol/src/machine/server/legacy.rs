//! The handshake era, seen from the server.
//!
//! Specification: 2025-11-25 basic/lifecycle, server/utilities/logging.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use crate::jsonrpc::{ErrorObject, Request};
use crate::machine::Wire;
use crate::machine::declared;
use crate::machine::server::ServerMachine;
use crate::machine::server::arriving::{Admission, Admitted};
use crate::machine::server::input::{Caller, Output, Serve};
use crate::method::Method;
use crate::payload::Payload;
use crate::revision::{self, Era, Revision, StepDown};
use crate::types::{
    ClientCapabilities, InitializeRequestParams, InitializeResult, LoggingLevel,
    SetLevelRequestParams,
};

/// Where a server stands with a client of the handshake era.
///
/// ```text
///  Created ── initialize ──▶ Initializing ── notifications/initialized ──▶ Operating
///     └────────────────────────────┴── the peer goes, or we do ──▶ Shutdown ◀──┘
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// No `initialize` yet. Requests of the stateless era are served all the same.
    Created,
    /// `initialize` is answered, the client has not confirmed.
    Initializing,
    /// Everything is served.
    Operating,
    /// It is over.
    Shutdown,
}

/// What a handshake has settled.
#[derive(Debug, Default)]
pub(super) struct Session {
    caller: Option<Arc<Caller>>,
    confirmed: bool,
    log_level: Option<LoggingLevel>,
    /// Resources that the client subscribed to.
    pub(super) resources: Vec<String>,
}

impl Session {
    /// A session that never had a handshake.
    pub(super) fn assumed(revision: Revision) -> Self {
        Self {
            caller: Some(Arc::new(Caller {
                revision,
                info: None,
                capabilities: ClientCapabilities::default(),
            })),
            confirmed: true,
            ..Self::default()
        }
    }

    pub(super) const fn state(&self) -> ServerState {
        match (&self.caller, self.confirmed) {
            (None, _) => ServerState::Created,
            (Some(_), false) => ServerState::Initializing,
            (Some(_), true) => ServerState::Operating,
        }
    }

    pub(super) fn initialized(&mut self) {
        self.confirmed = self.caller.is_some();
    }

    pub(super) fn caller(&self) -> Option<&Arc<Caller>> {
        self.caller.as_ref()
    }

    /// A handler has given a result: one that subscribes is from now on heard of, and one
    /// that does no longer is not. `params` are those of the call.
    #[inline]
    pub(super) fn note_answer(&mut self, method: Option<Method>, params: Option<&Bytes>) {
        if let Some(method) = method
            && changes_subscription(method)
        {
            self.change_subscription(method, params);
        }
    }

    fn change_subscription(&mut self, method: Method, params: Option<&Bytes>) {
        let params = params.cloned().map(Payload::from_valid);
        let uri = params.as_ref().and_then(|p| p.string_member("uri"));
        let Some(uri) = uri.map(Cow::into_owned) else {
            return;
        };
        self.resources.retain(|wanted| *wanted != uri);
        if method == Method::ResourcesSubscribe {
            self.resources.push(uri);
        }
    }

    /// Does the client want log messages of this level? Until it says so, those that matter.
    pub(super) fn wants_log(&self, level: LoggingLevel) -> bool {
        level >= self.log_level.unwrap_or(LoggingLevel::Info)
    }
}

impl ServerMachine {
    /// May a request of the handshake era come now, and does it need a handler?
    pub(super) fn admit_handshake(
        &mut self,
        batch: Option<u64>,
        request: &Request,
        wants_progress: bool,
        out: &mut Vec<Output>,
    ) -> Admission {
        let outcome = match request.method.known() {
            Some(Method::Ping) => Ok(Payload::empty()),
            Some(Method::Initialize) => match batch {
                None => self.initialize(request, out),
                Some(_) => Err(ErrorObject::invalid_request(
                    "initialize must not be part of a batch",
                )),
            },
            _ => match self.check_handshake_request(request) {
                Err(error) => Err(error),
                Ok(_) if request.method == Method::LoggingSetLevel => {
                    self.set_log_level(request.params.as_ref(), out)
                }
                Ok(_)
                    if request.method == Method::ResourcesSubscribe
                        && self.session.resources.len() >= self.config.max_subscriptions =>
                {
                    let busy = "too many resources are subscribed to";
                    Err(self.busy("subscriptions", busy, None))
                }
                Ok(caller) => {
                    return Admission::Serve(Admitted {
                        caller,
                        log_level: self.session.log_level,
                        wants_progress,
                    });
                }
            },
        };
        Admission::Answer(outcome)
    }

    fn initialize(
        &mut self,
        request: &Request,
        out: &mut Vec<Output>,
    ) -> Result<Payload, ErrorObject> {
        if self.session.caller.is_some() {
            return Err(ErrorObject::invalid_request("already initialized"));
        }
        let served = &self.config.revisions;
        if !self.config.serves(Era::Handshake) {
            let requested = request
                .params
                .as_ref()
                .and_then(|params| params.string_member("protocolVersion"))
                .unwrap_or_default();
            return Err(ErrorObject::unsupported_version(served, &requested));
        }
        let params = request
            .params
            .as_ref()
            .map(Payload::decode::<InitializeRequestParams>)
            .ok_or_else(|| ErrorObject::invalid_params("initialize needs params"))?
            .map_err(|error| ErrorObject::invalid_params(format!("initialize: {error}")))?;
        // The same revision if we serve it, otherwise our newest: the client may take it or leave.
        let revision = revision::answer_handshake(&params.protocol_version, served)
            .ok_or_else(|| ErrorObject::internal("no revision to offer"))?;
        let mut result = InitializeResult::new(
            revision.as_str(),
            self.config.capabilities.clone(),
            self.config.info.clone(),
        );
        result.instructions.clone_from(&self.config.instructions);
        result.step_down(revision);
        let payload =
            Payload::encode(&result).map_err(|error| ErrorObject::internal(error.to_string()))?;
        let caller = Arc::new(Caller {
            revision,
            info: Some(params.client_info),
            capabilities: params.capabilities,
        });
        self.session.caller = Some(Arc::clone(&caller));
        out.push(Output::Opened(caller));
        Ok(payload)
    }

    /// May this request come now, and is it one that we serve at this revision?
    fn check_handshake_request(&self, request: &Request) -> Result<Arc<Caller>, ErrorObject> {
        let Some(caller) = self.session.caller() else {
            return Err(ErrorObject::invalid_request(format!(
                "{} came before initialize, and without the _meta of revision {}",
                request.method,
                Revision::LATEST
            )));
        };
        let method = request.method.known();
        if method.is_some_and(Method::is_notification) {
            // It has an id, so it is not the notification of that name.
            return Err(ErrorObject::method_not_found(request.method.as_str()));
        }
        // Requests may overtake `notifications/initialized` over HTTP, and some clients
        // set the log level before they confirm.
        let may_be_early =
            self.config.wire == Wire::Http || method == Some(Method::LoggingSetLevel);
        if !self.session.confirmed && !may_be_early {
            return Err(ErrorObject::invalid_request(format!(
                "{} came before notifications/initialized",
                request.method
            )));
        }
        let Some(method) = method else {
            // What the table does not have may be an extension that the handlers know.
            return Ok(Arc::clone(caller));
        };
        let sender = method.sender(Era::Handshake);
        if !method.exists_in(caller.revision)
            || !sender.is_client()
            || !self.declares(method, caller.revision)
        {
            return Err(ErrorObject::method_not_found(method.name()));
        }
        Ok(Arc::clone(caller))
    }

    /// Did we declare what this method needs?
    pub(super) fn declares(&self, method: Method, revision: Revision) -> bool {
        declared::by_server(&self.config.capabilities, method, revision)
    }

    fn set_log_level(
        &mut self,
        params: Option<&Payload>,
        out: &mut Vec<Output>,
    ) -> Result<Payload, ErrorObject> {
        let level = params
            .map(Payload::decode::<SetLevelRequestParams>)
            .ok_or_else(|| ErrorObject::invalid_params("logging/setLevel needs a level"))?
            .map_err(|error| ErrorObject::invalid_params(format!("level: {error}")))?
            .level;
        self.session.log_level = Some(level);
        out.push(Output::LogLevel(level));
        Ok(Payload::empty())
    }
}

/// The parameters of a request of this era that are looked at again after its handler has
/// begun. In the other the client sends them again.
pub(super) fn kept_params(serve: &Serve) -> Option<Bytes> {
    let method = serve.method.known()?;
    let is_needed = serve.caller.revision.era() == Era::Handshake
        && (method.rule().may_ask || changes_subscription(method));
    let params = serve.params.as_ref().filter(|_| is_needed)?;
    Some(params.text().clone())
}

const fn changes_subscription(method: Method) -> bool {
    matches!(
        method,
        Method::ResourcesSubscribe | Method::ResourcesUnsubscribe
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::server::ServerConfig;
    use crate::machine::serving::Serving;
    use crate::types::{Implementation, ServerCapabilities};

    fn check(method: Method, revision: Revision, is_kept: bool) {
        let session = Session::assumed(revision);
        let serve = Serve {
            key: Serving::<()>::new().reserve(),
            method: method.into(),
            params: Some(Payload::empty()),
            caller: Arc::clone(session.caller().expect("one is assumed")),
            log_level: None,
            wants_progress: false,
        };
        let kept = kept_params(&serve).is_some();
        assert_eq!(kept, is_kept, "{method} at {revision}");
    }

    #[test]
    fn parameters_are_kept_only_where_they_are_looked_at_again() {
        check(Method::ToolsCall, Revision::V2025_11_25, true);
        check(Method::ResourcesSubscribe, Revision::V2025_11_25, true);
        check(Method::ResourcesUnsubscribe, Revision::V2025_11_25, true);
        check(Method::CompletionComplete, Revision::V2025_11_25, false);
        check(Method::ToolsCall, Revision::V2026_07_28, false);
    }

    #[test]
    fn a_session_without_a_handshake_has_nothing_to_wait_for() {
        let info = Implementation::new("s", "1");
        let config = ServerConfig::new(info, ServerCapabilities::default());
        let machine = ServerMachine::sessionless(config, Revision::V2025_03_26);
        assert_eq!(machine.state(), ServerState::Operating);
    }
}
