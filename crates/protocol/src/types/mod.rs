//! Every request, notification, result and object of MCP, each as one type
//! that holds what any revision has; a file per feature.
//!
//! Reading is liberal: members that are not known are kept, and so are kinds of
//! content that are not known. Optional members that a revision lacks are
//! simply absent; what a newer value becomes for an older peer is in `revision`.
//!
//! Structs are built by their constructor, which takes what is required; what is
//! optional is set on public fields.
//!
//! ```
//! use switchboard_protocol::RawJson;
//! use switchboard_protocol::types::{CallToolResult, ContentBlock, Tool};
//!
//! let mut tool = Tool::new("weather", RawJson::parse(r#"{"type":"object"}"#)?);
//! tool.title = Some("Weather".to_owned());
//! assert_eq!(tool.display_name(), "Weather");
//!
//! let result: CallToolResult =
//!     serde_json::from_str(r#"{"content":[{"type":"text","text":"sunny"},{"type":"new"}]}"#)?;
//! assert_eq!(result.content[0].as_text(), Some("sunny"));
//! assert!(matches!(result.content[1], ContentBlock::Unknown(_)));
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! Specification: the schema of each revision.

mod caching;
mod cancellation;
mod client_capabilities;
mod completion;
mod content;
mod discover;
mod elicitation;
mod elicitation_choice;
mod elicitation_primitive;
mod elicitation_schema;
mod error_data;
mod extra;
mod implementation;
mod initialize;
mod input_required;
mod logging;
mod meta;
pub mod meta_key;
mod params;
mod progress;
mod prompts;
mod resource;
mod resource_contents;
mod resources;
mod result;
mod roots;
mod sampling;
mod sampling_message;
mod server_capabilities;
mod subscriptions;
mod tagged;
mod task;
mod tasks;
mod tasks_capability;
mod tool;
mod tool_use;
mod tools;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::method::Method;

pub use caching::{CacheHint, CacheScope, Cacheable};
pub use cancellation::{CancelledNotification, CancelledNotificationParams};
pub use client_capabilities::{
    ClientCapabilities, ElicitationCapability, RootsCapability, SamplingCapability,
};
pub use completion::{
    Complete, CompleteRequestParams, CompleteResult, Completion, CompletionArgument,
    CompletionContext, CompletionReference, PromptReference, ResourceTemplateReference,
};
pub use content::{
    Annotations, AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceLink, Role,
    TextContent,
};
pub use discover::{Discover, DiscoverResult};
pub use elicitation::{
    Elicit, ElicitAction, ElicitRequestFormParams, ElicitRequestParams, ElicitRequestUrlParams,
    ElicitResult, ElicitationCompleteNotification, ElicitationCompleteNotificationParams, FormMode,
};
pub use elicitation_choice::{
    EnumOption, LegacyTitledEnumSchema, TitledItems, TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema, UntitledItems, UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema,
};
pub use elicitation_primitive::{
    BooleanSchema, NumberKind, NumberSchema, StringFormat, StringSchema,
};
pub use elicitation_schema::{ElicitSchema, PrimitiveSchemaDefinition};
pub use error_data::{
    MissingRequiredClientCapabilityData, ResourceNotFoundData, UnsupportedProtocolVersionData,
    UrlElicitationRequiredData,
};
pub use extra::Extra;
pub use implementation::{Icon, IconTheme, Implementation};
pub use initialize::{
    Initialize, InitializeRequestParams, InitializeResult, InitializedNotification, Ping,
};
pub use input_required::{
    BadInputRequest, InputRequest, InputRequests, InputRequiredResult, InputResponses, Question,
};
pub use logging::{
    LoggingLevel, LoggingMessageNotification, LoggingMessageNotificationParams, SetLevel,
    SetLevelRequestParams,
};
pub use meta::{BadMeta, Meta};
pub use params::{NotificationParams, PaginatedRequestParams, RequestParams};
pub use progress::{ProgressNotification, ProgressNotificationParams, ProgressToken};
pub use prompts::{
    GetPrompt, GetPromptRequestParams, GetPromptResult, ListPrompts, ListPromptsResult, Prompt,
    PromptArgument, PromptListChangedNotification, PromptMessage,
};
pub use resource::{Resource, ResourceTemplate};
pub use resource_contents::{BlobResourceContents, ResourceContents, TextResourceContents};
pub use resources::{
    ListResourceTemplates, ListResourceTemplatesResult, ListResources, ListResourcesResult,
    ReadResource, ReadResourceRequestParams, ReadResourceResult, ResourceListChangedNotification,
    ResourceRequestParams, ResourceUpdatedNotification, ResourceUpdatedNotificationParams,
    Subscribe, Unsubscribe,
};
pub use result::{Answer, BadAnswer, EmptyResult, ResultType};
pub use roots::{ListRoots, ListRootsResult, Root, RootsListChangedNotification};
pub use sampling::{
    CreateMessage, CreateMessageRequestParams, CreateMessageResult, IncludeContext, ModelHint,
    ModelPreferences, StopReason, ToolChoice, ToolChoiceMode,
};
pub use sampling_message::{OneOrMany, SamplingMessage, SamplingMessageContentBlock};
pub use server_capabilities::{
    PromptsCapability, ResourcesCapability, ServerCapabilities, ToolsCapability,
};
pub use subscriptions::{
    SubscriptionFilter, SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams, SubscriptionsListen,
    SubscriptionsListenRequestParams, SubscriptionsListenResult,
};
pub use task::{RelatedTaskMetadata, Task, TaskMetadata, TaskStatus, TaskTtl};
pub use tasks::{
    CancelTask, CancelTaskResult, CreateTaskResult, GetTask, GetTaskPayload, ListTasks,
    ListTasksResult, TaskNotification, TaskRequestParams, TaskStatusNotification, UpdateTask,
    UpdateTaskRequestParams,
};
pub use tasks_capability::{TASKS_EXTENSION, TaskRequestsCapability, TasksCapability};
pub use tool::{TaskSupport, Tool, ToolAnnotations, ToolExecution, is_valid_tool_name};
pub use tool_use::{ToolResultContent, ToolUseContent};
pub use tools::{
    CallTool, CallToolRequestParams, CallToolResult, ListTools, ListToolsResult, RejectedTool,
    ToolListChangedNotification,
};

