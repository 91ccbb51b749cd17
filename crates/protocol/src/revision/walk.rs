//! Which parts every type has that a revision may change.
//!
//! One `impl` per type, by feature, in the order of `types`. What happens to a part
//! is in the file of the revision.

use serde_json::Number;

use crate::RawJson;
use crate::method::Method;
use crate::revision::step_down::{NotRepresentable, StepDown, steps};
use crate::revision::{Era, Revision, v2025_06_18};
use crate::types::{
    Annotations, CacheScope, CallToolRequestParams, CallToolResult, CancelTaskResult,
    CancelledNotificationParams, ClientCapabilities, CompleteRequestParams, CompleteResult,
    ContentBlock, CreateMessageRequestParams, CreateMessageResult, CreateTaskResult,
    DiscoverResult, ElicitRequestFormParams, ElicitRequestParams, ElicitRequestUrlParams,
    ElicitResult, ElicitationCompleteNotificationParams, EmptyResult, GetPromptRequestParams,
    GetPromptResult, Implementation, InitializeRequestParams, InitializeResult, InputRequest,
    InputRequests, InputRequiredResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListRootsResult, ListTasksResult, ListToolsResult,
    LoggingMessageNotificationParams, Meta, NotificationParams, OneOrMany, PaginatedRequestParams,
    ProgressNotificationParams, Prompt, PromptArgument, PromptMessage, Question,
    ReadResourceRequestParams, ReadResourceResult, RequestParams, Resource, ResourceContents,
    ResourceRequestParams, ResourceTemplate, ResourceUpdatedNotificationParams, ResultType, Root,
    SamplingMessageContentBlock, ServerCapabilities, SetLevelRequestParams,
    SubscriptionsAcknowledgedNotificationParams, SubscriptionsListenRequestParams,
    SubscriptionsListenResult, Task, TaskRequestParams, Tool, ToolResultContent,
    UpdateTaskRequestParams,
};

impl<T: StepDown> StepDown for Vec<T> {
    fn step_down(&mut self, to: Revision) {
        self.iter_mut().for_each(|value| value.step_down(to));
    }

    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        self.iter().try_for_each(|value| value.check_step_down(to))
    }
}

impl<T: StepDown> StepDown for Option<T> {
    fn step_down(&mut self, to: Revision) {
        self.iter_mut().for_each(|value| value.step_down(to));
    }

    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        self.iter().try_for_each(|value| value.check_step_down(to))
    }
}

// Messages that say nothing of their own.

impl StepDown for RequestParams {
    fn step_down(&mut self, to: Revision) {
        message_meta(&mut self.meta, to);
    }
}

impl StepDown for NotificationParams {
    fn step_down(&mut self, to: Revision) {
        message_meta(&mut self.meta, to);
    }
}

impl StepDown for PaginatedRequestParams {
    fn step_down(&mut self, to: Revision) {
        message_meta(&mut self.meta, to);
    }
}

impl StepDown for EmptyResult {
    fn step_down(&mut self, to: Revision) {
        result_head(&mut self.result_type, &mut self.meta, to);
    }
}

// Opening.

impl StepDown for Implementation {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.implementation(self));
    }
}

impl StepDown for ClientCapabilities {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.client_capabilities(self));
    }
}

impl StepDown for ServerCapabilities {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.server_capabilities(self));
    }
}

impl StepDown for InitializeRequestParams {
    fn step_down(&mut self, to: Revision) {
        self.capabilities.step_down(to);
        self.client_info.step_down(to);
        message_meta(&mut self.meta, to);
    }
}

impl StepDown for InitializeResult {
    fn step_down(&mut self, to: Revision) {
        self.capabilities.step_down(to);
        self.server_info.step_down(to);
        result_head(&mut self.result_type, &mut self.meta, to);
    }
}

impl StepDown for DiscoverResult {
    fn step_down(&mut self, to: Revision) {
        self.capabilities.step_down(to);
        cache(&mut self.ttl_ms, &mut self.cache_scope, to);
        result_head(&mut self.result_type, &mut self.meta, to);
    }
}

// Content.

impl StepDown for Annotations {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.annotations(self));
    }
}

