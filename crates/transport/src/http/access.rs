//! Who is calling? The hook that answers, and the refusals it may give.
//!
//! Every request is asked about, whatever session or state it names. How a token
//! is checked is left to the one who implements [`Access`]; the status and the
//! `WWW-Authenticate` header of a refusal are written here, in one place.
//!
//! Specification: basic/authorization since 2025-03-26; RFC 6750 section 3,
//! RFC 9728 section 5.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::header::WWW_AUTHENTICATE;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};
use switchboard_protocol::jsonrpc::{self, ErrorObject};

use super::Body;
use super::answer::{busy, error};

/// Says who the caller of a request is, or why it is refused.
pub trait Access: Send + Sync + 'static {
    /// Identifies the caller from the head of a request; no body was read yet.
    fn identify<'a>(&'a self, head: &'a Parts) -> Identifying<'a>;

    /// The protected resource metadata of RFC 9728, as JSON, for the well-known place.
    ///
    /// Read once, when the endpoint is made; served to anyone who asks.
    fn metadata(&self) -> Option<Bytes> {
        None
    }
}

/// What [`Access::identify`] comes to.
pub type Identifying<'a> = Pin<Box<dyn Future<Output = Result<Principal, Denied>> + Send + 'a>>;

/// The caller of a request, as far as its token tells.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Principal {
    /// Whom the token stands for; unique for one issuer only.
    pub subject: String,
    /// What the token may be used for, with everything that its scopes include.
    pub scopes: Vec<String>,
    /// Who issued the token.
    pub issuer: Option<String>,
    /// The client that the token was issued to.
    pub client_id: Option<String>,
    /// All claims of the token, a JSON object as it was signed.
    pub claims: Option<Bytes>,
}

impl Principal {
    /// A caller of whom only the name is known.
    pub fn new(subject: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            scopes: Vec::new(),
            issuer: None,
            client_id: None,
            claims: None,
        }
    }

    /// The same caller with these scopes instead.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Whether the caller was granted this scope.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|granted| granted == scope)
    }
}

// Claims hold addresses and names of people: they are not for logs.
impl Principal {
    /// Is it the same caller, whatever it may do at the moment?
    pub fn is_same(&self, other: &Self) -> bool {
        self.issuer == other.issuer && self.subject == other.subject
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal")
            .field("subject", &self.subject)
            .field("scopes", &self.scopes)
            .field("issuer", &self.issuer)
            .field("client_id", &self.client_id)
            .field("claims", &self.claims.as_ref().map(|_| "***"))
            .finish()
    }
}

/// Why a request is refused before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Denied {
    /// 401: no token, or one that is not valid here or not any more.
    Unauthorized(Challenge),
    /// 403: a valid token that allows too little.
    Forbidden(Challenge),
    /// 400: credentials that cannot be read.
    Malformed(Challenge),
    /// 503: the token could not be checked for a reason that is not the caller's.
    Unavailable,
}

impl Denied {
    /// The status of the answer.
    pub const fn status(&self) -> StatusCode {
        match self {
            Self::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// What the caller is asked for, if it can do anything about it.
    pub const fn challenge(&self) -> Option<&Challenge> {
        match self {
            Self::Unauthorized(challenge)
            | Self::Forbidden(challenge)
            | Self::Malformed(challenge) => Some(challenge),
            Self::Unavailable => None,
        }
    }

    /// The answer, which says what is asked for.
    pub fn response(&self) -> Response<Body> {
        let Some(challenge) = self.challenge() else {
            let reason = ErrorObject::internal(self.to_string());
            return busy(self.status(), reason, RETRY_AFTER);
        };
        let reason = ErrorObject::invalid_request(self.to_string());
        let mut response = error(self.status(), jsonrpc::Response::without_id(reason));
        let headers = response.headers_mut();
        headers.insert(WWW_AUTHENTICATE, challenge.to_header());
        response
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, challenge) = match self {
            Self::Unauthorized(challenge) => ("not authorized", challenge),
            Self::Forbidden(challenge) => ("not allowed with this token", challenge),
            Self::Malformed(challenge) => ("credentials that cannot be read", challenge),
            Self::Unavailable => {
                return f.write_str("tokens cannot be checked at the moment, try again later");
            }
        };
        f.write_str(what)?;
        match &challenge.description {
            Some(description) => write!(f, ": {description}"),
            None => Ok(()),
        }
    }
}

impl Error for Denied {}

/// What a refused caller is told in `WWW-Authenticate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Challenge {
    /// Where the protected resource metadata is.
    pub resource_metadata: Option<String>,
    /// Every scope that the request needs, so that one round suffices.
    pub scopes: Vec<String>,
    /// What was wrong; nothing where no token came, as RFC 6750 wants it.
    pub error: Option<ChallengeError>,
    /// What was wrong, for people.
    pub description: Option<String>,
}

