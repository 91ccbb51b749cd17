//! Logins: how a server that is started finds the one that the user has for it, and how the verbs
//! about logins describe them.
//!
//! They are kept in the files of the user, one for each server. Nobody is asked for anything
//! unless a verb says so.

use switchboard_auth::{AuthError, BadPlace, OAuth, OAuthBuilder, Place, Scopes};
use switchboard_hub::{
    LoginRequest, ResolvedAuth, ServerConfig, Surroundings, TransportConfig, resolve,
};
use tokio::task::spawn_blocking;

use crate::app::App;
use crate::exit::{Exit, Failure, with_causes};
use crate::source::{Source, is_url};

/// Describes the login of a server. Asks nobody: `switchboard login` does.
pub(crate) fn describe(request: LoginRequest<'_>) -> Result<OAuth, AuthError> {
    let hint = format!("`switchboard login {}`", request.server);
    request.login.hint(&hint).build()
}

/// The login of one server, which is still to be built.
#[derive(Debug)]
pub(crate) struct Login {
    /// What the server is called.
    pub(crate) server: String,
    /// Where it is.
    pub(crate) place: Place,
    /// All that is known beforehand.
    pub(crate) builder: OAuthBuilder,
    /// The port that a browser must come back to.
    pub(crate) callback_port: Option<u16>,
    /// Does a person log in at all?
    pub(crate) is_machine: bool,
}

impl Login {
    /// The login of a server that is named, or is at a URL.
    pub(crate) async fn of(app: &App, target: &str, scopes: &[String]) -> Result<Self, Failure> {
        let source = match is_url(target) {
            true => Source::of_one(ServerConfig::url(target, target)),
            false => Source::agreed(app).await?,
        };
        source.check_server(target)?;
        let Some(server) = source.config.server(target).cloned() else {
            return Err(no_login(target));
        };
        let (surroundings, scopes) = (app.surroundings(&source.config), scopes.to_owned());
        let asked = server.clone();
        // Somebody may be asked.
        let login = spawn_blocking(move || Self::of_server(&asked, &scopes, &surroundings)).await;
        let login = login.map_err(|error| Failure::unexpected(error.to_string()))?;
        let login = login.map_err(|failure| app.judge_inputs(failure, &server))?;
        login.ok_or_else(|| no_login(target))
    }

    /// None: it is a program, or has a token already.
    pub(crate) fn of_server(
        server: &ServerConfig,
        scopes: &[String],
        surroundings: &dyn Surroundings,
    ) -> Result<Option<Self>, Failure> {
        if matches!(server.transport, TransportConfig::Stdio(_)) {
            return Ok(None);
        }
        let name = &server.name;
        let resolved = resolve(server, surroundings)
            .map_err(|error| Failure::usage(with_causes(&error)).server(name))?;
        let Some(url) = resolved.url else {
            return Ok(None);
        };
        let url = url.reveal();
        let bad = |error: AuthError| failure(name, &error);
        let place = Place::parse(url).map_err(|error| bad_place(name, &error))?;
        let (builder, callback_port, is_machine) = match &resolved.auth {
            ResolvedAuth::Auto => (OAuth::for_server(url).map_err(bad)?, None, false),
            ResolvedAuth::OAuth(known) => (
                known.builder(url).map_err(bad)?,
                known.callback_port,
                known.is_machine,
            ),
            _ => return Ok(None),
        };
        let mut asked: Scopes = scopes.iter().map(String::as_str).collect();
        if let ResolvedAuth::OAuth(known) = &resolved.auth {
            asked = known.scopes.union(&asked);
        }
        Ok(Some(Self {
            server: name.clone(),
            place,
            builder: builder.scopes(asked),
            callback_port,
            is_machine,
        }))
    }

    /// Without anybody to ask.
    pub(crate) fn quiet(self) -> Result<OAuth, Failure> {
        let server = self.server;
        self.builder
            .build()
            .map_err(|error| failure(&server, &error))
    }
}

fn no_login(server: &str) -> Failure {
    Failure::usage(format!(
        "{server:?} has no login: it is a program, or has a token of its own"
    ))
    .server(server)
}

fn bad_place(server: &str, error: &BadPlace) -> Failure {
    Failure::usage(format!("{server:?} can have no login: {error}")).server(server)
}

/// Why there is no login, as a number with a meaning.
pub(crate) fn failure(server: &str, error: &AuthError) -> Failure {
    let exit = match error {
        AuthError::LoginRequired { .. }
        | AuthError::NoInteraction
        | AuthError::LoginTimedOut { .. }
        | AuthError::LoginAborted { .. }
        | AuthError::Refused { .. }
        | AuthError::Callback { .. }
        | AuthError::ScopesExhausted { .. } => Exit::LoginRequired,
        AuthError::Setup { .. } | AuthError::Place { .. } => Exit::Usage,
        AuthError::Metadata { .. } | AuthError::Answer { .. } => Exit::Violation,
        AuthError::Send { .. } | AuthError::Body { .. } | AuthError::TimedOut { .. } => {
            Exit::Unreachable
        }
        _ => Exit::Unexpected,
    };
    Failure::new(exit, with_causes(error)).server(server)
}
