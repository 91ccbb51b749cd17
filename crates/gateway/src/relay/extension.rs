//! Methods that are none of the protocol's: those of extensions.
//!
//! Such a request goes to a server if there is but one that it can be for: the only one there is, or
//! the only one that declares an extension which the method may belong to. Nothing says which
//! methods an extension has; by custom they begin with its name. One that begins as those of the
//! protocol do has to be known here.
//!
//! Specification: 2026-07-28 basic/versioning (extensions).

use std::sync::Arc;

use serde_json::{Map, Value};
use switchboard_client::{Payload, Ready};
use switchboard_hub::{MemberState, ServerStatus};
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject, Notification};
use switchboard_protocol::types::{ServerCapabilities, TASKS_EXTENSION};
use switchboard_protocol::{Era, Method, RawJson};
use switchboard_server::{Answer, Context};

use super::{Inner, caller, pursuit};
use crate::rooms::Room;

impl Inner {
    /// A request of which we know nothing.
    pub(super) async fn relay_unknown(&self, context: Context) -> Answer {
        self.opening.wait().await;
        let method = context.method().as_str();
        let server = match self.only_one_for(method) {
            Ok(server) => server,
            Err(reason) => {
                let message = format!("method {method:?} is not known: {reason}");
                return Answer::Error(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, message));
            }
        };
        let Some(room) = self.rooms.of(&context) else {
            return Answer::Error(self.turnstile.no_room());
        };
        // A server must not see what only concerns the client and us.
        let params = context
            .params()
            .cloned()
            .map(|params| params.passed_on(&[]));
        let params = params.map(|params| params.decode::<RawJson>()).transpose();
        let params = match params {
            Ok(params) => params,
            Err(error) => return Answer::Error(ErrorObject::invalid_params(error.to_string())),
        };
        let mut call = room
            .hub
            .request_on(&server, method, params.as_ref())
            .on_behalf(caller::whom(&context));
        if let Some(parent) = caller::trace(&context) {
            call = call.parent(parent);
        }
        let mut pursued = match pursuit::returned(self, &context).await {
            Ok(Some(returned)) => returned,
            Ok(None) => pursuit::begin(room, call, &context),
            Err(error) => return Answer::Error(error),
        };
        match pursued.outcome(self, &context).await {
            Ok(result) => Answer::Result(in_their_words(result, &context)),
            Err(failed) => failed.answer(&context),
        }
    }

    /// A notification of which we know nothing, for the one server that it can be for. If each client
    /// has that alone, it is for that of this client, which has a room by then.
    pub(super) fn tell_unknown(&self, notification: Notification, room: Option<Arc<Room>>) {
        let Ok(server) = self.only_one_for(notification.method.as_str()) else {
            return;
        };
        let hub = match room {
            Some(room) => room.hub.clone(),
            None if self.hub.is_shared(&server) => self.hub.clone(),
            None => return,
        };
        tokio::spawn(async move {
            // Whoever tells something does not hear whether it was heard.
            drop(hub.notify_on(&server, notification).await);
        });
    }

    /// The one server that a method can be for, if there is one.
    pub(super) fn server_for(&self, method: &str) -> Option<Arc<str>> {
        self.only_one_for(method).ok()
    }

    /// The one server that a method can be for, or why there is none.
    fn only_one_for(&self, method: &str) -> Result<Arc<str>, String> {
        let extension = extension_of(method);
        if extension.is_none() && is_reserved(method) {
            return Err("the protocol has none of this name".to_owned());
        }
        let mut servers = self.hub.servers();
        servers.retain(|server| !matches!(server.state, MemberState::Disabled));
        if let (None, [only]) = (extension, &*servers) {
            return Ok(Arc::clone(&only.name));
        }
        let fit = |server: &ServerStatus| {
            let ready = ready(&server.state);
            ready.map_or(Fit::None, |ready| {
                let declared = &ready.capabilities;
                let Some(extension) = extension else {
                    return best(declared, method);
                };
                let mut names = declared.extensions.iter().flatten().map(|(name, _)| name);
                match names.any(|name| name == extension) {
                    true => Fit::Whole,
                    false => Fit::None,
                }
            })
        };
        let best = servers.iter().map(fit).max().unwrap_or(Fit::None);
        servers.retain(|server| best > Fit::None && fit(server) == best);
        match &*servers {
            [only] => Ok(Arc::clone(&only.name)),
            [] => Err("no server declares an extension that it could belong to".to_owned()),
            several => {
                let names: Vec<_> = several.iter().map(|server| &*server.name).collect();
                let names = names.join(", ");
                Err(format!("more than one server could be meant: {names}"))
            }
        }
    }

    /// The extensions that can be used through us: those of which one server is sure to be meant,
    /// and which that server can be told the client knows.
    pub(super) fn extensions(&self) -> Map<String, Value> {
        let servers = self.hub.servers();
        let declared = servers.iter().filter_map(|server| {
            let ready = ready(&server.state)?;
            let extensions = ready.capabilities.extensions.as_ref()?;
            Some((server, ready.revision.era(), extensions))
        });
        let mut found: Map<String, Value> = Map::new();
        let mut unclear = Vec::new();
        for (server, era, extensions) in declared {
            let hears = era == Era::Stateless || !self.hub.is_shared(&server.name);
            for (name, settings) in extensions
                .iter()
                .filter(|(name, _)| *name != TASKS_EXTENSION)
            {
                // Of several servers none could be meant, unless nothing is ever called.
                let is_clear = hears && !found.contains_key(name);
                match is_clear {
                    true => drop(found.insert(name.clone(), settings.clone())),
                    false if is_without_methods(name) => {}
                    false => unclear.push(name.clone()),
                }
            }
        }
        for name in unclear {
            found.remove(&name);
        }
        found
    }
}

