//! The servers that a verb needs, as a hub.
//!
//! Only what is needed is started: a verb about one server leaves the others alone.

use std::path::PathBuf;
use std::sync::Arc;

use switchboard_hub::{
    Config, Hub, HubError, Lock, MemberState, ServerConfig, Start, TransportConfig,
};

use crate::app::App;
use crate::args::look::Of;
use crate::exit::{Exit, Failure};
use crate::host::TerminalHost;
use crate::locking;
use crate::logins;
use crate::source::{self, Source};
use crate::trust;

/// Servers as a hub. None is connected yet.
#[derive(Debug)]
pub(crate) struct Servers {
    pub(crate) hub: Hub,
    /// The configuration that they are from, with all its servers.
    pub(crate) config: Config,
    /// Where it was read. None for a server that was given on the spot.
    pub(crate) file: Option<PathBuf>,
    /// The names of those that are meant, in the order of the file.
    pub(crate) names: Vec<String>,
}

impl Servers {
    /// The servers that are meant: one by name, by URL or by command, or all of the configuration.
    pub(crate) async fn open(app: &App, of: &Of) -> Result<Self, Failure> {
        let (source, name) = find(app, of)?;
        trust::check(app, &source).await?;
        let only = name.as_ref().map(std::slice::from_ref);
        Self::new(app, source, only)
    }

    /// The same, of which none will be started: nobody need have agreed to that.
    pub(crate) fn open_offline(app: &App, of: &Of) -> Result<Self, Failure> {
        let (source, name) = find(app, of)?;
        let only = name.as_ref().map(std::slice::from_ref);
        Self::new(app, source, only)
    }

    /// The same to be judged: see [`to_judge`](Self::to_judge).
    pub(crate) async fn open_to_judge(app: &App, of: &Of) -> Result<Self, Failure> {
        let (source, name) = find(app, of)?;
        trust::check(app, &source).await?;
        let only = name.as_ref().map(std::slice::from_ref);
        Ok(Self::to_judge(app, source, only))
    }

    /// The servers of a source: all, or those of these names. Only what a lock has is offered, if
    /// one is required.
    pub(crate) fn new(app: &App, source: Source, only: Option<&[&str]>) -> Result<Self, Failure> {
        let lock = locking::required(&app.global, &source)?;
        let purpose = Purpose::Use(lock);
        Ok(Self::with(app, source, only, Start::Eager, purpose))
    }

    /// The same without a lock.
    pub(crate) fn unlocked(app: &App, source: Source, only: Option<&[&str]>) -> Self {
        Self::with(app, source, only, Start::Eager, Purpose::Use(None))
    }

    /// The same without a lock, to see all that would have to be approved: some servers offer less
    /// to hosts that can do less, and a gateway can do whatever its clients can.
    pub(crate) fn to_judge(app: &App, source: Source, only: Option<&[&str]>) -> Self {
        Self::with(app, source, only, Start::Eager, Purpose::Judge)
    }

    /// The same, of which nothing is started before it is needed; what they offered when they last
    /// ran is known.
    pub(crate) fn asleep(app: &App, source: Source) -> Result<Self, Failure> {
        let lock = locking::required(&app.global, &source)?;
        let purpose = Purpose::Use(lock);
        Ok(Self::with(app, source, None, Start::Lazy, purpose))
    }

    fn with(
        app: &App,
        source: Source,
        only: Option<&[&str]>,
        start: Start,
        purpose: Purpose,
    ) -> Self {
        let Source { config, file, .. } = source;
        for problem in config.errors() {
            let server = problem.server.as_deref();
            // Whoever names a server does not want to hear of others.
            if only.is_none_or(|only| server.is_none_or(|server| only.contains(&server))) {
                app.output.warn(&problem.to_string());
            }
        }
        let chosen: Vec<ServerConfig> = config
            .servers
            .iter()
            .filter(|server| only.is_none_or(|only| only.contains(&server.name.as_str())))
            .map(|server| {
                let mut server = server.clone();
                server.start = start;
                server.timeouts.start = app.global.timeout.or(server.timeouts.start);
                server.timeouts.call = app.global.timeout.or(server.timeouts.call);
                server
            })
            .collect();
        let names = chosen.iter().map(|server| server.name.clone()).collect();
        let mut of_hub = Config::default();
        of_hub.settings = config.settings.clone();
        of_hub.servers = chosen;
        let surroundings = Arc::new(app.surroundings(&config));
        let builder = Hub::builder().config(of_hub).surroundings(surroundings);
        let mut builder = builder.login(logins::describe);
        if let Some(folder) = source::cache_folder() {
            builder = builder.cache(folder);
        }
        let is_judged = matches!(purpose, Purpose::Judge);
        if let Purpose::Use(Some(lock)) = purpose {
            builder = builder.lock(lock);
        }
        let desk = Arc::clone(&app.desk);
        let builder = builder.host(move |_| match is_judged {
            true => TerminalHost::onlooker(&desk),
            false => TerminalHost::new(&desk),
        });
        let hub = builder.time_between_pings(None).build();
        app.adopt(&hub);
        Self {
            hub,
            config,
            file,
            names,
        }
    }

    /// Connects those of which nothing is known from before.
    pub(crate) async fn wake_unknown(&self, app: &App) -> Vec<Failure> {
        self.hub.connect_all().await;
        let catalog = self.hub.catalog();
        let unknown = |name: &&String| catalog.tools_of(name).is_empty();
        let names: Vec<&String> = self.names.iter().filter(unknown).collect();
        self.connect_these(app, &names).await
    }

