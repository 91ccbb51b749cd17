//! What is known of a connection that could not be opened, or is over.

use std::fmt;

use switchboard_protocol::machine::client::Failure;

use crate::error::{Class, HttpFailure};
use crate::words::plain;

/// Everything that helps to find out why a connection is over.
///
/// Its text is one line; [`stderr`](Self::stderr) has the rest.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// What was run, or the URL.
    pub target: String,
    /// How far it had come.
    pub phase: Phase,
    /// What went wrong.
    pub reason: Reason,
    /// How the server's process ended, if it has one and it did: `exited with status 3`.
    pub exit: Option<String>,
    /// The last lines that the process wrote to its standard error, safe to print.
    pub stderr: String,
    /// How many lines on its standard output were no messages.
    pub noise: u64,
    /// The first of them, safe to print.
    pub first_noise: Option<String>,
    /// The last of these lines, which is the first if there was no other.
    pub last_noise: Option<String>,
}

impl Report {
    pub(crate) fn new(target: impl Into<String>, phase: Phase, reason: Reason) -> Self {
        Self {
            target: target.into(),
            phase,
            reason,
            exit: None,
            stderr: String::new(),
            noise: 0,
            first_noise: None,
            last_noise: None,
        }
    }

    /// Did the server ask for a login that nobody here can do?
    pub fn needs_login(&self) -> bool {
        matches!(&self.reason, Reason::Http(failure) if failure.is_unauthorized())
    }

    /// Who must act.
    pub fn class(&self) -> Class {
        match &self.reason {
            Reason::Http(failure) => failure.class(),
            Reason::Protocol(Failure::TimedOut(_)) => Class::Timeout,
            Reason::Protocol(Failure::Refused(_)) => Class::Refused,
            Reason::Protocol(Failure::NoCommonRevision { .. } | Failure::Violation(_)) => {
                Class::Peer
            }
            Reason::Start(_) | Reason::Protocol(_) | Reason::Abandoned => Class::Connection,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What happened over HTTP names its URL itself.
        if !matches!(self.reason, Reason::Http(_)) {
            write!(f, "{}: ", plain(&self.target, 120))?;
        }
        match (&self.reason, &self.exit) {
            // The end of the output says less than how the process ended.
            (Reason::Protocol(Failure::PeerClosed(_)), Some(exit)) => {
                write!(f, "{exit} {}", self.phase.when())?;
            }
            (reason, exit) => {
                write!(f, "{reason}")?;
                if let Some(exit) = exit {
                    write!(f, "; it {exit}")?;
                }
            }
        }
        if let Some(last) = self
            .stderr
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
        {
            write!(f, "; it said {:?}", plain(last.trim(), 160))?;
        }
        if let Some(noise) = &self.first_noise {
            write!(
                f,
                "; {} lines on its standard output are no messages, the first {:?}",
                self.noise,
                plain(noise, 80)
            )?;
            if let Some(last) = self.last_noise.as_ref().filter(|_| self.noise > 1) {
                write!(f, ", the last {:?}", plain(last, 80))?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Report {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            Reason::Start(error) => Some(&**error),
            Reason::Http(failure) => failure.source(),
            Reason::Protocol(_) | Reason::Abandoned => None,
        }
    }
}

/// How far a connection had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Starting the process.
    Start,
    /// Finding the era and shaking hands.
    Handshake,
    /// Calls could be made.
    Open,
}

impl Phase {
    const fn when(self) -> &'static str {
        match self {
            Self::Start => "before it was started",
            Self::Handshake => "before the handshake was done",
            Self::Open => "while it was in use",
        }
    }
}

/// What went wrong with a connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The process could not be started.
    Start(std::sync::Arc<dyn std::error::Error + Send + Sync>),
    /// HTTP gave no answer.
    Http(HttpFailure),
    /// What the protocol says of it.
    Protocol(Failure),
    /// The task that owned the connection is gone: its runtime ended, or it panicked.
    Abandoned,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => error.fmt(f),
            Self::Http(failure) => failure.fmt(f),
            Self::Protocol(failure) => f.write_str(&plain(&failure.to_string(), 300)),
            Self::Abandoned => {
                f.write_str("the task that owned the connection is gone with its runtime")
            }
        }
    }
}
