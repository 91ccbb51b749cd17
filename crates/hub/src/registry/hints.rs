//! How long the list of a kind may be kept, and by whom: what its servers said, taken together.
//!
//! What a server said counts from the moment at which it is passed on, as long as the server tells when
//! the list changes: what is known here is as good as what the server would say now. Of a server that
//! tells nothing, what is known here may be passed on as fresh only as long as it is fresh here.
//!
//! Whoever says nothing means that nobody may keep anything, and nobody else may see it. So it is
//! with servers of the handshake era, although they may announce changes: a client that keeps a list
//! need not listen. So it is with a server that has not been heard yet, that has no connection now, or
//! whose list is known from its last run.
//!
//! Specification: 2026-07-28 server/utilities/caching.

use std::time::Duration;

use switchboard_client::{ListHint, ListHints, Ready};
use switchboard_protocol::types::{CacheHint, CacheScope, ServerCapabilities};
use tokio::time::Instant;

use crate::registry::Kind;
use crate::registry::catalog::Catalog;

/// What is known of how long a list of a server holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hint {
    /// Nothing.
    #[default]
    Unsaid,
    /// The server has no such list, so it has no say in what is made of all of them.
    NoList,
    /// The server said so.
    Said {
        hint: CacheHint,
        /// How long what was heard is fresh here, if the server does not tell of changes.
        until: Option<Instant>,
    },
}

/// The hints of a server, by list. What is `None` stays what it was; at first that is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    pub(crate) tools: Option<Hint>,
    pub(crate) prompts: Option<Hint>,
    pub(crate) resources: Option<Hint>,
    pub(crate) templates: Option<Hint>,
}

impl Catalog {
    /// How long the list of this kind may be kept, and by whom: as long as all servers whose things
    /// are in it said at least, and by others only if all of them said so. None if no server has such
    /// a list.
    pub fn cache_hint(&self, kind: Kind) -> Option<CacheHint> {
        let members = self.snapshot().members.iter();
        // Of what is not let through, nothing is in the list.
        let seen = members.filter(|member| member.policy.refusal().is_none());
        let hints = seen.filter_map(|member| member.offer.hints.of(kind).now());
        hints.reduce(CacheHint::and)
    }
}

impl Hint {
    fn now(self) -> Option<CacheHint> {
        match self {
            Self::NoList => None,
            Self::Unsaid => Some(CacheHint::default()),
            Self::Said { hint, until } => {
                let is_over = until.is_some_and(|until| until <= Instant::now());
                Some(match is_over {
                    // Who may share it does not change by that.
                    true => CacheHint::new(Duration::ZERO, hint.scope),
                    false => hint,
                })
            }
        }
    }
}

impl Hints {
    /// As of a server of which nothing is offered.
    pub(crate) const NO_LISTS: Self = Self::all(Hint::NoList);
    /// As of a server that is not listened to.
    pub(crate) const UNSAID: Self = Self::all(Hint::Unsaid);

    const fn all(hint: Hint) -> Self {
        Self {
            tools: Some(hint),
            prompts: Some(hint),
            resources: Some(hint),
            templates: Some(hint),
        }
    }

    /// What a server said, and what it declares.
    pub(crate) fn of_server(said: &ListHints, ready: &Ready) -> Self {
        let capabilities = &ready.capabilities;
        let of = |is_there: bool,
                  said: Option<ListHint>,
                  tells: fn(&ServerCapabilities) -> bool| {
            Some(match said {
                _ if !is_there => Hint::NoList,
                // So that it is no news when a server that says nothing comes and goes.
                Some(said) if said.said == CacheHint::default() => Hint::Unsaid,
                None => Hint::Unsaid,
                Some(said) => Hint::Said {
                    hint: said.said,
                    until: match tells(capabilities) {
                        true => None,
                        // What lasts longer than can be said lasts.
                        false => Instant::from_std(said.heard).checked_add(said.said.time_to_live),
                    },
                },
            })
        };
        let tells_resources = ServerCapabilities::announces_resource_changes;
        let has_resources = capabilities.resources.is_some();
        Self {
            tools: of(
                capabilities.has_tools(),
                said.tools,
                ServerCapabilities::announces_tool_changes,
            ),
            prompts: of(
                capabilities.prompts.is_some(),
                said.prompts,
                ServerCapabilities::announces_prompt_changes,
            ),
            resources: of(has_resources, said.resources, tells_resources),
            templates: of(has_resources, said.templates, tells_resources),
        }
    }

