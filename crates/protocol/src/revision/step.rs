//! What one revision may do to a value on its way down: nothing, unless it says so.
//!
//! One method for each place where revisions differ. A revision's file has the
//! methods of what it lacks and no other; `walk` calls them on every part of a value.

use serde_json::Number;

use crate::RawJson;
use crate::revision::Revision;
use crate::types::{
    Annotations, CacheScope, CallToolRequestParams, ClientCapabilities, CompleteRequestParams,
    ContentBlock, CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestUrlParams, ElicitResult, GetPromptRequestParams, Implementation, ListRootsResult,
    Meta, ProgressNotificationParams, Prompt, PromptArgument, ReadResourceRequestParams, Resource,
    ResourceContents, ResourceTemplate, ResultType, SamplingMessageContentBlock,
    ServerCapabilities, Task, Tool,
};

/// What a revision takes out of a value.
#[expect(
    unused_variables,
    reason = "a revision that has a thing leaves it alone"
)]
pub(super) trait Step: Sync {
    /// The revision that the value is written for.
    fn revision(&self) -> Revision;

    /// `_meta` of a request, result or notification.
    fn message_meta(&self, meta: &mut Option<Meta>) {}

    /// `_meta` of an object inside a message.
    fn object_meta(&self, meta: &mut Option<Meta>) {}

    /// `resultType` of an answer.
    fn result_type(&self, kind: &mut Option<ResultType>) {}

    /// The caching hints of a result.
    fn cache(&self, ttl_ms: &mut Option<Number>, scope: &mut Option<CacheScope>) {}

    fn implementation(&self, value: &mut Implementation) {}

    fn client_capabilities(&self, value: &mut ClientCapabilities) {}

    fn server_capabilities(&self, value: &mut ServerCapabilities) {}

    fn annotations(&self, value: &mut Annotations) {}

    fn tool(&self, value: &mut Tool) {}

    fn resource(&self, value: &mut Resource) {}

    fn resource_template(&self, value: &mut ResourceTemplate) {}

    fn resource_contents(&self, value: &mut ResourceContents) {}

    fn prompt(&self, value: &mut Prompt) {}

    fn prompt_argument(&self, value: &mut PromptArgument) {}

    /// The kind of a block; its parts are visited after.
    fn content(&self, block: &mut ContentBlock) {}

    /// The structured form of a tool's result, beside its blocks.
    fn structured(&self, content: &mut Vec<ContentBlock>, structured: &mut Option<RawJson>) {}

    fn call_tool(&self, params: &mut CallToolRequestParams) {}

    fn get_prompt(&self, params: &mut GetPromptRequestParams) {}

    fn read_resource(&self, params: &mut ReadResourceRequestParams) {}

    fn complete(&self, params: &mut CompleteRequestParams) {}

    fn progress(&self, params: &mut ProgressNotificationParams) {}

    fn create_message(&self, params: &mut CreateMessageRequestParams) {}

    fn message_created(&self, result: &mut CreateMessageResult) {}

    /// The kind of a block; its parts are visited after.
    fn sampling_content(&self, block: &mut SamplingMessageContentBlock) {}

    fn elicit_by_form(&self, params: &mut ElicitRequestFormParams) {}

    fn elicit_by_url(&self, params: &mut ElicitRequestUrlParams) {}

    fn elicited(&self, result: &mut ElicitResult) {}

    fn roots(&self, result: &mut ListRootsResult) {}

    fn task(&self, value: &mut Task) {}
}