impl StepDown for ContentBlock {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.content(self));
        match self {
            Self::Text(block) => parts(&mut block.annotations, &mut block.meta, to),
            Self::Image(block) => parts(&mut block.annotations, &mut block.meta, to),
            Self::Audio(block) => parts(&mut block.annotations, &mut block.meta, to),
            Self::ResourceLink(block) => block.resource.step_down(to),
            Self::Resource(block) => {
                block.resource.step_down(to);
                parts(&mut block.annotations, &mut block.meta, to);
            }
            Self::Unknown(_) => {}
        }
    }
}

impl StepDown for ResourceContents {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.resource_contents(self));
        match self {
            Self::Text(contents) => object_meta(&mut contents.meta, to),
            Self::Blob(contents) => object_meta(&mut contents.meta, to),
            Self::Unknown(_) => {}
        }
    }
}

// Tools.

impl StepDown for Tool {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.tool(self));
        object_meta(&mut self.meta, to);
    }
}

impl StepDown for ListToolsResult {
    fn step_down(&mut self, to: Revision) {
        self.tools.step_down(to);
        cache(&mut self.ttl_ms, &mut self.cache_scope, to);
        result_head(&mut self.result_type, &mut self.meta, to);
    }
}

impl StepDown for CallToolRequestParams {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.call_tool(self));
        message_meta(&mut self.meta, to);
    }

    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        refuse_retry(
            self.input_responses.is_some() || self.request_state.is_some(),
            to,
        )
    }
}

impl StepDown for CallToolResult {
    fn step_down(&mut self, to: Revision) {
        structured(&mut self.content, &mut self.structured_content, to);
        self.content.step_down(to);
        result_head(&mut self.result_type, &mut self.meta, to);
    }
}

// Resources.

impl StepDown for Resource {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.resource(self));
        parts(&mut self.annotations, &mut self.meta, to);
    }
}

impl StepDown for ResourceTemplate {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.resource_template(self));
        parts(&mut self.annotations, &mut self.meta, to);
    }
}

impl StepDown for ListResourcesResult {
    fn step_down(&mut self, to: Revision) {
        self.resources.step_down(to);
        cache(&mut self.ttl_ms, &mut self.cache_scope, to);
        result_head(&mut self.result_type, &mut self.meta, to);
    }
}

impl StepDown for ListResourceTemplatesResult {
    fn step_down(&mut self, to: Revision) {
        self.resource_templates.step_down(to);
        cache(&mut self.ttl_ms, &mut self.cache_scope, to);
        result_head(&mut self.result_type, &mut self.meta, to);
    }
}

impl StepDown for ReadResourceRequestParams {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.read_resource(self));
        message_meta(&mut self.meta, to);
    }

    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        refuse_retry(
            self.input_responses.is_some() || self.request_state.is_some(),
            to,
        )
    }
}

impl StepDown for ReadResourceResult {
    fn step_down(&mut self, to: Revision) {
        self.contents.step_down(to);
        cache(&mut self.ttl_ms, &mut self.cache_scope, to);
        result_head(&mut self.result_type, &mut self.meta, to);
    }
}

impl StepDown for ResourceRequestParams {
    fn step_down(&mut self, to: Revision) {
        message_meta(&mut self.meta, to);
    }
}

impl StepDown for ResourceUpdatedNotificationParams {
    fn step_down(&mut self, to: Revision) {
        message_meta(&mut self.meta, to);
    }
}

// Prompts and completion.

impl StepDown for Prompt {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.prompt(self));
        self.arguments.step_down(to);
        object_meta(&mut self.meta, to);
    }
}

impl StepDown for PromptArgument {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.prompt_argument(self));
    }
}

impl StepDown for ListPromptsResult {
    fn step_down(&mut self, to: Revision) {
        self.prompts.step_down(to);
        cache(&mut self.ttl_ms, &mut self.cache_scope, to);
        result_head(&mut self.result_type, &mut self.meta, to);
    }
}

impl StepDown for GetPromptRequestParams {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.get_prompt(self));
        message_meta(&mut self.meta, to);
    }

    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        refuse_retry(
            self.input_responses.is_some() || self.request_state.is_some(),
            to,
        )
    }
}

impl StepDown for PromptMessage {
    fn step_down(&mut self, to: Revision) {
        self.content.step_down(to);
    }
}

impl StepDown for GetPromptResult {
    fn step_down(&mut self, to: Revision) {
        self.messages.step_down(to);
        result_head(&mut self.result_type, &mut self.meta, to);
    }
}

impl StepDown for CompleteRequestParams {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.complete(self));
        message_meta(&mut self.meta, to);
    }
}

