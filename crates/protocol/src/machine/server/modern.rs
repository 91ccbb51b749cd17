//! The stateless era, seen from the server: each request is admitted by itself.
//!
//! Specification: 2026-07-28 basic (`_meta`), basic/versioning, server/discover.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;

use crate::envelope::{Envelope, MemberText, with_members};
use crate::jsonrpc::{ErrorCode, ErrorObject, Request};
use crate::machine::Lane;
use crate::machine::server::input::{Caller, Output, ServerConfig};
use crate::machine::server::legacy::progress_token;
use crate::machine::server::{InFlight, Serve, ServerMachine, Work};
use crate::method::{Method, Need};
use crate::payload::{Members, Payload};
use crate::revision::{Era, Revision};
use crate::scan::names;
use crate::types::meta_key as key;
use crate::types::{ClientCapabilities, DiscoverResult, LoggingLevel, TASKS_EXTENSION};

/// What a request of the stateless era says about itself.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) caller: Arc<Caller>,
    pub(super) log_level: Option<LoggingLevel>,
}

/// Checks a request in the order in which its faults are told.
pub(super) fn admit(request: &Request, config: &ServerConfig) -> Result<Admitted, ErrorObject> {
    let envelope = Envelope::of(request.params.as_ref());
    let missing = |name: &str| ErrorObject::invalid_params(format!("_meta needs {name}"));
    let version = envelope
        .protocol_version()
        .ok_or_else(|| missing(key::PROTOCOL_VERSION))?;
    let capabilities = envelope
        .client_capabilities
        .and_then(|text| serde_json::from_slice(text).ok())
        .ok_or_else(|| missing(key::CLIENT_CAPABILITIES))?;
    // Revisions with a handshake are served after one only.
    let revision = version
        .parse::<Revision>()
        .ok()
        .filter(|revision| revision.era() == Era::Stateless && config.revisions.contains(revision))
        .ok_or_else(|| ErrorObject::unsupported_version(&config.revisions, &version))?;
    let log_level = match envelope.log_level {
        None => None,
        Some(text) => Some(serde_json::from_slice(text).map_err(|error| {
            ErrorObject::invalid_params(format!("{}: {error}", key::LOG_LEVEL))
        })?),
    };
    Ok(Admitted {
        caller: Arc::new(Caller {
            revision,
            // For display only, so what cannot be read is not worth a refusal.
            info: envelope
                .client_info
                .and_then(|text| serde_json::from_slice(text).ok()),
            capabilities,
        }),
        log_level,
    })
}

impl ServerMachine {
    /// Serves a request of the stateless era.
    pub(super) fn admit_stateless(
        &mut self,
        now: Instant,
        lane: Lane,
        request: Request,
        out: &mut Vec<Output>,
    ) {
        let admitted = admit(&request, &self.config).and_then(|admitted| {
            self.check_stateless_method(&request, &admitted.caller)
                .map(|()| admitted)
        });
        let Admitted { caller, log_level } = match admitted {
            Ok(admitted) => admitted,
            Err(error) => return self.reply(lane, None, request.id, Err(error), out),
        };
        match request.method.known() {
            Some(Method::ServerDiscover) => {
                let outcome = self.discover();
                return self.reply(lane, None, request.id, outcome, out);
            }
            Some(Method::SubscriptionsListen) => {
                return self.listen(lane, request, caller, out);
            }
            _ => {}
        }
        let progress_token = progress_token(request.params.as_ref());
        let wants_progress = progress_token.is_some();
        let in_flight = InFlight {
            lane,
            batch: None,
            method: request.method.known(),
            era: Era::Stateless,
            caller: Arc::clone(&caller),
            params: None,
            progress_token,
            last_progress: None,
            log_level,
            deadline: self.handler_deadline(now),
            work: Work::Handler,
        };
        let key = self.serving.insert(request.id, in_flight);
        out.push(Output::Serve(Serve {
            key,
            method: request.method,
            params: request.params,
            caller,
            log_level,
            wants_progress,
        }));
    }