    /// Connects those that are meant, all at once, and says which could not be.
    ///
    /// A line on standard error says how many are still missing.
    pub(crate) async fn connect(&self, app: &App) -> Vec<Failure> {
        self.connect_these(app, &self.names.iter().collect::<Vec<_>>())
            .await
    }

    async fn connect_these(&self, app: &App, names: &[&String]) -> Vec<Failure> {
        let mut waiting = tokio::task::JoinSet::new();
        for name in names.iter().filter(|name| self.is_enabled(name)) {
            let (hub, name) = (self.hub.clone(), String::clone(name));
            waiting.spawn(async move {
                let connected = hub.connect(&name).await;
                (name, connected)
            });
        }
        let all = waiting.len();
        let status = app.output.status(&self.progress(0, all));
        let mut failures: Vec<Failure> = Vec::new();
        let mut done = 0;
        while let Some(ended) = waiting.join_next().await {
            done += 1;
            status.say(&self.progress(done, all));
            if let Ok((name, Err(error))) = ended {
                let failure = self.why(&name, error);
                failures.push(match self.config.server(&name) {
                    Some(server) => app.judge_inputs(failure, server),
                    None => failure,
                });
            }
        }
        drop(status);
        for server in self.hub.servers() {
            if let MemberState::ListingFailed { reason, class, .. } = &server.state {
                let name = &server.name;
                let message = format!("what server {name:?} offers could not be listed: {reason}");
                failures.push(Failure::new((*class).into(), message).server(name));
            }
        }
        failures.sort_by(|one, other| one.server.cmp(&other.server));
        failures
    }

    /// Says what is missing from a list because nobody approved it.
    pub(crate) fn warn_of_refused(&self, app: &App) {
        let catalog = self.hub.catalog();
        for denial in self.names.iter().flat_map(|name| catalog.refused_of(name)) {
            app.output.warn(&denial.to_string());
        }
    }

    /// Is there but one, so that its name need not be said each time?
    pub(crate) fn is_one(&self) -> bool {
        self.names.len() == 1
    }

    /// What is left of failures once the rest has answered: the one if there was but one server,
    /// or that some failed. Each is said on standard error.
    pub(crate) fn judge(
        &self,
        app: &App,
        mut failures: Vec<Failure>,
    ) -> Result<Option<Failure>, Failure> {
        let tried = self
            .names
            .iter()
            .filter(|name| self.is_enabled(name))
            .count();
        match failures.len() {
            0 => return Ok(None),
            1 if tried == 1 => return Err(failures.remove(0)),
            _ => {}
        }
        for failure in &failures {
            app.output.warn(&failure.message);
        }
        let count = failures.len();
        let first = failures.swap_remove(0);
        Err(match count == tried {
            // All for the same reason, or for several.
            true => Failure::new(first.exit, format!("none of the {tried} servers answered")),
            false => {
                let failure = format!("{count} of {tried} servers failed, the rest answered");
                return Ok(Some(Failure::new(Exit::Partial, failure)));
            }
        })
    }

    /// Why a server could not be connected, in its own words.
    fn why(&self, name: &str, error: HubError) -> Failure {
        let servers = self.hub.servers();
        let status = servers.iter().find(|server| *server.name == *name);
        let reason = status.and_then(|server| match &server.state {
            MemberState::BackingOff { reason, .. } | MemberState::Failed { reason, .. } => {
                Some(format!("server {name:?}: {reason}"))
            }
            _ => None,
        });
        if status.is_some_and(|server| matches!(server.state, MemberState::Disabled)) {
            let message = format!("the server {name:?} is disabled");
            let failure = Failure::new(Exit::Refused, message).server(name);
            return failure.hint(format!("`switchboard enable {name}`"));
        }
        if let Some(denial) = self.hub.catalog().denial_of(name) {
            return Failure::new(Exit::Refused, denial.to_string()).server(name);
        }
        let mut failure = Failure::from(error);
        if let Some(reason) = reason {
            failure.message = reason;
        }
        // Nobody knows a server by name that was given on the spot.
        if self.file.is_none() {
            let server = self.config.server(name).map(|server| &server.transport);
            failure.hint = match (failure.exit, server) {
                (Exit::LoginRequired, Some(TransportConfig::Http(http))) => {
                    Some(format!("`switchboard login {}`", http.url))
                }
                _ => None,
            };
        }
        failure
    }

    /// Can it be called?
    pub(crate) fn is_ready(&self, name: &str) -> bool {
        let servers = self.hub.servers();
        let found = servers.iter().find(|server| *server.name == *name);
        found.is_some_and(|server| server.state.is_ready())
    }

    /// Is it to be connected?
    fn is_enabled(&self, name: &str) -> bool {
        // One that is named alone is wanted, switched off or not: the hub says so.
        self.names.len() == 1
            || self
                .config
                .server(name)
                .is_some_and(|server| server.is_enabled)
    }

    fn progress(&self, done: usize, all: usize) -> String {
        match (all, self.names.first()) {
            (1, Some(name)) => format!("connecting to {name}"),
            _ => format!("connecting to {all} servers, {done} done"),
        }
    }
}

/// What servers are started for.
enum Purpose {
    /// To be used, of what a lock has if there is one.
    Use(Option<Lock>),
    /// To be looked at.
    Judge,
}

/// Where the servers that are meant come from, and the name of the one if it is but one of them.
fn find<'a>(app: &App, of: &'a Of) -> Result<(Source, Option<&'a str>), Failure> {
    let server = of.server.as_deref();
    if let Some(config) = source::given(server, &of.spot)? {
        return Ok((Source::of_one(config), None));
    }
    let source = Source::find(&app.global)?;
    if let Some(name) = server {
        source.check_server(name)?;
    }
    Ok((source, server))
}
