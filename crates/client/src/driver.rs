//! The task that owns a connection.
//!
//! One per client. It moves what the machine wants to the server and what the server says to
//! the machine, and cleans up at the end, whichever end that is: `pipe` on standard streams
//! and in memory, `http` over HTTP.

mod http;
mod noise;
mod pipe;
mod timer;

use std::sync::Arc;
use std::time::Instant;

use switchboard_protocol::machine::Wire as WireKind;
use switchboard_protocol::machine::client::ClientConfig;
use switchboard_protocol::types::TASKS_EXTENSION;
use switchboard_transport::memory::End;

use crate::desk::Desk;
use crate::shared::Shared;
use crate::spec::{Spec, Target};

/// Starts the task of a connection.
pub(crate) fn start(spec: Spec, shared: Arc<Shared>) {
    let gone = Gone(Arc::clone(&shared));
    match &spec.target {
        Target::Process(process) => {
            let process = process.clone();
            let desk = desk(&spec, shared, WireKind::Pipe);
            tokio::spawn(async move {
                Box::pin(pipe::run_process(process, desk)).await;
                drop(gone);
            });
        }
        Target::Http(target) => {
            let target = (**target).clone();
            // The old transport has one stream for everything, as a pipe has.
            let kind = if target.is_old {
                WireKind::Pipe
            } else {
                WireKind::Http
            };
            let desk = desk(&spec, shared, kind);
            tokio::spawn(async move {
                Box::pin(http::run(target, desk)).await;
                drop(gone);
            });
        }
        // There is nothing at the other end: that is seen as soon as something is sent.
        Target::Pipe => start_in_memory(spec, switchboard_transport::memory::pair().0, shared),
    }
}

/// Starts the task of a connection in memory.
pub(crate) fn start_in_memory(spec: Spec, end: End, shared: Arc<Shared>) {
    let gone = Gone(Arc::clone(&shared));
    let desk = desk(&spec, shared, WireKind::Pipe);
    tokio::spawn(async move {
        pipe::run_in_memory(end, desk).await;
        drop(gone);
    });
}

fn desk(spec: &Spec, shared: Arc<Shared>, wire: WireKind) -> Desk {
    let mut config = ClientConfig::new(spec.info.clone());
    config.capabilities = shared.abilities.capabilities();
    if spec.tasks {
        config
            .capabilities
            .extensions
            .get_or_insert_default()
            .entry(TASKS_EXTENSION)
            .or_insert_with(|| serde_json::Value::Object(serde_json::Map::new()));
    }
    config.mode = spec.mode;
    config.remembered = spec.memory.era();
    config.wire = wire;
    config.sends_info = spec.sends_info;
    config.probe_timeout = spec.timeouts.probe;
    config.open_timeout = spec.timeouts.connect;
    config.call_timeouts = spec.timeouts.call();
    config.question_timeout = spec.timeouts.question;
    config.max_calls = spec.limits.calls;
    config.max_questions = spec.limits.questions;
    config.max_question_bytes = spec.limits.message.bytes;
    config.max_rounds = spec.limits.rounds;
    Desk::new(shared, Arc::from(spec.target()), config)
}

/// The clock of the runtime, which tests can stop.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Says that nothing is left of a connection, also when its task panics.
struct Gone(Arc<Shared>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.is_gone.send_replace(true);
    }
}
