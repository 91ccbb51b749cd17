//! What can be set about the login of a server.

use std::sync::{Arc, Mutex};

use switchboard_transport::http::client::{ClientSettings, Reach};
use tokio::sync::OnceCell;

use super::{OAuth, Shared, State};
use crate::error::AuthError;
use crate::interaction::{Interaction, Nobody};
use crate::jwt::SigningKey;
use crate::place::Place;
use crate::record::{ClientIdentity, ClientMethod, ClientOrigin};
use crate::scope::Scopes;
use crate::secret::Secret;
use crate::source::TokenSource;
use crate::store::{FileStore, Store};
use crate::turn::Turn;

/// Describes the login of one server.
///
/// ```no_run
/// use switchboard_auth::{Browser, OAuth};
///
/// # fn main() -> Result<(), switchboard_auth::AuthError> {
/// let login = OAuth::for_server("https://mcp.example.com/mcp")?
///     .interaction(Browser::new().announce(|page| eprintln!("log in at {}", page.url.as_str())))
///     .build()?;
/// # let _ = login;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct OAuthBuilder {
    server: Place,
    settings: Settings,
    store: Option<Arc<dyn Store>>,
    client_method: Option<ClientMethod>,
}

/// All that was set.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) store: Arc<dyn Store>,
    pub(super) interaction: Arc<dyn Interaction>,
    pub(super) grant: Grant,
    pub(super) client: Option<ClientIdentity>,
    /// The issuer that knows the client.
    pub(super) client_issuer: Option<String>,
    pub(super) client_name: String,
    pub(super) document: Option<Place>,
    pub(super) signing_key: Option<SigningKey>,
    pub(super) scopes: Scopes,
    pub(super) token_endpoint: Option<Place>,
    pub(super) always_proves: bool,
    pub(super) hint: String,
    pub(super) http: ClientSettings,
    pub(super) reach: Option<Reach>,
}

/// By whose leave tokens are given out.
#[derive(Debug, Default)]
#[non_exhaustive]
pub enum Grant {
    /// A person logs in.
    #[default]
    Person,
    /// The client itself is known: it has a secret or a key.
    ClientCredentials,
    /// The platform that we run on says who we are, in a JWT.
    Workload(TokenSource),
    /// An identity provider of the organisation says who the user is.
    Enterprise(Box<IdentityProvider>),
}

/// Who says for an organisation who somebody is.
#[derive(Debug)]
#[non_exhaustive]
pub struct IdentityProvider {
    /// Where it exchanges tokens.
    pub token_endpoint: Place,
    /// Who we are there.
    pub client: ClientIdentity,
    /// What it gave when the user logged in.
    pub id_token: TokenSource,
}

impl IdentityProvider {
    /// A provider with a client of its own.
    ///
    /// # Errors
    /// When the URL is not one that tokens may be sent to.
    pub fn new(
        token_endpoint: &str,
        client_id: &str,
        client_secret: Option<Secret>,
        id_token: TokenSource,
    ) -> Result<Self, AuthError> {
        let mut client = ClientIdentity::new(client_id, ClientOrigin::Configured);
        client.secret = client_secret;
        Ok(Self {
            token_endpoint: place(
                "the token endpoint of the identity provider",
                token_endpoint,
            )?,
            client,
            id_token,
        })
    }
}

impl OAuthBuilder {
    pub(super) fn new(url: &str) -> Result<Self, AuthError> {
        Ok(Self {
            server: place("the server", url)?,
            store: None,
            client_method: None,
            settings: Settings {
                store: Arc::new(crate::store::MemoryStore::new()),
                interaction: Arc::new(Nobody),
                grant: Grant::Person,
                client: None,
                client_issuer: None,
                client_name: "Switchboard".to_owned(),
                document: None,
                signing_key: None,
                scopes: Scopes::default(),
                token_endpoint: None,
                always_proves: false,
                hint: "log in first".to_owned(),
                http: ClientSettings::default(),
                reach: None,
            },
        })
    }

    /// Where the login is kept. By default in the files of this user.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// How a person is asked. By default nobody is.
    #[must_use]
    pub fn interaction(mut self, interaction: impl Interaction + 'static) -> Self {
        self.settings.interaction = Arc::new(interaction);
        self
    }

    /// By whose leave tokens are given out. By default that of a person.
    #[must_use]
    pub fn grant(mut self, grant: Grant) -> Self {
        self.settings.grant = grant;
        self
    }

    /// The client that the issuer knows us as. Without one, we register.
    #[must_use]
    pub fn client(mut self, id: &str, secret: Option<Secret>) -> Self {
        let mut client = ClientIdentity::new(id, ClientOrigin::Configured);
        client.secret = secret;
        self.settings.client = Some(client);
        self
    }

