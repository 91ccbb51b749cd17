//! Which era a server speaks, from its answers to the first requests.
//!
//! ```text
//!  server/discover ─┬─▶ Stateless
//!                   ├─▶ Correct, Authorise, Unavailable: says nothing against it
//!                   └─▶ Handshake ── initialize ─┬─▶ Opened
//!                                                ├─▶ Stateless
//!                                                └─▶ OldSse ── GET ──▶ endpoint event
//! ```
//!
//! The probe is `server/discover` and no other method: an old server without
//! sessions could execute another one.
//!
//! Specification: 2026-07-28 basic/transports/streamable-http, backward
//! compatibility; basic/versioning.

use http::StatusCode;

use super::answer::{is_challenge, is_unavailable};
use crate::http::code;
use crate::revision::{Era, Revision};

/// What the body of the answer to `server/discover` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeBody<'a> {
    /// A result with `resultType` and `supportedVersions`.
    Discovered {
        /// Its `supportedVersions`.
        supported: &'a [String],
    },
    /// A JSON-RPC error, with the probe's id, without one or with another.
    Error {
        /// Its code.
        code: i64,
        /// Its `data.supported`, if it has that.
        supported: Option<&'a [String]>,
    },
    /// Anything else: empty, not JSON, a result of another form.
    Other,
}

/// What follows from the answer to `server/discover`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeVerdict {
    /// The server is stateless; use this revision.
    Stateless(Revision),
    /// The server has a handshake: send `initialize`, offering this revision.
    Handshake(Revision),
    /// The server is stateless and the probe was wrong: mend it, do not fall back.
    Correct {
        /// -32020 or -32021.
        code: i64,
    },
    /// There is no revision that both speak.
    NoCommonRevision,
    /// Authorise, then send the same probe. It says nothing about the era.
    Authorise,
    /// Try later or give up. It says nothing about the era either.
    Unavailable,
    /// The server sends us elsewhere; the probe belongs there.
    Redirected,
}

/// Reads the answer to `server/discover`. `ours` are the revisions we may use.
pub fn classify_probe(
    ours: &[Revision],
    status: StatusCode,
    has_challenge: bool,
    body: ProbeBody<'_>,
) -> ProbeVerdict {
    if is_challenge(status, has_challenge) {
        return ProbeVerdict::Authorise;
    }
    if is_unavailable(status) {
        return ProbeVerdict::Unavailable;
    }
    if status.is_redirection() {
        return ProbeVerdict::Redirected;
    }
    match body {
        ProbeBody::Discovered { supported } if status.is_success() => choose(ours, supported),
        ProbeBody::Error {
            code: code::UNSUPPORTED_VERSION,
            supported,
        } => choose(ours, supported.unwrap_or_default()),
        ProbeBody::Error {
            code: code @ (code::HEADER_MISMATCH | code::MISSING_CAPABILITY),
            ..
        } => ProbeVerdict::Correct { code },
        // No code means "old" by itself: every other error does, and so does
        // -32601, since a stateless server must have this method.
        ProbeBody::Discovered { .. } | ProbeBody::Error { .. } | ProbeBody::Other => {
            fall_back(ours)
        }
    }
}

/// What the body of the answer to `initialize` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpeningBody<'a> {
    /// A result.
    Result,
    /// A JSON-RPC error.
    Error {
        /// Its code.
        code: i64,
        /// Its `data.supported`, if it has that.
        supported: Option<&'a [String]>,
    },
    /// Anything else. A stream of events that may yet hold a result is none of these.
    Other,
}

/// What follows from the answer to `initialize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpeningVerdict {
    /// The handshake goes on; keep the session id, if there is one.
    Opened,
    /// The server is stateless after all; use this revision.
    Stateless(Revision),
    /// There is no revision that both speak.
    NoCommonRevision,
    /// GET the same URI: a first event `endpoint` says HTTP+SSE. If it does not come,
    /// the answer to `initialize` is the error to show.
    OldSse,
    /// The server refused, whatever it speaks.
    Refused,
    /// Authorise, then send the same `initialize`.
    Authorise,
    /// Try later or give up.
    Unavailable,
    /// The server sends us elsewhere.
    Redirected,
}

