//! What a client is made of: a server with its variables filled in.

mod error;

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use switchboard_auth::{AuthError, Grant, OAuth, OAuthBuilder, Scopes, Secret};
use switchboard_client::{Limits, Mode, Spec, Timeouts};

use super::auth::{AuthConfig, OAuthConfig};
use super::env_file;
use super::server::ServerConfig;
use super::transport::{HttpConfig, MOST_HEADERS, StdioConfig, TransportConfig, bad_url};
use crate::variables::{Surroundings, Template, at_home};

pub use error::{ResolveError, ResolveErrorKind};

/// A server with its variables filled in. What may be secret is not printed.
#[derive(Clone)]
#[non_exhaustive]
pub struct Resolved {
    /// What to connect to, under the name of the server; without any login.
    pub spec: Spec,
    /// How we prove who we are.
    pub auth: ResolvedAuth,
    /// The URL, if there is one. It may hold a key.
    pub url: Option<Secret>,
}

/// Without what is connected to: arguments and URLs may hold secrets, and their values are
/// filled in by now.
impl fmt::Debug for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolved")
            .field("auth", &self.auth)
            .finish_non_exhaustive()
    }
}

/// How we prove to a server who we are.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ResolvedAuth {
    /// If the server wants a login, there is one.
    Auto,
    /// Not at all.
    None,
    /// A token that is there already.
    Bearer(Secret),
    /// A login of which something is known beforehand.
    OAuth(Box<ResolvedOAuth>),
}

/// What is known beforehand about a login.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResolvedOAuth {
    /// The client that the issuer knows us as.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<Secret>,
    /// Who knows the client.
    pub issuer: Option<String>,
    /// Where tokens are given out.
    pub token_url: Option<String>,
    /// Scopes to ask for.
    pub scopes: Scopes,
    /// The port that a browser comes back to.
    pub callback_port: Option<u16>,
    /// Does the client log in by itself, without a person?
    pub is_machine: bool,
}

impl ResolvedOAuth {
    /// Begins to describe the login of a server. Where it is kept and how a person is asked is
    /// still to be said.
    ///
    /// # Errors
    /// When the URLs are not ones that tokens may be sent to.
    pub fn builder(&self, url: &str) -> Result<OAuthBuilder, AuthError> {
        let mut builder = OAuth::for_server(url)?.scopes(self.scopes.clone());
        if let Some(id) = &self.client_id {
            builder = builder.client(id, self.client_secret.clone());
        }
        if let Some(issuer) = &self.issuer {
            builder = builder.client_issuer(issuer);
        }
        if let Some(url) = &self.token_url {
            builder = builder.token_endpoint(url)?;
        }
        Ok(match self.is_machine {
            true => builder.grant(Grant::ClientCredentials),
            false => builder,
        })
    }
}

/// Fills in the variables of a server.
///
/// This may read files and run programs, so it may take its time: not for a task that others
/// wait for.
///
/// # Errors
/// When a variable has no value, or the values are nothing to connect to: the error names the
/// variable, the server and where it stands, and no value.
pub fn resolve(
    server: &ServerConfig,
    surroundings: &dyn Surroundings,
) -> Result<Resolved, ResolveError> {
    let filling = Filling {
        server,
        surroundings,
    };
    let mut resolved = match &server.transport {
        TransportConfig::Stdio(stdio) => filling.stdio(stdio)?,
        TransportConfig::Http(http) => filling.http(http, Spec::url)?,
        TransportConfig::Sse(http) => filling.http(http, Spec::sse)?,
    };
    resolved.spec = bounded(server, resolved.spec);
    Ok(resolved)
}

/// With the name of the server and all that is said of it but where it is.
pub(crate) fn bounded(server: &ServerConfig, spec: Spec) -> Spec {
    let spec = spec
        .name(&server.name)
        .timeouts(timeouts(server))
        .limits(limits(server));
    // The old transport has a mode of its own.
    match server.mode {
        Mode::Auto => spec,
        mode => spec.mode(mode),
    }
}

type Variables = Vec<(String, Option<Secret>)>;

struct Filling<'a> {
    server: &'a ServerConfig,
    surroundings: &'a dyn Surroundings,
}

