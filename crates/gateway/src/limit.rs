//! How much of everything a gateway takes on, each limit with a name.
//!
//! What is over a limit is refused at once, with the name of the limit and when to try again;
//! nothing waits in a queue for that. Limits of one connection are the server's, and only have a
//! name here.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use switchboard_server::Limits;

/// How much of everything a gateway takes on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GatewayLimits {
    /// What concerns connections and sessions.
    pub server: Limits,
    /// Calls in flight, of all callers together.
    pub calls: usize,
    /// Calls in flight of one caller, where callers are known.
    pub calls_per_caller: usize,
    /// Calls in a minute of one caller, where callers are known; ten seconds' worth may come at
    /// once. None: as many as there are.
    pub calls_per_minute: Option<u32>,
    /// Calls that wait for a stateless client to come again with an answer.
    pub parked: usize,
    /// Those of one caller, where callers are known.
    pub parked_per_caller: usize,
    /// Bytes of what is asked about all of them, or came of them while nobody waited. One may always
    /// wait.
    pub parked_bytes: usize,
    /// The same of those of one caller, where callers are known.
    pub parked_bytes_per_caller: usize,
    /// How long each of them waits.
    pub parked_life: Duration,
    /// Questions about one call that a stateless client was not told yet.
    pub questions: usize,
    /// Clients that have servers of their own.
    pub rooms: usize,
    /// The size of a result in bytes.
    pub result: usize,
}

impl Default for GatewayLimits {
    fn default() -> Self {
        let mut server = Limits::default();
        // One of the largest that servers may give.
        server.answers = Some(server.message.bytes);
        Self {
            server,
            calls: 10_000,
            calls_per_caller: 1_000,
            calls_per_minute: None,
            parked: 1_000,
            parked_per_caller: 100,
            parked_bytes: 64 << 20,
            // Less than a server may ask in all, so that others can be asked as well.
            parked_bytes_per_caller: 8 << 20,
            // A person reads a question, thinks and answers.
            parked_life: Duration::from_secs(10 * 60),
            // More than a server asks at once.
            questions: 64,
            rooms: 256,
            result: 64 << 20,
        }
    }
}

impl GatewayLimits {
    /// Sets a limit by its name.
    ///
    /// # Errors
    /// When there is none of this name, or it cannot be so large.
    pub fn set(&mut self, name: &str, value: usize) -> Result<(), LimitError> {
        let Some(limit) = NAMED.iter().find(|limit| limit.name == name) else {
            return Err(LimitError::Unknown {
                name: name.to_owned(),
            });
        };
        if value == 0 {
            return Err(LimitError::Zero {
                name: name.to_owned(),
            });
        }
        (limit.set)(self, value);
        Ok(())
    }

    /// All limits: their names, how much each is, and what it is of.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, Option<usize>, &'static str)> {
        NAMED
            .iter()
            .map(|limit| (limit.name, (limit.value)(self), limit.meaning))
    }
}

/// Why a limit cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitError {
    /// There is none of this name.
    Unknown {
        /// The name.
        name: String,
    },
    /// Nothing at all could be done.
    Zero {
        /// The name.
        name: String,
    },
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => {
                let names: Vec<&str> = NAMED.iter().map(|limit| limit.name).collect();
                write!(f, "there is no limit {name:?}, but {}", names.join(", "))
            }
            Self::Zero { name } => write!(f, "{name:?} is 0, nothing could be served"),
        }
    }
}

impl Error for LimitError {}

/// A limit with a name.
struct Named {
    name: &'static str,
    meaning: &'static str,
    value: fn(&GatewayLimits) -> Option<usize>,
    set: fn(&mut GatewayLimits, usize),
}