impl StepDown for CompleteResult {
    fn step_down(&mut self, to: Revision) {
        result_head(&mut self.result_type, &mut self.meta, to);
    }
}

// Utilities.

impl StepDown for CancelledNotificationParams {
    fn step_down(&mut self, to: Revision) {
        message_meta(&mut self.meta, to);
    }

    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        if self.request_id.is_none() && to != Revision::V2025_11_25 {
            return Err(NotRepresentable::RequestId);
        }
        Ok(())
    }
}

impl StepDown for ProgressNotificationParams {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.progress(self));
        message_meta(&mut self.meta, to);
    }
}

impl StepDown for SetLevelRequestParams {
    fn step_down(&mut self, to: Revision) {
        message_meta(&mut self.meta, to);
    }
}

impl StepDown for LoggingMessageNotificationParams {
    fn step_down(&mut self, to: Revision) {
        message_meta(&mut self.meta, to);
    }
}

// What a server asks.

impl StepDown for CreateMessageRequestParams {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.create_message(self));
        for message in &mut self.messages {
            object_meta(&mut message.meta, to);
            sampling_content(&mut message.content, to);
        }
        self.tools.step_down(to);
        message_meta(&mut self.meta, to);
    }

    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        let has_tools = self.tools.as_ref().is_some_and(|tools| !tools.is_empty());
        if has_tools && to < Revision::V2025_11_25 {
            return Err(NotRepresentable::SamplingTools);
        }
        Ok(())
    }
}

impl StepDown for CreateMessageResult {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.message_created(self));
        sampling_content(&mut self.content, to);
        result_head(&mut self.result_type, &mut self.meta, to);
    }
}

impl StepDown for SamplingMessageContentBlock {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.sampling_content(self));
        match self {
            Self::Text(block) => parts(&mut block.annotations, &mut block.meta, to),
            Self::Image(block) => parts(&mut block.annotations, &mut block.meta, to),
            Self::Audio(block) => parts(&mut block.annotations, &mut block.meta, to),
            Self::ToolUse(block) => object_meta(&mut block.meta, to),
            Self::ToolResult(block) => block.step_down(to),
            Self::Unknown(_) => {}
        }
    }
}

impl StepDown for ToolResultContent {
    fn step_down(&mut self, to: Revision) {
        structured(&mut self.content, &mut self.structured_content, to);
        self.content.step_down(to);
        object_meta(&mut self.meta, to);
    }
}

impl StepDown for ElicitRequestParams {
    fn step_down(&mut self, to: Revision) {
        match self {
            Self::Form(form) => form.step_down(to),
            Self::Url(url) => url.step_down(to),
        }
    }

    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        match self {
            Self::Form(form) => form.check_step_down(to),
            Self::Url(url) => url.check_step_down(to),
        }
    }
}

impl StepDown for ElicitRequestFormParams {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.elicit_by_form(self));
        message_meta(&mut self.meta, to);
    }

    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        check_elicitation(to)?;
        if to < Revision::V2025_11_25 && v2025_06_18::requires_multi_select(self) {
            return Err(NotRepresentable::MultiSelect);
        }
        Ok(())
    }
}

impl StepDown for ElicitRequestUrlParams {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.elicit_by_url(self));
        message_meta(&mut self.meta, to);
    }

    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        check_elicitation(to)?;
        if to < Revision::V2025_11_25 {
            return Err(NotRepresentable::UrlElicitation);
        }
        if to == Revision::V2025_11_25 && self.elicitation_id.is_none() {
            return Err(NotRepresentable::ElicitationId);
        }
        Ok(())
    }
}

impl StepDown for ElicitResult {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.elicited(self));
        result_head(&mut self.result_type, &mut self.meta, to);
    }
}

impl StepDown for ElicitationCompleteNotificationParams {
    fn step_down(&mut self, to: Revision) {
        message_meta(&mut self.meta, to);
    }
}

impl StepDown for Root {
    fn step_down(&mut self, to: Revision) {
        object_meta(&mut self.meta, to);
    }
}

impl StepDown for ListRootsResult {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.roots(self));
        self.roots.step_down(to);
        result_head(&mut self.result_type, &mut self.meta, to);
    }
}

impl StepDown for InputRequiredResult {
    fn step_down(&mut self, to: Revision) {
        questions(&mut self.input_requests, to);
        result_head(&mut self.result_type, &mut self.meta, to);
    }

    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        refuse_retry(true, to)?;
        let requests = self.input_requests.iter().flat_map(|r| r.values());
        requests.into_iter().try_for_each(|r| r.check_step_down(to))
    }
}

