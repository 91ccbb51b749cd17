//! The tools of a server, as they were listed.

use std::collections::HashMap;
use std::sync::Arc;
#[cfg(feature = "validate")]
use std::sync::OnceLock;

use switchboard_protocol::http::parameter::Parameters;
use switchboard_protocol::types::{RejectedTool, Tool};

/// The tools of a server, as they were listed. Cheap to share, never changes.
///
/// The schemas of a [`Tool`] are the text that the server sent.
#[derive(Debug, Default)]
pub struct Tools {
    tools: Vec<Tool>,
    by_name: HashMap<String, usize>,
    left_out: Vec<String>,
    /// The arguments that headers repeat, of the tools that have such.
    parameters: HashMap<String, Arc<Parameters>>,
    #[cfg(feature = "validate")]
    output_schemas: HashMap<String, OnceLock<Option<crate::output_schema::OutputSchema>>>,
}

impl Tools {
    /// The tool of this name.
    pub fn by_name(&self, name: &str) -> Option<&Tool> {
        self.tools.get(*self.by_name.get(name)?)
    }

    /// All tools, in the server's order.
    pub fn iter(&self) -> std::slice::Iter<'_, Tool> {
        self.tools.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// What was left out of the list, and why: tools that cannot be read, whose name came
    /// before, or that cannot be called over HTTP.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Takes the tools of one page in.
    pub(crate) fn add(&mut self, tools: Vec<Tool>, rejected: Vec<RejectedTool>, is_http: bool) {
        self.left_out.extend(
            rejected
                .into_iter()
                .map(|tool| format!("tool {} of its page: {}", tool.index + 1, tool.reason)),
        );
        for tool in tools {
            if self.by_name.contains_key(&tool.name) {
                self.left_out
                    .push(format!("tool {:?}: its name came before", tool.name));
                continue;
            }
            if is_http {
                match Parameters::read(&tool.input_schema) {
                    Ok(parameters) if parameters.is_empty() => {}
                    Ok(parameters) => {
                        self.parameters
                            .insert(tool.name.clone(), Arc::new(parameters));
                    }
                    Err(invalid) => {
                        self.left_out
                            .push(format!("tool {:?}: {invalid}", tool.name));
                        continue;
                    }
                }
            }
            #[cfg(feature = "validate")]
            if tool.output_schema.is_some() {
                self.output_schemas
                    .insert(tool.name.clone(), OnceLock::new());
            }
            self.by_name.insert(tool.name.clone(), self.tools.len());
            self.tools.push(tool);
        }
    }

    /// The arguments of a tool that headers repeat.
    pub(crate) fn parameters(&self, name: &str) -> Option<&Arc<Parameters>> {
        self.parameters.get(name)
    }

    /// What the structured result of a tool must fit, ready to be used.
    #[cfg(feature = "validate")]
    pub(crate) fn output_schema(&self, name: &str) -> Option<&crate::output_schema::OutputSchema> {
        let schema = self.output_schemas.get(name)?;
        let compiled = schema.get_or_init(|| {
            let text = self.by_name(name)?.output_schema.as_ref()?;
            crate::output_schema::OutputSchema::new(text)
        });
        compiled.as_ref()
    }
}

impl<'a> IntoIterator for &'a Tools {
    type Item = &'a Tool;
    type IntoIter = std::slice::Iter<'a, Tool>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
