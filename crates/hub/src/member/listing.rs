//! What a server offers: which lists are asked for, and when.
//!
//! A server that changes its lists all the time is listed at a bounded rate; one that cannot be
//! listed is asked again later. A list that fails spoils no other.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use switchboard_client::{Change, Client, Error, Ready};
use switchboard_protocol::jsonrpc::ErrorCode;
use tokio::time::{Instant, sleep_until};

use super::listening::Heard;
use crate::registry::MemberCatalog;

/// Some of the lists of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    tools: bool,
    prompts: bool,
    resources: bool,
}

impl Wanted {
    const ALL: Self = Self {
        tools: true,
        prompts: true,
        resources: true,
    };

    fn is_nothing(self) -> bool {
        self == Self::default()
    }

    fn add(&mut self, others: Self) {
        self.tools |= others.tools;
        self.prompts |= others.prompts;
        self.resources |= others.resources;
    }
}

/// Which lists are to be asked for, and when.
#[derive(Debug)]
pub(super) struct Lists {
    wanted: Wanted,
    /// Not before.
    after: Instant,
    failures: u32,
}

impl Lists {
    /// None, until the server is heard.
    pub(super) fn new() -> Self {
        Self {
            wanted: Wanted::default(),
            after: Instant::now(),
            failures: 0,
        }
    }

    /// The server was heard. The URI, if it was about one resource.
    pub(super) fn note(&mut self, heard: Heard) -> Option<String> {
        match heard {
            Heard::Begun | Heard::Missed => self.wanted = Wanted::ALL,
            Heard::Change(Change::Tools) => self.wanted.tools = true,
            Heard::Change(Change::Prompts) => self.wanted.prompts = true,
            Heard::Change(Change::Resources) => self.wanted.resources = true,
            Heard::Change(Change::Resource(uri)) => return Some(uri),
            Heard::Change(_) => {}
        }
        None
    }

    /// What is due. Whoever takes it says what came of it.
    pub(super) fn take(&mut self) -> Option<Wanted> {
        let is_due = !self.wanted.is_nothing() && self.after <= Instant::now();
        is_due.then(|| std::mem::take(&mut self.wanted))
    }

    /// Waits until something is due.
    pub(super) async fn wait(&self) {
        match self.wanted.is_nothing() {
            true => pending().await,
            false => sleep_until(self.after).await,
        }
    }

    /// They were asked for, and these could not be had: they are tried again.
    pub(super) fn note_failures(&mut self, failed: Wanted) {
        let wait = if failed.is_nothing() {
            self.failures = 0;
            SHORTEST
        } else {
            self.wanted.add(failed);
            self.failures = self.failures.saturating_add(1);
            AFTER_FAILURE.saturating_mul(1 << self.failures.min(6))
        };
        self.after = Instant::now() + wait;
    }
}

/// What came of asking.
pub(super) struct Listed {
    /// What could be had.
    pub(super) catalog: MemberCatalog,
    /// What could not, and why.
    pub(super) failed: Wanted,
    pub(super) reason: Option<Error>,
}

impl Listed {
    /// What was listed; nothing, if the server has no such list although it said so.
    fn take<T>(&mut self, outcome: Result<T, Error>, nothing: T) -> Option<T> {
        match outcome {
            Ok(found) => Some(found),
            Err(error) if is_missing(&error) => Some(nothing),
            Err(error) => {
                self.reason.get_or_insert(error);
                None
            }
        }
    }
}

/// Asks for lists. What the server did not declare is not asked for: it has none.
pub(super) async fn list(client: Client, ready: Arc<Ready>, wanted: Wanted) -> Listed {
    let mut listed = Listed {
        catalog: MemberCatalog::new(),
        failed: Wanted::default(),
        reason: None,
    };
    if wanted.tools {
        let tools = match ready.capabilities.has_tools() {
            true => client
                .tools()
                .await
                .map(|tools| tools.iter().cloned().collect()),
            false => Ok(Vec::new()),
        };
        listed.catalog.tools = listed.take(tools, Vec::new());
        listed.failed.tools = listed.catalog.tools.is_none();
    }
    if wanted.prompts {
        let prompts = match ready.capabilities.prompts.is_some() {
            true => client.prompts().await.map(|prompts| prompts.to_vec()),
            false => Ok(Vec::new()),
        };
        listed.catalog.prompts = listed.take(prompts, Vec::new());
        listed.failed.prompts = listed.catalog.prompts.is_none();
    }
    if wanted.resources {
        let has_resources = ready.capabilities.resources.is_some();
        let resources = match has_resources {
            true => client.resources().await.map(|resources| resources.to_vec()),
            false => Ok(Vec::new()),
        };
        let templates = match has_resources {
            true => client
                .resource_templates()
                .await
                .map(|templates| templates.to_vec()),
            false => Ok(Vec::new()),
        };
        listed.catalog.resources = listed.take(resources, Vec::new());
        listed.catalog.templates = listed.take(templates, Vec::new());
        listed.failed.resources =
            listed.catalog.resources.is_none() || listed.catalog.templates.is_none();
    }
    listed
}

fn is_missing(error: &Error) -> bool {
    let refusal = error.refusal();
    refusal.is_some_and(|refusal| refusal.code == ErrorCode::METHOD_NOT_FOUND)
}

// However often a server says that its lists have changed.
const SHORTEST: Duration = Duration::from_millis(250);
const AFTER_FAILURE: Duration = Duration::from_secs(1);
