//! What can be set about a client, and the values it has otherwise.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use switchboard_protocol::jsonrpc::Limits;

use super::proxy::ProxyError;
use super::reach::Reach;
use crate::credentials::Credentials;

/// How a client connects, whom it trusts and what it puts up with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientSettings {
    /// How large a body that is collected, or one event of a stream, may be.
    pub limits: Limits,
    /// Through whom to connect.
    pub proxy: ProxyChoice,
    /// Whose certificates are trusted. They are always checked.
    pub roots: Roots,
    /// Which addresses are connected to.
    pub reach: Reach,
    /// Whether 307 and 308 are followed within the origin. Otherwise every redirect is an
    /// answer like others.
    pub follows_redirects: bool,
    /// Says who we are, where a request does not itself.
    pub credentials: Option<Arc<dyn Credentials>>,
    /// How often one request may be sent that is answered 401 or 403. The last refusal is told to
    /// the caller, not to the credentials.
    pub authorization_attempts: u32,
    /// How long it may take to find an address and connect to it; to be let through by a
    /// proxy as well.
    pub connect_timeout: Duration,
    /// How long the handshake of TLS may take.
    pub tls_timeout: Duration,
    /// How long a connection is kept without a request.
    pub idle_timeout: Duration,
    /// How many connections are kept without a request, to all places together. There are as
    /// many in use as there are requests under way.
    pub max_idle: usize,
    /// How large the head of an answer may be in bytes.
    pub max_header_bytes: usize,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            proxy: ProxyChoice::default(),
            roots: Roots::default(),
            reach: Reach::default(),
            follows_redirects: true,
            credentials: None,
            // No token, one without a nonce, one for too little, and the one that is taken.
            authorization_attempts: 4,
            connect_timeout: Duration::from_secs(10),
            tls_timeout: Duration::from_secs(10),
            // Shorter than servers wait, so that it is we who close it.
            idle_timeout: Duration::from_secs(30),
            max_idle: 128,
            max_header_bytes: 64 * 1024,
        }
    }
}

/// Through whom to connect.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum ProxyChoice {
    /// Whom the environment names, by the rules of `curl`: `http_proxy` (in lower case only),
    /// `https_proxy`, `all_proxy` and `no_proxy`. Never for this machine itself.
    #[default]
    Environment,
    /// Nobody.
    Never,
    /// This proxy, for every host: `http://name:password@host:port`.
    Always(String),
}

impl fmt::Debug for ProxyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment => f.write_str("Environment"),
            Self::Never => f.write_str("Never"),
            // It may hold a password.
            Self::Always(_) => f.write_str("Always(***)"),
        }
    }
}

/// Whose certificates are trusted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Roots {
    /// Whether what this machine trusts is trusted. Read when the first `https` is asked for.
    pub platform: bool,
    /// More authorities, as PEM text.
    pub pem: Vec<Bytes>,
    /// More authorities, as files of PEM text.
    pub files: Vec<PathBuf>,
}

impl Default for Roots {
    fn default() -> Self {
        Self {
            platform: true,
            pem: Vec::new(),
            files: Vec::new(),
        }
    }
}

/// Why settings cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum SetupError {
    /// The proxy.
    Proxy(ProxyError),
    /// A file of authorities that cannot be read.
    RootsFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A text that holds no certificate of an authority.
    RootsText {
        /// The file it came from, if it did.
        path: Option<PathBuf>,
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Proxy(_) => f.write_str("the proxy cannot be used"),
            Self::RootsFile { path, .. } => {
                write!(f, "the trusted roots in {} cannot be read", path.display())
            }
            Self::RootsText { path, reason } => {
                f.write_str("the trusted roots")?;
                if let Some(path) = path {
                    write!(f, " in {}", path.display())?;
                }
                write!(f, " are not certificates in PEM: {reason}")
            }
        }
    }
}

impl std::error::Error for SetupError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Proxy(error) => Some(error),
            Self::RootsFile { source, .. } => Some(source),
            Self::RootsText { .. } => None,
        }
    }
}
