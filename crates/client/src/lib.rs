//! Connects to servers of the Model Context Protocol: every revision, over stdio and HTTP.
//!
//! ```no_run
//! # async fn example() -> Result<(), switchboard_client::Error> {
//! let client = switchboard_client::Client::connect("npx -y @modelcontextprotocol/server-everything").await?;
//! for tool in &*client.tools().await? {
//!     println!("{}", tool.name);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! 1. [`Client`]: a connection, what can be asked through it; [`Spec`]: to whom, and how
//! 2. [`Call`]: one call, its time limits, its progress, its cancellation
//! 3. [`Host`] and [`Handlers`]: what a server may ask and tell in turn
//! 4. [`State`] and [`Report`]: where a connection stands, why it is over
//! 5. [`Error`]: why something gave no result, and whether it may have run
//!
//! `docs/guide/clients.md` in the repository is the same at length.

mod asking;
mod call;
mod call_future;
mod client;
mod desk;
mod driver;
mod error;
mod handlers;
mod host;
mod inbox;
mod listing;
mod lists;
#[cfg(feature = "validate")]
mod output_schema;
mod pages;
mod report;
mod shared;
#[cfg(feature = "skills")]
pub mod skills;
mod slot;
mod slots;
mod spec;
mod state;
mod subscription;
mod task;
mod task_input;
mod telling;
mod tool_call;
mod tools;
mod watched;
mod words;

pub use call::Call;
pub use call_future::CallFuture;
pub use client::Client;
pub use error::{Class, Error, ErrorKind, HttpFailure, HttpProblem};
pub use handlers::Handlers;
pub use host::{Abilities, Answering, Asked, Change, Host, NoHost, Refusal};
pub use lists::{ListHint, ListHints};
pub use report::{Phase, Reason, Report};
pub use spec::{BadSpec, Limits, Spec, Timeouts};
pub use state::{Ready, State, States};
pub use subscription::Subscription;
pub use switchboard_protocol::machine::client::{Mode, OnBehalf};
pub use switchboard_protocol::{Era, Payload, RawJson, Revision, types};
pub use switchboard_transport::credentials;
pub use switchboard_transport::http::client::ClientSettings;
pub use switchboard_transport::memory;
pub use switchboard_transport::process::Patience;
pub use tools::Tools;

/// The code in the guide, as tests.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../../docs/guide/clients.md")]
    mod clients {}
}
