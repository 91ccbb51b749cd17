//! Write a server of the Model Context Protocol.
//!
//! One [`Server`] serves every revision, 2024-11-05 to 2026-07-28, on stdio and over HTTP,
//! at once. Tools are plain functions:
//!
//! ```no_run
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use switchboard_server::{Context, Server, tool};
//!
//! /// Adds two numbers.
//! #[derive(Deserialize, JsonSchema)]
//! struct Add {
//!     /// The first.
//!     a: i64,
//!     /// The second.
//!     b: i64,
//! }
//!
//! async fn who(context: Context) -> String {
//!     format!("revision {}", context.revision())
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> std::io::Result<()> {
//!     Server::new("demo", "1.0.0")
//!         .tool(tool("add", |add: Add| async move { add.a + add.b }))
//!         .tool(tool("who", who).description("Says how the client speaks."))
//!         .serve_stdio()
//!         .await
//! }
//! ```
//!
//! Read in this order:
//!
//! 1. [`Server`]: put together and served; [`Handle`]: changed while it is served
//! 2. [`tool`], [`resource`], [`template`], [`prompt`]: what it offers, as functions;
//!    [`ToolHandler`]: tools that are not known when the program is written
//! 3. [`Context`]: what a handler knows of its call and can do besides answering
//! 4. [`Limits`]: how much of everything; [`access`]: who may call over HTTP;
//!    [`SealingKeys`]: what several instances share
//! 5. [`Service`] and [`Site`]: every call as it came, for gateways;
//!    [`serve_endpoints`]: several on one listener
//!
//! `docs/guide/servers.md` in the repository is the same at length.
//!
//! Cargo features, none of them on by default:
//!
//! - `validate`: the arguments of [raw tools](raw_tool) and structured results are checked
//!   against their JSON Schemas. Typed arguments need none: they are checked by being read.
//! - `skills`: the module of that name, which serves a folder of skills.

pub mod access;
mod arguments;
mod audience;
mod catalog;
mod clock;
mod completion;
mod connection;
mod context;
mod core;
mod error;
mod failure;
mod front;
mod handle;
mod http;
mod limits;
mod link;
mod pipe;
mod prompt;
mod resource;
mod router;
mod runner;
mod schema;
mod seal;
mod server;
mod service;
mod shelf;
mod site;
#[cfg(feature = "skills")]
pub mod skills;
mod tasks;
mod timestamp;
mod tool;
mod validate;
mod words;

pub use completion::Completing;
pub use connection::Connection;
pub use context::{AskError, Context, Elicited, Progress};
pub use error::BuildError;
pub use failure::Failure;
pub use front::{Directed, Reception, serve_endpoints};
pub use handle::Handle;
pub use limits::Limits;
pub use prompt::{IntoPrompt, PromptBuilder, PromptFunction, prompt};
pub use resource::{
    IntoContents, Read, ResourceBuilder, ResourceFunction, TemplateBuilder, TemplateFunction,
    resource, template,
};
pub use schema::{
    NoArguments, SchemaError, SchemaFault, SchemaFaultKind, faults as schema_faults,
    lint as lint_schema,
};
pub use seal::{SealError, SealingKeys, SecretError};
pub use server::Server;
pub use service::{About, Answer, AnswerFuture, Call, Reply, Service};
pub use site::{Change, HttpService, Site, shutdown_signal};
pub use tasks::{
    MemoryTasks, StoreError, StoreFuture, TaskChange, TaskError, TaskLimits, TaskOwner, TaskPage,
    TaskRecord, TaskState, TaskStore,
};
pub use timestamp::timestamp;
pub use tool::{
    IntoToolResult, Json, Outcome, TaskMode, ToolBuilder, ToolFunction, ToolHandler, raw_tool, tool,
};

pub use switchboard_protocol as protocol;
pub use switchboard_transport as transport;

/// The code in the guide, as tests. That in the README is tested by `switchboard-client`.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../../docs/guide/servers.md")]
    mod servers {}
}
