//! From a configuration to a client that is ready.

use std::sync::Arc;
use std::time::Duration;

use switchboard_auth::{Bearer, OAuth, Place, TokenSource};
use switchboard_client::{Class, Client, Host, Spec, State};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use super::keeper::{Keeper, Next, lost};
use crate::config::{Resolved, ResolvedAuth, ServerConfig, bounded, resolve};
use crate::host::MemberHost;
use crate::hub::{HostMaker, LoginRequest, Settings, Shared};
use crate::state::MemberState;
use crate::trace::Endpoint;

impl Keeper {
    /// Waits for its turn, starts the server and waits until it is ready.
    pub(super) async fn start(&mut self) -> Result<Client, Next> {
        let hub = self.hub.upgrade().ok_or(Next::Over)?;
        let starts = Arc::clone(&hub.starts);
        let mut turn = {
            let mut turn = std::pin::pin!(starts.acquire_owned());
            loop {
                tokio::select! {
                    biased;
                    order = self.orders.recv() => self.obey(order)?,
                    // It is never closed.
                    turn = &mut turn => break turn.ok(),
                }
            }
        };
        let patience = Instant::now() + PATIENCE;
        let config = self.config();
        if let Some(mismatch) = hub.refusal(&config) {
            return Err(Next::Rest(MemberState::Failed {
                reason: format!("it is not started: {mismatch}").into(),
                class: Class::Caller,
            }));
        }
        let near = (hub.settings.in_process)(&config);
        let (end, prepared) = match near {
            Some(end) => {
                let prepared = Prepared {
                    spec: bounded(&config, Spec::in_memory()),
                    host: (self.host)(&config.name),
                    endpoint: Endpoint::pipe(),
                };
                drop(hub);
                (Some(end), prepared)
            }
            None => (
                None,
                self.prepare(hub, Arc::clone(&config), &mut turn, patience)
                    .await?,
            ),
        };
        let Prepared {
            mut spec,
            host,
            endpoint,
        } = prepared;
        if let Some(member) = self.member.upgrade() {
            member.meter.set_endpoint(endpoint);
        }
        if let Some(era) = self.spec.as_ref().and_then(Spec::remembered) {
            spec = spec.remember(era);
        }
        self.spec = Some(spec.clone());
        let host = MemberHost::new(host, &self.hub, &config.name);
        let client = match end {
            Some(end) => Client::start_in_memory(end, spec, host),
            None => Client::start(spec, host),
        };
        let mut states = client.states();
        loop {
            tokio::select! {
                biased;
                order = self.orders.recv() => {
                    if let Err(next) = self.obey(order) {
                        client.close().await;
                        return Err(next);
                    }
                }
                state = states.until(|state| matches!(state, State::Ready(_))) => {
                    return match state {
                        Some(_) => Ok(client),
                        None => Err(lost(&client, None)),
                    };
                }
                () = sleep_until(patience), if turn.is_some() => turn = None,
            }
        }
    }

    /// Has the configuration filled in where it may take its time.
    async fn prepare(
        &mut self,
        hub: Arc<Shared>,
        config: Arc<ServerConfig>,
        turn: &mut Option<OwnedSemaphorePermit>,
        patience: Instant,
    ) -> Result<Prepared, Next> {
        let settings = Arc::clone(&hub.settings);
        let host = Arc::clone(&self.host);
        let mut preparing = spawn_blocking(move || prepare(&settings, &config, &*host));
        // Those who wait for the hub to be gone do not wait for this.
        drop(hub);
        let prepared = loop {
            tokio::select! {
                biased;
                order = self.orders.recv() => if let Err(next) = self.obey(order) {
                    // It may run programs, which are not left behind.
                    let _ = preparing.await;
                    return Err(next);
                },
                prepared = &mut preparing => break prepared,
                () = sleep_until(patience), if turn.is_some() => *turn = None,
            }
        };
        // Whoever panics has said so on standard error.
        let prepared = prepared.unwrap_or_else(|_| Err(Arc::from("its preparation panicked")));
        prepared.map_err(|reason| {
            // What is said is wrong, or what it refers to is not there.
            let class = Class::Caller;
            Next::Rest(MemberState::Failed { reason, class })
        })
    }
}

/// Fills in the variables, which may read files and run programs, says how to log in, and who is
/// behind it.
fn prepare(
    settings: &Settings,
    config: &ServerConfig,
    host: &HostMaker,
) -> Result<Prepared, Arc<str>> {
    let resolved = resolve(config, &*settings.surroundings).map_err(|error| words(&error))?;
    let url = resolved.url.as_ref();
    let endpoint = url.map_or_else(Endpoint::pipe, |url| Endpoint::http(url.reveal()));
    Ok(Prepared {
        spec: spec(settings, config, resolved)?,
        host: host(&config.name),
        endpoint,
    })
}

/// What a client is started with.
struct Prepared {
    spec: Spec,
    host: Arc<dyn Host>,
    endpoint: Endpoint,
}

fn spec(settings: &Settings, config: &ServerConfig, resolved: Resolved) -> Result<Spec, Arc<str>> {
    let spec = resolved.spec;
    let Some(url) = resolved.url else {
        return Ok(spec);
    };
    let mut callback_port = None;
    let login = match resolved.auth {
        ResolvedAuth::None => return Ok(spec),
        ResolvedAuth::Bearer(token) => {
            let place = Place::parse(url.reveal()).map_err(|error| words(&error))?;
            let bearer = Bearer::new(&place, TokenSource::fixed(token));
            return Ok(spec.credentials(Arc::new(bearer)));
        }
        // A plain address of a network at home has no login, and needs none.
        ResolvedAuth::Auto => match OAuth::for_server(url.reveal()) {
            Ok(login) => login,
            Err(_) => return Ok(spec),
        },
        ResolvedAuth::OAuth(known) => {
            callback_port = known.callback_port;
            known.builder(url.reveal()).map_err(|error| words(&error))?
        }
    };
    let login = (settings.login)(LoginRequest {
        server: &config.name,
        callback_port,
        login,
    });
    let login = login.map_err(|error| words(&error))?;
    Ok(spec.credentials(Arc::new(login)))
}

/// An error with what caused it, unless that is said already.
fn words(error: &dyn std::error::Error) -> Arc<str> {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.contains(&more) {
            words.push_str(": ");
            words.push_str(&more);
        }
        cause = error.source();
    }
    words.into()
}

// One that takes longer lets others start beside it: it may be silent for ever.
const PATIENCE: Duration = Duration::from_secs(3);
