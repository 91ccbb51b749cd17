//! Many servers of the Model Context Protocol as one.
//!
//! What is here is pure: it starts nothing and asks nobody. The hub itself, which keeps servers
//! running and calls them, is still to come.
//!
//! 1. [`Config`]: servers as users write them down, with what is wrong and where; [`Template`]:
//!    texts with variables; [`resolve`]: what a client is made of
//! 2. [`plan`]: what must happen when a configuration becomes another
//! 3. [`Registry`] and [`Catalog`]: what all servers offer, under names that no two share; found
//!    by name, by words, by URI
//! 4. [`Policy`]: what of it may be used

mod config;
mod exposed_name;
mod plan;
mod policy;
mod registry;
mod search;
mod tokens;
mod variables;

pub use config::{
    AuthConfig, Config, ConfigError, Dialect, HttpConfig, HubSettings, Location, OAuthConfig,
    Origin, Position, Problem, ProblemKind, ResolveError, ResolveErrorKind, Resolved, ResolvedAuth,
    ResolvedOAuth, ServerConfig, ServerLimits, ServerTimeouts, Severity, Sharing, Start,
    StdioConfig, SyntaxFault, TransportConfig, UnknownKeys, resolve,
};
pub use exposed_name::{ExposedName, Naming, Prefix};
pub use plan::{Plan, plan};
pub use policy::{Denial, Pattern, Policy, Reason, ToolFilter, Verdict};
pub use registry::{
    Absence, Catalog, Changes, Hit, Kind, LIST_RESOURCES, Listed, Located, MemberCatalog, NotFound,
    PromptEntry, READ_RESOURCE, Registry, ResourceEntry, TemplateEntry, ToolEntry, resource_tools,
};
pub use tokens::{estimate_tokens, estimate_tool_tokens};
pub use variables::{Surroundings, System, Template, VariableError};
