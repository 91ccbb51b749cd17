//! Keeps logins in the keyring of the operating system: the Secret Service of Linux desktops,
//! the keychain of macOS, the credential manager of Windows. [`Secrets`] reads what people keep
//! there themselves.
//!
//! A crate of its own, because a keyring brings more crates with it than everything else
//! together. Where there is no desktop there is mostly no keyring; programs that run anywhere
//! keep logins in files, with `FileStore` of `switchboard-auth`.
//!
//! ```no_run
//! use switchboard_auth::{Store, StoreError};
//! use switchboard_keyring::KeyringStore;
//!
//! # async fn example() -> Result<(), StoreError> {
//! let store = KeyringStore::of_user()?;
//! for server in store.servers().await? {
//!     let has_login = store.load(&server).await?.is_some();
//!     # let _ = has_login;
//! }
//! # Ok(())
//! # }
//! ```

mod keyring;
mod pieces;
mod secrets;
mod store;

pub use secrets::Secrets;
pub use store::KeyringStore;