impl Filling<'_> {
    fn stdio(&self, stdio: &StdioConfig) -> Result<Resolved, ResolveError> {
        let program = self.path("command", &stdio.command)?;
        let mut spec = Spec::command(program);
        for (index, argument) in stdio.args.iter().enumerate() {
            let argument = self.value(|| format!("args[{index}]"), argument)?;
            spec = spec.arg(argument.reveal());
        }
        let all = match stdio.inherits_all {
            true => self.surroundings.variable_names(),
            false => Vec::new(),
        };
        for name in all.iter().chain(&stdio.inherits) {
            spec = spec.inherit(name);
        }
        for (name, value) in self.variables(stdio)? {
            spec = match value {
                Some(value) => spec.env(name, value.reveal()),
                None => spec.withhold(name),
            };
        }
        let folder = match &stdio.cwd {
            Some(cwd) => Some(self.in_folder(self.path("cwd", cwd)?)),
            None => self.server.folder.clone(),
        };
        if let Some(folder) = folder {
            spec = spec.cwd(folder);
        }
        Ok(Resolved {
            spec,
            auth: ResolvedAuth::None,
            url: None,
        })
    }

    /// The variables of a program. One without a value is not even inherited.
    fn variables(&self, stdio: &StdioConfig) -> Result<Variables, ResolveError> {
        let mut variables = Variables::new();
        if let Some(template) = &stdio.env_file {
            let path = self.in_folder(self.path("envFile", template)?);
            let error = |kind| self.error("envFile", template, kind);
            let content = self.surroundings.file(&path).map_err(|source| {
                let path = path.clone();
                error(ResolveErrorKind::EnvFile { path, source })
            })?;
            let read = env_file::read(content.reveal());
            let read = read.map_err(|line| error(ResolveErrorKind::EnvFileLine { path, line }))?;
            let read = read.into_iter();
            variables.extend(read.map(|(name, value)| (name, Some(Secret::new(value)))));
        }
        let said: HashSet<&str> = stdio.env.iter().map(|(name, _)| name.as_str()).collect();
        variables.retain(|(name, _)| !said.contains(name.as_str()));
        for (name, template) in &stdio.env {
            let value = template.as_ref();
            let value = value.map(|template| self.value(|| format!("env.{name}"), template));
            variables.push((name.clone(), value.transpose()?));
        }
        Ok(variables)
    }

    fn http(
        &self,
        http: &HttpConfig,
        spec: impl Fn(&str) -> Result<Spec, switchboard_client::BadSpec>,
    ) -> Result<Resolved, ResolveError> {
        let url = self.value(|| "url".to_owned(), &http.url)?;
        let bad = |reason| self.error("url", &http.url, ResolveErrorKind::BadUrl { reason });
        if let Some(reason) = bad_url(url.reveal()) {
            return Err(bad(reason));
        }
        if http.headers.len() > MOST_HEADERS {
            return Err(self.error("headers", &http.url, ResolveErrorKind::TooManyHeaders));
        }
        let mut spec = spec(url.reveal()).map_err(|_| bad("it is no URL"))?;
        for (name, template) in &http.headers {
            let key = format!("headers.{name}");
            let value = self.value(|| key.clone(), template)?;
            // The error repeats neither, so nothing is lost.
            spec = spec
                .header(name, value.reveal())
                .map_err(|_| self.error(&key, template, ResolveErrorKind::BadHeader))?;
        }
        Ok(Resolved {
            spec,
            auth: self.auth(&http.auth)?,
            url: Some(url),
        })
    }

    fn auth(&self, auth: &AuthConfig) -> Result<ResolvedAuth, ResolveError> {
        Ok(match auth {
            AuthConfig::Auto => ResolvedAuth::Auto,
            AuthConfig::None => ResolvedAuth::None,
            AuthConfig::Bearer(token) => {
                let value = self.value(|| "token".to_owned(), token)?;
                if value.is_empty() {
                    return Err(self.error("token", token, ResolveErrorKind::Empty));
                }
                ResolvedAuth::Bearer(value)
            }
            AuthConfig::OAuth(oauth) => ResolvedAuth::OAuth(Box::new(self.oauth(oauth)?)),
        })
    }

    fn oauth(&self, oauth: &OAuthConfig) -> Result<ResolvedOAuth, ResolveError> {
        let optional = |key: &str, template: &Option<Template>| match template {
            Some(template) => self.value(|| key.to_owned(), template).map(Some),
            None => Ok(None),
        };
        let plain = |value: Option<Secret>| value.map(|value| value.reveal().to_owned());
        Ok(ResolvedOAuth {
            client_id: plain(optional("clientId", &oauth.client_id)?),
            client_secret: optional("clientSecret", &oauth.client_secret)?,
            issuer: plain(optional("issuer", &oauth.issuer)?),
            token_url: plain(optional("tokenUrl", &oauth.token_url)?),
            scopes: oauth.scopes.iter().map(String::as_str).collect(),
            callback_port: oauth.callback_port,
            is_machine: oauth.is_machine,
        })
    }

    fn value(&self, key: impl Fn() -> String, template: &Template) -> Result<Secret, ResolveError> {
        let value = template.resolve(self.surroundings);
        value.map_err(|error| self.error(&key(), template, ResolveErrorKind::Variable(error)))
    }

    /// A path that is not empty, with the home folder in place of `~`.
    fn path(&self, key: &str, template: &Template) -> Result<PathBuf, ResolveError> {
        let value = self.value(|| key.to_owned(), template)?;
        if value.reveal().trim().is_empty() {
            return Err(self.error(key, template, ResolveErrorKind::Empty));
        }
        let path = at_home(value.reveal(), self.surroundings);
        path.map_err(|error| self.error(key, template, ResolveErrorKind::Variable(error)))
    }

    fn in_folder(&self, path: PathBuf) -> PathBuf {
        let folder = self.server.folder.as_deref().unwrap_or(Path::new(""));
        folder.join(path)
    }

    fn error(&self, key: &str, template: &Template, kind: ResolveErrorKind) -> ResolveError {
        ResolveError {
            server: self.server.name.clone(),
            file: self.server.location.file.clone(),
            position: template.position(),
            key: key.to_owned(),
            kind,
        }
    }
}

