//! The head of a request, shared by all that ask about it.
//!
//! A client says the same in nearly every request of a connection: such a head is read once, and what
//! an endpoint has found in it is kept beside it.
//!
//! Specification: RFC 9110, section 6.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use http::HeaderMap;
use http::request::Parts;
use switchboard_protocol::http::negotiate::Accepted;
use switchboard_protocol::http::server::KnownFields;

use super::room::Room;

/// The head of a request. Cheap to clone.
///
/// What proves who the caller is stays out of logs: whoever prints the headers does not see it. Of a
/// request that came on a connection of [`serve`](super::serve) the headers do not say how long its
/// body is; the body itself knows.
#[derive(Clone, Debug)]
pub struct RequestHead(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    parts: Parts,
    checked: OnceLock<Checked>,
    /// That of whoever sent it, and the number of the endpoint.
    room: OnceLock<(u64, Arc<Room>)>,
}

/// What an endpoint has found in the head of a POST that may come in as far as that shows.
#[derive(Debug)]
pub(super) struct Checked {
    /// The number of the endpoint.
    pub(super) by: u64,
    pub(super) accepted: Accepted,
    pub(super) fields: KnownFields,
}

impl RequestHead {
    /// To change it: for this holder alone.
    pub fn to_mut(&mut self) -> &mut Parts {
        if Arc::get_mut(&mut self.0).is_none() {
            *self = Self::of(self.0.parts.clone());
        }
        let inner = Arc::get_mut(&mut self.0).expect("invariant: it is not shared any more");
        // It is another head then.
        inner.checked = OnceLock::new();
        inner.room = OnceLock::new();
        &mut inner.parts
    }

    /// What this endpoint has found, if it was the first one to ask.
    pub(super) fn checked(&self, by: u64) -> Option<&Checked> {
        self.0.checked.get().filter(|checked| checked.by == by)
    }

    pub(super) fn keep(&self, checked: Checked) {
        // Only the first one is kept.
        let _ = self.0.checked.set(checked);
    }

    /// The room of whoever sent it at this endpoint. It is looked for once, if this was the first
    /// one to ask.
    pub(super) fn room(&self, by: u64, find: impl Fn() -> Arc<Room>) -> Arc<Room> {
        match self.0.room.get_or_init(|| (by, find())) {
            (number, room) if *number == by => Arc::clone(room),
            _ => find(),
        }
    }

    fn of(parts: Parts) -> Self {
        Self(Arc::new(Inner {
            parts,
            checked: OnceLock::new(),
            room: OnceLock::new(),
        }))
    }
}

impl From<Parts> for RequestHead {
    fn from(mut parts: Parts) -> Self {
        conceal(&mut parts.headers);
        Self::of(parts)
    }
}

impl Deref for RequestHead {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0.parts
    }
}

fn conceal(headers: &mut HeaderMap) {
    for (name, value) in headers {
        // Each may be there several times, and asking for them by name costs more than a look.
        let is_secret = matches!(
            name.as_str(),
            "authorization" | "proxy-authorization" | "cookie" | "mcp-session-id"
        );
        if is_secret {
            value.set_sensitive(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, Request};
    use switchboard_protocol::http::server::Fields;

    use super::*;

    fn head() -> RequestHead {
        let request = Request::post("/mcp").header("cookie", "secret");
        RequestHead::from(request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn what_proves_who_somebody_is_is_not_printed() {
        assert!(!format!("{:?}", head()).contains("secret"));
    }

    #[test]
    fn what_one_changes_the_others_do_not_see_and_nothing_is_known_of_it() {
        let fields = KnownFields::of(&Fields::of(&HeaderMap::new()));
        let checked = |by| Checked {
            by,
            accepted: Accepted::read(&HeaderMap::new()),
            fields: fields.clone(),
        };
        let mut mine = head();
        mine.keep(checked(1));
        mine.keep(checked(2));
        assert!(mine.checked(1).is_some() && mine.checked(2).is_none());
        let other = mine.clone();
        let value = HeaderValue::from_static("y");
        mine.to_mut().headers.insert("x", value);
        assert!(mine.checked(1).is_none() && other.checked(1).is_some());
        assert!(mine.headers.contains_key("x") && !other.headers.contains_key("x"));
        mine.keep(checked(1));
        mine.to_mut();
        assert!(mine.checked(1).is_none());
    }

    #[test]
    fn a_room_is_that_of_the_first_endpoint_and_of_this_head() {
        let new = || Arc::new(Room::new(1, None));
        let mut head = head();
        let first = head.room(1, new);
        assert!(Arc::ptr_eq(&first, &head.clone().room(1, new)));
        assert!(!Arc::ptr_eq(&first, &head.room(2, new)));
        head.to_mut();
        assert!(!Arc::ptr_eq(&first, &head.room(1, new)));
    }
}
