//! Many servers of the Model Context Protocol as one.

mod config;
mod plan;
mod variables;

pub use config::{
    AuthConfig, Config, ConfigError, Dialect, HttpConfig, HubSettings, Location, OAuthConfig,
    Origin, Position, Problem, ProblemKind, ResolveError, ResolveErrorKind, Resolved, ResolvedAuth,
    ResolvedOAuth, ServerConfig, ServerLimits, ServerTimeouts, Severity, Sharing, Start,
    StdioConfig, SyntaxFault, ToolLists, TransportConfig, UnknownKeys, resolve,
};
pub use plan::{Plan, plan};
pub use variables::{Surroundings, System, Template, VariableError};
