//! What a path is for.
//!
//! The endpoint, the metadata document beside it, and the two paths of 2024-11-05.
//!
//! Specification: basic/transports of each revision; RFC 9728, section 3.

use switchboard_protocol::http::server;
use switchboard_protocol::http::session::SessionId;

use super::host::SESSION_PARAMETER;
use super::{HttpSettings, OldPaths};

/// What a path is for.
#[derive(Clone, Copy)]
pub(super) enum Route {
    Endpoint,
    Metadata,
    OldStream,
    OldMessage,
}

impl Route {
    /// The verbs it has a use for, as the value of `Allow`.
    pub(super) fn allow(self, endpoint: &server::Endpoint) -> &'static str {
        match self {
            Self::Endpoint => endpoint.allow(),
            Self::Metadata | Self::OldStream => "GET",
            Self::OldMessage => "POST",
        }
    }
}

/// The paths of an endpoint.
pub(super) struct Routes {
    /// Any where there is none.
    own: Option<String>,
    /// The second path of the metadata document, where there is one.
    metadata: Option<String>,
    old: Option<OldPaths>,
}

impl Routes {
    pub(super) fn new(settings: &HttpSettings, has_metadata: bool) -> Self {
        let own = settings.path.clone();
        let metadata = has_metadata.then(|| {
            let path = own.as_deref().unwrap_or_default();
            format!("{METADATA}{}", path.trim_end_matches('/'))
        });
        Self {
            own,
            metadata,
            old: settings.old_transport.clone(),
        }
    }

    /// What this path is for, if anything.
    pub(super) fn find(&self, path: &str) -> Option<Route> {
        let is_at = |known: &str| is_same_path(path, known);
        if self.own.as_deref().is_some_and(is_at) {
            return Some(Route::Endpoint);
        }
        if let Some(second) = &self.metadata
            && (is_at(METADATA) || is_at(second))
        {
            return Some(Route::Metadata);
        }
        match &self.old {
            Some(old) if is_at(&old.stream) => Some(Route::OldStream),
            Some(old) if is_at(&old.message) => Some(Route::OldMessage),
            _ => self.own.is_none().then_some(Route::Endpoint),
        }
    }

    /// Where a client of 2024-11-05 posts: beside its stream, wherever that is mounted.
    pub(super) fn post_to(&self) -> String {
        let Some(OldPaths { message, stream }) = &self.old else {
            return String::new();
        };
        match (message.rsplit_once('/'), stream.rsplit_once('/')) {
            (Some((beside, name)), Some((parent, _))) if self.own.is_none() && beside == parent => {
                name.to_owned()
            }
            _ => message.clone(),
        }
    }
}

/// The session that a post of 2024-11-05 names, if it names one.
pub(super) fn session_in_query(query: &str) -> Option<SessionId> {
    let named = query.split('&').filter_map(|pair| pair.split_once('='));
    let mut ids = named.filter(|(name, _)| *name == SESSION_PARAMETER);
    let (_, id) = ids.next()?;
    if ids.next().is_some() {
        return None;
    }
    SessionId::new(id).ok()
}

/// A slash at the end makes no difference.
fn is_same_path(path: &str, known: &str) -> bool {
    path == known || path.strip_suffix('/') == Some(known.trim_end_matches('/'))
}

/// Where clients look for the metadata document.
const METADATA: &str = "/.well-known/oauth-protected-resource";
