//! Gets, keeps and renews the tokens that servers of the Model Context Protocol ask for.
//!
//! ```no_run
//! use switchboard_auth::{Browser, OAuth};
//!
//! # async fn log_in() -> Result<(), switchboard_auth::AuthError> {
//! let login = OAuth::for_server("https://mcp.example.com/mcp")?
//!     .interaction(Browser::new().announce(|page| eprintln!("log in: {}", page.url.as_str())))
//!     .build()?;
//! login.login().await?;
//! # Ok(())
//! # }
//! ```
//!
//! `docs/guide/logins.md` in the repository is the same at length.
//!
//! 1. [`OAuth`]: the login of one server, as credentials for the transport; [`Bearer`]: a token
//!    that comes from somewhere else
//! 2. [`Interaction`]: how a person is asked; [`Browser`] is the usual one
//! 3. [`Store`]: where logins are kept; [`FileStore`], [`MemoryStore`]
//! 4. [`AuthError`]: why there is no token
//!
//! Nothing here prints, or reads what somebody types. Of MCP nothing is known but one `ping`: what
//! a server is asked before a login, for what it wants to see.

mod answer;
mod authorization;
mod bearer;
mod challenge;
mod client_proof;
mod device;
mod document;
mod dpop;
mod error;
mod fetch;
mod form;
mod interaction;
mod issuer;
mod jwt;
mod oauth;
mod pkce;
mod place;
mod record;
mod registration;
mod resource;
mod scope;
mod secret;
mod source;
mod store;
#[cfg(test)]
mod test_server;
mod token;
mod turn;

pub use bearer::Bearer;
pub use error::{AuthError, Step};
pub use interaction::{Asking, Browser, DeviceCode, Interaction, LoginPage, Nobody, Visit};
pub use jwt::SigningKey;
pub use oauth::{Grant, IdentityProvider, OAuth, OAuthBuilder, Status};
pub use place::{BadPlace, Place, without_query};
pub use record::{ClientIdentity, ClientMethod, ClientOrigin, Entry, Record, TokenKind, Tokens};
pub use scope::Scopes;
pub use secret::Secret;
pub use source::TokenSource;
pub use store::{BadEntry, FileStore, Keeping, Lock, MemoryStore, Store, StoreError};

/// The code in the guide, as tests.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../../docs/guide/logins.md")]
    mod logins {}
}