/// Reads the answer to `initialize`. `ours` are the revisions we may use.
pub fn classify_opening(
    ours: &[Revision],
    status: StatusCode,
    has_challenge: bool,
    body: OpeningBody<'_>,
) -> OpeningVerdict {
    if is_challenge(status, has_challenge) {
        return OpeningVerdict::Authorise;
    }
    if is_unavailable(status) {
        return OpeningVerdict::Unavailable;
    }
    if status.is_redirection() {
        return OpeningVerdict::Redirected;
    }
    let may_be_old = [
        StatusCode::BAD_REQUEST,
        StatusCode::NOT_FOUND,
        StatusCode::METHOD_NOT_ALLOWED,
    ];
    match body {
        OpeningBody::Result if status.is_success() => OpeningVerdict::Opened,
        OpeningBody::Error {
            code: code::UNSUPPORTED_VERSION,
            supported,
        } => go_back(ours, supported),
        OpeningBody::Error {
            supported: supported @ Some([_, ..]),
            ..
        } => go_back(ours, supported),
        OpeningBody::Error {
            code: code::HEADER_MISMATCH | code::MISSING_CAPABILITY,
            ..
        } => go_back(ours, None),
        _ if may_be_old.contains(&status) => OpeningVerdict::OldSse,
        _ => OpeningVerdict::Refused,
    }
}

/// The newest stateless revision of both, or else the newest with a handshake.
fn choose(ours: &[Revision], supported: &[String]) -> ProbeVerdict {
    let common = |era| newest(ours, era, |revision| names(supported, revision));
    match (common(Era::Stateless), common(Era::Handshake)) {
        (Some(revision), _) => ProbeVerdict::Stateless(revision),
        // Bound to a session, some servers name only what they have sessions for.
        (None, Some(revision)) => ProbeVerdict::Handshake(revision),
        (None, None) => ProbeVerdict::NoCommonRevision,
    }
}

fn fall_back(ours: &[Revision]) -> ProbeVerdict {
    newest(ours, Era::Handshake, |_| true)
        .map_or(ProbeVerdict::NoCommonRevision, ProbeVerdict::Handshake)
}

/// A stateless server that names no versions gets the newest of ours.
fn go_back(ours: &[Revision], supported: Option<&[String]>) -> OpeningVerdict {
    newest(ours, Era::Stateless, |revision| {
        supported.is_none_or(|supported| names(supported, revision))
    })
    .map_or(OpeningVerdict::NoCommonRevision, OpeningVerdict::Stateless)
}

fn newest(ours: &[Revision], era: Era, fits: impl Fn(Revision) -> bool) -> Option<Revision> {
    ours.iter()
        .copied()
        .filter(|revision| revision.era() == era && fits(*revision))
        .max()
}

