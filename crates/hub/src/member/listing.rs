//! What a server offers: which lists are asked for, and when.
//!
//! Each list has its own time. One that changes all the time is asked for at a bounded rate; one
//! that cannot be had is asked for again later. None waits for another.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use switchboard_client::{Change, Class, Client, Error, ErrorKind, Ready};
use switchboard_protocol::jsonrpc::ErrorCode;
use tokio::time::{Instant, sleep_until};

use crate::registry::{Hints, Kind, MemberCatalog};

/// A list of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListKind {
    Tools,
    Prompts,
    /// And their families.
    Resources,
}

impl ListKind {
    const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];

    /// The one that this is in.
    const fn of(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Tool => Some(Self::Tools),
            Kind::Prompt => Some(Self::Prompts),
            Kind::Resource | Kind::Template => Some(Self::Resources),
            Kind::Server => None,
        }
    }
}

/// The lists that are still waited for.
#[derive(Clone, Debug, Default)]
pub(super) struct Awaited(Vec<ListKind>);

impl Awaited {
    /// May there be more of this kind than is known?
    pub(super) fn may_have(&self, kind: Kind) -> bool {
        ListKind::of(kind).is_some_and(|kind| self.0.contains(&kind))
    }
}

/// Which lists are to be asked for, and when.
#[derive(Debug)]
pub(super) struct Lists([List; 3]);

#[derive(Debug)]
struct List {
    kind: ListKind,
    is_wanted: bool,
    is_asked: bool,
    is_known: bool,
    /// Not before.
    after: Instant,
    failures: u32,
    reason: Option<Reason>,
}

/// Why a list could not be had, and who must act.
pub(super) type Reason = (Arc<str>, Class);

impl Lists {
    /// None, until the server is heard.
    pub(super) fn new() -> Self {
        Self(ListKind::ALL.map(|kind| List {
            kind,
            is_wanted: false,
            is_asked: false,
            is_known: false,
            after: Instant::now(),
            failures: 0,
            reason: None,
        }))
    }

    /// All of them are wanted.
    pub(super) fn want_all(&mut self) {
        for list in &mut self.0 {
            list.is_wanted = true;
        }
    }

    /// Something has changed.
    pub(super) fn note_change(&mut self, change: &Change) {
        let kind = match change {
            Change::Tools => ListKind::Tools,
            Change::Prompts => ListKind::Prompts,
            Change::Resources => ListKind::Resources,
            _ => return,
        };
        for list in &mut self.0 {
            list.is_wanted |= list.kind == kind;
        }
    }

    /// What is due. Whoever takes it says what came of it.
    pub(super) fn take(&mut self) -> Option<ListKind> {
        let now = Instant::now();
        let due = |list: &&mut List| list.is_wanted && !list.is_asked && list.after <= now;
        let list = self.0.iter_mut().find(due)?;
        list.is_wanted = false;
        list.is_asked = true;
        Some(list.kind)
    }

    /// Waits until something is due.
    pub(super) async fn wait(&self) {
        let waiting = self
            .0
            .iter()
            .filter(|list| list.is_wanted && !list.is_asked);
        match waiting.map(|list| list.after).min() {
            Some(after) => sleep_until(after).await,
            None => pending().await,
        }
    }

    /// One was asked for, and this came of it.
    pub(super) fn note(&mut self, kind: ListKind, reason: Option<Reason>) {
        let Some(list) = self.0.iter_mut().find(|list| list.kind == kind) else {
            return;
        };
        list.is_asked = false;
        list.is_known = true;
        let wait = if reason.is_none() {
            list.failures = 0;
            SHORTEST
        } else {
            list.is_wanted = true;
            list.failures = list.failures.saturating_add(1);
            AFTER_FAILURE.saturating_mul(1 << list.failures.min(6))
        };
        list.after = Instant::now() + wait;
        list.reason = reason;
    }

    /// Is it known what came of each of them?
    pub(super) fn are_known(&self) -> bool {
        self.0.iter().all(|list| list.is_known)
    }

    /// Those of which nothing is known yet.
    pub(super) fn awaited(&self) -> Awaited {
        let awaited = self.0.iter().filter(|list| !list.is_known);
        Awaited(awaited.map(|list| list.kind).collect())
    }

    /// Is it known which tools there are?
    pub(super) fn knows_tools(&self) -> bool {
        let mut lists = self.0.iter();
        lists.any(|list| list.kind == ListKind::Tools && list.is_known)
    }

    /// Why one of them could not be had.
    pub(super) fn reason(&self) -> Option<Reason> {
        self.0.iter().find_map(|list| list.reason.clone())
    }
}

/// What came of asking for a list.
pub(super) struct Listed {
    pub(super) kind: ListKind,
    /// What could be had.
    pub(super) catalog: MemberCatalog,
    /// Why something could not.
    pub(super) reason: Option<Reason>,
    /// The limits that it has reached.
    pub(super) limits: Vec<&'static str>,
}

impl Listed {
    /// What was listed; nothing, if the server has no such list although it said so.
    fn take<T>(&mut self, outcome: Result<Vec<T>, Error>) -> Option<Vec<T>> {
        match outcome {
            Ok(found) => Some(found),
            Err(error) if is_missing(&error) => Some(Vec::new()),
            Err(error) => {
                self.limits.extend(limit_of(&error));
                self.reason
                    .get_or_insert_with(|| (error.to_string().into(), error.class()));
                None
            }
        }
    }
}

/// Asks for a list. What the server did not declare is not asked for: it has none.
pub(super) async fn list(client: Client, ready: Arc<Ready>, kind: ListKind) -> Listed {
    let mut listed = Listed {
        kind,
        catalog: MemberCatalog::new(),
        reason: None,
        limits: Vec::new(),
    };
    let capabilities = &ready.capabilities;
    match kind {
        ListKind::Tools => {
            let tools = match capabilities.has_tools() {
                true => {
                    let tools = client.tools().await;
                    tools.map(|tools| tools.iter().cloned().collect())
                }
                false => Ok(Vec::new()),
            };
            listed.catalog.tools = listed.take(tools);
        }
        ListKind::Prompts => {
            let prompts = match capabilities.prompts.is_some() {
                true => client.prompts().await.map(|prompts| prompts.to_vec()),
                false => Ok(Vec::new()),
            };
            listed.catalog.prompts = listed.take(prompts);
        }
        ListKind::Resources => {
            let (resources, templates) = match capabilities.resources.is_some() {
                true => tokio::join!(client.resources(), client.resource_templates()),
                false => (Ok(Arc::default()), Ok(Arc::default())),
            };
            listed.catalog.resources = listed.take(resources.map(|resources| resources.to_vec()));
            listed.catalog.templates = listed.take(templates.map(|templates| templates.to_vec()));
        }
    }
    let said = Hints::of_server(&client.list_hints(), &ready);
    listed.catalog.hint_as(said);
    listed
}

fn is_missing(error: &Error) -> bool {
    let refusal = error.refusal();
    refusal.is_some_and(|refusal| refusal.code == ErrorCode::METHOD_NOT_FOUND)
}

/// The limit that a list has reached, by its key.
fn limit_of(error: &Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::ListTooLong { what: "bytes", .. } => Some("listBytes"),
        ErrorKind::ListTooLong { what, .. } => Some(what),
        ErrorKind::TimedOut(_) => Some("list"),
        _ => None,
    }
}

// However often a server says that its lists have changed.
const SHORTEST: Duration = Duration::from_millis(500);
const AFTER_FAILURE: Duration = Duration::from_secs(1);