    /// The same of a server of which each user has one alone: another user may be told something else.
    #[must_use]
    pub(crate) fn for_one_user(mut self) -> Self {
        let lists = [
            &mut self.tools,
            &mut self.prompts,
            &mut self.resources,
            &mut self.templates,
        ];
        for list in lists {
            if let Some(Hint::Said { hint, .. }) = list {
                hint.scope = CacheScope::Private;
            }
        }
        self
    }

    /// What is known after this was heard. Whoever lists something and says nothing of it has said
    /// nothing.
    #[must_use]
    pub(crate) fn heard(self, new: Self) -> Self {
        Self {
            tools: new.tools.or(self.tools),
            prompts: new.prompts.or(self.prompts),
            resources: new.resources.or(self.resources),
            templates: new.templates.or(self.templates),
        }
    }

    fn of(self, kind: Kind) -> Hint {
        let hint = match kind {
            Kind::Tool => self.tools,
            Kind::Prompt => self.prompts,
            Kind::Resource => self.resources,
            Kind::Template => self.templates,
            Kind::Server => Some(Hint::NoList),
        };
        hint.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use switchboard_client::types::Tool;

    use super::*;
    use crate::policy::ToolFilter;
    use crate::registry::{MemberCatalog, Registry};
    use crate::{Naming, Profile};

    fn said(seconds: u64, scope: CacheScope) -> Hint {
        Hint::Said {
            hint: CacheHint::new(Duration::from_secs(seconds), scope),
            until: None,
        }
    }

    fn tools(hint: Option<Hint>) -> MemberCatalog {
        let tool: Tool =
            serde_json::from_str(r#"{"name":"read","inputSchema":{"type":"object"}}"#).unwrap();
        let mut listed = MemberCatalog::new().with_tools(vec![tool]);
        listed.hints.tools = hint;
        listed
    }

    fn check(registry: &Registry, expected: Option<(u64, CacheScope)>) {
        let expected =
            expected.map(|(seconds, scope)| CacheHint::new(Duration::from_secs(seconds), scope));
        assert_eq!(registry.catalog().cache_hint(Kind::Tool), expected);
    }

    const PUBLIC: CacheScope = CacheScope::Public;
    const PRIVATE: CacheScope = CacheScope::Private;

    #[tokio::test]
    async fn the_shortest_life_and_the_narrowest_scope_are_those_of_the_list() {
        let mut registry = Registry::new(Naming::default());
        check(&registry, None);
        registry.set_member("one", tools(Some(said(60, PUBLIC))));
        registry.set_member("two", tools(Some(said(30, PUBLIC))));
        check(&registry, Some((30, PUBLIC)));
        registry.set_member("three", tools(Some(said(90, PRIVATE))));
        check(&registry, Some((30, PRIVATE)));
        // One that has no tools has no say; one that said nothing says the least.
        registry.set_member("four", tools(Some(Hint::NoList)));
        check(&registry, Some((30, PRIVATE)));
        registry.set_member("five", tools(None));
        check(&registry, Some((0, PRIVATE)));
        // What cannot be seen does not count.
        registry.set_enabled("five", false);
        check(&registry, Some((30, PRIVATE)));
        let mut profile = Profile::new("first");
        profile.servers = ToolFilter::default().allow(["one"]);
        let seen = registry.catalog().narrowed(&profile);
        let expected = CacheHint::new(Duration::from_secs(60), PUBLIC);
        assert_eq!(seen.cache_hint(Kind::Tool), Some(expected));
    }

    #[tokio::test]
    async fn another_hint_is_another_snapshot_but_no_change_that_anybody_is_told_of() {
        let mut registry = Registry::new(Naming::default());
        registry.set_member("one", tools(Some(said(60, PUBLIC))));
        let before = registry.catalog().version();
        let same = registry.set_member("one", tools(Some(said(60, PUBLIC))));
        assert!(same.is_empty() && registry.catalog().version() == before);
        let changes = registry.set_member("one", tools(Some(said(5, PUBLIC))));
        assert!(changes.is_empty() && registry.catalog().version() > before);
        check(&registry, Some((5, PUBLIC)));
        // What is listed by somebody who knows nothing of it.
        registry.set_member("one", tools(None));
        check(&registry, Some((0, PRIVATE)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_fresh_here_any_more_is_not_passed_on_as_fresh() {
        let mut registry = Registry::new(Naming::default());
        let minute = Duration::from_secs(60);
        let hint = Hint::Said {
            hint: CacheHint::new(minute, PUBLIC),
            until: Some(Instant::now() + minute),
        };
        registry.set_member("one", tools(Some(hint)));
        registry.set_member("two", tools(Some(said(90, PUBLIC))));
        tokio::time::advance(minute / 2).await;
        check(&registry, Some((60, PUBLIC)));
        tokio::time::advance(minute / 2).await;
        check(&registry, Some((0, PUBLIC)));
    }
}