fn names(supported: &[String], revision: Revision) -> bool {
    supported.iter().any(|version| version == revision.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: ProbeVerdict = ProbeVerdict::Stateless(Revision::V2026_07_28);
    const OLD: ProbeVerdict = ProbeVerdict::Handshake(Revision::V2025_11_25);

    fn versions(list: &[&str]) -> Vec<String> {
        list.iter().map(|version| (*version).to_owned()).collect()
    }

    fn probe(status: u16, has_challenge: bool, body: ProbeBody<'_>) -> ProbeVerdict {
        let status = StatusCode::from_u16(status).unwrap();
        classify_probe(&Revision::ALL, status, has_challenge, body)
    }

    fn error(code: i64) -> ProbeBody<'static> {
        ProbeBody::Error {
            code,
            supported: None,
        }
    }

    #[test]
    fn a_discover_result_is_stateless() {
        let check = |list: &[&str], expected| {
            let supported = versions(list);
            let body = ProbeBody::Discovered {
                supported: &supported,
            };
            assert_eq!(probe(200, false, body), expected, "{list:?}");
        };
        check(&["2026-07-28"], NEW);
        check(&["2025-11-25", "2026-07-28", "2099-01-01"], NEW);
        check(&["2025-06-18", "2025-11-25"], OLD);
        check(&["2099-01-01"], ProbeVerdict::NoCommonRevision);
        check(&[], ProbeVerdict::NoCommonRevision);
    }

    #[test]
    fn a_challenge_says_nothing_about_the_era() {
        for (status, has_challenge) in [(401, true), (401, false), (403, true)] {
            let verdict = probe(status, has_challenge, ProbeBody::Other);
            assert_eq!(verdict, ProbeVerdict::Authorise, "{status}");
            assert_eq!(
                probe(status, has_challenge, error(-32601)),
                ProbeVerdict::Authorise
            );
        }
    }

    #[test]
    fn an_unavailable_server_is_never_a_downgrade_signal() {
        for status in [408, 429, 500, 501, 502, 503, 504] {
            assert_eq!(
                probe(status, false, ProbeBody::Other),
                ProbeVerdict::Unavailable
            );
            assert_eq!(
                probe(status, false, error(-32601)),
                ProbeVerdict::Unavailable
            );
        }
    }

    #[test]
    fn a_modern_error_is_stateless_and_the_request_is_mended() {
        for status in [200, 400] {
            for code in [-32020, -32021] {
                assert_eq!(
                    probe(status, false, error(code)),
                    ProbeVerdict::Correct { code }
                );
            }
        }
    }

    #[test]
    fn an_unsupported_version_is_chosen_from_the_list() {
        let check = |list: &[&str], expected| {
            let supported = versions(list);
            let body = ProbeBody::Error {
                code: -32022,
                supported: Some(&supported),
            };
            assert_eq!(probe(400, false, body), expected, "{list:?}");
        };
        check(&["2026-07-28"], NEW);
        check(&["2026-07-28", "2025-11-25"], NEW);
        check(&["2025-11-25", "2025-06-18"], OLD);
        check(&["2099-01-01"], ProbeVerdict::NoCommonRevision);
        assert_eq!(
            probe(400, false, error(-32022)),
            ProbeVerdict::NoCommonRevision
        );
    }

    #[test]
    fn an_unknown_discover_method_is_the_handshake_era() {
        assert_eq!(probe(404, false, error(-32601)), OLD);
        assert_eq!(probe(200, false, error(-32601)), OLD);
    }

    #[test]
    fn any_other_refusal_is_the_handshake_era() {
        for status in [400, 403, 404, 405, 406, 410, 415, 422] {
            assert_eq!(probe(status, false, ProbeBody::Other), OLD, "{status}");
            for code in [-32600, -32601, -32602, -32000, -32700, 0] {
                assert_eq!(probe(status, false, error(code)), OLD, "{status} {code}");
            }
        }
    }

    #[test]
    fn a_result_of_another_form_is_the_handshake_era() {
        assert_eq!(probe(200, false, ProbeBody::Other), OLD);
        assert_eq!(probe(202, false, ProbeBody::Other), OLD);
    }

    #[test]
    fn a_redirect_is_followed_first() {
        assert_eq!(
            probe(307, false, ProbeBody::Other),
            ProbeVerdict::Redirected
        );
    }

    #[test]
    fn only_revisions_of_ours_are_chosen() {
        let modern = [Revision::V2026_07_28];
        let found = classify_probe(&modern, StatusCode::NOT_FOUND, false, ProbeBody::Other);
        assert_eq!(found, ProbeVerdict::NoCommonRevision);
        let ours = [Revision::V2025_06_18, Revision::V2026_07_28];
        let found = classify_probe(&ours, StatusCode::NOT_FOUND, false, ProbeBody::Other);
        assert_eq!(found, ProbeVerdict::Handshake(Revision::V2025_06_18));
    }

    fn opening(status: u16, body: OpeningBody<'_>) -> OpeningVerdict {
        classify_opening(
            &Revision::ALL,
            StatusCode::from_u16(status).unwrap(),
            false,
            body,
        )
    }

    #[test]
    fn a_result_opens_the_handshake() {
        assert_eq!(opening(200, OpeningBody::Result), OpeningVerdict::Opened);
    }

    #[test]
    fn an_error_that_names_versions_is_a_stateless_server() {
        let back = OpeningVerdict::Stateless(Revision::V2026_07_28);
        let supported = versions(&["2026-07-28"]);
        for (status, code) in [(400, -32022), (200, -32022), (400, -32602), (404, -32601)] {
            let body = OpeningBody::Error {
                code,
                supported: Some(&supported),
            };
            assert_eq!(opening(status, body), back, "{status} {code}");
        }
        for code in [-32020, -32021, -32022] {
            let body = OpeningBody::Error {
                code,
                supported: None,
            };
            assert_eq!(opening(400, body), back, "{code}");
        }
        let supported = versions(&["2099-01-01"]);
        let body = OpeningBody::Error {
            code: -32022,
            supported: Some(&supported),
        };
        assert_eq!(opening(400, body), OpeningVerdict::NoCommonRevision);
    }

    #[test]
    fn a_refusal_without_modern_error_leads_to_http_and_sse() {
        for status in [400, 404, 405] {
            assert_eq!(opening(status, OpeningBody::Other), OpeningVerdict::OldSse);
            let body = OpeningBody::Error {
                code: -32600,
                supported: None,
            };
            assert_eq!(opening(status, body), OpeningVerdict::OldSse);
        }
        for status in [200, 202, 403, 406, 415] {
            assert_eq!(
                opening(status, OpeningBody::Other),
                OpeningVerdict::Refused,
                "{status}"
            );
        }
        let body = OpeningBody::Error {
            code: -32602,
            supported: None,
        };
        assert_eq!(opening(200, body), OpeningVerdict::Refused);
    }

    #[test]
    fn initialize_too_may_meet_a_challenge_or_an_unavailable_server() {
        assert_eq!(opening(401, OpeningBody::Other), OpeningVerdict::Authorise);
        assert_eq!(
            opening(429, OpeningBody::Other),
            OpeningVerdict::Unavailable
        );
        assert_eq!(
            opening(503, OpeningBody::Other),
            OpeningVerdict::Unavailable
        );
        assert_eq!(opening(308, OpeningBody::Other), OpeningVerdict::Redirected);
    }
}
