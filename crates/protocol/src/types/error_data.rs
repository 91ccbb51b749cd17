//! What the errors of the specification carry in `data`.
//!
//! The codes and the error object itself are in `jsonrpc`.
//!
//! Specification: 2026-07-28 basic/index (error codes), basic/versioning;
//! 2025-11-25 client/elicitation (-32042); server/resources (not found).

use serde::{Deserialize, Serialize};

use crate::types::{ClientCapabilities, ElicitRequestUrlParams, Extra};

/// The revision of a request is not spoken here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UnsupportedProtocolVersionData {
    /// The revisions that are.
    pub supported: Vec<String>,
    /// The revision that was asked for.
    pub requested: String,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl UnsupportedProtocolVersionData {
    /// Offers other revisions.
    pub fn new(supported: Vec<String>, requested: impl Into<String>) -> Self {
        Self {
            supported,
            requested: requested.into(),
            extra: Extra::default(),
        }
    }
}

/// The client has not declared what the request needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MissingRequiredClientCapabilityData {
    /// What it needs.
    pub required_capabilities: ClientCapabilities,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl MissingRequiredClientCapabilityData {
    /// Needs these capabilities.
    pub fn new(required_capabilities: ClientCapabilities) -> Self {
        Self {
            required_capabilities,
            extra: Extra::default(),
        }
    }
}

/// The user must first go to a URL (2025-11-25 only).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UrlElicitationRequiredData {
    /// Where to; each has an id.
    pub elicitations: Vec<ElicitRequestUrlParams>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl UrlElicitationRequiredData {
    /// Needs these visits.
    pub fn new(elicitations: Vec<ElicitRequestUrlParams>) -> Self {
        Self {
            elicitations,
            extra: Extra::default(),
        }
    }
}

/// There is no such resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceNotFoundData {
    /// Where it was looked for.
    pub uri: String,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ResourceNotFoundData {
    /// Nothing is at this URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            extra: Extra::default(),
        }
    }
}
