//! Resources: what a client may read.
//!
//! [`resource`] makes one of a function; [`template`] makes a family of them.
//!
//! Specification: server/resources.

mod contents;
mod function;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use switchboard_protocol::types::{Annotations, Icon, Resource, ResourceTemplate};
use switchboard_protocol::uri_template::{UriTemplate, Variables};

use crate::completion::{Completers, Completing};
use crate::context::Context;
use crate::error::BuildError;

pub use contents::{IntoContents, Read};

pub(crate) use contents::not_found;
pub use function::{ResourceFunction, TemplateFunction};

/// A resource that is read by calling a function.
///
/// ```
/// use switchboard_server::{Server, resource};
///
/// let server = Server::new("demo", "1.0.0").resource(
///     resource("demo://motd", async || "Be kind.")
///         .name("Message of the day")
///         .mime_type("text/plain"),
/// );
/// ```
pub fn resource<F, M>(uri: impl Into<String>, function: F) -> ResourceBuilder
where
    F: ResourceFunction<M>,
{
    let uri = uri.into();
    ResourceBuilder {
        definition: Resource::new(uri.clone(), uri),
        read: Arc::new(move |context| function.read(context)),
    }
}

/// A family of resources whose URIs fit an RFC 6570 template. The function gets the
/// variables, as a type with a field for each.
///
/// They are decoded, and the client chooses them: one may hold `/` and `..`, so it must be
/// checked before it becomes part of a path.
///
/// ```
/// use serde::Deserialize;
/// use switchboard_server::{Server, template};
///
/// #[derive(Deserialize)]
/// struct Row {
///     table: String,
///     id: u64,
/// }
///
/// let server = Server::new("demo", "1.0.0").template(
///     template("db://{table}/{id}", |row: Row| async move { format!("{} {}", row.table, row.id) })
///         .description("A row of a table."),
/// );
/// ```
pub fn template<F, A, M>(uri_template: impl Into<String>, function: F) -> TemplateBuilder
where
    A: DeserializeOwned,
    F: TemplateFunction<A, M>,
{
    let text = uri_template.into();
    TemplateBuilder {
        definition: ResourceTemplate::new(text.clone(), text),
        completers: Completers::default(),
        read: Arc::new(move |variables, context| function.read(variables, context)),
    }
}

/// What reads a resource.
pub(crate) type ReadFuture = Pin<Box<dyn Future<Output = Read> + Send>>;
type ReadResource = Arc<dyn Fn(Context) -> ReadFuture + Send + Sync>;
type ReadTemplate = Arc<dyn Fn(&Variables, Context) -> ReadFuture + Send + Sync>;

/// A resource in the making.
#[must_use = "a resource does nothing until it is given to a server"]
pub struct ResourceBuilder {
    definition: Resource,
    read: ReadResource,
}

impl ResourceBuilder {
    /// Its name; the URI if nothing is said.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.definition.name = name.into();
        self
    }

    /// Its name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// What it is, for the model.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = Some(description.into());
        self
    }

    /// What kind of content it has.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.definition.mime_type = Some(mime_type.into());
        self
    }

    /// Its size in bytes.
    pub fn size(mut self, size: u64) -> Self {
        self.definition.size = Some(size.into());
        self
    }

    /// Whom it is for and how much it matters.
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.definition.annotations = Some(annotations);
        self
    }

    /// Its icons.
    pub fn icons(mut self, icons: Vec<Icon>) -> Self {
        self.definition.icons = Some(icons);
        self
    }

    pub(crate) fn build(self) -> Result<ResourceEntry, BuildError> {
        if !has_scheme(&self.definition.uri) {
            return Err(BuildError::Resource {
                uri: self.definition.uri,
                reason: "a URI begins with a scheme, such as file: or demo:".to_owned(),
            });
        }
        Ok(ResourceEntry {
            definition: self.definition,
            read: self.read,
        })
    }
}

/// A family of resources in the making.
#[must_use = "a template does nothing until it is given to a server"]
pub struct TemplateBuilder {
    definition: ResourceTemplate,
    completers: Completers,
    read: ReadTemplate,
}

impl TemplateBuilder {
    /// Its name; the template if nothing is said.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.definition.name = name.into();
        self
    }

    /// Its name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// What these resources are, for the model.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = Some(description.into());
        self
    }

    /// What kind of content they have, if all have the same.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.definition.mime_type = Some(mime_type.into());
        self
    }

    /// Suggests values for a variable while a user types.
    pub fn complete<F, Fut>(mut self, variable: impl Into<String>, function: F) -> Self
    where
        F: Fn(Completing) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<String>> + Send + 'static,
    {
        self.completers.add(variable.into(), function);
        self
    }

    pub(crate) fn build(self) -> Result<TemplateEntry, BuildError> {
        let text = &self.definition.uri_template;
        let fault = |reason: String| BuildError::Resource {
            uri: text.clone(),
            reason,
        };
        let template = UriTemplate::parse(text).map_err(|error| fault(error.to_string()))?;
        if let Some(unknown) = self
            .completers
            .names()
            .find(|name| !template.variable_names().any(|variable| variable == *name))
        {
            return Err(fault(format!("it has no variable {unknown:?} to complete")));
        }
        Ok(TemplateEntry {
            template,
            definition: self.definition,
            completers: self.completers,
            read: self.read,
        })
    }
}

/// A resource that can be read.
pub(crate) struct ResourceEntry {
    pub(crate) definition: Resource,
    pub(crate) read: ReadResource,
}

/// A family of resources that can be read.
pub(crate) struct TemplateEntry {
    pub(crate) template: UriTemplate,
    pub(crate) definition: ResourceTemplate,
    pub(crate) completers: Completers,
    pub(crate) read: ReadTemplate,
}

impl std::fmt::Debug for ResourceBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResourceBuilder")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for TemplateBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TemplateBuilder")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

/// Does it begin as a URI does?
fn has_scheme(uri: &str) -> bool {
    let Some((scheme, _)) = uri.split_once(':') else {
        return false;
    };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}
