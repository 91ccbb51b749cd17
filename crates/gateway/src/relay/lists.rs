//! Lists of all servers, page by page.
//!
//! A page is cut from one snapshot of the catalogue. A cursor names the snapshot's version and a
//! place in it, sealed; if the catalogue has changed since, the list begins anew.
//!
//! How long a list may be kept, and by whom, is what its servers said, taken together. That is read
//! with each page: the scope is that of the snapshot, so it is the same for all of them. What
//! `server/discover` tells may not be kept at all: nobody would hear that it has changed, as servers
//! come and go. What is read of a server passes with what the server itself said of it.
//!
//! Specification: server/utilities/pagination; 2026-07-28 server/utilities/caching.

use std::sync::Arc;

use switchboard_hub::{Catalog, Kind};
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{
    CacheHint, CacheScope, Cacheable, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult,
};
use switchboard_server::{Answer, Context};

use super::Inner;
use super::answers::{Fits, answer_with};

impl Inner {
    pub(super) fn list_tools(&self, context: &Context) -> Answer {
        let catalog = self.hub.catalog();
        let entries = catalog.tools();
        let page = page(context, catalog.version(), entries.len());
        answer(
            page,
            self.cache_hint(&catalog, Kind::Tool),
            |(from, count)| {
                let tools = entries.skip(from).take(count).map(|entry| {
                    let mut tool = catalog.definition(entry);
                    let shown = self.names.shown_tool(&catalog, entry);
                    shown.clone_into(&mut tool.name);
                    (Arc::clone(&entry.server), tool)
                });
                let mut tools: Vec<_> = tools.collect();
                self.say_task_support(&mut tools, context.revision());
                let mut tools: Vec<_> = tools.into_iter().map(|(_, tool)| tool).collect();
                if from == 0 {
                    tools.extend(self.hub.own_tools().iter().cloned());
                }
                ListToolsResult::new(tools)
            },
            |result, next| result.next_cursor = next,
            context,
        )
    }

    pub(super) fn list_prompts(&self, context: &Context) -> Answer {
        let catalog = self.hub.catalog();
        let entries = catalog.prompts();
        let page = page(context, catalog.version(), entries.len());
        answer(
            page,
            self.cache_hint(&catalog, Kind::Prompt),
            |(from, count)| {
                let prompts = entries.skip(from).take(count).map(|entry| {
                    let mut prompt = entry.definition();
                    let shown = self.names.shown_prompt(&catalog, entry);
                    shown.clone_into(&mut prompt.name);
                    prompt
                });
                ListPromptsResult::new(prompts.collect())
            },
            |result, next| result.next_cursor = next,
            context,
        )
    }

    pub(super) fn list_resources(&self, context: &Context) -> Answer {
        let catalog = self.hub.catalog();
        let entries = catalog.resources();
        let page = page(context, catalog.version(), entries.len());
        answer(
            page,
            self.cache_hint(&catalog, Kind::Resource),
            |(from, count)| {
                let resources = entries.skip(from).take(count);
                ListResourcesResult::new(resources.map(|entry| entry.definition()).collect())
            },
            |result, next| result.next_cursor = next,
            context,
        )
    }

    pub(super) fn list_templates(&self, context: &Context) -> Answer {
        let catalog = self.hub.catalog();
        let entries = catalog.templates();
        let page = page(context, catalog.version(), entries.len());
        answer(
            page,
            self.cache_hint(&catalog, Kind::Template),
            |(from, count)| {
                let templates = entries.skip(from).take(count);
                ListResourceTemplatesResult::new(
                    templates.map(|entry| entry.definition()).collect(),
                )
            },
            |result, next| result.next_cursor = next,
            context,
        )
    }
}

impl Inner {
    /// How long a list may be kept, and by whom, if anybody said so.
    fn cache_hint(&self, catalog: &Catalog, kind: Kind) -> Option<CacheHint> {
        let mut hint = catalog.cache_hint(kind)?;
        if self.is_locked {
            // It is the key that decides what its caller sees, and which one sees what can change
            // at any time: nobody is to be shown what was listed for another.
            hint.scope = CacheScope::Private;
        }
        Some(hint)
    }
}

/// A part of a list, and the cursor of the next one.
struct Page {
    from: usize,
    count: usize,
    next: Option<String>,
}

fn answer<T: Fits + Cacheable>(
    page: Result<Page, ErrorObject>,
    hint: Option<CacheHint>,
    make: impl FnOnce((usize, usize)) -> T,
    set_next: impl FnOnce(&mut T, Option<String>),
    context: &Context,
) -> Answer {
    match page {
        Ok(page) => {
            let mut result = make((page.from, page.count));
            set_next(&mut result, page.next);
            if let Some(hint) = hint {
                result.set_cache(hint.time_to_live, hint.scope);
            }
            answer_with(result, context.revision())
        }
        Err(error) => Answer::Error(error),
    }
}

/// The page of a list of this length that a call wants.
fn page(context: &Context, version: u64, length: usize) -> Result<Page, ErrorObject> {
    let stale = || {
        ErrorObject::invalid_params("the cursor is not valid (any more): list from the beginning")
    };
    let params = context.params();
    let cursor = params.and_then(|params| params.string_member("cursor"));
    let from = match cursor {
        Some(cursor) => {
            let place = context.unseal(PURPOSE, &cursor).map_err(|_| stale())?;
            let place: (u64, usize) = serde_json::from_slice(&place).map_err(|_| stale())?;
            if place.0 != version || place.1 > length {
                return Err(stale());
            }
            place.1
        }
        None => 0,
    };
    let end = length.min(from.saturating_add(PAGE));
    let next = (end < length).then(|| {
        let place = format!("[{version},{end}]");
        context.seal(PURPOSE, place.as_bytes())
    });
    let next = next
        .transpose()
        .map_err(|error| ErrorObject::internal(error.to_string()))?;
    Ok(Page {
        from,
        count: end - from,
        next,
    })
}

const PURPOSE: &str = "cursor";
const PAGE: usize = 500;
