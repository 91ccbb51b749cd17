//! What can be called through a hub: which server it goes to, what is sent, what comes back.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use switchboard_client::types::{
    CallToolResult, CompleteRequestParams, CompleteResult, CompletionReference, GetPromptResult,
    ReadResourceResult,
};
use switchboard_client::{Call, Client, OnBehalf, Payload, RawJson, Ready};
use switchboard_protocol::Method;
use switchboard_protocol::jsonrpc::MethodName;

use crate::call::own_tools::OwnTool;
use crate::error::HubError;
use crate::hub::Hub;
use crate::registry::{Catalog, Kind, NotFound, ToolEntry};

/// What can be called. Only what is here.
pub trait Operation: sealed::Sealed + fmt::Debug + Send + Sync + Sized + 'static {
    /// What comes back.
    type Output: Send;

    #[doc(hidden)]
    fn method(&self) -> MethodName;

    #[doc(hidden)]
    fn find(&self, catalog: &Catalog) -> Result<Target, NotFound>;

    /// Where it goes to, if that was found in the catalogue of this version.
    #[doc(hidden)]
    fn found_in(&self, _: u64) -> Option<Target> {
        None
    }

    /// Could this server have it, once it is listed?
    #[doc(hidden)]
    fn could_be_on(&self, server: &str, prefix: &str, is_starting: bool) -> bool;

    #[doc(hidden)]
    fn call(&mut self, client: &Client, ready: Option<&Ready>, name: &str) -> Call<Payload>;

    #[doc(hidden)]
    fn read(payload: Payload, hub: &Hub, server: &str) -> Result<Self::Output, serde_json::Error>;

    /// The member of the parameters that says what is called, and its JSON text for a server that
    /// calls it so.
    #[doc(hidden)]
    fn renamed(&self, name: &str) -> Option<(&'static str, Vec<u8>)>;

    /// Takes the arguments from parameters that were written elsewhere, if the hub needs them.
    #[doc(hidden)]
    fn take_arguments(&mut self, _: &Payload) {}

    /// Do parameters that were written elsewhere call it so already?
    #[doc(hidden)]
    fn is_named(_: &Payload, _: &str) -> bool {
        false
    }

    /// Does the hub answer it itself?
    #[doc(hidden)]
    fn is_answered_here(&self, _: &Hub) -> bool {
        false
    }

    /// The answer, if the hub gives it itself.
    #[doc(hidden)]
    fn answer_here(&mut self, _: &Hub) -> Option<Answer<Self::Output>> {
        None
    }
}

pub(super) mod sealed {
    #[expect(unnameable_types, reason = "so nothing else can be called")]
    pub trait Sealed {}
}

/// An answer of the hub itself.
pub(super) type Answer<T> = Pin<Box<dyn Future<Output = Result<T, HubError>> + Send>>;

/// Where a call goes to.
#[derive(Debug)]
#[expect(unnameable_types, reason = "in hidden functions of a trait only")]
pub enum Target {
    /// Shared with the catalogue.
    Tool(Arc<ToolEntry>),
    Other {
        server: Arc<str>,
        name: String,
    },
}

impl Target {
    pub(crate) fn server(&self) -> &Arc<str> {
        match self {
            Self::Tool(entry) => &entry.server,
            Self::Other { server, .. } => server,
        }
    }

    /// What the server calls it: a name, or a URI.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Tool(entry) => &entry.tool.name,
            Self::Other { name, .. } => name,
        }
    }
}

/// How something is called: as the catalogue has it, or as its server has it.
#[derive(Debug)]
struct Name {
    server: Option<String>,
    name: String,
}