impl StepDown for InputRequest {
    fn step_down(&mut self, to: Revision) {
        // A question that cannot be read is the client's to refuse.
        let Ok(before) = self.question() else { return };
        let mut after = before.clone();
        match &mut after {
            Question::Elicitation(params) => params.step_down(to),
            Question::Sampling(params) => params.step_down(to),
            Question::Roots(params) => params.step_down(to),
        }
        if after == before {
            return;
        }
        let text = match &after {
            Question::Elicitation(params) => RawJson::encode(params),
            Question::Sampling(params) => RawJson::encode(params),
            Question::Roots(params) => RawJson::encode(params),
        };
        if let Ok(text) = text {
            self.params = Some(text);
        }
    }

    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        match self.question() {
            Ok(Question::Elicitation(params)) => params.check_step_down(to),
            Ok(Question::Sampling(params)) => params.check_step_down(to),
            Ok(Question::Roots(_)) | Err(_) => Ok(()),
        }
    }
}

// Listening and tasks.

impl StepDown for SubscriptionsListenRequestParams {
    fn step_down(&mut self, to: Revision) {
        message_meta(&mut self.meta, to);
    }
}

impl StepDown for SubscriptionsAcknowledgedNotificationParams {
    fn step_down(&mut self, to: Revision) {
        message_meta(&mut self.meta, to);
    }
}

impl StepDown for SubscriptionsListenResult {
    fn step_down(&mut self, to: Revision) {
        result_head(&mut self.result_type, &mut self.meta, to);
    }
}

impl StepDown for Task {
    fn step_down(&mut self, to: Revision) {
        steps(to).for_each(|step| step.task(self));
        questions(&mut self.input_requests, to);
        result_head(&mut self.result_type, &mut self.meta, to);
    }

    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        if to < Revision::V2025_11_25 {
            return Err(NotRepresentable::Task);
        }
        Ok(())
    }
}

impl StepDown for CreateTaskResult {
    fn step_down(&mut self, to: Revision) {
        self.task.step_down(to);
        result_head(&mut self.result_type, &mut self.meta, to);
    }

    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        if to != Revision::V2025_11_25 {
            return Err(NotRepresentable::Task);
        }
        Ok(())
    }
}

impl StepDown for CancelTaskResult {
    fn step_down(&mut self, to: Revision) {
        match self {
            Self::Task(task) => task.step_down(to),
            Self::Acknowledged(result) => result.step_down(to),
        }
    }

    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        match (self, to) {
            (Self::Task(_), Revision::V2025_11_25) => Ok(()),
            (Self::Acknowledged(_), Revision::V2026_07_28) => Ok(()),
            _ => Err(NotRepresentable::Task),
        }
    }
}

impl StepDown for ListTasksResult {
    fn step_down(&mut self, to: Revision) {
        self.tasks.step_down(to);
        result_head(&mut self.result_type, &mut self.meta, to);
    }

    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        self.tasks.check_step_down(to)
    }
}

impl StepDown for TaskRequestParams {
    fn step_down(&mut self, to: Revision) {
        message_meta(&mut self.meta, to);
    }
}

impl StepDown for UpdateTaskRequestParams {
    fn step_down(&mut self, to: Revision) {
        message_meta(&mut self.meta, to);
    }
}

fn message_meta(meta: &mut Option<Meta>, to: Revision) {
    steps(to).for_each(|step| step.message_meta(meta));
}

fn object_meta(meta: &mut Option<Meta>, to: Revision) {
    steps(to).for_each(|step| step.object_meta(meta));
}

fn result_head(kind: &mut Option<ResultType>, meta: &mut Option<Meta>, to: Revision) {
    steps(to).for_each(|step| step.result_type(kind));
    message_meta(meta, to);
}

fn cache(ttl_ms: &mut Option<Number>, scope: &mut Option<CacheScope>, to: Revision) {
    steps(to).for_each(|step| step.cache(ttl_ms, scope));
}

fn parts(annotations: &mut Option<Annotations>, meta: &mut Option<Meta>, to: Revision) {
    annotations.step_down(to);
    object_meta(meta, to);
}

fn structured(content: &mut Vec<ContentBlock>, value: &mut Option<RawJson>, to: Revision) {
    steps(to).for_each(|step| step.structured(content, value));
}

