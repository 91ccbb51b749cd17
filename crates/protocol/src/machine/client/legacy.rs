//! What a client does in the handshake era only.
//!
//! Specification: 2025-11-25 basic/lifecycle, client/*.

use serde_json::json;

use crate::envelope::{MemberText, with_members};
use crate::jsonrpc::{ErrorCode, ErrorObject, Request};
use crate::machine::client::input::ClientConfig;
use crate::method::{Method, Need};
use crate::payload::Payload;
use crate::revision::{Revision, StepDown};
use crate::types::InitializeRequestParams;

/// The parameters of a request, with its progress token.
pub(super) fn params(params: Option<&Payload>, token: Option<i64>) -> Option<Payload> {
    let Some(token) = token else {
        return params.cloned();
    };
    let mut meta = MemberText::default();
    meta.push(
        "progressToken",
        itoa::Buffer::new().format(token).as_bytes(),
    );
    Some(with_members(params, &MemberText::default(), &meta))
}

/// The parameters of `initialize`, in the form of the revision that it offers.
pub(super) fn greeting(config: &ClientConfig, offered: Revision) -> Option<Payload> {
    let mut params = InitializeRequestParams::new(
        offered.as_str(),
        config.capabilities.clone(),
        config.info.clone(),
    );
    params.step_down(offered);
    Payload::encode(&params).ok()
}

/// May the server ask this of us, at this revision and with what we declared?
pub(super) fn check_request(
    request: &Request,
    revision: Option<Revision>,
    config: &ClientConfig,
) -> Result<(), ErrorObject> {
    let method = request.method.known();
    let not_found = || ErrorObject::method_not_found(request.method.as_str());
    let Some(method) = method else {
        return Err(not_found());
    };
    let revision = revision.unwrap_or(Revision::LATEST_HANDSHAKE);
    if !method.exists_in(revision) || !method.sender(revision.era()).is_server() {
        return Err(not_found());
    }
    let capabilities = &config.capabilities;
    let params = request.params.as_ref();
    let declared = match method.rule().needs {
        Need::Sampling => capabilities.accepts_sampling(),
        Need::Roots => capabilities.accepts_roots(),
        Need::Elicitation => capabilities.elicitation.is_some(),
        Need::Tasks | Need::TaskList | Need::TaskCancel => capabilities.tasks.is_some(),
        _ => false,
    };
    if !declared {
        return Err(not_found());
    }
    check_details(method, params, config)
}

/// Is what is asked for within what we declared: the mode of elicitation, tools in sampling?
pub(super) fn check_details(
    method: Method,
    params: Option<&Payload>,
    config: &ClientConfig,
) -> Result<(), ErrorObject> {
    let capabilities = &config.capabilities;
    let has = |name| params.is_some_and(|params| params.member(name).is_some());
    match method {
        Method::ElicitationCreate => {
            let mode = params.and_then(|params| params.string_member("mode"));
            let accepted = match mode.as_deref() {
                None | Some("form") => capabilities.accepts_form(),
                Some("url") => capabilities.accepts_url(),
                Some(_) => false,
            };
            if !accepted {
                return Err(ErrorObject::new(
                    ErrorCode::INVALID_PARAMS,
                    "this mode of elicitation was not declared",
                )
                .with_data(&json!({ "mode": mode.as_deref().unwrap_or("form") })));
            }
        }
        Method::SamplingCreateMessage
            if !capabilities.accepts_sampling_tools() && (has("tools") || has("toolChoice")) =>
        {
            return Err(ErrorObject::invalid_params(
                "tools in sampling were not declared",
            ));
        }
        _ => {}
    }
    Ok(())
}
