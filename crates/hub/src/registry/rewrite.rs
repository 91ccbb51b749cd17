//! URIs inside what servers send, and what is sent to them.
//!
//! What a server calls a resource becomes what it is called here, in results, links and
//! notifications; the other way it is found by [`Catalog::find_resource`]. Only the places that the
//! protocol gives a meaning to are touched: texts, structured results and unknown kinds of content
//! stay what they are.
//!
//! Specification: server/resources, server/tools (resource links, embedded resources), MCP Apps.

use std::borrow::Cow;

use serde_json::Value;
use switchboard_protocol::types::{
    CallToolResult, ContentBlock, GetPromptResult, Meta, ReadResourceResult, ResourceContents,
};

use crate::Catalog;

impl Catalog {
    /// Rewrites the URIs in the result of a tool of this server.
    pub fn expose_tool_result(&self, server: &str, result: &mut CallToolResult) {
        self.expose_content(server, &mut result.content);
        if let Some(meta) = &mut result.meta {
            self.expose_in_meta(server, meta);
        }
    }

    /// Rewrites the URIs in a prompt of this server.
    pub fn expose_prompt_result(&self, server: &str, result: &mut GetPromptResult) {
        for message in &mut result.messages {
            self.expose_block(server, &mut message.content);
        }
    }

    /// Rewrites the URIs in what was read from this server.
    pub fn expose_read_result(&self, server: &str, result: &mut ReadResourceResult) {
        for contents in &mut result.contents {
            self.expose_contents(server, contents);
        }
    }

    /// Rewrites the URIs in blocks of content of this server.
    pub fn expose_content(&self, server: &str, content: &mut [ContentBlock]) {
        for block in content {
            self.expose_block(server, block);
        }
    }

    /// Rewrites the URIs in the JSON of a result, of a notification, or of what a server asks.
    ///
    /// The members `uri` of resource links and of the resources in `content`, `contents`,
    /// `messages` and embedded resources, and that of `notifications/resources/updated`. Says
    /// whether anything was changed.
    pub fn expose_json(&self, server: &str, value: &mut Value) -> bool {
        let Value::Object(members) = value else {
            return false;
        };
        let mut has_changed = false;
        let kind = members.get("type").and_then(Value::as_str);
        let is_resource = kind.is_none_or(|kind| kind == "resource_link");
        if is_resource && let Some(Value::String(uri)) = members.get_mut("uri") {
            has_changed |= self.expose_text(server, uri);
        }
        if let Some(Value::Object(meta)) = members.get_mut("_meta") {
            let ui = meta.get_mut("ui").and_then(|ui| ui.get_mut("resourceUri"));
            if let Some(Value::String(uri)) = ui {
                has_changed |= self.expose_text(server, uri);
            }
            if let Some(Value::String(uri)) = meta.get_mut("ui/resourceUri") {
                has_changed |= self.expose_text(server, uri);
            }
        }
        // The depth of JSON that was read is bounded by its reader.
        for name in ["content", "contents", "messages", "resource"] {
            match members.get_mut(name) {
                Some(Value::Array(items)) => {
                    for item in items {
                        has_changed |= self.expose_json(server, item);
                    }
                }
                Some(inner @ Value::Object(_)) => has_changed |= self.expose_json(server, inner),
                _ => {}
            }
        }
        has_changed
    }

    /// Rewrites the URIs in `_meta`: those of user interfaces.
    pub(crate) fn expose_in_meta(&self, server: &str, meta: &mut Meta) {
        if let Some(Value::String(uri)) = meta.member("ui/resourceUri") {
            let exposed = self.expose_uri(server, uri).into_owned();
            meta.insert("ui/resourceUri", exposed.into());
        }
        if let Some(Value::String(uri)) = meta.member("ui").and_then(|ui| ui.get("resourceUri")) {
            let exposed = self.expose_uri(server, uri).into_owned();
            if let Some(mut ui) = meta.remove("ui") {
                if let Some(uri) = ui.get_mut("resourceUri") {
                    *uri = exposed.into();
                }
                meta.insert("ui", ui);
            }
        }
    }

    fn expose_block(&self, server: &str, block: &mut ContentBlock) {
        match block {
            ContentBlock::ResourceLink(link) => {
                self.expose_text(server, &mut link.resource.uri);
            }
            ContentBlock::Resource(embedded) => {
                self.expose_contents(server, &mut embedded.resource)
            }
            _ => {}
        }
    }

    fn expose_contents(&self, server: &str, contents: &mut ResourceContents) {
        match contents {
            ResourceContents::Text(contents) => {
                self.expose_text(server, &mut contents.uri);
            }
            ResourceContents::Blob(contents) => {
                self.expose_text(server, &mut contents.uri);
            }
            _ => {}
        }
    }

    fn expose_text(&self, server: &str, uri: &mut String) -> bool {
        match self.expose_uri(server, uri) {
            Cow::Borrowed(_) => false,
            Cow::Owned(exposed) => {
                *uri = exposed;
                true
            }
        }
    }
}
