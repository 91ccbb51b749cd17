//! Who is the caller?
//!
//! The trait that an authorization layer implements, what it may say, and how a refusal is
//! told to a client. Reading tokens is for its implementations.
//!
//! Specification: basic/authorization of each revision; RFC 6750, section 3; RFC 9728.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::header::WWW_AUTHENTICATE;
use http::{Extensions, HeaderValue, Response, StatusCode};
use switchboard_protocol::jsonrpc::{self, ErrorObject};

use super::Body;
use super::answer::{busy, error};

/// Decides who may call. It is asked on every request, before the body is read.
pub trait Access: Send + Sync + 'static {
    /// Who is it?
    ///
    /// # Errors
    /// When that is not known or not enough: 401, 403.
    fn identify<'a>(
        &'a self,
        head: &'a http::request::Parts,
    ) -> Pin<Box<dyn Future<Output = Result<Principal, Denied>> + Send + 'a>>;

    /// The document that says where to get a token, as JSON, if there is one.
    ///
    /// It is served at `/.well-known/oauth-protected-resource` and at the same followed by
    /// the path of the endpoint, to everyone.
    fn metadata(&self) -> Option<Bytes> {
        None
    }
}

/// The proven identity of a caller. It holds no token and prints no claims.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Principal {
    /// Who vouches for the caller, where there may be several.
    pub issuer: Option<String>,
    /// Who it is, unique within the issuer.
    pub subject: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// Whatever else is known, by type.
    pub claims: Extensions,
}

impl Principal {
    /// A caller with this name, without scopes.
    pub fn new(subject: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            ..Self::default()
        }
    }

    /// Is it the same caller, whatever it may do at the moment?
    pub fn is_same(&self, other: &Self) -> bool {
        self.issuer == other.issuer && self.subject == other.subject
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal")
            .field("issuer", &self.issuer)
            .field("subject", &self.subject)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// Why a caller may not call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Denied {
    /// It proved nothing, or nothing that holds: 401.
    Unauthorized(Challenge),
    /// It is known, and may not do this: 403.
    Forbidden(Challenge),
    /// What it sent cannot be read as a proof at all: 400.
    Malformed(Challenge),
    /// It cannot be told now, for a reason that is not the caller's: 503.
    Unavailable {
        /// When to try again.
        retry_after: Duration,
    },
}

impl Denied {
    /// The status to answer with.
    pub const fn status(&self) -> StatusCode {
        match self {
            Self::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    pub(super) fn response(&self) -> Response<Body> {
        let challenge = match self {
            Self::Unauthorized(challenge)
            | Self::Forbidden(challenge)
            | Self::Malformed(challenge) => challenge,
            Self::Unavailable { retry_after } => {
                return busy(self.status(), &self.to_string(), *retry_after);
            }
        };
        let reason = ErrorObject::invalid_request(self.to_string());
        let mut response = error(self.status(), jsonrpc::Response::without_id(reason));
        let headers = response.headers_mut();
        headers.insert(WWW_AUTHENTICATE, challenge.header_value());
        response
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, challenge) = match self {
            Self::Unauthorized(challenge) => ("authorization required", challenge),
            Self::Forbidden(challenge) => ("not permitted to this caller", challenge),
            Self::Malformed(challenge) => ("header authorization is malformed", challenge),
            Self::Unavailable { .. } => {
                return f.write_str("the caller cannot be identified now, try again later");
            }
        };
        match &challenge.description {
            Some(description) => write!(f, "{what}: {description}"),
            None => f.write_str(what),
        }
    }
}

impl std::error::Error for Denied {}

/// What a denied client is told, so that it can do better: `WWW-Authenticate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Challenge {
    /// The kind of refusal: `invalid_token`, `insufficient_scope`, `invalid_request`. None
    /// where no proof was sent at all.
    pub error: Option<&'static str>,
    /// The same for people.
    pub description: Option<String>,
    /// All scopes that the operation needs.
    pub scopes: Vec<String>,
    /// Where the metadata document is.
    pub resource_metadata: Option<String>,
}

impl Challenge {
    /// As a header.
    pub fn header_value(&self) -> HeaderValue {
        let mut text = "Bearer".to_owned();
        let mut separator = ' ';
        let mut append = |name: &str, value: &str| {
            text.push(separator);
            text.push_str(name);
            text.push_str("=\"");
            text.extend(value.chars().filter(|c| is_quotable(*c)));
            text.push('"');
            separator = ',';
        };
        if let Some(error) = self.error {
            append("error", error);
        }
        if let Some(description) = &self.description {
            append("error_description", description);
        }
        if !self.scopes.is_empty() {
            append("scope", &self.scopes.join(" "));
        }
        if let Some(metadata) = &self.resource_metadata {
            append("resource_metadata", metadata);
        }
        HeaderValue::try_from(text).expect("invariant: visible ASCII is a header value")
    }
}

/// What RFC 6750 allows between the quotes.
const fn is_quotable(character: char) -> bool {
    matches!(character, ' '..='~') && !matches!(character, '"' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(challenge: &Challenge, expected: &str) {
        assert_eq!(challenge.header_value(), expected);
    }

    #[test]
    fn a_challenge_names_only_what_there_is() {
        check(&Challenge::default(), "Bearer");
        let challenge = Challenge {
            error: Some("insufficient_scope"),
            description: Some("say \"please\"\r\nX: ü".to_owned()),
            scopes: vec!["a".to_owned(), "b:c".to_owned()],
            resource_metadata: Some("https://h/.well-known/oauth-protected-resource".to_owned()),
        };
        check(
            &challenge,
            "Bearer error=\"insufficient_scope\",error_description=\"say pleaseX: \",\
             scope=\"a b:c\",resource_metadata=\"https://h/.well-known/oauth-protected-resource\"",
        );
    }

    #[test]
    fn a_principal_prints_no_claims() {
        #[derive(Clone, Debug)]
        struct Token(#[expect(dead_code, reason = "only printed")] &'static str);
        let mut principal = Principal::new("ada");
        principal.claims.insert(Token("very-secret"));
        let printed = format!("{principal:?}");
        assert!(
            printed.contains("ada") && !printed.contains("secret"),
            "{printed}"
        );
    }
}
