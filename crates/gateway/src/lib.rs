//! Many servers of the Model Context Protocol behind one endpoint.
//!
//! A [`Gateway`] serves a hub as one server: whatever revision a client speaks, and whatever the
//! servers behind it speak.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use switchboard_gateway::Gateway;
//! use switchboard_hub::{Config, Hub};
//!
//! let config = Config::from_file("mcp.json")?;
//! let gateway = Gateway::new(Hub::builder().config(config));
//! gateway.connect_all().await;
//! gateway.site().serve_http("127.0.0.1:8000").await?;
//! # Ok(())
//! # }
//! ```
//!
//! 1. [`Gateway`]: a hub and the place where it is served
//! 2. `relay`: one call, from a client to its server and back
//! 3. `server_host`: what a server asks in the midst of a call; `desk`: who is asked; `lot`: calls
//!    that wait for a client that must come again with the answer
//! 4. `rooms`: what clients have alone, if servers are not shared; `identity`: who they are
//! 5. `changes`, `watches`: what servers tell, and who hears it; `opening`: who comes before them
//! 6. `gate`: what every call goes through, with `turnstile` ([`GatewayLimits`]) and [`Audit`];
//!    `access`: who may call; `finder`: two tools in place of all
//! 7. `reception`: what else answers on its listener; [`FileWatch`]: notices that a configuration
//!    has changed

mod access;
mod audit;
mod changes;
mod desk;
mod file_watch;
mod finder;
mod gate;
mod gateway;
mod identity;
mod limit;
mod load;
mod lot;
mod opening;
mod reception;
mod relay;
mod rooms;
mod server_host;
mod turnstile;
mod visits;
mod watches;

pub use access::{IssuerError, IssuerKeys, Key};
pub use audit::Audit;
pub use file_watch::FileWatch;
pub use gateway::{Gateway, GatewayBuilder, Mode, Names};
pub use limit::{GatewayLimits, LimitError};
pub use load::GatewayLoad;
pub use turnstile::CallerLimits;
