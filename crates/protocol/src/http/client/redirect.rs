//! Where an answer may send us.
//!
//! Only 307 and 308 keep the verb and the body, and only the same origin may see
//! our credentials.
//!
//! Specification: RFC 9110, section 15.4; MCP says nothing about redirects.

use std::fmt;

use http::header::LOCATION;
use http::{HeaderMap, StatusCode, Uri};

use crate::http::location::{ReferenceError, resolve_same_origin};

/// The next place to send the same request to.
///
/// `followed` counts the redirects that were followed before this one.
///
/// # Errors
/// When the redirect must not be followed. Nothing has been sent anywhere.
pub fn follow_redirect(
    from: &Uri,
    status: StatusCode,
    headers: &HeaderMap,
    followed: usize,
) -> Result<Uri, RedirectError> {
    let keeps_the_request = [
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    if !keeps_the_request.contains(&status) {
        return Err(RedirectError::ChangesTheRequest { status });
    }
    if followed >= MAX_REDIRECTS {
        return Err(RedirectError::TooMany);
    }
    let mut values = headers.get_all(LOCATION).iter();
    let (Some(location), None) = (values.next(), values.next()) else {
        return Err(RedirectError::NoLocation);
    };
    let location = location.to_str().map_err(|_| RedirectError::NoLocation)?;
    resolve_same_origin(from, location.trim()).map_err(RedirectError::Unusable)
}

/// Why a redirect is not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RedirectError {
    /// The status would turn the POST into a GET.
    ChangesTheRequest {
        /// The status.
        status: StatusCode,
    },
    /// The server sends us around.
    TooMany,
    /// It does not say where to, or says it twice.
    NoLocation,
    /// It leads out of the origin.
    Unusable(ReferenceError),
}

impl fmt::Display for RedirectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChangesTheRequest { status } => {
                write!(
                    f,
                    "the server redirects with status {}, expected 307 or 308",
                    status.as_u16()
                )
            }
            Self::TooMany => write!(f, "the server redirects more than {MAX_REDIRECTS} times"),
            Self::NoLocation => {
                f.write_str("the server redirects nowhere, expected exactly one header location")
            }
            Self::Unusable(_) => {
                f.write_str("the server redirects to a place that is not followed")
            }
        }
    }
}

impl std::error::Error for RedirectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unusable(reason) => Some(reason),
            Self::ChangesTheRequest { .. } | Self::TooMany | Self::NoLocation => None,
        }
    }
}

// A slash added, a path made canonical, a new version: more is likely a loop.
const MAX_REDIRECTS: usize = 5;

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    fn follow(status: u16, location: &str, followed: usize) -> Result<String, RedirectError> {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, location.parse().unwrap());
        let from = "https://host/mcp".parse().unwrap();
        let status = StatusCode::from_u16(status).unwrap();
        follow_redirect(&from, status, &headers, followed).map(|uri| uri.to_string())
    }

    #[test]
    fn the_same_origin_is_followed_five_times() {
        assert_eq!(follow(307, "/mcp/", 0).unwrap(), "https://host/mcp/");
        assert_eq!(
            follow(308, "https://host/v2/mcp", 4).unwrap(),
            "https://host/v2/mcp"
        );
        assert_eq!(follow(307, "/mcp/", 5), Err(RedirectError::TooMany));
    }

    #[test]
    fn a_redirect_that_would_drop_the_body_is_not_followed() {
        for status in [300, 301, 302, 303, 304] {
            let error = follow(status, "/mcp/", 0).unwrap_err();
            assert!(
                matches!(error, RedirectError::ChangesTheRequest { .. }),
                "{status}"
            );
        }
    }

    #[test]
    fn another_origin_is_not_followed() {
        for location in [
            "https://evil.example/mcp",
            "http://host/mcp",
            "//evil.example/",
            "file:///etc/passwd",
        ] {
            let error = follow(307, location, 0).unwrap_err();
            assert!(matches!(error, RedirectError::Unusable(_)), "{location}");
        }
    }

    #[test]
    fn exactly_one_location_is_wanted() {
        let from = "https://host/mcp".parse().unwrap();
        let mut headers = HeaderMap::new();
        let status = StatusCode::TEMPORARY_REDIRECT;
        assert_eq!(
            follow_redirect(&from, status, &headers, 0),
            Err(RedirectError::NoLocation)
        );
        headers.append(LOCATION, "/a".parse().unwrap());
        headers.append(LOCATION, "/b".parse().unwrap());
        assert_eq!(
            follow_redirect(&from, status, &headers, 0),
            Err(RedirectError::NoLocation)
        );
    }

    #[test]
    fn what_is_not_followed_says_why() {
        let check = |error: RedirectError, expected: &str, cause: Option<&str>| {
            assert_eq!(error.to_string(), expected);
            let found = error.source().map(ToString::to_string);
            assert_eq!(found.as_deref(), cause, "{expected}");
        };
        check(
            follow(302, "/mcp/", 0).unwrap_err(),
            "the server redirects with status 302, expected 307 or 308",
            None,
        );
        check(
            follow(307, "/mcp/", 5).unwrap_err(),
            "the server redirects more than 5 times",
            None,
        );
        check(
            RedirectError::NoLocation,
            "the server redirects nowhere, expected exactly one header location",
            None,
        );
        check(
            follow(307, "//evil.example/", 0).unwrap_err(),
            "the server redirects to a place that is not followed",
            Some("\"//evil.example/\" leads to another origin"),
        );
    }
}