impl Name {
    fn new(server: Option<&str>, name: &str) -> Self {
        Self {
            server: server.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    fn could_be_on(&self, server: &str, prefix: &str) -> bool {
        match &self.server {
            Some(wanted) => wanted == server,
            None => self.name.starts_with(prefix),
        }
    }
}

/// A tool is called.
#[derive(Debug)]
pub struct CallTool {
    tool: Wanted,
    arguments: Arguments,
}

#[derive(Debug)]
enum Wanted {
    Named(Name),
    /// As it was found in the catalogue of this version.
    Listed(u64, Arc<ToolEntry>),
}

#[derive(Debug)]
enum Arguments {
    Named(Map<String, Value>),
    All(RawJson),
    /// Why they cannot be written.
    Unwritable(String),
}

impl CallTool {
    pub(crate) fn new(server: Option<&str>, tool: &str) -> Self {
        Self {
            tool: Wanted::Named(Name::new(server, tool)),
            arguments: Arguments::Named(Map::new()),
        }
    }

    pub(crate) fn listed(version: u64, tool: Arc<ToolEntry>) -> Self {
        Self {
            tool: Wanted::Listed(version, tool),
            arguments: Arguments::Named(Map::new()),
        }
    }

    pub(super) fn set_arguments(&mut self, arguments: &(impl Serialize + ?Sized)) {
        self.arguments = match RawJson::encode(arguments) {
            Ok(arguments) => Arguments::All(arguments),
            Err(error) => Arguments::Unwritable(error.to_string()),
        };
    }

    pub(super) fn set_argument(&mut self, name: &str, value: impl Serialize) {
        let named = match &mut self.arguments {
            Arguments::Named(named) => Ok(std::mem::take(named)),
            Arguments::All(all) => all.decode::<Map<String, Value>>(),
            Arguments::Unwritable(_) => return,
        };
        let added = named.and_then(|mut named| {
            named.insert(name.to_owned(), serde_json::to_value(value)?);
            Ok(named)
        });
        self.arguments = match added {
            Ok(named) => Arguments::Named(named),
            Err(error) => Arguments::Unwritable(error.to_string()),
        };
    }
}

impl sealed::Sealed for CallTool {}

impl Operation for CallTool {
    type Output = CallToolResult;

    fn method(&self) -> MethodName {
        MethodName::Known(Method::ToolsCall)
    }

    fn find(&self, catalog: &Catalog) -> Result<Target, NotFound> {
        if let Some(found) = self.found_in(catalog.version()) {
            return Ok(found);
        }
        let entry = match &self.tool {
            Wanted::Listed(_, entry) => catalog.find_on(&entry.server, &entry.tool.name)?,
            Wanted::Named(Name { server, name }) => match server {
                Some(server) => catalog.find_on(server, name)?,
                None => catalog.find_tool(name)?,
            },
        };
        Ok(Target::Tool(Arc::clone(entry)))
    }

    fn found_in(&self, catalog: u64) -> Option<Target> {
        match &self.tool {
            Wanted::Listed(version, entry) if *version == catalog => {
                Some(Target::Tool(Arc::clone(entry)))
            }
            _ => None,
        }
    }

    fn could_be_on(&self, server: &str, prefix: &str, _: bool) -> bool {
        match &self.tool {
            Wanted::Named(name) => name.could_be_on(server, prefix),
            Wanted::Listed(_, entry) => *entry.server == *server,
        }
    }

    fn call(&mut self, client: &Client, _: Option<&Ready>, name: &str) -> Call<Payload> {
        let call = client.call(name);
        let call = match &self.arguments {
            Arguments::Named(named) => call.args(named),
            Arguments::All(all) => call.args(all),
            Arguments::Unwritable(reason) => call.args(&Unwritable(reason)),
        };
        call.raw()
    }

    fn read(
        payload: Payload,
        hub: &Hub,
        server: &str,
    ) -> Result<CallToolResult, serde_json::Error> {
        // The usual ones are read in one go, and name no resource.
        if let Some(result) = CallToolResult::read_plain(&payload) {
            return Ok(result);
        }
        let mut result: CallToolResult = payload.decode()?;
        hub.catalog().expose_tool_result(server, &mut result);
        Ok(result)
    }

    fn renamed(&self, name: &str) -> Option<(&'static str, Vec<u8>)> {
        Some(("name", text_of(name)))
    }

    fn is_named(params: &Payload, name: &str) -> bool {
        params.name_bytes().as_deref() == Some(name.as_bytes())
    }

    fn take_arguments(&mut self, params: &Payload) {
        if let Some(arguments) = params.part("arguments") {
            self.arguments = match arguments.decode() {
                Ok(arguments) => Arguments::All(arguments),
                Err(error) => Arguments::Unwritable(error.to_string()),
            };
        }
    }

    fn is_answered_here(&self, hub: &Hub) -> bool {
        match &self.tool {
            Wanted::Named(Name { server: None, name }) => OwnTool::find(hub, name).is_some(),
            _ => false,
        }
    }

    fn answer_here(&mut self, hub: &Hub) -> Option<Answer<CallToolResult>> {
        let tool = match &self.tool {
            Wanted::Named(Name { server: None, name }) => OwnTool::find(hub, name)?,
            _ => return None,
        };
        let arguments = std::mem::replace(&mut self.arguments, Arguments::Named(Map::new()));
        let arguments = match arguments {
            Arguments::Named(named) => Ok(named),
            Arguments::All(all) => all.decode().map_err(|error| error.to_string()),
            Arguments::Unwritable(reason) => Err(reason),
        };
        let hub = hub.clone();
        Some(Box::pin(async move { tool.answer(&hub, arguments).await }))
    }
}

/// What could not be written as JSON, to say so where the call is made.
pub(super) struct Unwritable<'a>(pub(super) &'a str);

impl Serialize for Unwritable<'_> {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom(self.0))
    }
}

