//! Many servers of the Model Context Protocol as one.
//!
//! ```no_run
//! # async fn example() -> Result<(), switchboard_hub::HubError> {
//! let hub = switchboard_hub::Hub::from_file("mcp.json").await?;
//! hub.connect_all().await;
//! let found = hub.search("read a file", 3);
//! let text = hub.call(found[0].tool.name.as_str()).arg("path", "a.txt").await?;
//! println!("{}", text.joined_text());
//! # Ok(())
//! # }
//! ```
//!
//! 1. [`Hub`]: servers that are kept running, and calls to all that they offer; [`MemberState`],
//!    [`Event`]: how they stand
//! 2. [`Config`]: servers as users write them down, with what is wrong and where; [`Template`]:
//!    texts with variables; [`resolve`]: what a client is made of
//! 3. [`plan`]: what must happen when a configuration becomes another
//! 4. [`Registry`] and [`Catalog`]: what all servers offer, under names that no two share; found
//!    by name, by words, by URI
//! 5. [`Policy`]: what of it may be used; [`Profile`]: what of it is seen
//! 6. [`Lock`]: definitions as somebody approved them
//! 7. [`CallTrace`], [`TraceContext`] and [`Metrics`]: what others see of it
//! 8. [`nearest`]: what somebody meant who wrote it otherwise; [`is_invisible`]: what nobody sees

mod backoff;
mod cache;
mod call;
mod config;
mod error;
mod event;
mod exposed_name;
mod host;
mod hub;
mod lock;
mod member;
mod metrics;
mod near;
mod plan;
mod policy;
mod profile;
mod registry;
mod resource_watch;
mod search;
mod session;
mod state;
mod task_watch;
mod tokens;
mod trace;
mod variables;

pub use call::{
    CallTool, Complete, GetPrompt, HubCall, HubCallFuture, Operation, PassedOn, Raw, RawRequest,
    ReadResource, Witness,
};
pub use config::{
    AuthConfig, Config, ConfigError, Dialect, GatewaySettings, HttpConfig, HubSettings,
    InputConfig, InputKind, InputOption, KeyConfig, KeySecret, LimitConfig, Location, OAuthConfig,
    Origin, Position, Problem, ProblemKind, ResolveError, ResolveErrorKind, Resolved, ResolvedAuth,
    ResolvedOAuth, ServerConfig, ServerLimits, ServerTimeouts, Severity, Sharing, Start,
    StdioConfig, StopTimeouts, SyntaxFault, TransportConfig, UnknownKeys, resolve,
};
pub use error::HubError;
pub use event::{Event, Events};
pub use exposed_name::{ExposedName, Naming, Prefix};
pub use hub::{Hub, HubBuilder, LoginRequest, ServerStatus};
pub use lock::{
    LOCK_FILE, Lock, LockError, Mismatch, Pin, PinChange, PinDifference, PinKind, PinnedField,
    PinnedServer, is_invisible, what_runs,
};
pub use metrics::{
    DURATION_BOUNDS, Durations, Metrics, MetricsSnapshot, OperationMetrics, OutcomeMetrics,
    PROMETHEUS_CONTENT_TYPE, ServerMeter, ServerMetrics,
};
pub use near::nearest;
pub use plan::{Plan, plan};
pub use policy::{Denial, Pattern, Policy, Reason, ToolFilter, Verdict};
pub use profile::Profile;
pub use registry::{
    Absence, Catalog, Changes, Hit, Kind, LIST_RESOURCES, Listed, Located, MemberCatalog, NotFound,
    PromptEntry, READ_RESOURCE, Registry, ResourceEntry, TemplateEntry, ToolEntry, resource_tools,
};
pub use resource_watch::ResourceWatch;
pub use state::MemberState;
pub use task_watch::TaskWatch;
pub use tokens::{estimate_tokens, estimate_tool_tokens};
pub use trace::{
    Attribute, CallTrace, Endpoint, Outcome, SpanId, Subject, TraceContext, TraceError, TraceId,
};
pub use variables::{Surroundings, System, Template, VariableError};

/// The code in the guide and in the README, as tests.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../../README.md")]
    mod readme {}
    #[doc = include_str!("../../../docs/guide/hub.md")]
    mod hub {}
}
