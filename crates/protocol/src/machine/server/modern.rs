//! The stateless era, seen from the server: each request is admitted by itself.
//!
//! Specification: 2026-07-28 basic (`_meta`), basic/versioning, server/discover.

use std::sync::Arc;

use serde_json::json;

use crate::envelope::{Envelope, MemberText, prepend, with_members};
use crate::jsonrpc::{ErrorCode, ErrorObject, Request};
use crate::machine::server::ServerMachine;
use crate::machine::server::arriving::{Admission, Admitted};
use crate::machine::server::input::{Caller, ServerConfig};
use crate::method::{Method, Need};
use crate::payload::{Members, Payload};
use crate::revision::{Era, Revision};
use crate::scan::names;
use crate::types::meta_key as key;
use crate::types::{CacheScope, ClientCapabilities, DiscoverResult, TASKS_EXTENSION};

/// A caller and the text that said who it is.
///
/// Every request says it again; text that is the same to the byte means the same.
#[derive(Debug)]
pub(super) struct KnownCaller {
    /// All of `_meta`, if it says nothing else.
    meta: Option<Box<[u8]>>,
    version: Box<[u8]>,
    capabilities: Box<[u8]>,
    info: Option<Box<[u8]>>,
    caller: Arc<Caller>,
}

impl KnownCaller {
    fn fits(&self, envelope: &Envelope<'_>) -> bool {
        envelope.protocol_version == Some(&self.version)
            && envelope.client_capabilities == Some(&self.capabilities)
            && envelope.client_info == self.info.as_deref()
    }
}

/// Who sends a request, if it says so in full and speaks a revision that we serve.
///
/// Faults are told in this order: fields, then the revision.
fn read_caller(envelope: &Envelope<'_>, config: &ServerConfig) -> Result<Caller, ErrorObject> {
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
    Ok(Caller {
        revision,
        // For display only, so what cannot be read is not worth a refusal.
        info: envelope
            .client_info
            .and_then(|text| serde_json::from_slice(text).ok()),
        capabilities,
    })
}

impl ServerMachine {
    /// Checks a request of the stateless era by itself.
    pub(super) fn admit(
        &mut self,
        request: &Request,
        envelope: &Envelope<'_>,
    ) -> Result<Admitted, ErrorObject> {
        let caller = match &self.last_caller {
            Some(known) if known.fits(envelope) => Arc::clone(&known.caller),
            _ => {
                let caller = Arc::new(read_caller(envelope, &self.config)?);
                let says_more = envelope.log_level.is_some() || envelope.progress_token.is_some();
                let meta = request.params.as_ref().and_then(Payload::meta);
                self.last_caller = Some(KnownCaller {
                    meta: meta.filter(|_| !says_more).map(Into::into),
                    version: envelope.protocol_version.unwrap_or_default().into(),
                    capabilities: envelope.client_capabilities.unwrap_or_default().into(),
                    info: envelope.client_info.map(Into::into),
                    caller: Arc::clone(&caller),
                });
                caller
            }
        };
        let log_level = match envelope.log_level {
            None => None,
            Some(text) => Some(serde_json::from_slice(text).map_err(|error| {
                ErrorObject::invalid_params(format!("{}: {error}", key::LOG_LEVEL))
            })?),
        };
        self.check_stateless_method(request, &caller)?;
        Ok(Admitted {
            caller,
            log_level,
            wants_progress: envelope.wants_progress(),
        })
    }

    /// The caller, if the request has the same `_meta` as the last one, and no more is in it.
    pub(super) fn admit_again(&self, request: &Request) -> Option<Result<Admitted, ErrorObject>> {
        let known = self.last_caller.as_ref()?;
        let meta = request.params.as_ref()?.meta()?;
        if known.meta.as_deref() != Some(meta) {
            return None;
        }
        let admitted = self.check_stateless_method(request, &known.caller);
        Some(admitted.map(|()| Admitted {
            caller: Arc::clone(&known.caller),
            log_level: None,
            wants_progress: false,
        }))
    }

