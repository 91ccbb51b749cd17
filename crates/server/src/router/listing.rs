//! Lists, page by page.
//!
//! A cursor is the name of the last entry that was sent, so that entries which come or go
//! meanwhile move no others.
//!
//! Specification: server/utilities/pagination.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::machine::server::Answer;
use switchboard_protocol::types::{
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, Resource,
    Tool,
};

use super::{Router, answer_with};
use crate::service::Call;

impl Router {
    pub(super) fn list_tools(&self, call: &Call<'_>) -> Answer {
        let catalog = self.catalog();
        let mut tools: Vec<Tool> = Vec::new();
        tools.extend(catalog.tools.iter().map(|(_, t)| t.definition.clone()));
        let handlers = catalog.tool_handlers.clone();
        // Handlers are code of the author's, which may want to change the catalog.
        drop(catalog);
        if !handlers.is_empty() {
            // The first who offers a name has it.
            let mut taken: HashSet<String> = tools.iter().map(|tool| tool.name.clone()).collect();
            let all = handlers.iter().flat_map(|handler| handler.list());
            tools.extend(all.filter(|tool| taken.insert(tool.name.clone())));
        }
        match self.page(call, tools, |tool| &tool.name) {
            Ok((tools, next)) => {
                let mut result = ListToolsResult::new(tools);
                result.next_cursor = next;
                answer_with(result, call.context.revision())
            }
            Err(error) => Answer::Error(error),
        }
    }

    pub(super) fn list_resources(&self, call: &Call<'_>) -> Answer {
        let catalog = self.catalog();
        let mut all: Vec<Resource> = Vec::new();
        all.extend(catalog.resources.iter().map(|(_, r)| r.definition.clone()));
        #[cfg(feature = "skills")]
        all.extend(catalog.skills.iter().flat_map(|skills| skills.resources()));
        match self.page(call, all, |resource| &resource.uri) {
            Ok((resources, next)) => {
                let mut result = ListResourcesResult::new(resources);
                result.next_cursor = next;
                answer_with(result, call.context.revision())
            }
            Err(error) => Answer::Error(error),
        }
    }

    pub(super) fn list_templates(&self, call: &Call<'_>) -> Answer {
        let catalog = self.catalog();
        let all = catalog.templates.iter().map(|(_, t)| t.definition.clone());
        match self.page(call, all.collect(), |template| &template.uri_template) {
            Ok((templates, next)) => {
                let mut result = ListResourceTemplatesResult::new(templates);
                result.next_cursor = next;
                answer_with(result, call.context.revision())
            }
            Err(error) => Answer::Error(error),
        }
    }

    pub(super) fn list_prompts(&self, call: &Call<'_>) -> Answer {
        let catalog = self.catalog();
        let all = catalog.prompts.iter().map(|(_, p)| p.definition.clone());
        match self.page(call, all.collect(), |prompt| &prompt.name) {
            Ok((prompts, next)) => {
                let mut result = ListPromptsResult::new(prompts);
                result.next_cursor = next;
                answer_with(result, call.context.revision())
            }
            Err(error) => Answer::Error(error),
        }
    }

    /// The page that a call wants, and the cursor of the next one.
    fn page<T>(
        &self,
        call: &Call<'_>,
        mut all: Vec<T>,
        name: impl Fn(&T) -> &str,
    ) -> Result<(Vec<T>, Option<String>), ErrorObject> {
        let cursor = call
            .params()
            .and_then(|params| params.member("cursor"))
            .filter(|cursor| *cursor != b"null");
        if let Some(cursor) = cursor {
            let last = read_cursor(cursor)
                .and_then(|last| all.iter().position(|entry| name(entry) == last));
            match last {
                Some(place) => all.drain(..=place),
                None => {
                    return Err(ErrorObject::invalid_params(
                        "the cursor is not valid (any more): list from the beginning",
                    ));
                }
            };
        }
        let page = self.page.max(1);
        let next = (all.len() > page).then(|| {
            all.truncate(page);
            all.last().map(|last| URL_SAFE_NO_PAD.encode(name(last)))
        });
        Ok((all, next.flatten()))
    }
}

/// The name that a cursor stands for.
fn read_cursor(cursor: &[u8]) -> Option<String> {
    let cursor: String = serde_json::from_slice(cursor).ok()?;
    String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()
}
