//! From a configuration to a client that is ready.

use std::sync::Arc;
use std::time::Duration;

use switchboard_auth::{Bearer, OAuth, Place, TokenSource};
use switchboard_client::{Client, Spec, State};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use super::{Ended, Keeper, Order, lost};
use crate::config::{ResolvedAuth, ServerConfig, resolve};
use crate::host::MemberHost;
use crate::hub::Shared;
use crate::state::MemberState;

impl Keeper {
    /// Waits for its turn, starts the server and waits until it is ready.
    pub(super) async fn start(&mut self) -> Result<Client, Ended> {
        let hub = self.hub.upgrade().ok_or(Ended::Over)?;
        self.set_state(MemberState::Starting);
        let starts = Arc::clone(&hub.starts);
        let mut turn = {
            let mut turn = std::pin::pin!(starts.acquire_owned());
            loop {
                tokio::select! {
                    // It is never closed.
                    turn = &mut turn => break turn.ok(),
                    order = self.orders.recv() => self.obey(order)?,
                }
            }
        };
        let client = {
            let mut preparing = Box::pin(prepare(Arc::clone(&hub), Arc::clone(&self.config)));
            loop {
                tokio::select! {
                    prepared = &mut preparing => match prepared {
                        Ok(mut spec) => {
                            let era = self.spec.as_ref().and_then(Spec::remembered);
                            if let Some(era) = era {
                                spec = spec.remember(era);
                            }
                            let host = MemberHost::new(&hub, &self.config.name);
                            self.spec = Some(spec.clone());
                            break Client::start(spec, host);
                        }
                        Err(reason) => return Err(Ended::Hopeless { reason }),
                    },
                    order = self.orders.recv() => self.obey(order)?,
                }
            }
        };
        // Those who wait for the hub to be gone do not wait for this.
        drop(hub);
        let mut states = client.states();
        let patience = Instant::now() + PATIENCE;
        loop {
            tokio::select! {
                state = states.until(|state| matches!(state, State::Ready(_))) => {
                    return match state {
                        Some(_) => Ok(client),
                        None => Err(lost(&client, None)),
                    };
                }
                () = sleep_until(patience), if turn.is_some() => turn = None,
                order = self.orders.recv() => {
                    if let Err(ended) = self.obey(order) {
                        client.close().await;
                        return Err(ended);
                    }
                }
            }
        }
    }

    /// What an order means to a server that is being started.
    fn obey(&mut self, order: Option<Order>) -> Result<(), Ended> {
        match order {
            None | Some(Order::End) => Err(Ended::Over),
            Some(Order::Disconnect(done)) => Err(Ended::Disconnected(done)),
            Some(Order::Update(config)) => {
                self.update(config);
                Ok(())
            }
            Some(Order::Connect | Order::Wake) => Ok(()),
        }
    }
}

/// Fills in the variables, which may read files and run programs, and says how to log in.
async fn prepare(hub: Arc<Shared>, config: Arc<ServerConfig>) -> Result<Spec, Arc<str>> {
    let surroundings = Arc::clone(&hub.settings.surroundings);
    let server = Arc::clone(&config);
    let resolving = spawn_blocking(move || resolve(&server, &*surroundings));
    let resolved = match resolving.await {
        Ok(Ok(resolved)) => resolved,
        Ok(Err(error)) => return Err(Arc::from(error.to_string())),
        Err(_) => return Err(Arc::from("its variables could not be filled in")),
    };
    let spec = resolved.spec;
    let Some(url) = resolved.url else {
        return Ok(spec);
    };
    let words = |error: &dyn std::error::Error| Arc::from(error.to_string());
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
        ResolvedAuth::OAuth(known) => known.builder(url.reveal()).map_err(|error| words(&error))?,
    };
    let login = hub.settings.login(&config.name, login);
    let login = login.map_err(|error| words(&error))?;
    Ok(spec.credentials(Arc::new(login)))
}

// One that takes longer lets others start beside it: it may be silent for ever.
const PATIENCE: Duration = Duration::from_secs(3);