    fn check_stateless_method(
        &self,
        request: &Request,
        caller: &Caller,
    ) -> Result<(), ErrorObject> {
        let Some(method) = request.method.known() else {
            return Ok(());
        };
        let known = method.exists_in(Revision::LATEST)
            && method.sender(Era::Stateless).is_client()
            && !method.is_notification()
            && self.declares(method, Revision::LATEST);
        if !known {
            return Err(ErrorObject::method_not_found(method.name()));
        }
        if matches!(method.rule().needs, Need::Tasks | Need::TaskCancel) {
            check_tasks_declared(caller)?;
        }
        Ok(())
    }

    fn discover(&self) -> Result<Payload, ErrorObject> {
        let config = &self.config;
        let versions = config
            .revisions
            .iter()
            .map(|revision| revision.as_str().to_owned())
            .collect();
        let mut result = DiscoverResult::new(versions, config.capabilities.clone());
        result.instructions.clone_from(&config.instructions);
        // Tasks of 2025-11-25 are no capability here: the extension is.
        result.capabilities.tasks = None;
        let payload =
            Payload::encode(&result).map_err(|error| ErrorObject::internal(error.to_string()))?;
        Ok(complete(
            &payload,
            None,
            Some(Method::ServerDiscover),
            config,
        ))
    }
}

/// Tasks are for callers that declare the extension in the request at hand.
pub(super) fn check_tasks_declared(caller: &Caller) -> Result<(), ErrorObject> {
    if caller.capabilities.has_extension(TASKS_EXTENSION) {
        return Ok(());
    }
    let mut required = ClientCapabilities::default();
    let extensions = required.extensions.get_or_insert_default();
    extensions.insert(TASKS_EXTENSION.to_owned(), json!({}));
    Err(ErrorObject::missing_capabilities(required))
}

/// May a handler's result of this type go to this caller?
pub(super) fn check_kind(kind: Option<&str>, in_flight: &InFlight) -> Result<(), ErrorObject> {
    if kind != Some("task") {
        return Ok(());
    }
    if in_flight.method != Some(Method::ToolsCall) {
        return Err(ErrorObject::internal("only tools/call may become a task"));
    }
    check_tasks_declared(&in_flight.caller)
}

/// An error without the codes of earlier revisions, which must not be sent in this era.
pub(super) fn restate(mut error: ErrorObject) -> ErrorObject {
    error.code = match error.code {
        ErrorCode::RESOURCE_NOT_FOUND => ErrorCode::INVALID_PARAMS,
        // A handler says this by `input_required` here.
        ErrorCode::URL_ELICITATION_REQUIRED => ErrorCode::INTERNAL_ERROR,
        other => other,
    };
    error
}

/// A result with what every result of this era carries, as far as it lacks it.
///
/// `kind` is its type, if it says one: who calls this has looked it up.
pub(super) fn complete(
    result: &Payload,
    kind: Option<&str>,
    method: Option<Method>,
    config: &ServerConfig,
) -> Payload {
    let mut front = MemberText::default();
    let mut meta = MemberText::default();
    if kind.is_none() {
        front.push("resultType", b"\"complete\"");
    }
    let own_meta = result.meta().unwrap_or_default();
    if !Members::of(own_meta).any(|(name, _)| names(name, key::SERVER_INFO)) {
        meta.push_value(key::SERVER_INFO, &config.info);
    }
    // A result on the way to another is not to be kept.
    let is_complete = kind.is_none_or(|kind| kind == "complete");
    if is_complete && method.is_some_and(|method| method.rule().cacheable) {
        if result.member("ttlMs").is_none() {
            let ttl = u64::try_from(config.default_ttl.as_millis()).unwrap_or(u64::MAX);
            front.push_value("ttlMs", &ttl);
        }
        if result.member("cacheScope").is_none() {
            front.push_value("cacheScope", &config.default_scope);
        }
    }
    if front.is_empty() && meta.is_empty() {
        return result.clone();
    }
    with_members(Some(result), &front, &meta)
}
