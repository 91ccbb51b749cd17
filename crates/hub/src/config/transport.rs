//! How a server is reached: a program that is started, or a URL.
//!
//! How it is read is in `said`, and in `parts` what that is made of.

mod parts;
mod said;

pub(super) use parts::{MOST_HEADERS, bad_url};
pub(super) use said::read;

use super::auth::AuthConfig;
use crate::variables::Template;

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportConfig {
    /// A program that speaks on its standard streams.
    Stdio(StdioConfig),
    /// A URL: Streamable HTTP, or what is older if the server has nothing else.
    Http(HttpConfig),
    /// A URL of HTTP with SSE as of 2024-11-05, and nothing else.
    Sse(HttpConfig),
}

impl TransportConfig {
    /// The word for it in a configuration.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(_) => "http",
            Self::Sse(_) => "sse",
        }
    }

    /// Every text in which something may be filled in.
    pub(super) fn templates(&self) -> Vec<&Template> {
        match self {
            Self::Stdio(stdio) => {
                let mut all = vec![&stdio.command];
                all.extend(&stdio.args);
                all.extend(stdio.env.iter().filter_map(|(_, value)| value.as_ref()));
                all.extend(&stdio.env_file);
                all.extend(&stdio.cwd);
                all
            }
            Self::Http(http) | Self::Sse(http) => {
                let mut all = vec![&http.url];
                all.extend(http.headers.iter().map(|(_, value)| value));
                all.extend(http.auth.templates());
                all
            }
        }
    }
}

/// A program that is started.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StdioConfig {
    /// The program. `~` at its beginning is the home folder.
    pub command: Template,
    /// Its arguments.
    pub args: Vec<Template>,
    /// Variables that it gets. None takes one away that it would have otherwise.
    pub env: Vec<(String, Option<Template>)>,
    /// A file with variables, which those of `env` win over.
    pub env_file: Option<Template>,
    /// Where it runs: from the folder of the configuration, which it is by default.
    pub cwd: Option<Template>,
    /// Names of our own variables that it gets beside the few that every program does.
    pub inherits: Vec<String>,
    /// Does it get all of our own variables?
    pub inherits_all: bool,
}

impl StdioConfig {
    /// A program without arguments.
    pub const fn new(command: Template) -> Self {
        Self {
            command,
            args: Vec::new(),
            env: Vec::new(),
            env_file: None,
            cwd: None,
            inherits: Vec::new(),
            inherits_all: false,
        }
    }
}

/// A server behind a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpConfig {
    /// The URL.
    pub url: Template,
    /// Headers of each request.
    pub headers: Vec<(String, Template)>,
    /// How we prove who we are.
    pub auth: AuthConfig,
}

impl HttpConfig {
    /// A URL. Whether there is a login is for the server to say.
    pub const fn new(url: Template) -> Self {
        Self {
            url,
            headers: Vec::new(),
            auth: AuthConfig::Auto,
        }
    }
}
