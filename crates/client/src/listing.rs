//! The lists of a server: all pages, kept as long as they hold.

use std::sync::Arc;

use switchboard_protocol::types::{
    CacheHint, Cacheable, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, Prompt, Resource, ResourceTemplate, ServerCapabilities,
};
use switchboard_protocol::{Era, Method};
use tokio::time::Instant;

use crate::call::decode;
use crate::client::Client;
use crate::error::{Error, ErrorKind};
use crate::lists::{Fresh, Kept, ListHint};
use crate::pages;
use crate::tools::Tools;

/// All tools. One that cannot be read does not hide the others.
pub(crate) async fn tools(client: &Client, anew: bool) -> Result<Arc<Tools>, Error> {
    let shared = client.shared();
    let is_http = shared.is_http;
    read(
        client,
        &shared.lists.tools,
        anew,
        Method::ToolsList,
        ServerCapabilities::announces_tool_changes,
        |tools: &mut Tools, page| {
            let text = std::str::from_utf8(page.text()).unwrap_or_default();
            let (page, rejected) = ListToolsResult::from_json_lenient(text)
                .map_err(|error| ErrorKind::Unreadable(Arc::new(error)))?;
            let told = told(&page);
            let count = page.tools.len() + rejected.len();
            tools.add(page.tools, rejected, is_http);
            Ok((count, told))
        },
    )
    .await
}

pub(crate) async fn prompts(client: &Client) -> Result<Arc<Vec<Prompt>>, Error> {
    read(
        client,
        &client.shared().lists.prompts,
        false,
        Method::PromptsList,
        ServerCapabilities::announces_prompt_changes,
        |list: &mut Vec<Prompt>, page| {
            let page: ListPromptsResult = decode(page)?;
            let told = told(&page);
            Ok(extend(list, page.prompts, told))
        },
    )
    .await
}

pub(crate) async fn resources(client: &Client) -> Result<Arc<Vec<Resource>>, Error> {
    read(
        client,
        &client.shared().lists.resources,
        false,
        Method::ResourcesList,
        ServerCapabilities::announces_resource_changes,
        |list: &mut Vec<Resource>, page| {
            let page: ListResourcesResult = decode(page)?;
            let told = told(&page);
            Ok(extend(list, page.resources, told))
        },
    )
    .await
}

pub(crate) async fn templates(client: &Client) -> Result<Arc<Vec<ResourceTemplate>>, Error> {
    read(
        client,
        &client.shared().lists.templates,
        false,
        Method::ResourcesTemplatesList,
        ServerCapabilities::announces_resource_changes,
        |list: &mut Vec<ResourceTemplate>, page| {
            let page: ListResourceTemplatesResult = decode(page)?;
            let told = told(&page);
            Ok(extend(list, page.resource_templates, told))
        },
    )
    .await
}

/// What a page says of how long it holds.
type Told = (Fresh, CacheHint);

fn told(page: &impl Cacheable) -> Told {
    (Fresh::of(page, Instant::now()), page.cache_hint())
}

fn extend<T>(list: &mut Vec<T>, more: Vec<T>, told: Told) -> (usize, Told) {
    let count = more.len();
    list.extend(more);
    (count, told)
}

/// A list, from what is kept or from the server.
async fn read<T: Default>(
    client: &Client,
    kept: &Kept<T>,
    anew: bool,
    method: Method,
    announces: fn(&ServerCapabilities) -> bool,
    mut add: impl FnMut(&mut T, &switchboard_protocol::Payload) -> Result<(usize, Told), ErrorKind>,
) -> Result<Arc<T>, Error> {
    let ready = client.ready().await?;
    if !anew && let Some(list) = kept.fresh() {
        return Ok(list);
    }
    let epoch = kept.epoch();
    let mut list = T::default();
    let mut until = Fresh::UntilTold;
    let mut said: Option<CacheHint> = None;
    let heard = Instant::now().into_std();
    pages::read_all(client, method, |page| {
        let (count, (fresh, hint)) = add(&mut list, page)?;
        until = until.and(fresh);
        said = Some(said.map_or(hint, |said| said.and(hint)));
        Ok(count)
    })
    .await?;
    let mut said = said.unwrap_or_default();
    if ready.revision.era() == Era::Handshake {
        // What it may have written there has no meaning in its revision.
        said = CacheHint::default();
        until = if announces(&ready.capabilities) {
            Fresh::UntilTold
        } else {
            Fresh::No
        };
    }
    let list = Arc::new(list);
    kept.keep(Arc::clone(&list), ListHint { said, heard }, until, epoch);
    Ok(list)
}