/// The extension that a method belongs to which does not begin with its name.
fn extension_of(method: &str) -> Option<&'static str> {
    (method == "resources/directory/read").then_some("io.modelcontextprotocol/skills")
}

/// Does a method begin as one of the protocol's own? What those do is held to what clients may use,
/// and one that comes with a later revision would not be.
fn is_reserved(method: &str) -> bool {
    let mut table = Method::table().iter();
    table.any(|rule| first(rule.name) == first(method))
}

/// What a method begins with.
fn first(method: &str) -> &str {
    let method = method.strip_prefix("notifications/").unwrap_or(method);
    method.split('/').next().unwrap_or_default()
}

/// How well a method fits an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    None,
    /// It begins with who made the extension.
    Vendor,
    /// With the name of the extension.
    Name,
    /// With both.
    Whole,
}

/// How well a method fits the extensions that a server declares, or tries out.
fn best(capabilities: &ServerCapabilities, method: &str) -> Fit {
    let extensions = capabilities.extensions.iter().flatten();
    let experiments = capabilities.experimental.iter().flatten();
    let all = extensions.chain(experiments);
    let fits = all.map(|(extension, _)| fit(method, extension));
    fits.max().unwrap_or(Fit::None)
}

/// How well a method fits an extension: `com.example/search/run` is surely one of
/// `com.example/search`, `search/run` is, and `com.example/run` may be.
fn fit(method: &str, extension: &str) -> Fit {
    let method = method.strip_prefix("notifications/").unwrap_or(method);
    let begins = |with: &str| {
        let rest = method.strip_prefix(with);
        !with.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let (vendor, name) = extension.split_once('/').unwrap_or(("", extension));
    match () {
        () if begins(extension) => Fit::Whole,
        () if begins(name) => Fit::Name,
        () if begins(vendor) => Fit::Vendor,
        () => Fit::None,
    }
}

/// Has an extension resources and descriptions only, so that nothing of it is called by name?
fn is_without_methods(extension: &str) -> bool {
    extension == "io.modelcontextprotocol/ui"
}

/// A result in the words of the client's era.
fn in_their_words(result: Payload, context: &Context) -> Payload {
    match context.revision().era() {
        Era::Handshake if result.is_complete() => result.passed_on(&[("resultType", None)]),
        _ => result,
    }
}

const fn ready(state: &MemberState) -> Option<&Arc<Ready>> {
    match state {
        MemberState::Ready(ready) | MemberState::ListingFailed { ready, .. } => Some(ready),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_as_the_protocol_itself_belongs_to_no_extension() {
        for method in [
            "tools/run",
            "ping/x",
            "notifications/tasks/x",
            "server",
            "roots/",
        ] {
            assert!(is_reserved(method), "{method}");
        }
        for method in [
            "search/run",
            "com.example/tools",
            "notifications/done",
            "tool/call",
        ] {
            assert!(!is_reserved(method), "{method}");
        }
    }

    #[test]
    fn a_method_begins_with_what_it_belongs_to() {
        let check = |method: &str, extension: &str, expected: Fit| {
            assert_eq!(fit(method, extension), expected, "{method} {extension}");
        };
        check("search/run", "com.example/search", Fit::Name);
        check("com.example/run", "com.example/search", Fit::Vendor);
        check("com.example/search/run", "com.example/search", Fit::Whole);
        check("notifications/search/done", "com.example/search", Fit::Name);
        check("search", "search", Fit::Whole);
        check("searching/run", "com.example/search", Fit::None);
        check("com.example.more/run", "com.example/search", Fit::None);
        check("run", "com.example/search", Fit::None);
        check("/run", "search", Fit::None);
        check("notifications/done", "com.example/search", Fit::None);
    }
}
