//! A service of tools, resources and prompts: finds who answers a call, and decodes once.
//!
//! Specification: server/tools, server/resources, server/prompts,
//! server/utilities/completion, server/utilities/pagination.

mod calling;
mod listing;
mod planning;
mod reading;
#[cfg(feature = "skills")]
mod skills;
mod task_result;
mod tasks;

use std::sync::{Arc, RwLockReadGuard};

use serde::Serialize;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::machine::server::Answer;
use switchboard_protocol::revision::{StepDown, StepDownError};
use switchboard_protocol::types::{
    Implementation, PromptsCapability, ResourcesCapability, ServerCapabilities, ToolsCapability,
};
use switchboard_protocol::{Method, Payload, Revision};

use crate::catalog::{Catalog, Offers};
use crate::service::{About, Call, Reply, Service};
use crate::shelf::Shelf;
use crate::tasks::Tasks;
use crate::tool::ToolEntry;

/// A service of tools, resources and prompts.
pub(crate) struct Router {
    info: Implementation,
    instructions: Option<String>,
    page: usize,
    offers: Arc<Offers>,
    /// The tools that there were when this was made, and in which edition: as long as nothing
    /// has changed since, as in most servers nothing does, they are found without a lock.
    ///
    /// One of them that is taken away later is not found here any more, but what it holds lives
    /// as long as the server. That is no more than what was built with it, whatever comes and
    /// goes; to let go of it would take a count or a lock at every call.
    first_tools: Shelf<ToolEntry>,
    first_edition: u64,
    tasks: Option<Tasks>,
}

impl Router {
    pub(crate) fn new(
        info: Implementation,
        instructions: Option<String>,
        page: usize,
        offers: Arc<Offers>,
        tasks: Option<Tasks>,
    ) -> Self {
        let catalog = offers.read();
        let (first_tools, first_edition) = (catalog.tools.clone(), offers.edition());
        drop(catalog);
        Self {
            info,
            instructions,
            page,
            offers,
            first_tools,
            first_edition,
            tasks,
        }
    }

    /// Methods of extensions, which the table does not have.
    fn extension(&self, call: &Call<'_>) -> Answer {
        #[cfg(feature = "skills")]
        if let Some(answer) = self.skills(call) {
            return answer;
        }
        Answer::Error(ErrorObject::method_not_found(call.method.as_str()))
    }

    /// The tools that are offered now, if they are still those of the beginning.
    fn first_tools(&self) -> Option<&Shelf<ToolEntry>> {
        (self.offers.edition() == self.first_edition).then_some(&self.first_tools)
    }

    /// What is offered now.
    fn catalog(&self) -> RwLockReadGuard<'_, Catalog> {
        self.offers.read()
    }
}

impl Service for Router {
    fn about(&self) -> About {
        let mut capabilities = capabilities_of(&self.catalog());
        if self.tasks.is_some() {
            planning::declare(&mut capabilities);
        }
        let mut about = About::new(self.info.clone(), capabilities);
        about.instructions.clone_from(&self.instructions);
        about
    }

    fn call(&self, call: Call<'_>) -> Reply {
        match call.method.known() {
            Some(Method::ToolsCall) => self.call_tool(call),
            Some(Method::ToolsList) => Reply::Now(self.list_tools(&call)),
            Some(Method::ResourcesList) => Reply::Now(self.list_resources(&call)),
            Some(Method::ResourcesTemplatesList) => Reply::Now(self.list_templates(&call)),
            Some(Method::ResourcesRead) => self.read_resource(call),
            Some(Method::ResourcesSubscribe) => Reply::Now(self.subscribe(&call)),
            // Whoever wants to hear no more need not have heard before.
            Some(Method::ResourcesUnsubscribe) => Reply::Now(Answer::Result(Payload::empty())),
            Some(Method::PromptsList) => Reply::Now(self.list_prompts(&call)),
            Some(Method::PromptsGet) => self.fill_prompt(call),
            Some(Method::CompletionComplete) => self.complete(call),
            Some(Method::TasksGet) => self.get_task(call),
            Some(Method::TasksUpdate) => self.update_task(call),
            Some(Method::TasksCancel) => self.cancel_task(call),
            Some(Method::TasksResult) => self.task_result(call),
            Some(Method::TasksList) => self.list_tasks(call),
            _ => Reply::Now(self.extension(&call)),
        }
    }
}

/// What a server with this catalog can do.
fn capabilities_of(catalog: &Catalog) -> ServerCapabilities {
    let mut capabilities = ServerCapabilities::default();
    capabilities.logging = Some(serde_json::Map::new());
    if !catalog.tools.is_empty() || !catalog.tool_handlers.is_empty() {
        let mut tools = ToolsCapability::default();
        tools.list_changed = Some(true);
        capabilities.tools = Some(tools);
    }
    #[cfg(feature = "skills")]
    let has_skills = catalog.skills.is_some();
    #[cfg(not(feature = "skills"))]
    let has_skills = false;
    if !catalog.resources.is_empty() || !catalog.templates.is_empty() || has_skills {
        let mut resources = ResourcesCapability::default();
        resources.list_changed = Some(true);
        resources.subscribe = Some(true);
        capabilities.resources = Some(resources);
    }
    if !catalog.prompts.is_empty() {
        let mut prompts = PromptsCapability::default();
        prompts.list_changed = Some(true);
        capabilities.prompts = Some(prompts);
    }
    let completes = catalog
        .prompts
        .iter()
        .any(|(_, p)| !p.completers.is_empty())
        || catalog
            .templates
            .iter()
            .any(|(_, t)| !t.completers.is_empty());
    if completes {
        capabilities.completions = Some(serde_json::Map::new());
    }
    #[cfg(feature = "skills")]
    if let Some(skills) = &catalog.skills {
        let extensions = capabilities.extensions.get_or_insert_default();
        extensions.insert(
            crate::skills::SKILLS_EXTENSION.to_owned(),
            skills.capability(),
        );
    }
    capabilities
}

/// A result in the words of the caller's revision.
fn answer_with<T: Serialize + StepDown>(mut result: T, revision: Revision) -> Answer {
    // The newest revision too has left something behind.
    if let Err(hindrance) = result.check_step_down(revision) {
        return unsayable(&hindrance.into(), revision);
    }
    result.step_down(revision);
    match Payload::encode(&result) {
        Ok(result) => Answer::Result(result),
        Err(error) => Answer::Error(ErrorObject::internal(format!(
            "the result cannot be written as JSON: {error}"
        ))),
    }
}

/// The caller's revision has no form for the result.
fn unsayable(error: &StepDownError, revision: Revision) -> Answer {
    Answer::Error(ErrorObject::internal(format!(
        "the result cannot be said in revision {revision}: {error}"
    )))
}
