//! The opening of the handshake era, and `ping`.
//!
//! Which revision is agreed is decided in `revision`; the order of messages in the machines.
//!
//! Specification: 2024-11-05 to 2025-11-25 basic/lifecycle, basic/utilities/ping.

use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::types::{
    ClientCapabilities, EmptyResult, Extra, Implementation, Meta, Notification, NotificationParams,
    Request, RequestParams, ResultType, ServerCapabilities,
};

/// `initialize`
#[derive(Clone, Copy, Debug)]
pub struct Initialize;

impl Request for Initialize {
    const METHOD: Method = Method::Initialize;
    type Params = InitializeRequestParams;
    type Result = InitializeResult;
}

/// `ping`
#[derive(Clone, Copy, Debug)]
pub struct Ping;

impl Request for Ping {
    const METHOD: Method = Method::Ping;
    type Params = RequestParams;
    type Result = EmptyResult;
}

/// `notifications/initialized`
#[derive(Clone, Copy, Debug)]
pub struct InitializedNotification;

impl Notification for InitializedNotification {
    const METHOD: Method = Method::Initialized;
    type Params = NotificationParams;
}

/// What the client opens with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InitializeRequestParams {
    /// The newest revision that the client speaks, as text: it may be unknown here.
    pub protocol_version: String,
    /// What the client can do.
    pub capabilities: ClientCapabilities,
    /// Who the client is.
    pub client_info: Implementation,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl InitializeRequestParams {
    /// Opens with this revision.
    pub fn new(
        protocol_version: impl Into<String>,
        capabilities: ClientCapabilities,
        client_info: Implementation,
    ) -> Self {
        Self {
            protocol_version: protocol_version.into(),
            capabilities,
            client_info,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// What the server answers to the opening.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InitializeResult {
    /// The revision that the server chose.
    pub protocol_version: String,
    /// What the server offers.
    pub capabilities: ServerCapabilities,
    /// Who the server is.
    pub server_info: Implementation,
    /// How to use the server, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// What kind of result this is; absent before 2026-07-28 and then complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl InitializeResult {
    /// Answers with this revision.
    pub fn new(
        protocol_version: impl Into<String>,
        capabilities: ServerCapabilities,
        server_info: Implementation,
    ) -> Self {
        Self {
            protocol_version: protocol_version.into(),
            capabilities,
            server_info,
            instructions: None,
            result_type: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}
