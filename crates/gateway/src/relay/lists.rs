//! Lists of all servers, page by page.
//!
//! A page is cut from one snapshot of the catalogue. A cursor names the snapshot's version and a
//! place in it, sealed; if the catalogue has changed since, the list begins anew.
//!
//! Specification: server/utilities/pagination.

use std::sync::Arc;

use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
};
use switchboard_server::{Answer, Context};

use super::Inner;
use super::answers::answer_with;

impl Inner {
    pub(super) fn list_tools(&self, context: &Context) -> Answer {
        let catalog = self.hub.catalog();
        let entries = catalog.tools();
        let page = page(context, catalog.version(), entries.len());
        answer(
            page,
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

/// A part of a list, and the cursor of the next one.
struct Page {
    from: usize,
    count: usize,
    next: Option<String>,
}

fn answer<T: super::answers::Fits>(
    page: Result<Page, ErrorObject>,
    make: impl FnOnce((usize, usize)) -> T,
    set_next: impl FnOnce(&mut T, Option<String>),
    context: &Context,
) -> Answer {
    match page {
        Ok(page) => {
            let mut result = make((page.from, page.count));
            set_next(&mut result, page.next);
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