const NAMED: [Named; 27] = [
    Named {
        name: "connections",
        meaning: "connections over HTTP; more wait to be accepted",
        value: |limits| Some(limits.server.connections),
        set: |limits, value| limits.server.connections = value,
    },
    Named {
        name: "sessions",
        meaning: "sessions of the handshake era over HTTP; 503 beyond",
        value: |limits| Some(limits.server.sessions),
        set: |limits, value| limits.server.sessions = value,
    },
    Named {
        name: "sessionsPerCaller",
        meaning: "those of one caller; 429 beyond",
        value: |limits| Some(limits.server.sessions_per_caller),
        set: |limits, value| limits.server.sessions_per_caller = value,
    },
    Named {
        name: "streams",
        meaning: "streams of changes on one connection",
        value: |limits| Some(limits.server.streams),
        set: |limits, value| limits.server.streams = value,
    },
    Named {
        name: "subscriptions",
        meaning: "resources that one session or stream names",
        value: |limits| Some(limits.server.subscriptions),
        set: |limits, value| limits.server.subscriptions = value,
    },
    Named {
        name: "calls",
        meaning: "calls in flight, of all callers together; 503 beyond",
        value: |limits| Some(limits.calls),
        set: |limits, value| limits.calls = value,
    },
    Named {
        name: "callsPerConnection",
        meaning: "calls in flight on one connection or session; 503 beyond",
        value: |limits| Some(limits.server.calls),
        set: |limits, value| limits.server.calls = value,
    },
    Named {
        name: "callsPerCaller",
        meaning: "calls in flight of one caller; 429 beyond",
        value: |limits| Some(limits.calls_per_caller),
        set: |limits, value| limits.calls_per_caller = value,
    },
    Named {
        name: "callsPerMinute",
        meaning: "calls in a minute of one caller, ten seconds' worth at once; 429 beyond",
        value: |limits| limits.calls_per_minute.map(|value| value as usize),
        set: |limits, value| {
            limits.calls_per_minute = Some(u32::try_from(value).unwrap_or(u32::MAX));
        },
    },
    Named {
        name: "parked",
        meaning: "calls that wait for a stateless client's answer; they are ended beyond, with 503",
        value: |limits| Some(limits.parked),
        set: |limits, value| limits.parked = value,
    },
    Named {
        name: "parkedPerCaller",
        meaning: "those of one caller; they are ended beyond, with 429",
        value: |limits| Some(limits.parked_per_caller),
        set: |limits, value| limits.parked_per_caller = value,
    },
    Named {
        name: "parkedBytes",
        meaning: "bytes of questions to them, or of their results; they are ended beyond, with 503",
        value: |limits| Some(limits.parked_bytes),
        set: |limits, value| limits.parked_bytes = value,
    },
    Named {
        name: "parkedBytesPerCaller",
        meaning: "those of one caller; they are ended beyond, with 429",
        value: |limits| Some(limits.parked_bytes_per_caller),
        set: |limits, value| limits.parked_bytes_per_caller = value,
    },
    Named {
        name: "parkedSeconds",
        meaning: "how long each of them waits",
        value: |limits| seconds(limits.parked_life),
        set: |limits, value| limits.parked_life = of_seconds(value),
    },
    Named {
        name: "questions",
        meaning: "questions about one call that a stateless client was not told yet; an error beyond",
        value: |limits| Some(limits.questions),
        set: |limits, value| limits.questions = value,
    },
    Named {
        name: "rooms",
        meaning: "clients that have servers of their own; 503 beyond",
        value: |limits| Some(limits.rooms),
        set: |limits, value| limits.rooms = value,
    },
    Named {
        name: "message",
        meaning: "bytes of a message of a client; 413 beyond",
        value: |limits| Some(limits.server.message.bytes.min(limits.server.body)),
        set: |limits, value| {
            limits.server.message.bytes = value;
            limits.server.body = value;
        },
    },
    Named {
        name: "result",
        meaning: "bytes of a result of a server; an error beyond",
        value: |limits| Some(limits.result),
        set: |limits, value| limits.result = value,
    },
    Named {
        name: "answers",
        meaning: "bytes of large answers to one caller over HTTP that it has not taken; 429 beyond",
        value: |limits| limits.server.answers,
        set: |limits, value| limits.server.answers = Some(value),
    },
    Named {
        name: "replayEvents",
        meaning: "events that are kept of one stream, for a client that comes back; 400 beyond",
        value: |limits| Some(limits.server.replay.events),
        set: |limits, value| limits.server.replay.events = value,
    },
    Named {
        name: "replayBytes",
        meaning: "bytes that are kept of one stream",
        value: |limits| Some(limits.server.replay.bytes),
        set: |limits, value| limits.server.replay.bytes = value,
    },
    Named {
        name: "replaySessionBytes",
        meaning: "bytes that are kept of all streams of one session",
        value: |limits| Some(limits.server.replay.session_bytes),
        set: |limits, value| limits.server.replay.session_bytes = value,
    },
    Named {
        name: "replayEnded",
        meaning: "streams of one session that are kept after their end",
        value: |limits| Some(limits.server.replay.ended),
        set: |limits, value| limits.server.replay.ended = value,
    },
    Named {
        name: "headSeconds",
        meaning: "how long the head of a request over HTTP may take; closed beyond",
        value: |limits| seconds(limits.server.header_timeout),
        set: |limits, value| limits.server.header_timeout = of_seconds(value),
    },
    Named {
        name: "bodySeconds",
        meaning: "how long its body may take; 408 beyond",
        value: |limits| seconds(limits.server.body_timeout),
        set: |limits, value| limits.server.body_timeout = of_seconds(value),
    },
    Named {
        name: "idleSeconds",
        meaning: "how long a connection over HTTP may be without a request; closed beyond",
        value: |limits| seconds(limits.server.idle_timeout),
        set: |limits, value| limits.server.idle_timeout = of_seconds(value),
    },
    Named {
        name: "stallSeconds",
        meaning: "how long a client over HTTP may take nothing that is written; closed beyond",
        value: |limits| seconds(limits.server.write_stall),
        set: |limits, value| limits.server.write_stall = of_seconds(value),
    },
];

fn seconds(time: Duration) -> Option<usize> {
    usize::try_from(time.as_secs()).ok()
}

/// A year is as good as for ever, and nothing overflows.
fn of_seconds(value: usize) -> Duration {
    let seconds = u64::try_from(value).unwrap_or(u64::MAX);
    Duration::from_secs(seconds.min(365 * 24 * 60 * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_set_and_read_by_its_name() {
        for (name, _, meaning) in GatewayLimits::default().named() {
            let mut limits = GatewayLimits::default();
            limits.set(name, 77).unwrap();
            let value = limits.named().find(|known| known.0 == name).unwrap().1;
            assert_eq!(value, Some(77), "{name}");
            assert!(!meaning.is_empty());
            let usual = GatewayLimits::default();
            let others = limits.named().zip(usual.named());
            let changed = others.filter(|(now, before)| now.1 != before.1);
            assert_eq!(changed.count(), 1, "{name}");
        }
    }

    #[test]
    fn what_cannot_be_a_limit_is_said() {
        let mut limits = GatewayLimits::default();
        let unknown = limits.set("session", 1).unwrap_err().to_string();
        assert!(unknown.contains("sessionsPerCaller"), "{unknown}");
        assert!(limits.set("sessions", 0).is_err());
    }
}