/// A resource is read.
#[derive(Debug)]
pub struct ReadResource(Name);

impl ReadResource {
    pub(crate) fn new(server: Option<&str>, uri: &str) -> Self {
        Self(Name::new(server, uri))
    }
}

impl sealed::Sealed for ReadResource {}

impl Operation for ReadResource {
    type Output = ReadResourceResult;

    fn method(&self) -> MethodName {
        MethodName::Known(Method::ResourcesRead)
    }

    fn find(&self, catalog: &Catalog) -> Result<Target, NotFound> {
        let located = match &self.0.server {
            Some(server) => catalog.find_resource_on(server, &self.0.name)?,
            None => catalog.find_resource(&self.0.name)?,
        };
        Ok(Target::Other {
            server: located.server,
            name: located.uri,
        })
    }

    fn could_be_on(&self, server: &str, _: &str, is_starting: bool) -> bool {
        match &self.0.server {
            Some(wanted) => wanted == server,
            // A URI does not say whose it is.
            None => is_starting,
        }
    }

    fn call(&mut self, client: &Client, _: Option<&Ready>, uri: &str) -> Call<Payload> {
        client.read(uri).raw()
    }

    fn renamed(&self, uri: &str) -> Option<(&'static str, Vec<u8>)> {
        Some(("uri", text_of(uri)))
    }

    fn read(
        payload: Payload,
        hub: &Hub,
        server: &str,
    ) -> Result<ReadResourceResult, serde_json::Error> {
        let mut result: ReadResourceResult = payload.decode()?;
        hub.catalog().expose_read_result(server, &mut result);
        Ok(result)
    }
}

/// A prompt is filled in.
#[derive(Debug)]
pub struct GetPrompt {
    prompt: Name,
    arguments: Vec<(String, String)>,
}

impl GetPrompt {
    pub(crate) fn new(
        server: Option<&str>,
        prompt: &str,
        arguments: Vec<(String, String)>,
    ) -> Self {
        Self {
            prompt: Name::new(server, prompt),
            arguments,
        }
    }
}

impl sealed::Sealed for GetPrompt {}

impl Operation for GetPrompt {
    type Output = GetPromptResult;

    fn method(&self) -> MethodName {
        MethodName::Known(Method::PromptsGet)
    }

