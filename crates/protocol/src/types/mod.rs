//! Every request, notification, result and object of MCP, each as one type
//! that holds what any revision has; a file per feature.
//!
//! Reading is liberal: members that are not known are kept, and so are kinds of
//! content that are not known. Optional members that a revision lacks are
//! simply absent; what a newer value becomes for an older peer is in `revision`.
//!
//! Specification: the schema of each revision.

mod caching;
mod cancellation;
mod capabilities;
mod completion;
mod content;
mod discover;
mod elicitation;
mod elicitation_schema;
mod error_data;
mod extra;
mod implementation;
mod initialize;
mod input_required;
mod logging;
pub mod meta;
mod params;
mod progress;
mod prompts;
mod resource_contents;
mod resources;
mod result;
mod roots;
mod sampling;
mod subscriptions;
mod tagged;
mod tasks;
mod tool_use;
mod tools;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::method::Method;

pub use caching::{CacheScope, Cacheable};
pub use cancellation::{CancelledNotification, CancelledNotificationParams};
pub use capabilities::{
    ClientCapabilities, ElicitationCapability, PromptsCapability, ResourcesCapability,
    RootsCapability, SamplingCapability, ServerCapabilities, TASKS_EXTENSION,
    TaskRequestsCapability, TasksCapability, ToolsCapability,
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
pub use elicitation_schema::{
    BooleanSchema, ElicitSchema, EnumOption, LegacyTitledEnumSchema, NumberKind, NumberSchema,
    PrimitiveSchemaDefinition, StringFormat, StringSchema, TitledItems,
    TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema, UntitledItems,
    UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};
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
pub use resource_contents::{BlobResourceContents, ResourceContents, TextResourceContents};
pub use resources::{
    ListResourceTemplates, ListResourceTemplatesResult, ListResources, ListResourcesResult,
    ReadResource, ReadResourceRequestParams, ReadResourceResult, Resource,
    ResourceListChangedNotification, ResourceRequestParams, ResourceTemplate,
    ResourceUpdatedNotification, ResourceUpdatedNotificationParams, Subscribe, Unsubscribe,
};
pub use result::{Answer, BadAnswer, EmptyResult, ResultType};
pub use roots::{ListRoots, ListRootsResult, Root, RootsListChangedNotification};
pub use sampling::{
    CreateMessage, CreateMessageRequestParams, CreateMessageResult, IncludeContext, ModelHint,
    ModelPreferences, OneOrMany, SamplingMessage, SamplingMessageContentBlock, StopReason,
    ToolChoice, ToolChoiceMode,
};
pub use subscriptions::{
    SubscriptionFilter, SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams, SubscriptionsListen,
    SubscriptionsListenRequestParams, SubscriptionsListenResult,
};
pub use tasks::{
    CancelTask, CancelTaskResult, CreateTaskResult, GetTask, GetTaskPayload, ListTasks,
    ListTasksResult, RelatedTaskMetadata, Task, TaskMetadata, TaskNotification, TaskRequestParams,
    TaskStatus, TaskStatusNotification, TaskTtl, UpdateTask, UpdateTaskRequestParams,
};
pub use tool_use::{ToolResultContent, ToolUseContent};
pub use tools::{
    CallTool, CallToolRequestParams, CallToolResult, ListTools, ListToolsResult, RejectedTool,
    TaskSupport, Tool, ToolAnnotations, ToolExecution, ToolListChangedNotification,
    is_valid_tool_name,
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
