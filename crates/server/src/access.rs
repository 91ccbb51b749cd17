//! Who may call: the resource-server side of authorization.
//!
//! An [`Access`] looks at the head of every HTTP request and says who is calling.
//! [`BearerTokens`] knows a few tokens by heart; [`Jwt`] checks signed access tokens
//! of an authorization server, whose keys come from a [`JwkSet`] or a [`KeySource`].
//! [`ProtectedResource`] describes to clients where to get a token.
//!
//! Tokens are taken from the `Authorization` header only, never from the address.
//! Getting tokens is the client's part and not here.
//!
//! ```
//! use switchboard_server::access::{JwkSet, Jwt, ProtectedResource};
//!
//! # let document = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
//! let resource = ProtectedResource::new("https://mcp.example.com/mcp", "https://login.example.com")?
//!     .scopes(["files:read", "files:write"]);
//! let access = Jwt::new(&resource, JwkSet::from_json(document)?)
//!     .require_scopes(["files:read"])
//!     .scope_includes("files:write", "files:read");
//! # drop(access);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Specification: basic/authorization since 2025-06-18; RFC 6750, RFC 9728, RFC 9068.

mod bearer;
mod jwks;
mod jwt;
mod key_source;
mod metadata;
mod terms;
#[cfg(test)]
mod test_issuer;

pub use switchboard_transport::http::{
    Access, Challenge, ChallengeError, Denied, Identifying, Principal,
};

pub use bearer::{BearerTokens, TokenError};
pub use jwks::{JwkSet, JwkSetError};
pub use jwt::Jwt;
pub use key_source::{FetchedKeys, Fetching, KeyProblem, KeySource, TokenKeys};
pub use metadata::{ProtectedResource, ResourceError};
