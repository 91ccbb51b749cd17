//! Which members that matter here the parameters of a call have.
//!
//! A search for their names as bytes rules them out for nearly every call; only where it
//! cannot, the parameters are walked over.
//!
//! Specification: basic (`_meta`), 2025-11-25 basic/utilities/tasks.

use memchr::memmem::Finder;

use crate::payload::{self, Payload};
use crate::scan::names;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Members {
    pub(super) meta: bool,
    pub(super) task: bool,
}

/// Finds them.
#[derive(Debug)]
pub(super) struct MemberFinder {
    meta: Finder<'static>,
    task: Finder<'static>,
}

impl MemberFinder {
    pub(super) fn new() -> Self {
        Self {
            meta: Finder::new(b"\"_meta\""),
            task: Finder::new(b"\"task\""),
        }
    }

    pub(super) fn find(&self, params: Option<&Payload>) -> Members {
        let mut found = Members::default();
        let Some(params) = params.filter(|params| !params.is_plain_call()) else {
            return found;
        };
        let text = params.text();
        let may_have = self.meta.find(text).is_some()
            || self.task.find(text).is_some()
            // A name may be spelled with escapes.
            || memchr::memchr(b'\\', text).is_some();
        if may_have {
            for (name, _) in payload::Members::of(text) {
                found.meta |= names(name, "_meta");
                found.task |= names(name, "task");
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::jsonrpc::Limits;

    fn check(text: &'static str, meta: bool, task: bool) {
        let payload = Payload::parse(Bytes::from_static(text.as_bytes()), &Limits::default());
        let found = MemberFinder::new().find(Some(&payload.unwrap()));
        assert_eq!(found, Members { meta, task }, "{text}");
    }

    #[test]
    fn only_members_of_the_parameters_themselves_count() {
        check("{}", false, false);
        check(r#"{"name":"_meta","arguments":{"task":1}}"#, false, false);
        check(r#"{"name":"x","_meta":{},"task":{}}"#, true, true);
        check(r#"{"_m\u0065ta":{},"text":"\n"}"#, true, false);
        check(r#"{"t\u0061sk":{}}"#, false, true);
    }
}