    fn find(&self, catalog: &Catalog) -> Result<Target, NotFound> {
        let Name { server, name } = &self.prompt;
        let entry = match server {
            Some(server) => catalog.find_prompt_on(server, name)?,
            None => catalog.find_prompt(name)?,
        };
        Ok(Target::Other {
            server: Arc::clone(&entry.server),
            name: entry.prompt.name.clone(),
        })
    }

    fn could_be_on(&self, server: &str, prefix: &str, _: bool) -> bool {
        self.prompt.could_be_on(server, prefix)
    }

    fn call(&mut self, client: &Client, _: Option<&Ready>, name: &str) -> Call<Payload> {
        let arguments = std::mem::take(&mut self.arguments);
        client.prompt(name, arguments).raw()
    }

    fn renamed(&self, name: &str) -> Option<(&'static str, Vec<u8>)> {
        Some(("name", text_of(name)))
    }

    fn is_named(params: &Payload, name: &str) -> bool {
        params.name_bytes().as_deref() == Some(name.as_bytes())
    }

    fn read(
        payload: Payload,
        hub: &Hub,
        server: &str,
    ) -> Result<GetPromptResult, serde_json::Error> {
        let mut result: GetPromptResult = payload.decode()?;
        hub.catalog().expose_prompt_result(server, &mut result);
        Ok(result)
    }
}

/// An argument is completed.
#[derive(Debug)]
pub struct Complete(CompleteRequestParams);

impl Complete {
    pub(crate) const fn new(params: CompleteRequestParams) -> Self {
        Self(params)
    }
}

impl sealed::Sealed for Complete {}

impl Operation for Complete {
    type Output = CompleteResult;

    fn method(&self) -> MethodName {
        MethodName::Known(Method::CompletionComplete)
    }

    fn find(&self, catalog: &Catalog) -> Result<Target, NotFound> {
        Ok(match &self.0.reference {
            CompletionReference::Prompt(prompt) => {
                let entry = catalog.find_prompt(&prompt.name)?;
                Target::Other {
                    server: Arc::clone(&entry.server),
                    name: entry.prompt.name.clone(),
                }
            }
            CompletionReference::ResourceTemplate(template) => {
                let entry = catalog.find_template(&template.uri)?;
                Target::Other {
                    server: Arc::clone(&entry.server),
                    name: entry.template.uri_template.clone(),
                }
            }
            _ => return Err(NotFound::unknown(Kind::Prompt, "?", Vec::new())),
        })
    }

    fn could_be_on(&self, _: &str, prefix: &str, is_starting: bool) -> bool {
        match &self.0.reference {
            CompletionReference::Prompt(prompt) => prompt.name.starts_with(prefix),
            _ => is_starting,
        }
    }

    fn call(&mut self, client: &Client, _: Option<&Ready>, name: &str) -> Call<Payload> {
        rename(&mut self.0.reference, name);
        client.complete(&self.0).raw()
    }

    fn renamed(&self, name: &str) -> Option<(&'static str, Vec<u8>)> {
        let mut reference = self.0.reference.clone();
        rename(&mut reference, name);
        Some(("ref", serde_json::to_vec(&reference).ok()?))
    }

    fn read(payload: Payload, _: &Hub, _: &str) -> Result<CompleteResult, serde_json::Error> {
        payload.decode()
    }
}

fn text_of(name: &str) -> Vec<u8> {
    serde_json::to_vec(name).unwrap_or_default()
}

fn rename(reference: &mut CompletionReference, name: &str) {
    match reference {
        CompletionReference::Prompt(prompt) => name.clone_into(&mut prompt.name),
        CompletionReference::ResourceTemplate(template) => name.clone_into(&mut template.uri),
        _ => {}
    }
}

/// Any request to one server, its result as the server wrote it.
pub struct RawRequest {
    server: String,
    method: String,
    params: Result<Option<RawJson>, String>,
    whom: Option<Arc<OnBehalf>>,
}

