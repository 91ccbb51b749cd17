//! How we prove to a server who we are.
//!
//! Read in four shapes: `auth` with a `type`, `auth` with the capitals of Cursor, `oauth` as
//! Claude Code, VS Code, OpenCode and Gemini have it, and keys for a token alone.

use jsonc_parser::ast::Value;

use super::field::Field;
use super::members::Members;
use super::problem::ProblemKind;
use super::sheet::Sheet;
use crate::variables::{Shows, Template};

/// How we prove to a server who we are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthConfig {
    /// Nothing is said: if the server wants a login, there is one.
    #[default]
    Auto,
    /// Not at all, whatever the server wants.
    None,
    /// A token that is there already.
    Bearer(Template),
    /// A login by OAuth, of which something is known beforehand.
    OAuth(Box<OAuthConfig>),
}

impl AuthConfig {
    /// Every text in which something may be filled in.
    pub(super) fn templates(&self) -> Vec<&Template> {
        match self {
            Self::Auto | Self::None => Vec::new(),
            Self::Bearer(token) => vec![token],
            Self::OAuth(known) => {
                let known = [
                    &known.client_id,
                    &known.client_secret,
                    &known.issuer,
                    &known.token_url,
                ];
                known.into_iter().flatten().collect()
            }
        }
    }
}

/// What is known beforehand about a login by OAuth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OAuthConfig {
    /// The client that the issuer knows us as.
    pub client_id: Option<Template>,
    /// Its secret.
    pub client_secret: Option<Template>,
    /// Who knows the client.
    pub issuer: Option<Template>,
    /// Where tokens are given out, for servers that do not say.
    pub token_url: Option<Template>,
    /// Scopes to ask for.
    pub scopes: Vec<String>,
    /// The port that a browser comes back to.
    pub callback_port: Option<u16>,
    /// Does the client log in by itself, without a person?
    pub is_machine: bool,
}

/// Everything that is said about it.
pub(super) struct Said<'s, 'a> {
    auth: Option<Field<'s, 'a>>,
    oauth: Option<Field<'s, 'a>>,
    token: Option<Field<'s, 'a>>,
    token_variable: Option<Field<'s, 'a>>,
    /// Codex has them beside all that.
    scopes: Option<Field<'s, 'a>>,
}

impl<'s, 'a> Said<'s, 'a> {
    pub(super) fn take(members: &mut Members<'s, 'a>) -> Self {
        Self {
            auth: members.take(&["auth"]),
            oauth: members.take(&["oauth"]),
            token: members.take(&["bearerToken"]),
            token_variable: members.take(&["bearerTokenEnv", "bearer_token_env_var"]),
            scopes: members.take(&["scopes"]),
        }
    }

    fn fields(&self) -> impl Iterator<Item = &Field<'s, 'a>> {
        let all = [&self.auth, &self.oauth, &self.token, &self.token_variable];
        all.into_iter().flatten()
    }

    pub(super) fn unused(&self, because: &'static str) {
        self.fields().for_each(|field| field.unused(because));
    }

    /// What is wrong is reported.
    pub(super) fn read(&self, sheet: &Sheet<'_>) -> AuthConfig {
        let mut fields = self.fields();
        if let (Some(one), Some(other)) = (fields.next(), fields.next())
            // mcporter says `"auth": "oauth"` beside the details.
            && !(one.name == "auth" && other.name == "oauth" && is_word(one))
        {
            let kind = ProblemKind::Synonyms {
                one: one.key.clone(),
                other: other.key.clone(),
            };
            sheet.error(other.at, kind);
        }
        let read = if let Some(token) = &self.token {
            token
                .some_template(Shows::References)
                .map(AuthConfig::Bearer)
        } else if let Some(variable) = &self.token_variable {
            variable.variable().map(AuthConfig::Bearer)
        } else if let Some(oauth) = &self.oauth {
            switched(oauth)
        } else if let Some(auth) = &self.auth {
            typed(auth)
        } else {
            None
        };
        let scopes = self.scopes.as_ref().and_then(Field::words);
        match (read.unwrap_or_default(), scopes) {
            (AuthConfig::Auto, Some(scopes)) if !scopes.is_empty() => {
                let known = OAuthConfig {
                    scopes,
                    ..OAuthConfig::default()
                };
                AuthConfig::OAuth(Box::new(known))
            }
            (AuthConfig::OAuth(mut known), Some(scopes)) => {
                known.scopes.extend(scopes);
                AuthConfig::OAuth(known)
            }
            (read, _) => read,
        }
    }
}

fn is_word(field: &Field<'_, '_>) -> bool {
    matches!(field.value, Value::StringLit(_))
}

