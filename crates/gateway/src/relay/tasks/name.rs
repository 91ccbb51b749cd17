//! What tasks are called by clients.
//!
//! By their server and the server's own name for them, so that nothing must be kept. Where callers
//! are known, a name is good for the one that it was given to: servers know only us, and may count
//! their tasks.
//!
//! Specification: tasks extension (security considerations); 2025-11-25 basic/utilities/tasks
//! (task isolation and access control).

use ring::hmac::{self, HMAC_SHA256};
use ring::rand::SystemRandom;
use switchboard_server::access::Principal;

use crate::desk::Desk;
use crate::rooms::Room;

/// Gives tasks their names.
#[derive(Debug)]
pub(crate) struct TaskNames {
    /// None if the system has no randomness: then nobody who is known has a task.
    key: Option<hmac::Key>,
}

/// A task, as its server calls it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TaskKey {
    pub(crate) server: String,
    pub(crate) task: String,
    /// Where the server asks: one that clients have alone runs more than once, and each may count
    /// its tasks from one.
    pub(super) desk: u64,
}

impl TaskKey {
    pub(crate) fn new(server: impl Into<String>, task: impl Into<String>) -> Self {
        Self {
            server: server.into(),
            task: task.into(),
            desk: 0,
        }
    }

    /// At the server that asks here.
    pub(crate) const fn at(mut self, desk: &Desk) -> Self {
        self.desk = desk.number;
        self
    }

    /// At the server that is in this room.
    pub(crate) fn within(self, room: &Room) -> Self {
        let desk = room.desk(room.has_alone(&self.server));
        self.at(desk)
    }
}

impl TaskNames {
    pub(crate) fn new() -> Self {
        Self {
            key: hmac::Key::generate(HMAC_SHA256, &SystemRandom::new()).ok(),
        }
    }

    /// What a caller calls a task.
    pub(crate) fn shown(&self, key: &TaskKey, caller: Option<&Principal>) -> String {
        // The length tells where a name ends that has the mark in it.
        let (server, task) = (&key.server, &key.task);
        let length = server.len();
        match caller {
            None => format!("{length}{MARK}{server}{MARK}{task}"),
            Some(caller) => {
                let proof = self.proof(key, caller).unwrap_or_default();
                format!("{length}{MARK}{server}{MARK}{proof}{MARK}{task}")
            }
        }
    }

    /// The task that a caller calls so.
    pub(crate) fn parse(&self, text: &str, caller: Option<&Principal>) -> Option<TaskKey> {
        let (length, rest) = text.split_once(MARK)?;
        let (server, task) = rest.split_at_checked(length.parse().ok()?)?;
        let task = task.strip_prefix(MARK)?;
        let Some(caller) = caller else {
            return Some(TaskKey::new(server, task));
        };
        let (proof, task) = task.split_once(MARK)?;
        let key = TaskKey::new(server, task);
        // Whoever can tell by the time it takes how much of it is right still has to guess it all.
        (self.proof(&key, caller)? == proof).then_some(key)
    }

    /// That the task is this caller's.
    fn proof(&self, key: &TaskKey, caller: &Principal) -> Option<String> {
        let parts = [
            caller.issuer.as_deref().unwrap_or_default(),
            &caller.subject,
            &key.server,
            &key.task,
        ];
        let mut signing = hmac::Context::with_key(self.key.as_ref()?);
        for part in parts {
            signing.update(&(part.len() as u64).to_be_bytes());
            signing.update(part.as_bytes());
        }
        let signed = signing.sign();
        let bytes = signed.as_ref().iter().take(PROOF);
        Some(bytes.map(|byte| format!("{byte:02x}")).collect())
    }
}

const MARK: char = '.';
/// As many bytes of a signature as nobody guesses.
const PROOF: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_found_by_its_name_whatever_is_in_it() {
        let names = TaskNames::new();
        let ada = Principal::new("ada");
        for caller in [None, Some(&ada)] {
            for (server, task) in [("demo", "1"), ("a.b", "c.d"), ("", ""), ("ö.", "7.x")] {
                let key = TaskKey::new(server, task);
                let text = names.shown(&key, caller);
                assert_eq!(names.parse(&text, caller), Some(key), "{text}");
            }
        }
        for text in [
            "", "demo", "4.demo", "9.demo.1", "1.ö.1", "x.demo.1", "4demo.1",
        ] {
            assert_eq!(names.parse(text, None), None, "{text}");
        }
    }

    #[test]
    fn a_name_is_good_for_the_caller_that_it_was_given_to() {
        let names = TaskNames::new();
        let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
        let key = TaskKey::new("demo", "1");
        let shown = names.shown(&key, Some(&ada));
        assert_eq!(names.parse(&shown, Some(&bob)), None);
        assert_eq!(TaskNames::new().parse(&shown, Some(&ada)), None);
        // Without a proof it is nobody's who is known; with one it is no task of the server.
        assert_eq!(names.parse(&names.shown(&key, None), Some(&ada)), None);
        assert_ne!(names.parse(&shown, None), Some(key));
    }
}
