//! The one table of methods: who sends which, since when, and on what condition.
//!
//! `docs/revisions.md` is written from it by a test. No other file lists methods.
//!
//! Specification: the schema of each revision; 2026-07-28 basic/transports
//! (`Mcp-Name`), basic/patterns/mrtr, server/utilities/caching; tasks extension.

use std::fmt;

use crate::revision::{Era, Revision};

/// What the table says of one method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// The method this row is about.
    pub method: Method,
    /// Its name on the wire.
    pub name: &'static str,
    /// Whether it wants an answer.
    pub kind: Kind,
    /// Who sends it in the handshake era.
    pub handshake: Sender,
    /// Who sends it in the stateless era.
    pub stateless: Sender,
    /// The first revision that has it.
    pub since: Revision,
    /// The last revision that has it.
    pub until: Revision,
    /// What the receiver must have declared.
    pub needs: Need,
    /// The parameter that the `Mcp-Name` header repeats.
    pub mirrored: Option<&'static str>,
    /// Whether its result carries `ttlMs` and `cacheScope`.
    pub cacheable: bool,
    /// Whether its result may be `input_required`.
    pub may_ask: bool,
}

/// Whether a message wants an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Has an id and gets exactly one answer.
    Request,
    /// Has no id and gets none.
    Notification,
}

/// Who sends a message in an era.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// The client alone.
    Client,
    /// The server alone.
    Server,
    /// Both sides.
    Either,
    /// The server, but as an entry of `inputRequests`, not as a message.
    InsideResult,
    /// Nobody: the era does not have it.
    Nobody,
}

/// The capability that the receiver of a message must have declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// None: it is always allowed.
    Nothing,
    /// Server: `tools`.
    Tools,
    /// Server: `resources`.
    Resources,
    /// Server: `resources.subscribe`.
    ResourceSubscriptions,
    /// Server: `prompts`.
    Prompts,
    /// Server: `completions`, from the revision that has the flag.
    Completions,
    /// Server: `logging`.
    Logging,
    /// Client: `sampling`.
    Sampling,
    /// Client: `roots`.
    Roots,
    /// Client: `elicitation`.
    Elicitation,
    /// Either side: `tasks` in 2025-11-25, the tasks extension since.
    Tasks,
    /// Either side: `tasks.list` in 2025-11-25.
    TaskList,
    /// Either side: `tasks.cancel` in 2025-11-25, the tasks extension since.
    TaskCancel,
}

impl Sender {
    /// Does the client send it?
    pub const fn is_client(self) -> bool {
        matches!(self, Self::Client | Self::Either)
    }

    /// Does the server send it as a message?
    pub const fn is_server(self) -> bool {
        matches!(self, Self::Server | Self::Either)
    }
}

