//! What a client's library cannot do itself, and why. It is tried all the same: what works is to be
//! taken out of this table.

pub(super) struct Exception {
    /// How the client's name begins.
    client: &'static str,
    feature: &'static str,
    /// Why it cannot be.
    pub(super) reason: &'static str,
}

/// The exception for this client and feature, if there is one.
pub(super) fn find(client: &str, feature: &str) -> Option<&'static Exception> {
    EXCEPTIONS
        .iter()
        .find(|entry| client.starts_with(entry.client) && entry.feature == feature)
}

const fn cannot(client: &'static str, feature: &'static str, reason: &'static str) -> Exception {
    Exception {
        client,
        feature,
        reason,
    }
}

const EXCEPTIONS: &[Exception] = &[
    cannot(
        "rmcp-stateless",
        "elicitation by a page",
        "it cannot read such a request without `elicitationId`, which 2026-07-28 has not",
    ),
    cannot(
        "typescript-2-handshake",
        "a task of 2025-11-25",
        "the 2.x line has no tasks of the handshake era",
    ),
    cannot(
        "python-2-handshake",
        "a task of 2025-11-25",
        "the 2.x line has no tasks of the handshake era",
    ),
    cannot(
        "rmcp-handshake",
        "a task of 2025-11-25",
        "it knows the tasks of the extension only",
    ),
    cannot(
        "typescript-2-stateless",
        "a task of the extension",
        "the extension is not part of the library",
    ),
    cannot(
        "python-2-stateless",
        "a task of the extension",
        "the extension is not part of the library",
    ),
    cannot(
        "typescript-2",
        "a task across eras",
        "the library has tasks of neither kind",
    ),
    cannot(
        "python-2",
        "a task across eras",
        "the library has tasks of neither kind",
    ),
    cannot(
        "rmcp-handshake",
        "a task across eras",
        "it knows the tasks of the extension only",
    ),
];