impl Challenge {
    /// The value of the `WWW-Authenticate` header.
    ///
    /// RFC 6750 allows neither quotes nor backslashes in its values, so that none
    /// has to be escaped, and clients that cannot unescape read it as well. What does
    /// not fit is left out (a scope), percent-encoded (an address) or replaced (a
    /// description).
    pub fn to_header(&self) -> HeaderValue {
        let mut text = String::from("Bearer");
        let mut separator = ' ';
        let mut parameter = |name: &str, value: &str| {
            text.push(separator);
            if separator == ',' {
                text.push(' ');
            }
            separator = ',';
            text.push_str(name);
            text.push_str("=\"");
            text.push_str(value);
            text.push('"');
        };
        if let Some(error) = self.error {
            parameter("error", error.as_str());
        }
        if let Some(description) = &self.description {
            parameter("error_description", &plain(description));
        }
        // Clients ask for refresh tokens on their own: 2026-07-28, basic/authorization.
        let scopes: Vec<&str> = self
            .scopes
            .iter()
            .map(String::as_str)
            .filter(|scope| is_scope(scope) && *scope != OFFLINE_ACCESS)
            .collect();
        if !scopes.is_empty() {
            parameter("scope", &scopes.join(" "));
        }
        if let Some(address) = &self.resource_metadata {
            parameter("resource_metadata", &encoded(address));
        }
        // Only visible ASCII was written, which a header always takes.
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("Bearer"))
    }
}

/// The error codes of RFC 6750 section 3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChallengeError {
    /// The request is malformed.
    InvalidRequest,
    /// The token is expired, revoked, malformed or not for this server.
    InvalidToken,
    /// The token allows less than the request needs.
    InsufficientScope,
}

impl ChallengeError {
    /// The code as it is sent.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidToken => "invalid_token",
            Self::InsufficientScope => "insufficient_scope",
        }
    }
}

/// Whether the text is a `scope-token` of RFC 6749 section 3.3.
pub fn is_scope(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

/// The text with only what an `error_description` may hold.
fn plain(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '"' => '\'',
            '\\' => '/',
            ' '..='~' => character,
            _ => '?',
        })
        .collect()
}

/// The address with everything percent-encoded that no URI may hold.
fn encoded(address: &str) -> String {
    let mut text = String::with_capacity(address.len());
    for byte in address.bytes() {
        if byte.is_ascii_graphic() && byte != b'"' && byte != b'\\' {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

const OFFLINE_ACCESS: &str = "offline_access";

// As long as a fetch of keys may take; the caller can do nothing meanwhile.
const RETRY_AFTER: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn check(challenge: Challenge, header: &str) {
        assert_eq!(challenge.to_header(), header);
    }

    #[test]
    fn a_challenge_is_written_with_every_value_in_quotes() {
        let scopes = vec!["files:read".to_owned(), "files:write".to_owned()];
        check(Challenge::default(), "Bearer");
        check(
            Challenge {
                resource_metadata: Some("https://a.example/.well-known/x".to_owned()),
                ..Challenge::default()
            },
            "Bearer resource_metadata=\"https://a.example/.well-known/x\"",
        );
        check(
            Challenge {
                resource_metadata: Some("https://a.example/r".to_owned()),
                scopes,
                error: Some(ChallengeError::InsufficientScope),
                description: Some("more scopes are needed".to_owned()),
            },
            "Bearer error=\"insufficient_scope\", error_description=\"more scopes are needed\", \
             scope=\"files:read files:write\", resource_metadata=\"https://a.example/r\"",
        );
    }

    #[test]
    fn nothing_breaks_out_of_its_quotes() {
        check(
            Challenge {
                error: Some(ChallengeError::InvalidToken),
                description: Some("a \"b\" \\ c\r\nSet-Cookie: ü".to_owned()),
                scopes: vec!["a\"b".to_owned(), "a b".to_owned(), "é".to_owned()],
                resource_metadata: Some("https://a.example/\"\r\n\\ü".to_owned()),
            },
            "Bearer error=\"invalid_token\", error_description=\"a 'b' / c??Set-Cookie: ?\", \
             resource_metadata=\"https://a.example/%22%0D%0A%5C%C3%BC\"",
        );
    }

    #[test]
    fn offline_access_is_never_asked_for() {
        check(
            Challenge {
                scopes: vec!["offline_access".to_owned(), "a".to_owned()],
                ..Challenge::default()
            },
            "Bearer scope=\"a\"",
        );
    }

    #[test]
    fn each_refusal_has_its_status() {
        let challenge = Challenge::default();
        assert_eq!(Denied::Unauthorized(challenge.clone()).status(), 401);
        assert_eq!(Denied::Forbidden(challenge.clone()).status(), 403);
        assert_eq!(Denied::Malformed(challenge).status(), 400);
        assert_eq!(Denied::Unavailable.status(), 503);
        assert_eq!(Denied::Unavailable.challenge(), None);
    }

    #[test]
    fn claims_are_not_printed() {
        let mut principal = Principal::new("alice").with_scopes(["a"]);
        principal.claims = Some(Bytes::from_static(b"{\"email\":\"a@b\"}"));
        assert!(!format!("{principal:?}").contains("a@b"));
    }
}