impl Method {
    /// The method with this name, if the specification has one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::from_bytes(name.as_bytes())
    }

    /// The row of the table.
    pub const fn rule(self) -> &'static Rule {
        &TABLE[self as usize]
    }

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        self.rule().name
    }

    /// All rows, in the order of the table.
    pub const fn table() -> &'static [Rule] {
        TABLE
    }

    /// Is it part of this revision (or, for tasks, of its extension)?
    pub fn exists_in(self, revision: Revision) -> bool {
        let rule = self.rule();
        rule.since <= revision
            && revision <= rule.until
            && self.sender(revision.era()) != Sender::Nobody
    }

    /// Who sends it in this era.
    pub const fn sender(self, era: Era) -> Sender {
        match era {
            Era::Handshake => self.rule().handshake,
            Era::Stateless => self.rule().stateless,
        }
    }

    /// Does the name alone show that a request is of the stateless era?
    ///
    /// Not that of `tasks/update`: a client of 2025-11-25 also has tasks, and is told
    /// that there is no such method.
    pub const fn implies_stateless(self) -> bool {
        matches!(self, Self::ServerDiscover | Self::SubscriptionsListen)
    }

    /// Is it a notification?
    pub const fn is_notification(self) -> bool {
        matches!(self.rule().kind, Kind::Notification)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A method that the specification, or its tasks extension, names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Method {
    /// `initialize`
    Initialize,
    /// `ping`
    Ping,
    /// `server/discover`
    ServerDiscover,
    /// `tools/list`
    ToolsList,
    /// `tools/call`
    ToolsCall,
    /// `resources/list`
    ResourcesList,
    /// `resources/templates/list`
    ResourcesTemplatesList,
    /// `resources/read`
    ResourcesRead,
    /// `resources/subscribe`
    ResourcesSubscribe,
    /// `resources/unsubscribe`
    ResourcesUnsubscribe,
    /// `prompts/list`
    PromptsList,
    /// `prompts/get`
    PromptsGet,
    /// `completion/complete`
    CompletionComplete,
    /// `logging/setLevel`
    LoggingSetLevel,
    /// `subscriptions/listen`
    SubscriptionsListen,
    /// `tasks/get`
    TasksGet,
    /// `tasks/update`
    TasksUpdate,
    /// `tasks/cancel`
    TasksCancel,
    /// `tasks/result`
    TasksResult,
    /// `tasks/list`
    TasksList,
    /// `sampling/createMessage`
    SamplingCreateMessage,
    /// `roots/list`
    RootsList,
    /// `elicitation/create`
    ElicitationCreate,
    /// `notifications/initialized`
    Initialized,
    /// `notifications/cancelled`
    Cancelled,
    /// `notifications/progress`
    Progress,
    /// `notifications/message`
    LogMessage,
    /// `notifications/resources/updated`
    ResourceUpdated,
    /// `notifications/resources/list_changed`
    ResourceListChanged,
    /// `notifications/tools/list_changed`
    ToolListChanged,
    /// `notifications/prompts/list_changed`
    PromptListChanged,
    /// `notifications/roots/list_changed`
    RootsListChanged,
    /// `notifications/elicitation/complete`
    ElicitationComplete,
    /// `notifications/tasks/status`
    TaskStatusChanged,
    /// `notifications/subscriptions/acknowledged`
    SubscriptionsAcknowledged,
    /// `notifications/tasks`
    TaskChanged,
}

impl Method {
    /// The method whose name is this text, byte for byte.
    pub fn from_bytes(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"initialize" => Self::Initialize,
            b"ping" => Self::Ping,
            b"server/discover" => Self::ServerDiscover,
            b"tools/list" => Self::ToolsList,
            b"tools/call" => Self::ToolsCall,
            b"resources/list" => Self::ResourcesList,
            b"resources/templates/list" => Self::ResourcesTemplatesList,
            b"resources/read" => Self::ResourcesRead,
            b"resources/subscribe" => Self::ResourcesSubscribe,
            b"resources/unsubscribe" => Self::ResourcesUnsubscribe,
            b"prompts/list" => Self::PromptsList,
            b"prompts/get" => Self::PromptsGet,
            b"completion/complete" => Self::CompletionComplete,
            b"logging/setLevel" => Self::LoggingSetLevel,
            b"subscriptions/listen" => Self::SubscriptionsListen,
            b"tasks/get" => Self::TasksGet,
            b"tasks/update" => Self::TasksUpdate,
            b"tasks/cancel" => Self::TasksCancel,
            b"tasks/result" => Self::TasksResult,
            b"tasks/list" => Self::TasksList,
            b"sampling/createMessage" => Self::SamplingCreateMessage,
            b"roots/list" => Self::RootsList,
            b"elicitation/create" => Self::ElicitationCreate,
            b"notifications/initialized" => Self::Initialized,
            b"notifications/cancelled" => Self::Cancelled,
            b"notifications/progress" => Self::Progress,
            b"notifications/message" => Self::LogMessage,
            b"notifications/resources/updated" => Self::ResourceUpdated,
            b"notifications/resources/list_changed" => Self::ResourceListChanged,
            b"notifications/tools/list_changed" => Self::ToolListChanged,
            b"notifications/prompts/list_changed" => Self::PromptListChanged,
            b"notifications/roots/list_changed" => Self::RootsListChanged,
            b"notifications/elicitation/complete" => Self::ElicitationComplete,
            b"notifications/tasks/status" => Self::TaskStatusChanged,
            b"notifications/subscriptions/acknowledged" => Self::SubscriptionsAcknowledged,
            b"notifications/tasks" => Self::TaskChanged,
            _ => return None,
        })
    }
}

