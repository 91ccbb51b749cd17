//! What an authority may be told to do otherwise.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// How an authority behaves. The default is one that a careful operator would run.
#[derive(Clone, Debug)]
pub(crate) struct Knobs {
    /// Behind the origin, empty or with a slash in front. Only before the start.
    pub(crate) issuer_path: String,
    /// Where its metadata is. Nowhere: it is one of 2025-03-26 without any.
    pub(crate) metadata_at: Vec<MetadataAt>,
    /// What is changed about its metadata.
    pub(crate) metadata: Edit,
    /// May clients register?
    pub(crate) registers: bool,
    /// Only clients with a secret may.
    pub(crate) needs_secret: bool,
    /// When the secrets of registered clients end; 0 for never.
    pub(crate) secret_expires_at: u64,
    /// What is changed about the answer to a registration.
    pub(crate) registered: Edit,
    /// May a client id be the URL of a document?
    pub(crate) takes_documents: bool,
    /// The documents that it would find: nothing is fetched here.
    pub(crate) documents: HashMap<String, Value>,
    /// How clients may prove themselves.
    pub(crate) methods: Vec<&'static str>,
    /// What may be asked for.
    pub(crate) scopes: Vec<&'static str>,
    /// What a person who agrees gives of it. None: all.
    pub(crate) consents_to: Option<Vec<&'static str>>,
    /// What it says of itself when it sends a browser back.
    pub(crate) iss: Iss,
    /// Does its metadata promise that?
    pub(crate) promises_iss: bool,
    /// Must it be said what a token is for?
    pub(crate) needs_resource: bool,
    /// How long access tokens live. None: an hour, and it does not say so.
    pub(crate) expires_in: Option<u64>,
    /// What becomes of refresh tokens.
    pub(crate) refresh: Refresh,
    /// What is changed about an answer with tokens.
    pub(crate) tokens: Edit,
    /// Whether tokens are bound to keys.
    pub(crate) proofs: Proofs,
    /// Must a proof hold a nonce of its?
    pub(crate) demands_nonce: bool,
    /// Seconds between two questions for the token of a device.
    pub(crate) device_interval: u64,
    /// How often such a question is answered with "not yet".
    pub(crate) device_pending: u32,
    /// How often, before that, with "slow down".
    pub(crate) device_slow_down: u32,
    /// What the person does with the code in the end.
    pub(crate) device_end: DeviceEnd,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            issuer_path: String::new(),
            metadata_at: vec![MetadataAt::OAuth],
            metadata: Edit::default(),
            registers: true,
            needs_secret: false,
            secret_expires_at: 0,
            registered: Edit::default(),
            takes_documents: false,
            documents: HashMap::new(),
            methods: vec![
                "none",
                "client_secret_basic",
                "client_secret_post",
                "private_key_jwt",
            ],
            scopes: vec!["read", "write", "admin", "offline_access"],
            consents_to: None,
            iss: Iss::Right,
            promises_iss: true,
            needs_resource: true,
            expires_in: Some(3600),
            refresh: Refresh::Rotates,
            tokens: Edit::default(),
            proofs: Proofs::Taken,
            demands_nonce: false,
            device_interval: 1,
            device_pending: 0,
            device_slow_down: 0,
            device_end: DeviceEnd::Agrees,
        }
    }
}

/// Where the metadata of an authority may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetadataAt {
    /// RFC 8414: the well-known place in front of the path.
    OAuth,
    /// OpenID's document, in front of the path.
    OpenId,
    /// OpenID's document, behind the path.
    OpenIdBehind,
}

impl MetadataAt {
    pub(crate) fn path(self, issuer_path: &str) -> String {
        match self {
            Self::OAuth => format!("/.well-known/oauth-authorization-server{issuer_path}"),
            Self::OpenId => format!("/.well-known/openid-configuration{issuer_path}"),
            Self::OpenIdBehind => format!("{issuer_path}/.well-known/openid-configuration"),
        }
    }
}

/// What `iss` is when a browser is sent back.
#[derive(Clone, Debug)]
pub(crate) enum Iss {
    Right,
    Missing,
    /// The same place, in other letters.
    WithSlash,
    Wrong(String),
}

/// What becomes of a refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refresh {
    /// Each is good for once, and whoever shows one twice ends them all.
    Rotates,
    /// It stays, and is not given again.
    Stays,
    /// There is none.
    None,
}

/// Whether tokens are bound to the keys of those who ask for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proofs {
    /// Nobody here has heard of it.
    Unknown,
    /// Who shows a proof gets a token that is bound.
    Taken,
    /// There is nothing without a proof.
    Needed,
}

/// What a person does with a code for another device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceEnd {
    Agrees,
    Denies,
    /// Nothing, until it is too late.
    Waits,
}

/// A change to a JSON document before it is sent.
#[derive(Clone, Default)]
pub(crate) struct Edit(Option<Change>);

type Change = Arc<dyn Fn(&mut Value) + Send + Sync>;

impl Edit {
    pub(crate) fn new(change: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(change)))
    }

    pub(crate) fn apply(&self, mut document: Value) -> Value {
        if let Self(Some(change)) = self {
            change(&mut document);
        }
        document
    }
}

impl fmt::Debug for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Edit({})", self.0.is_some())
    }
}
