//! Why a request was given no answer.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use http::{StatusCode, Uri};
use switchboard_protocol::http::client::RedirectError;

use super::proxy::ProxyError;
use super::target::place_of;
use crate::credentials::CredentialsError;

/// Why a request was given no answer. Each names the URL, without what may be secret in it.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The caller: nothing can be sent to this URL.
    Url {
        /// The URL.
        url: String,
        /// Why not.
        reason: &'static str,
    },
    /// The caller or the network: the name of the host means nothing here.
    NameNotFound {
        /// The URL.
        url: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// Whoever named the URL: it leads to an address that is out of
    /// [reach](super::ClientSettings::reach). Nothing was sent there.
    Address {
        /// The URL.
        url: String,
        /// The address, or a name of this machine.
        address: String,
    },
    /// The network or the peer: nobody took the connection.
    Connect {
        /// The URL.
        url: String,
        /// What the last address said.
        source: io::Error,
    },
    /// The peer or the caller: there is no trusted connection to the host.
    Tls {
        /// The URL.
        url: String,
        /// What is wrong, in words.
        reason: String,
    },
    /// The proxy between us and the peer.
    Proxy {
        /// The URL.
        url: String,
        /// Which proxy, without its password.
        proxy: String,
        /// What it did.
        reason: ProxyError,
    },
    /// The network: a step of connecting took too long.
    TimedOut {
        /// The URL.
        url: String,
        /// Which step.
        phase: Phase,
        /// How long was waited.
        after: Duration,
    },
    /// The peer: what came back is not HTTP.
    NotHttp {
        /// The URL.
        url: String,
        /// What is wrong with it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The peer: the head of its answer is over the limit.
    HeaderTooLarge {
        /// The URL.
        url: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The peer sends us where we do not go. Nothing was sent there.
    Redirect {
        /// The URL.
        url: String,
        /// Where to, if it said so.
        to: Option<String>,
        /// Why we do not go.
        reason: RedirectError,
    },
    /// The network or the peer: the connection ended before an answer.
    Lost {
        /// The URL.
        url: String,
        /// Whether a part of the request may have reached the peer.
        was_sent: bool,
        /// What ended it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The credentials have nothing to send.
    Credentials {
        /// The URL.
        url: String,
        /// Why.
        source: CredentialsError,
    },
    /// The peer refuses whatever the credentials come up with.
    StillRefused {
        /// The URL.
        url: String,
        /// The last status.
        status: StatusCode,
        /// How often it was tried.
        attempts: u32,
    },
}

impl SendError {
    /// The URL that was asked for, without what may be secret in it.
    pub fn url(&self) -> &str {
        match self {
            Self::Url { url, .. }
            | Self::NameNotFound { url, .. }
            | Self::Address { url, .. }
            | Self::Connect { url, .. }
            | Self::Tls { url, .. }
            | Self::Proxy { url, .. }
            | Self::TimedOut { url, .. }
            | Self::NotHttp { url, .. }
            | Self::HeaderTooLarge { url, .. }
            | Self::Redirect { url, .. }
            | Self::Lost { url, .. }
            | Self::Credentials { url, .. }
            | Self::StillRefused { url, .. } => url,
        }
    }

    /// May the peer have acted on the request?
    ///
    /// No, if it provably was not sent, or was answered by a refusal.
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::NotHttp { .. } | Self::HeaderTooLarge { .. } => true,
            Self::Lost { was_sent, .. } => *was_sent,
            Self::Url { .. }
            | Self::NameNotFound { .. }
            | Self::Address { .. }
            | Self::Connect { .. }
            | Self::Tls { .. }
            | Self::Proxy { .. }
            | Self::TimedOut { .. }
            | Self::Redirect { .. }
            | Self::Credentials { .. }
            | Self::StillRefused { .. } => false,
        }
    }

    /// Did a step take too long?
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::TimedOut { .. })
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url { url, reason } => write!(f, "{url} cannot be asked: {reason}"),
            Self::NameNotFound { url, .. } => {
                write!(f, "the host of {url} is not known, check its name")
            }
            Self::Address { url, address } => write!(
                f,
                "{url} is not asked: it leads to {address}, which is not a public address"
            ),
            Self::Connect { url, source } => {
                write!(f, "no connection to {url}: {}", in_words(source))
            }
            Self::Tls { url, reason } => write!(f, "no trusted connection to {url}: {reason}"),
            Self::Proxy { url, proxy, .. } => {
                write!(f, "no connection to {url} through the proxy {proxy}")
            }
            Self::TimedOut { url, phase, after } => {
                write!(f, "no connection to {url}: {phase} took over {after:?}")
            }
            Self::NotHttp { url, .. } => write!(f, "the answer of {url} is not HTTP/1.1"),
            Self::HeaderTooLarge { url, limit } => {
                write!(
                    f,
                    "the headers of the answer of {url} are over the limit of {limit} bytes \
                           or 100 headers"
                )
            }
            Self::Redirect { url, to, .. } => {
                write!(f, "{url} sends us elsewhere")?;
                match to {
                    Some(to) => write!(f, ", to {to:?}"),
                    None => Ok(()),
                }
            }
            Self::Lost { url, was_sent, .. } => {
                write!(f, "the connection to {url} was lost ")?;
                f.write_str(match was_sent {
                    true => "after the request was sent, it may have run",
                    false => "before the request was sent",
                })
            }
            Self::Credentials { url, .. } => write!(f, "there are no credentials for {url}"),
            Self::StillRefused {
                url,
                status,
                attempts,
            } => write!(
                f,
                "{url} refused new credentials too (status {}, {attempts} attempts)",
                status.as_u16()
            ),
        }
    }
}

impl Error for SendError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NameNotFound { source, .. } => Some(source),
            Self::Proxy { reason, .. } => Some(reason),
            Self::Redirect { reason, .. } => Some(reason),
            Self::NotHttp { source, .. } | Self::Lost { source, .. } => Some(source.as_ref()),
            Self::Credentials { source, .. } => Some(source),
            // What they say is in the line itself.
            Self::Url { .. }
            | Self::Address { .. }
            | Self::Connect { .. }
            | Self::Tls { .. }
            | Self::TimedOut { .. }
            | Self::HeaderTooLarge { .. }
            | Self::StillRefused { .. } => None,
        }
    }
}

/// A step on the way to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Finding the address of a name.
    Resolve,
    /// Connecting to an address.
    Connect,
    /// Being let through by a proxy.
    Proxy,
    /// The handshake of TLS.
    Tls,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resolve => "finding its address",
            Self::Connect => "the TCP connection",
            Self::Proxy => "the answer of the proxy",
            Self::Tls => "the TLS handshake",
        })
    }
}

/// A URL as it may be printed: without user, password, query, and not endless.
pub fn shown(uri: &Uri) -> String {
    let place = uri.authority().map_or("", place_of);
    let mut text = match uri.scheme_str() {
        Some(scheme) => format!("{scheme}://{place}{}", uri.path()),
        None => uri.path().to_owned(),
    };
    if let Some((end, _)) = text.char_indices().nth(LONGEST_SHOWN) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The kinds that people meet; the rest as the system says it.
pub(super) fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused, is the server running?".to_owned(),
        io::ErrorKind::ConnectionReset => "connection reset".to_owned(),
        io::ErrorKind::UnexpectedEof => "connection closed".to_owned(),
        io::ErrorKind::HostUnreachable => "host unreachable".to_owned(),
        io::ErrorKind::NetworkUnreachable => "network unreachable".to_owned(),
        _ => error.to_string(),
    }
}

// An error is a line.
const LONGEST_SHOWN: usize = 200;