use Kind::{Notification, Request};
use Revision::{V2024_11_05, V2025_06_18, V2025_11_25, V2026_07_28};
use Sender::{Client, Either, InsideResult, Nobody, Server};

// In the order of the enum: `Method::rule` finds a row by its place, and a test holds that.
#[rustfmt::skip]
const TABLE: &[Rule] = &[
    Rule { method: Method::Initialize, name: "initialize", kind: Request, handshake: Client, stateless: Nobody, since: V2024_11_05, until: V2025_11_25, needs: Need::Nothing, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::Ping, name: "ping", kind: Request, handshake: Either, stateless: Nobody, since: V2024_11_05, until: V2025_11_25, needs: Need::Nothing, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::ServerDiscover, name: "server/discover", kind: Request, handshake: Nobody, stateless: Client, since: V2026_07_28, until: V2026_07_28, needs: Need::Nothing, mirrored: None, cacheable: true, may_ask: false },
    Rule { method: Method::ToolsList, name: "tools/list", kind: Request, handshake: Client, stateless: Client, since: V2024_11_05, until: V2026_07_28, needs: Need::Tools, mirrored: None, cacheable: true, may_ask: false },
    Rule { method: Method::ToolsCall, name: "tools/call", kind: Request, handshake: Client, stateless: Client, since: V2024_11_05, until: V2026_07_28, needs: Need::Tools, mirrored: Some("name"), cacheable: false, may_ask: true },
    Rule { method: Method::ResourcesList, name: "resources/list", kind: Request, handshake: Client, stateless: Client, since: V2024_11_05, until: V2026_07_28, needs: Need::Resources, mirrored: None, cacheable: true, may_ask: false },
    Rule { method: Method::ResourcesTemplatesList, name: "resources/templates/list", kind: Request, handshake: Client, stateless: Client, since: V2024_11_05, until: V2026_07_28, needs: Need::Resources, mirrored: None, cacheable: true, may_ask: false },
    Rule { method: Method::ResourcesRead, name: "resources/read", kind: Request, handshake: Client, stateless: Client, since: V2024_11_05, until: V2026_07_28, needs: Need::Resources, mirrored: Some("uri"), cacheable: true, may_ask: true },
    Rule { method: Method::ResourcesSubscribe, name: "resources/subscribe", kind: Request, handshake: Client, stateless: Nobody, since: V2024_11_05, until: V2025_11_25, needs: Need::ResourceSubscriptions, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::ResourcesUnsubscribe, name: "resources/unsubscribe", kind: Request, handshake: Client, stateless: Nobody, since: V2024_11_05, until: V2025_11_25, needs: Need::ResourceSubscriptions, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::PromptsList, name: "prompts/list", kind: Request, handshake: Client, stateless: Client, since: V2024_11_05, until: V2026_07_28, needs: Need::Prompts, mirrored: None, cacheable: true, may_ask: false },
    Rule { method: Method::PromptsGet, name: "prompts/get", kind: Request, handshake: Client, stateless: Client, since: V2024_11_05, until: V2026_07_28, needs: Need::Prompts, mirrored: Some("name"), cacheable: false, may_ask: true },
    Rule { method: Method::CompletionComplete, name: "completion/complete", kind: Request, handshake: Client, stateless: Client, since: V2024_11_05, until: V2026_07_28, needs: Need::Completions, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::LoggingSetLevel, name: "logging/setLevel", kind: Request, handshake: Client, stateless: Nobody, since: V2024_11_05, until: V2025_11_25, needs: Need::Logging, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::SubscriptionsListen, name: "subscriptions/listen", kind: Request, handshake: Nobody, stateless: Client, since: V2026_07_28, until: V2026_07_28, needs: Need::Nothing, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::TasksGet, name: "tasks/get", kind: Request, handshake: Either, stateless: Client, since: V2025_11_25, until: V2026_07_28, needs: Need::Tasks, mirrored: Some("taskId"), cacheable: false, may_ask: false },
    Rule { method: Method::TasksUpdate, name: "tasks/update", kind: Request, handshake: Nobody, stateless: Client, since: V2026_07_28, until: V2026_07_28, needs: Need::Tasks, mirrored: Some("taskId"), cacheable: false, may_ask: false },
    Rule { method: Method::TasksCancel, name: "tasks/cancel", kind: Request, handshake: Either, stateless: Client, since: V2025_11_25, until: V2026_07_28, needs: Need::TaskCancel, mirrored: Some("taskId"), cacheable: false, may_ask: false },
    Rule { method: Method::TasksResult, name: "tasks/result", kind: Request, handshake: Either, stateless: Nobody, since: V2025_11_25, until: V2025_11_25, needs: Need::Tasks, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::TasksList, name: "tasks/list", kind: Request, handshake: Either, stateless: Nobody, since: V2025_11_25, until: V2025_11_25, needs: Need::TaskList, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::SamplingCreateMessage, name: "sampling/createMessage", kind: Request, handshake: Server, stateless: InsideResult, since: V2024_11_05, until: V2026_07_28, needs: Need::Sampling, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::RootsList, name: "roots/list", kind: Request, handshake: Server, stateless: InsideResult, since: V2024_11_05, until: V2026_07_28, needs: Need::Roots, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::ElicitationCreate, name: "elicitation/create", kind: Request, handshake: Server, stateless: InsideResult, since: V2025_06_18, until: V2026_07_28, needs: Need::Elicitation, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::Initialized, name: "notifications/initialized", kind: Notification, handshake: Client, stateless: Nobody, since: V2024_11_05, until: V2025_11_25, needs: Need::Nothing, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::Cancelled, name: "notifications/cancelled", kind: Notification, handshake: Either, stateless: Either, since: V2024_11_05, until: V2026_07_28, needs: Need::Nothing, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::Progress, name: "notifications/progress", kind: Notification, handshake: Either, stateless: Server, since: V2024_11_05, until: V2026_07_28, needs: Need::Nothing, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::LogMessage, name: "notifications/message", kind: Notification, handshake: Server, stateless: Server, since: V2024_11_05, until: V2026_07_28, needs: Need::Nothing, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::ResourceUpdated, name: "notifications/resources/updated", kind: Notification, handshake: Server, stateless: Server, since: V2024_11_05, until: V2026_07_28, needs: Need::Nothing, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::ResourceListChanged, name: "notifications/resources/list_changed", kind: Notification, handshake: Server, stateless: Server, since: V2024_11_05, until: V2026_07_28, needs: Need::Nothing, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::ToolListChanged, name: "notifications/tools/list_changed", kind: Notification, handshake: Server, stateless: Server, since: V2024_11_05, until: V2026_07_28, needs: Need::Nothing, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::PromptListChanged, name: "notifications/prompts/list_changed", kind: Notification, handshake: Server, stateless: Server, since: V2024_11_05, until: V2026_07_28, needs: Need::Nothing, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::RootsListChanged, name: "notifications/roots/list_changed", kind: Notification, handshake: Client, stateless: Nobody, since: V2024_11_05, until: V2025_11_25, needs: Need::Nothing, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::ElicitationComplete, name: "notifications/elicitation/complete", kind: Notification, handshake: Server, stateless: Nobody, since: V2025_11_25, until: V2025_11_25, needs: Need::Nothing, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::TaskStatusChanged, name: "notifications/tasks/status", kind: Notification, handshake: Either, stateless: Nobody, since: V2025_11_25, until: V2025_11_25, needs: Need::Nothing, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::SubscriptionsAcknowledged, name: "notifications/subscriptions/acknowledged", kind: Notification, handshake: Nobody, stateless: Server, since: V2026_07_28, until: V2026_07_28, needs: Need::Nothing, mirrored: None, cacheable: false, may_ask: false },
    Rule { method: Method::TaskChanged, name: "notifications/tasks", kind: Notification, handshake: Nobody, stateless: Server, since: V2026_07_28, until: V2026_07_28, needs: Need::Nothing, mirrored: None, cacheable: false, may_ask: false },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_stands_at_the_place_of_its_method() {
        for (place, rule) in TABLE.iter().enumerate() {
            assert_eq!(rule.method as usize, place, "{}", rule.name);
            assert_eq!(Method::from_name(rule.name), Some(rule.method));
            assert_eq!(rule.method.rule(), rule);
        }
    }

    #[test]
    fn names_are_exact() {
        assert_eq!(Method::from_name("Tools/call"), None);
        assert_eq!(Method::from_name("tools/call "), None);
        assert_eq!(Method::from_name(""), None);
    }
}