impl RawRequest {
    pub(crate) fn new(
        server: &str,
        method: &str,
        params: Option<&(impl Serialize + ?Sized)>,
    ) -> Self {
        let params = params.map(RawJson::encode).transpose();
        Self {
            server: server.to_owned(),
            method: method.to_owned(),
            params: params.map_err(|error| error.to_string()),
            whom: None,
        }
    }

    pub(super) fn set_whom(&mut self, whom: Arc<OnBehalf>) {
        self.whom = Some(whom);
    }
}

impl fmt::Debug for RawRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawRequest")
            .field("server", &self.server)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

impl sealed::Sealed for RawRequest {}

impl Operation for RawRequest {
    type Output = Payload;

    fn method(&self) -> MethodName {
        MethodName::new(&self.method)
    }

    fn find(&self, catalog: &Catalog) -> Result<Target, NotFound> {
        let member = catalog.find_member(&self.server)?;
        Ok(Target::Other {
            server: Arc::clone(member.server()),
            name: self.method.clone(),
        })
    }

    fn could_be_on(&self, server: &str, _: &str, _: bool) -> bool {
        self.server == server
    }

    fn call(&mut self, client: &Client, _: Option<&Ready>, method: &str) -> Call<Payload> {
        let call = match &self.params {
            Ok(params) => client.raw(method, params.as_ref()),
            Err(reason) => client.raw(method, Some(&Unwritable(reason))),
        };
        match &self.whom {
            Some(whom) => call.on_behalf(Arc::clone(whom)),
            None => call,
        }
    }

    fn renamed(&self, _: &str) -> Option<(&'static str, Vec<u8>)> {
        None
    }

    fn read(payload: Payload, _: &Hub, _: &str) -> Result<Payload, serde_json::Error> {
        Ok(payload)
    }
}

/// The same, with its result as the server wrote it.
#[derive(Debug)]
pub struct Raw<O>(pub(super) O);

impl<O> sealed::Sealed for Raw<O> {}

impl<O: Operation<Output: Serialize + DeserializeOwned>> Operation for Raw<O> {
    type Output = Payload;

    fn method(&self) -> MethodName {
        self.0.method()
    }

    fn find(&self, catalog: &Catalog) -> Result<Target, NotFound> {
        self.0.find(catalog)
    }

    fn found_in(&self, catalog: u64) -> Option<Target> {
        self.0.found_in(catalog)
    }

    fn could_be_on(&self, server: &str, prefix: &str, is_starting: bool) -> bool {
        self.0.could_be_on(server, prefix, is_starting)
    }

    fn call(&mut self, client: &Client, ready: Option<&Ready>, name: &str) -> Call<Payload> {
        self.0.call(client, ready, name)
    }

    fn renamed(&self, name: &str) -> Option<(&'static str, Vec<u8>)> {
        self.0.renamed(name)
    }

    fn take_arguments(&mut self, params: &Payload) {
        self.0.take_arguments(params);
    }

    fn read(payload: Payload, hub: &Hub, server: &str) -> Result<Payload, serde_json::Error> {
        if payload.is_texts() || memchr::memmem::find(payload.text(), URI).is_none() {
            return Ok(payload);
        }
        let mut value: Value = payload.decode()?;
        match hub.catalog().expose_json(server, &mut value) {
            true => Payload::encode(&value),
            false => Ok(payload),
        }
    }

    fn is_named(params: &Payload, name: &str) -> bool {
        O::is_named(params, name)
    }

    fn is_answered_here(&self, hub: &Hub) -> bool {
        self.0.is_answered_here(hub)
    }

    fn answer_here(&mut self, hub: &Hub) -> Option<Answer<Payload>> {
        let answer = self.0.answer_here(hub)?;
        Some(Box::pin(async move {
            let output = answer.await?;
            let written = Payload::encode(&output);
            Ok(written.expect("invariant: an answer of the hub itself is made of JSON values"))
        }))
    }
}

/// All members that hold URIs end so: `uri`, `resourceUri`.
const URI: &[u8] = b"ri\"";