/// A request: its method, what it takes and what it gives.
pub trait Request {
    /// Its method.
    const METHOD: Method;
    /// What it takes. Absent `params` mean an empty object.
    type Params: Serialize + DeserializeOwned;
    /// What it gives when it is complete.
    type Result: Serialize + DeserializeOwned;
}

/// A notification: its method and what it says.
pub trait Notification {
    /// Its method.
    const METHOD: Method;
    /// What it says. Absent `params` mean an empty object.
    type Params: Serialize + DeserializeOwned;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_its_types() {
        let covered = [
            Initialize::METHOD,
            Ping::METHOD,
            Discover::METHOD,
            ListTools::METHOD,
            CallTool::METHOD,
            ListResources::METHOD,
            ListResourceTemplates::METHOD,
            ReadResource::METHOD,
            Subscribe::METHOD,
            Unsubscribe::METHOD,
            ListPrompts::METHOD,
            GetPrompt::METHOD,
            Complete::METHOD,
            SetLevel::METHOD,
            SubscriptionsListen::METHOD,
            GetTask::METHOD,
            UpdateTask::METHOD,
            CancelTask::METHOD,
            GetTaskPayload::METHOD,
            ListTasks::METHOD,
            CreateMessage::METHOD,
            ListRoots::METHOD,
            Elicit::METHOD,
            InitializedNotification::METHOD,
            CancelledNotification::METHOD,
            ProgressNotification::METHOD,
            LoggingMessageNotification::METHOD,
            ResourceUpdatedNotification::METHOD,
            ResourceListChangedNotification::METHOD,
            ToolListChangedNotification::METHOD,
            PromptListChangedNotification::METHOD,
            RootsListChangedNotification::METHOD,
            ElicitationCompleteNotification::METHOD,
            TaskStatusNotification::METHOD,
            SubscriptionsAcknowledgedNotification::METHOD,
            TaskNotification::METHOD,
        ];
        for rule in Method::table() {
            assert!(covered.contains(&rule.method), "{}", rule.name);
        }
    }
}
