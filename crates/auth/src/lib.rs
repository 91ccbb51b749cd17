//! Gets, keeps and renews the tokens that servers of the Model Context Protocol ask for.

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
#[cfg(test)]
mod script;
mod secret;
mod source;
mod store;
#[cfg(test)]
mod test_server;
mod token;

pub use bearer::Bearer;
pub use error::{AuthError, Step};
pub use interaction::{Asking, Browser, DeviceCode, Interaction, LoginPage, Nobody, Visit};
pub use jwt::SigningKey;
pub use oauth::{Grant, IdentityProvider, OAuth, OAuthBuilder, Status};
pub use place::{BadPlace, Place};
pub use record::{ClientIdentity, ClientMethod, ClientOrigin, Entry, Record, TokenKind, Tokens};
pub use scope::Scopes;
pub use secret::Secret;
pub use source::TokenSource;
pub use store::{BadEntry, FileStore, Keeping, Lock, MemoryStore, Store, StoreError};
