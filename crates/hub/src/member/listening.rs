//! What a server offers: listed, and listed again when it has changed.
//!
//! A server that changes its lists all the time is listed at a bounded rate; one that cannot be
//! listed is asked again later.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use switchboard_client::types::SubscriptionFilter;
use switchboard_client::{Change, Client, Error, Ready, Subscription};
use tokio::time::{Instant, sleep, sleep_until, timeout};

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
        let is_due = self.wanted != Wanted::default() && self.after <= Instant::now();
        is_due.then(|| std::mem::take(&mut self.wanted))
    }

    /// Waits until something is due.
    pub(super) async fn wait(&self) {
        match self.wanted == Wanted::default() {
            true => pending().await,
            false => sleep_until(self.after).await,
        }
    }

    /// They were listed.
    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
        self.after = Instant::now() + SHORTEST;
    }

    /// They were not, and are tried again.
    pub(super) fn failed(&mut self, wanted: Wanted) {
        self.wanted.add(wanted);
        self.failures = self.failures.saturating_add(1);
        let wait = AFTER_FAILURE.saturating_mul(1 << self.failures.min(6));
        self.after = Instant::now() + wait;
    }
}

/// Asks for lists. What the server did not declare is not asked for: it has none.
pub(super) async fn list(client: Client, ready: Arc<Ready>, wanted: Wanted) -> Listed {
    let outcome = ask(&client, &ready, wanted).await;
    Listed { wanted, outcome }
}

/// What came of it.
pub(super) struct Listed {
    pub(super) wanted: Wanted,
    pub(super) outcome: Result<MemberCatalog, Error>,
}

async fn ask(client: &Client, ready: &Ready, wanted: Wanted) -> Result<MemberCatalog, Error> {
    let mut catalog = MemberCatalog::new();
    if wanted.tools {
        let tools = match ready.capabilities.has_tools() {
            true => client.tools().await?.iter().cloned().collect(),
            false => Vec::new(),
        };
        catalog = catalog.with_tools(tools);
    }
    if wanted.prompts {
        let prompts = match ready.capabilities.prompts.is_some() {
            true => client.prompts().await?.to_vec(),
            false => Vec::new(),
        };
        catalog = catalog.with_prompts(prompts);
    }
    if wanted.resources {
        let (resources, templates) = match ready.capabilities.resources.is_some() {
            true => (
                client.resources().await?.to_vec(),
                client.resource_templates().await?.to_vec(),
            ),
            false => (Vec::new(), Vec::new()),
        };
        catalog = catalog.with_resources(resources).with_templates(templates);
    }
    Ok(catalog)
}

/// Hears of changes, as long as the connection lasts.
pub(super) struct Listening {
    client: Client,
    filter: SubscriptionFilter,
    subscription: Option<Subscription>,
    wait: Duration,
    has_begun: bool,
}

impl Listening {
    pub(super) fn new(client: &Client, ready: &Ready) -> Self {
        let mut wanted = SubscriptionFilter::default();
        wanted.tools_list_changed = Some(true);
        wanted.prompts_list_changed = Some(true);
        wanted.resources_list_changed = Some(true);
        Self {
            client: client.clone(),
            filter: wanted.within(&ready.capabilities),
            subscription: None,
            wait: FIRST_WAIT,
            has_begun: false,
        }
    }

    /// What is heard next. First of all, that it has begun: what is listed after that and changes
    /// is heard of. Whoever does not answer in time is listed all the same.
    ///
    /// Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Heard {
        if !self.has_begun {
            self.begin().await;
            self.has_begun = true;
            return Heard::Begun;
        }
        if self.filter == SubscriptionFilter::default() {
            return pending().await;
        }
        loop {
            if let Some(subscription) = &mut self.subscription {
                match subscription.next().await {
                    Ok(Some(change)) => return Heard::Change(change),
                    Ok(None) | Err(_) => {
                        self.subscription = None;
                        self.wait = FIRST_WAIT;
                    }
                }
            }
            sleep(self.wait).await;
            self.wait = (self.wait * 2).min(LONGEST_WAIT);
            if let Ok(subscription) = self.client.listen(self.filter.clone()).await {
                self.subscription = Some(subscription);
                return Heard::Missed;
            }
        }
    }

    async fn begin(&mut self) {
        if self.filter == SubscriptionFilter::default() {
            return;
        }
        let listening = self.client.listen(self.filter.clone());
        if let Ok(Ok(subscription)) = timeout(FOR_BEGINNING, listening).await {
            self.subscription = Some(subscription);
        }
    }
}

/// What is heard of a server.
pub(super) enum Heard {
    /// From now on, changes are heard.
    Begun,
    /// Something has changed.
    Change(Change),
    /// Something may have changed while nobody listened.
    Missed,
}

// However often a server says that its lists have changed.
const SHORTEST: Duration = Duration::from_millis(250);
const AFTER_FAILURE: Duration = Duration::from_secs(1);
// Most answer at once.
const FOR_BEGINNING: Duration = Duration::from_secs(5);
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
