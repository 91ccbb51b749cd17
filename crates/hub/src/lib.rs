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
//!
//! - [`Registry`] and [`Catalog`]: what all servers offer, under names that no two share
//! - [`Policy`]: what of it may be used

mod exposed_name;
mod policy;
mod registry;
mod search;
mod tokens;

pub use exposed_name::{ExposedName, Naming, Prefix};
pub use policy::{Denial, Pattern, Policy, Reason, ToolFilter, Verdict};
pub use registry::{
    Absence, Catalog, Changes, Hit, Kind, LIST_RESOURCES, Listed, Located, MemberCatalog, NotFound,
    PromptEntry, READ_RESOURCE, Registry, ResourceEntry, TemplateEntry, ToolEntry, resource_tools,
};
pub use tokens::{estimate_tokens, estimate_tool_tokens};