    /// Does a request of the stateless era need a handler?
    pub(super) fn admit_stateless(
        &self,
        request: &Request,
        admitted: Result<Admitted, ErrorObject>,
    ) -> Admission {
        match (admitted, request.method.known()) {
            (Err(error), _) => Admission::Answer(Err(error)),
            (Ok(_), Some(Method::ServerDiscover)) => Admission::Answer(self.discover()),
            (Ok(admitted), Some(Method::SubscriptionsListen)) => Admission::Listen(admitted.caller),
            (Ok(admitted), _) => Admission::Serve(admitted),
        }
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
        let method = Some(Method::ServerDiscover);
        Ok(self.result_text.complete(&payload.noted(), method))
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
pub(super) fn check_kind(
    kind: Option<&str>,
    method: Option<Method>,
    caller: &Caller,
) -> Result<(), ErrorObject> {
    if kind != Some("task") {
        return Ok(());
    }
    if method != Some(Method::ToolsCall) {
        return Err(ErrorObject::internal("only tools/call may become a task"));
    }
    check_tasks_declared(caller)
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

/// What every result of this era carries, as text.
#[derive(Debug)]
pub(super) struct ResultText {
    /// `"io.modelcontextprotocol/serverInfo":{…}`
    server_info: MemberText,
    /// `"_meta":{…}` with who we are, and nothing else.
    only_meta: Box<[u8]>,
    /// The same after `"resultType":"complete",`.
    plain: Box<[u8]>,
    default_ttl: u64,
    default_scope: CacheScope,
}

impl ResultText {
    pub(super) fn new(config: &ServerConfig) -> Self {
        let mut server_info = MemberText::default();
        server_info.push_value(key::SERVER_INFO, &config.info);
        let only_meta = [b"\"_meta\":{", server_info.as_bytes(), b"}"].concat();
        Self {
            plain: [b"\"resultType\":\"complete\",", &*only_meta]
                .concat()
                .into(),
            only_meta: only_meta.into(),
            server_info,
            default_ttl: u64::try_from(config.default_ttl.as_millis()).unwrap_or(u64::MAX),
            default_scope: config.default_scope,
        }
    }

    /// What comes before the members of a result that says none of this and is not kept.
    pub(super) const fn plain(&self) -> &[u8] {
        &self.plain
    }

    /// A result with what it lacks of this. It should be [noted](Payload::noted).
    pub(super) fn complete(&self, result: &Payload, method: Option<Method>) -> Payload {
        // One that makes no sense is one all the same: there are not to be two.
        let has_kind = result.has_result_type();
        // A result on the way to another is not to be kept.
        let is_complete = !has_kind || result.is_complete();
        let is_cacheable = is_complete && method.is_some_and(|method| method.rule().cacheable);
        if result.meta().is_none() && !is_cacheable && result.is_object() {
            return match has_kind {
                false => prepend(&self.plain, result),
                true => prepend(&self.only_meta, result),
            };
        }
        let mut front = MemberText::default();
        if !has_kind {
            front.push("resultType", b"\"complete\"");
        }
        if is_cacheable {
            if result.member("ttlMs").is_none() {
                front.push_value("ttlMs", &self.default_ttl);
            }
            if result.member("cacheScope").is_none() {
                front.push_value("cacheScope", &self.default_scope);
            }
        }
        let own_meta = result.meta().unwrap_or_default();
        let says_who = Members::of(own_meta).any(|(name, _)| names(name, key::SERVER_INFO));
        if says_who && front.is_empty() {
            return result.clone();
        }
        let nothing = MemberText::default();
        let meta = if says_who {
            &nothing
        } else {
            &self.server_info
        };
        with_members(Some(result), &front, meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::{Limits, RequestId};
    use crate::types::{Implementation, ServerCapabilities};

    const CALLER: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}"#;
    const INFO: &str = r#""io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}"#;

    fn machine() -> ServerMachine {
        let capabilities: ServerCapabilities = serde_json::from_str(r#"{"tools":{}}"#).unwrap();
        ServerMachine::stateless(ServerConfig::new(
            Implementation::new("s", "1"),
            capabilities,
        ))
    }

    fn caller_of(machine: &mut ServerMachine, meta: &str) -> Arc<Caller> {
        let params = format!(r#"{{"_meta":{{{meta}}}}}"#);
        let params = Payload::parse(params.into(), &Limits::default()).unwrap();
        let request = Request::new(RequestId::from(1), Method::ToolsList, Some(params));
        let envelope = Envelope::of(request.params.as_ref());
        machine.admit(&request, &envelope).unwrap().caller
    }

    /// The second request is of who it says, and is that who sent the first?
    fn check(first: &str, second: &str, is_same: bool) {
        let mut seen_before = machine();
        let known = caller_of(&mut seen_before, first);
        let caller = caller_of(&mut seen_before, second);
        assert_eq!(caller, caller_of(&mut machine(), second), "{second}");
        assert_eq!(Arc::ptr_eq(&known, &caller), is_same, "{second}");
    }

    #[test]
    fn a_caller_is_known_again_by_all_that_it_says_of_itself() {
        let full = format!("{CALLER},{INFO}");
        let token = r#""progressToken":1"#;
        check(&full, &format!("{full},{token}"), true);
        check(&format!("{full},{token}"), &full, true);
        check(CALLER, &format!("{CALLER},{token}"), true);
        check(&full, CALLER, false);
        check(CALLER, &full, false);
        check(&full, &full.replace("\"c\"", "\"d\""), false);
        check(&full, &full.replace("roots", "sampling"), false);
    }
}
