//! The stateless era, seen from the server: each request is admitted by itself.
//!
//! Specification: 2026-07-28 basic (`_meta`), basic/versioning, server/discover.

use std::sync::Arc;
use std::time::Instant;

use crate::envelope::{Envelope, MemberText, with_members};
use crate::jsonrpc::{ErrorObject, Request};
use crate::machine::Lane;
use crate::machine::server::input::{Caller, Output, ServerConfig};
use crate::machine::server::legacy::progress_token;
use crate::machine::server::{InFlight, Serve, ServerMachine, Work};
use crate::method::Method;
use crate::payload::Payload;
use crate::revision::{Era, Revision};
use crate::types::meta_key as key;
use crate::types::{DiscoverResult, LoggingLevel};

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
        batch: Option<u64>,
        request: Request,
        out: &mut Vec<Output>,
    ) {
        let admitted = admit(&request, &self.config)
            .and_then(|admitted| self.check_stateless_method(&request).map(|()| admitted));
        let Admitted { caller, log_level } = match admitted {
            Ok(admitted) => admitted,
            Err(error) => return self.reply(lane, batch, request.id, Err(error), out),
        };
        match request.method.known() {
            Some(Method::ServerDiscover) => {
                let outcome = self.discover();
                return self.reply(lane, batch, request.id, outcome, out);
            }
            Some(Method::SubscriptionsListen) => {
                return self.listen(lane, batch, request, caller, out);
            }
            _ => {}
        }
        let progress_token = progress_token(request.params.as_ref());
        let wants_progress = progress_token.is_some();
        let in_flight = InFlight {
            lane,
            batch,
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

    fn check_stateless_method(&self, request: &Request) -> Result<(), ErrorObject> {
        let Some(method) = request.method.known() else {
            return Ok(());
        };
        let known = method.exists_in(Revision::LATEST)
            && method.sender(Era::Stateless).is_client()
            && !method.is_notification()
            && self.declares(method, Revision::LATEST);
        if known {
            Ok(())
        } else {
            Err(ErrorObject::method_not_found(method.name()))
        }
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
        Ok(complete(&payload, Some(Method::ServerDiscover), config))
    }
}

/// A result with what every result of this era carries, as far as it lacks it.
pub(super) fn complete(result: &Payload, method: Option<Method>, config: &ServerConfig) -> Payload {
    let mut front = MemberText::default();
    let mut meta = MemberText::default();
    if result.result_type().is_none() {
        front.push("resultType", b"\"complete\"");
        if result.meta().is_none() {
            meta.push_value(key::SERVER_INFO, &config.info);
        }
    }
    if method.is_some_and(|method| method.rule().cacheable) {
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