    /// The issuer that knows the client of [`client`](Self::client): it is shown to no other, and
    /// nothing that another gave is used. Otherwise that is the first one that the server leads
    /// to. Of a [`token_endpoint`](Self::token_endpoint), it is the name.
    #[must_use]
    pub fn client_issuer(mut self, issuer: &str) -> Self {
        self.settings.client_issuer = Some(issuer.to_owned());
        self
    }

    /// How the client of [`client`](Self::client) proves itself, where the issuer leaves a choice.
    #[must_use]
    pub fn client_method(mut self, method: ClientMethod) -> Self {
        self.client_method = Some(method);
        self
    }

    /// The key with which the client signs that it is itself (`private_key_jwt`), unless another
    /// method is set.
    #[must_use]
    pub fn signing_key(mut self, key: SigningKey) -> Self {
        self.settings.signing_key = Some(key);
        self
    }

    /// The name under which we register, which people are shown.
    #[must_use]
    pub fn client_name(mut self, name: &str) -> Self {
        self.settings.client_name = name.to_owned();
        self
    }

    /// The URL of the document that describes the client, for issuers that take it as an id.
    ///
    /// # Errors
    /// When it is not a URL of `https` with a path.
    pub fn client_document(mut self, url: &str) -> Result<Self, AuthError> {
        let document = place("the client's document", url)?;
        if document.path().is_empty() || !url.starts_with("https://") {
            return Err(AuthError::Setup {
                reason: format!("{document} cannot be a client id: expected https and a path"),
            });
        }
        self.settings.document = Some(document);
        Ok(self)
    }

    /// Scopes to ask for: beside those that the server wants when it refuses a request, and in
    /// place of all that its metadata lists.
    #[must_use]
    pub fn scopes(mut self, scopes: Scopes) -> Self {
        self.settings.scopes = scopes;
        self
    }

    /// Where tokens are given out, for servers that do not say. Nothing is looked up then.
    ///
    /// # Errors
    /// When it is not a URL that secrets may be sent to.
    pub fn token_endpoint(mut self, url: &str) -> Result<Self, AuthError> {
        self.settings.token_endpoint = Some(place("the token endpoint", url)?);
        Ok(self)
    }

    /// Binds tokens to a key wherever the issuer can (DPoP), not only where it must.
    #[must_use]
    pub fn prove_possession(mut self) -> Self {
        self.settings.always_proves = true;
        self
    }

    /// What somebody is told to do who is not logged in, such as the command to run.
    #[must_use]
    pub fn hint(mut self, hint: &str) -> Self {
        self.settings.hint = hint.to_owned();
        self
    }

    /// Proxies, certificates and the like.
    #[must_use]
    pub fn http(mut self, settings: ClientSettings) -> Self {
        self.settings.http = settings;
        self
    }

    /// Which addresses may be asked for metadata and tokens, those that were named here (the
    /// token endpoint, the identity provider) included. By default private ones only if the
    /// server has a private one itself.
    #[must_use]
    pub fn reach(mut self, reach: Reach) -> Self {
        self.settings.reach = Some(reach);
        self
    }

    /// Done. Nothing is asked of the network or the store yet.
    ///
    /// # Errors
    /// When what was set does not go together, or this user has no folder for logins.
    pub fn build(self) -> Result<OAuth, AuthError> {
        let Self {
            server,
            mut settings,
            store,
            client_method,
        } = self;
        if let Some(client) = &mut settings.client {
            let signs = settings.signing_key.is_some();
            client.method = client_method.or(signs.then_some(ClientMethod::PrivateKeyJwt));
        }
        settings.store = match store {
            Some(store) => store,
            None => Arc::new(FileStore::of_user()?),
        };
        check(&settings)?;
        let query = server.uri().query();
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        Ok(OAuth {
            shared: Arc::new(Shared {
                key: format!("{}{query}", server.canonical()),
                server,
                settings,
                fetcher: OnceCell::new(),
                state: Mutex::new(State::default()),
                renewing: Turn::default(),
                logging_in: Turn::default(),
            }),
        })
    }
}

fn check(settings: &Settings) -> Result<(), AuthError> {
    let bad = |reason: &str| {
        Err(AuthError::Setup {
            reason: reason.to_owned(),
        })
    };
    let has_proof = settings.signing_key.is_some()
        || settings
            .client
            .as_ref()
            .is_some_and(|client| client.secret.is_some());
    match (&settings.grant, &settings.client) {
        (Grant::ClientCredentials, None) => bad("client credentials need a client id"),
        (Grant::ClientCredentials, Some(_)) if !has_proof => {
            bad("client credentials need a secret or a signing key")
        }
        (Grant::Enterprise(_), None) => bad("enterprise-managed authorization needs a client id"),
        (Grant::Person, _) if settings.token_endpoint.is_some() => {
            bad("a token endpoint alone is not enough for a person to log in: leave it out")
        }
        _ => Ok(()),
    }
}

fn place(what: &'static str, url: &str) -> Result<Place, AuthError> {
    Place::parse(url).map_err(AuthError::place(what))
}