/// `oauth`: an object, or whether.
fn switched(oauth: &Field<'_, '_>) -> Option<AuthConfig> {
    if let Value::BooleanLit(boolean) = oauth.value {
        return Some(match boolean.value {
            true => AuthConfig::OAuth(Box::default()),
            false => AuthConfig::None,
        });
    }
    let mut members = oauth.object()?;
    let enabled = members.take(&["enabled"]);
    if enabled.as_ref().and_then(Field::boolean) == Some(false) {
        members.keep_rest();
        return Some(AuthConfig::None);
    }
    Some(AuthConfig::OAuth(Box::new(details(members)?)))
}

/// `auth`: a word, or an object with or without a type.
fn typed(auth: &Field<'_, '_>) -> Option<AuthConfig> {
    const WORDS: &str = "none, bearer, or oauth";
    if let Value::StringLit(text) = auth.value {
        return match &*text.value {
            "none" => Some(AuthConfig::None),
            "oauth" => Some(AuthConfig::OAuth(Box::default())),
            // It may be a token, so it is not repeated.
            _ => {
                auth.wrong_value("none or oauth, or an object with a token");
                None
            }
        };
    }
    let mut members = auth.object()?;
    let kind = members.take(&["type"]);
    let token = members.take(&["token"]);
    let word = match &kind {
        Some(kind) => kind.word(WORDS, |word| {
            let known = ["none", "bearer", "oauth"];
            known.into_iter().find(|known| *known == word)
        })?,
        None if token.is_some() => "bearer",
        None => "oauth",
    };
    match word {
        "none" => {
            members.keep_rest();
            Some(AuthConfig::None)
        }
        "bearer" => {
            members.keep_rest();
            let Some(token) = token else {
                auth.wrong_value("a \"token\" with the type \"bearer\"");
                return None;
            };
            token
                .some_template(Shows::References)
                .map(AuthConfig::Bearer)
        }
        _ => {
            if let Some(token) = token {
                token.unused("a login gets its own");
            }
            Some(AuthConfig::OAuth(Box::new(details(members)?)))
        }
    }
}

fn details(mut members: Members<'_, '_>) -> Option<OAuthConfig> {
    let client_id = members.take(&["clientId", "client_id", "clientID", "CLIENT_ID"]);
    let client_secret = members.take(&["clientSecret", "client_secret", "CLIENT_SECRET"]);
    let issuer = members.take(&["issuer"]);
    let token_url = members.take(&["tokenUrl", "tokenURL", "token_url"]);
    let scopes = members.take(&["scopes", "scope"]);
    let callback_port = members.take(&["callbackPort", "callback_port"]);
    let grant = members.take(&["grantType", "grant_type", "grant"]);
    let page = members.take(&["authorizationUrl", "authorization_url"]);
    page.iter().for_each(Field::keep);
    let metadata = members.take(&["authServerMetadataUrl"]);
    members.leave(&[
        "enterpriseManaged",
        "redirectUri",
        "audiences",
        "tokenParamName",
    ]);
    members.keep_rest();
    if let Some(metadata) = &metadata {
        let what = metadata.key.clone();
        metadata
            .sheet
            .warn(metadata.at, ProblemKind::Unsupported { what });
        metadata.keep();
    }
    let template = |field: &Option<Field<'_, '_>>, shows| match field {
        Some(field) => field.some_template(shows).map(Some),
        None => Some(None),
    };
    let mut read = OAuthConfig {
        client_id: template(&client_id, Shows::All)?,
        client_secret: template(&client_secret, Shows::References)?,
        issuer: template(&issuer, Shows::Address)?,
        token_url: template(&token_url, Shows::Address)?,
        scopes: match &scopes {
            Some(scopes) => scopes.words()?,
            None => Vec::new(),
        },
        callback_port: match &callback_port {
            Some(port) => Some(read_port(port)?),
            None => None,
        },
        is_machine: false,
    };
    let can_prove = read.client_id.is_some() && read.client_secret.is_some();
    read.is_machine = match &grant {
        Some(grant) => grant.word(
            "authorization_code or client_credentials",
            |word| match word {
                "client_credentials" => Some(true),
                "authorization_code" => Some(false),
                _ => None,
            },
        )?,
        // With a page to log in at, a person is meant.
        None => can_prove && read.token_url.is_some() && page.is_none(),
    };
    if let Some(grant) = grant.filter(|_| read.is_machine && !can_prove) {
        grant.wrong_value("a client id and a client secret with client_credentials");
        return None;
    }
    if let Some(field) = token_url.filter(|_| !read.is_machine) {
        field.unused("where a person logs in is asked of the server");
        read.token_url = None;
    }
    Some(read)
}

fn read_port(field: &Field<'_, '_>) -> Option<u16> {
    let port = match field.value {
        Value::NumberLit(number) => number.value.parse().ok(),
        _ => None,
    };
    if port.is_none() {
        field.wrong_value("a port from 0 to 65535");
    }
    port
}
