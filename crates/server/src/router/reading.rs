//! Reading resources, filling in prompts, completing arguments.
//!
//! Specification: server/resources, server/prompts, server/utilities/completion.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::machine::server::Answer;
use switchboard_protocol::types::{
    CompleteRequestParams, CompleteResult, Completion, CompletionReference,
};

use super::{Router, answer_with};
use crate::completion::Completing;
use crate::context::Context;
use crate::prompt::PromptEntry;
use crate::resource::{ReadFuture, not_found};
use crate::service::{Call, Reply};

impl Router {
    pub(super) fn read_resource(&self, call: Call<'_>) -> Reply {
        let uri = match uri_of(&call) {
            Ok(uri) => uri,
            Err(error) => return Reply::Now(Answer::Error(error)),
        };
        #[cfg(feature = "skills")]
        if let Some(skills) = self.catalog().skills.clone()
            && let Some(result) = skills.read(&uri)
        {
            return Reply::Now(answer_with(result, call.context.revision()));
        }
        let Some((read, mime_type)) = self.reader(&uri, call.context) else {
            return Reply::Now(Answer::Error(not_found(&uri)));
        };
        let context = call.context.clone();
        Reply::later(async move {
            match read.await.into_result(&uri, mime_type.as_deref()) {
                Ok(result) => answer_with(result, context.revision()),
                Err(error) => Answer::Error(context.refusal().unwrap_or(error)),
            }
        })
    }

    /// Who reads a resource, and what kind it is of: a resource, or a template that fits.
    fn reader(&self, uri: &str, context: &Context) -> Option<(ReadFuture, Option<String>)> {
        let catalog = self.catalog();
        if let Some(entry) = catalog.resources.find(uri) {
            let entry = Arc::clone(entry);
            drop(catalog);
            let mime_type = entry.definition.mime_type.clone();
            return Some(((entry.read)(context.clone()), mime_type));
        }
        let (entry, variables) = catalog.templates.iter().find_map(|(_, entry)| {
            let variables = entry.template.matches(uri)?;
            Some((Arc::clone(entry), variables))
        })?;
        drop(catalog);
        let mime_type = entry.definition.mime_type.clone();
        Some(((entry.read)(&variables, context.clone()), mime_type))
    }

    /// Anything that can be read can be subscribed to.
    pub(super) fn subscribe(&self, call: &Call<'_>) -> Answer {
        let uri = match uri_of(call) {
            Ok(uri) => uri,
            Err(error) => return Answer::Error(error),
        };
        let catalog = self.catalog();
        #[cfg(feature = "skills")]
        let is_of_skill = (catalog.skills.as_ref()).is_some_and(|skills| skills.has_file(&uri));
        #[cfg(not(feature = "skills"))]
        let is_of_skill = false;
        let is_known = is_of_skill
            || catalog.resources.find(&uri).is_some()
            || catalog
                .templates
                .iter()
                .any(|(_, entry)| entry.template.matches(&uri).is_some());
        if is_known {
            Answer::Result(Payload::empty())
        } else {
            Answer::Error(not_found(&uri))
        }
    }

    pub(super) fn fill_prompt(&self, call: Call<'_>) -> Reply {
        #[derive(serde::Deserialize)]
        struct Params {
            name: String,
            arguments: Option<BTreeMap<String, String>>,
        }
        let params: Params = match decode(&call) {
            Ok(params) => params,
            Err(error) => return Reply::Now(Answer::Error(error)),
        };
        let Some(entry) = self.prompt(&params.name) else {
            return Reply::Now(Answer::Error(unknown_prompt(&params.name)));
        };
        let arguments = params.arguments.unwrap_or_default();
        let known = entry.definition.arguments.as_deref().unwrap_or_default();
        let missing = known
            .iter()
            .find(|argument| argument.is_required() && !arguments.contains_key(&argument.name));
        if let Some(missing) = missing {
            return Reply::Now(Answer::Error(ErrorObject::invalid_params(format!(
                "prompt {:?} needs the argument {:?}",
                params.name, missing.name
            ))));
        }
        let filled = (entry.fill)(&arguments, call.context.clone());
        let context = call.context.clone();
        Reply::later(async move {
            match filled.await {
                Ok(mut result) => {
                    if result.description.is_none() {
                        result.description.clone_from(&entry.definition.description);
                    }
                    answer_with(result, context.revision())
                }
                Err(error) => Answer::Error(context.refusal().unwrap_or(error)),
            }
        })
    }

    pub(super) fn complete(&self, call: Call<'_>) -> Reply {
        let params: CompleteRequestParams = match decode(&call) {
            Ok(params) => params,
            Err(error) => return Reply::Now(Answer::Error(error)),
        };
        let completers = match &params.reference {
            CompletionReference::Prompt(prompt) => match self.prompt(&prompt.name) {
                Some(entry) => entry.completers.clone(),
                None => return Reply::Now(Answer::Error(unknown_prompt(&prompt.name))),
            },
            CompletionReference::ResourceTemplate(template) => {
                let catalog = self.catalog();
                match catalog.templates.find(&template.uri) {
                    Some(entry) => entry.completers.clone(),
                    // The specification allows plain URIs here, which have nothing to complete.
                    None => Default::default(),
                }
            }
            _ => {
                let error = ErrorObject::invalid_params("ref: expected ref/prompt or ref/resource");
                return Reply::Now(Answer::Error(error));
            }
        };
        let known = params.context.and_then(|context| context.arguments);
        let typed = Completing::new(
            params.argument.value,
            known.unwrap_or_default(),
            call.context.clone(),
        );
        let argument = params.argument.name;
        let revision = call.context.revision();
        Reply::later(async move {
            let values = completers.complete(&argument, typed).await;
            answer_with(CompleteResult::new(Completion::new(values)), revision)
        })
    }

    fn prompt(&self, name: &str) -> Option<Arc<PromptEntry>> {
        self.catalog().prompts.find(name).cloned()
    }
}

fn uri_of(call: &Call<'_>) -> Result<String, ErrorObject> {
    call.params()
        .and_then(|params| params.string_member("uri"))
        .map(|uri| uri.into_owned())
        .ok_or_else(|| {
            ErrorObject::invalid_params(format!("{} needs a uri, which is a string", call.method))
        })
}

pub(super) fn decode<T: DeserializeOwned>(call: &Call<'_>) -> Result<T, ErrorObject> {
    let params = call
        .params()
        .ok_or_else(|| ErrorObject::invalid_params(format!("{} needs params", call.method)))?;
    serde_json::from_slice(params.text())
        .map_err(|error| ErrorObject::invalid_params(format!("{}: {error}", call.method)))
}

fn unknown_prompt(name: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("Unknown prompt: {name}"))
}
