//! What a client does in the handshake era only.
//!
//! Specification: 2025-11-25 basic/lifecycle, client/*.

use serde_json::json;

use crate::envelope::{MemberText, with_members};
use crate::jsonrpc::{ErrorObject, Request};
use crate::machine::client::input::ClientConfig;
use crate::machine::client::meta_text::MetaText;
use crate::machine::declared::{self, Undeclared};
use crate::payload::Payload;
use crate::revision::{Revision, StepDown};
use crate::types::InitializeRequestParams;
use crate::types::meta_key as key;

/// What a request of this era adds to its parameters: a token at most.
#[derive(Debug)]
pub(super) struct Context {
    text: MetaText,
}

impl Context {
    pub(super) fn new() -> Self {
        Self {
            text: MetaText::new(&MemberText::default()),
        }
    }

    /// What comes before parameters without a `_meta` of their own.
    pub(super) fn meta(&self, has_token: bool) -> Option<&MetaText> {
        has_token.then_some(&self.text)
    }

    /// The parameters of a request, with its progress token.
    pub(super) fn params(&self, params: Option<&Payload>, token: Option<i64>) -> Option<Payload> {
        let Some(token) = token else {
            return params.cloned();
        };
        let mut meta = MemberText::default();
        meta.push(
            key::PROGRESS_TOKEN,
            itoa::Buffer::new().format(token).as_bytes(),
        );
        Some(with_members(params, &MemberText::default(), &meta))
    }
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
    let params = request.params.as_ref();
    declared::check_client(&config.capabilities, method, params).map_err(|missing| match missing {
        Undeclared::Method => not_found(),
        Undeclared::Mode => {
            ErrorObject::invalid_params("this mode of elicitation was not declared")
                .with_data(&json!({ "mode": declared::mode(params).as_deref().unwrap_or("form") }))
        }
        Undeclared::SamplingTools => {
            ErrorObject::invalid_params("tools in sampling were not declared")
        }
    })
}