fn sampling_content(content: &mut OneOrMany<SamplingMessageContentBlock>, to: Revision) {
    match content {
        OneOrMany::One(block) => block.step_down(to),
        OneOrMany::Many(blocks) => blocks.step_down(to),
    }
}

fn questions(requests: &mut Option<InputRequests>, to: Revision) {
    let requests = requests
        .iter_mut()
        .flat_map(|requests| requests.values_mut());
    requests.for_each(|request| request.step_down(to));
}

fn check_elicitation(to: Revision) -> Result<(), NotRepresentable> {
    if Method::ElicitationCreate.exists_in(to) {
        return Ok(());
    }
    Err(NotRepresentable::Method(Method::ElicitationCreate))
}

/// The answers to questions, and the questions themselves, need the stateless era.
fn refuse_retry(is_retry: bool, to: Revision) -> Result<(), NotRepresentable> {
    if is_retry && to.era() == Era::Handshake {
        return Err(NotRepresentable::InputRequired);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::revision::step_down::testing::{check, refuse};
    use Revision::{V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

    const TASK: &str =
        r#"{"taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttl":1}"#;
    const NEW_TASK: &str =
        r#"{"taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":1}"#;

    /// Parameters with these members lose the envelope, and nothing else.
    fn params<T: StepDown + Serialize + DeserializeOwned>(members: &str) {
        let with = |meta: &str| format!(r#"{{{members}"_meta":{{{meta}"a":1}}}}"#);
        let envelope = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#;
        check::<T>(V2025_11_25, &with(envelope), &with(""));
    }

    /// A result with these members loses its type, and nothing else.
    fn result<T: StepDown + Serialize + DeserializeOwned>(members: &str) {
        let with = |kind: &str| format!(r#"{{{members}{kind}"x":1}}"#);
        check::<T>(V2025_11_25, &with(r#""resultType":"complete","#), &with(""));
    }

    #[test]
    fn all_parameters_lose_the_envelope() {
        let info = r#"{"name":"a","version":"1"}"#;
        params::<RequestParams>("");
        params::<NotificationParams>("");
        params::<PaginatedRequestParams>("");
        params::<InitializeRequestParams>(&format!(
            r#""protocolVersion":"x","capabilities":{{}},"clientInfo":{info},"#
        ));
        params::<CallToolRequestParams>(r#""name":"a","#);
        params::<ReadResourceRequestParams>(r#""uri":"a:b","#);
        params::<ResourceRequestParams>(r#""uri":"a:b","#);
        params::<ResourceUpdatedNotificationParams>(r#""uri":"a:b","#);
        params::<GetPromptRequestParams>(r#""name":"a","#);
        params::<CompleteRequestParams>(
            r#""ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"a","value":""},"#,
        );
        params::<CancelledNotificationParams>(r#""requestId":1,"#);
        params::<ProgressNotificationParams>(r#""progressToken":1,"progress":1,"#);
        params::<SetLevelRequestParams>(r#""level":"info","#);
        params::<LoggingMessageNotificationParams>(r#""level":"info","data":1,"#);
        params::<CreateMessageRequestParams>(r#""messages":[],"maxTokens":1,"#);
        params::<ElicitRequestFormParams>(r#""message":"m","requestedSchema":{},"#);
        params::<ElicitRequestUrlParams>(
            r#""mode":"url","message":"m","url":"u","elicitationId":"e","#,
        );
        params::<ElicitationCompleteNotificationParams>(r#""elicitationId":"e","#);
        params::<SubscriptionsListenRequestParams>(r#""notifications":{},"#);
        params::<SubscriptionsAcknowledgedNotificationParams>(r#""notifications":{},"#);
        params::<TaskRequestParams>(r#""taskId":"t","#);
        params::<UpdateTaskRequestParams>(r#""taskId":"t","inputResponses":{},"#);
    }

    #[test]
    fn all_results_lose_their_type() {
        let info = r#"{"name":"a","version":"1"}"#;
        let task = TASK.trim_matches(['{', '}']);
        result::<EmptyResult>("");
        result::<InitializeResult>(&format!(
            r#""protocolVersion":"x","capabilities":{{}},"serverInfo":{info},"#
        ));
        result::<DiscoverResult>(r#""supportedVersions":[],"capabilities":{},"#);
        result::<ListToolsResult>(r#""tools":[],"#);
        result::<CallToolResult>(r#""content":[],"#);
        result::<ListResourcesResult>(r#""resources":[],"#);
        result::<ListResourceTemplatesResult>(r#""resourceTemplates":[],"#);
        result::<ReadResourceResult>(r#""contents":[],"#);
        result::<ListPromptsResult>(r#""prompts":[],"#);
        result::<GetPromptResult>(r#""messages":[],"#);
        result::<CompleteResult>(r#""completion":{"values":[]},"#);
        result::<CreateMessageResult>(r#""role":"user","content":[],"model":"m","#);
        result::<ElicitResult>(r#""action":"accept","#);
        result::<ListRootsResult>(r#""roots":[],"#);
        result::<InputRequiredResult>("");
        result::<SubscriptionsListenResult>("");
        result::<Task>(&format!("{task},"));
        result::<CreateTaskResult>(&format!(r#""task":{TASK},"#));
        result::<CancelTaskResult>("");
        result::<CancelTaskResult>(&format!("{task},"));
        result::<ListTasksResult>(r#""tasks":[],"#);
    }

    #[test]
    fn what_stands_within_is_stepped_down_too() {
        let strange = r#"{"type":"x"}"#;
        let text = r#"{"type":"text","text":"x: {\"type\":\"x\"}"}"#;
        let check_within = |check: fn(Revision, &str, &str), around: &str| {
            let with = |block: &str| around.replace('?', block);
            check(V2025_11_25, &with(strange), &with(text));
        };
        check_within(check::<CallToolResult>, r#"{"content":[?,?]}"#);
        check_within(check::<PromptMessage>, r#"{"role":"user","content":?}"#);
        check_within(
            check::<GetPromptResult>,
            r#"{"messages":[{"role":"user","content":?}]}"#,
        );
        check_within(
            check::<CreateMessageResult>,
            r#"{"role":"user","content":?,"model":"m"}"#,
        );
        check_within(
            check::<CreateMessageResult>,
            r#"{"role":"user","content":[?,?],"model":"m"}"#,
        );
        check_within(
            check::<ToolResultContent>,
            r#"{"type":"tool_result","toolUseId":"t","content":[?]}"#,
        );
        check_within(
            check::<SamplingMessageContentBlock>,
            r#"{"type":"tool_result","toolUseId":"t","content":[?]}"#,
        );
        let list = |task: &str| format!(r#"{{"tasks":[{task},{task}]}}"#);
        check::<ListTasksResult>(V2025_11_25, &list(NEW_TASK), &list(TASK));
        let created = |task: &str| format!(r#"{{"task":{task}}}"#);
        check::<CreateTaskResult>(V2025_11_25, &created(NEW_TASK), &created(TASK));
        check::<CancelTaskResult>(V2025_11_25, NEW_TASK, TASK);
    }

    #[test]
    fn a_task_is_refused_where_it_has_no_form() {
        let none = Some(NotRepresentable::Task);
        let tasks = format!("[{TASK}]");
        let list = format!(r#"{{"tasks":{tasks}}}"#);
        for (to, why) in [(V2025_06_18, none), (V2025_11_25, None)] {
            refuse::<Task>(to, TASK, why);
            refuse::<Option<Task>>(to, TASK, why);
            refuse::<Vec<Task>>(to, &tasks, why);
            refuse::<ListTasksResult>(to, &list, why);
            refuse::<CancelTaskResult>(to, TASK, why);
        }
        refuse::<CancelTaskResult>(V2026_07_28, TASK, none);
        refuse::<CancelTaskResult>(V2026_07_28, "{}", None);
        refuse::<CancelTaskResult>(V2025_11_25, "{}", none);
    }

    #[test]
    fn a_question_is_refused_where_its_request_is() {
        let form =
            r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{}}}"#;
        let no_method = NotRepresentable::Method(Method::ElicitationCreate);
        refuse::<InputRequest>(V2025_03_26, form, Some(no_method));
        refuse::<InputRequest>(V2025_06_18, form, None);
        let tools = r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"tools":[{"name":"a","inputSchema":{}}]}}"#;
        refuse::<InputRequest>(V2025_06_18, tools, Some(NotRepresentable::SamplingTools));
        refuse::<InputRequest>(V2025_11_25, tools, None);
        refuse::<InputRequest>(V2025_03_26, r#"{"method":"roots/list"}"#, None);
    }
}