impl ServerConfig {
    /// How long its calls may take.
    pub(crate) fn call_timeouts(&self) -> Timeouts {
        timeouts(self)
    }
}

fn timeouts(server: &ServerConfig) -> Timeouts {
    let said = &server.timeouts;
    let mut timeouts = Timeouts::default();
    timeouts.connect = said.start.unwrap_or(timeouts.connect);
    timeouts.list = said.list.unwrap_or(timeouts.list);
    timeouts.idle = said.call.or(timeouts.idle);
    // Whoever lets a call be silent for an hour lets it take an hour.
    timeouts.total = said.total.or(timeouts.total.max(said.call));
    timeouts.probe = said.probe.unwrap_or(timeouts.probe);
    timeouts.question = said.question.unwrap_or(timeouts.question);
    timeouts.silence = said.silence.unwrap_or(timeouts.silence);
    timeouts.farewell = said.farewell.unwrap_or(timeouts.farewell);
    let (stop, said) = (&mut timeouts.stop, &said.stop);
    stop.obey = said.obey.unwrap_or(stop.obey);
    stop.terminate = said.terminate.unwrap_or(stop.terminate);
    stop.reap = said.reap.unwrap_or(stop.reap);
    timeouts
}

fn limits(server: &ServerConfig) -> Limits {
    let said = &server.limits;
    let mut limits = Limits::default();
    limits.message.bytes = said.message.unwrap_or(limits.message.bytes);
    limits.calls = said.calls.unwrap_or(limits.calls);
    limits.questions = said.questions.unwrap_or(limits.questions);
    let rounds = |rounds| u32::try_from(rounds).unwrap_or(u32::MAX);
    limits.rounds = said.rounds.map_or(limits.rounds, rounds);
    limits.queued = said.queued.unwrap_or(limits.queued);
    limits.pages = said.pages.unwrap_or(limits.pages);
    limits.items = said.items.unwrap_or(limits.items);
    limits.list_bytes = said.list_bytes.unwrap_or(limits.list_bytes);
    limits
}
