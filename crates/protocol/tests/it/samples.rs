//! One or more values of every type, as each revision has it.
//!
//! Values are built through the public API with every member that the revision
//! knows, then written. The functions below are a table: read them by feature.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use switchboard_protocol::jsonrpc::{
    ErrorCode, ErrorObject, Frame, Limits, Message, RequestId, Response,
};
use switchboard_protocol::method::Sender;
use switchboard_protocol::types::meta_key as key;
use switchboard_protocol::types::*;
use switchboard_protocol::{RawJson, Revision};

use Revision::{V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

/// The samples of one revision.
pub(crate) struct Table {
    revision: Revision,
    /// Name of the definition, and what is written for it.
    pub(crate) rows: Vec<(String, Value)>,
    /// Names that were written out below, to find misspelt ones.
    pub(crate) named: BTreeSet<String>,
}

/// All samples of a revision.
pub(crate) fn at(revision: Revision) -> Table {
    let mut table = Table {
        revision,
        rows: Vec::new(),
        named: BTreeSet::new(),
    };
    basics(&mut table);
    capabilities(&mut table);
    opening(&mut table);
    content(&mut table);
    tools(&mut table);
    resources(&mut table);
    prompts(&mut table);
    completion(&mut table);
    utilities(&mut table);
    sampling(&mut table);
    roots(&mut table);
    elicitation(&mut table);
    elicitation_schemas(&mut table);
    if revision == V2025_11_25 {
        tasks(&mut table);
    }
    if revision == V2026_07_28 {
        stateless(&mut table);
    }
    table
}

impl Table {
    fn since(&self, revision: Revision) -> bool {
        self.revision >= revision
    }

    /// A value if the revision is this or a later one.
    fn from<T>(&self, revision: Revision, value: T) -> Option<T> {
        self.since(revision).then_some(value)
    }

    fn only<T>(&self, revision: Revision, value: T) -> Option<T> {
        (self.revision == revision).then_some(value)
    }

    fn row(&mut self, definition: impl Into<String>, value: &impl Serialize) {
        let mut value = serde_json::to_value(value).expect("a sample has a JSON form");
        if value.get("jsonrpc").is_some() {
            value = written(&value);
        }
        self.rows.push((definition.into(), value));
    }

    fn add(&mut self, definition: &str, value: &impl Serialize) {
        self.named.insert(definition.to_owned());
        self.row(definition, value);
    }

    /// A request, its parameters, and the unions and bases that it belongs to.
    fn request<R: Request>(&mut self, definition: &str, params: &R::Params) {
        let sender = R::METHOD.sender(self.revision.era());
        let params = read_back(params);
        let mut value = json!({"method": R::METHOD.name(), "params": params});
        self.row(format!("{definition}Params"), &params);
        if sender == Sender::InsideResult {
            self.row("InputRequest", &value);
        } else {
            self.row("Request", &value);
            self.envelope(&mut value, true, &["JSONRPCRequest", "JSONRPCMessage"]);
        }
        if sender.is_client() {
            self.row("ClientRequest", &value);
        }
        if sender.is_server() {
            self.row("ServerRequest", &value);
        }
        self.add(definition, &value);
    }

    /// A result, its response, and the unions that it belongs to.
    fn result<R: Request>(&mut self, definition: &str, result: &R::Result) {
        let sender = R::METHOD.sender(self.revision.era());
        let result = &read_back(result);
        if sender == Sender::InsideResult {
            self.row("InputResponse", result);
        } else {
            self.row("Result", result);
            self.response(&format!("{definition}Response"), result);
        }
        if sender.is_client() {
            self.row("ServerResult", result);
        }
        if sender.is_server() {
            self.row("ClientResult", result);
        }
        self.add(definition, result);
    }

    fn response(&mut self, definition: &str, result: &impl Serialize) {
        let response = json!({"jsonrpc": "2.0", "id": "r-1", "result": result});
        for name in [
            definition,
            "JSONRPCResultResponse",
            "JSONRPCResponse",
            "JSONRPCMessage",
        ] {
            self.row(name, &response);
        }
    }

    /// A notification, its parameters, and the unions and bases that it belongs to.
    fn notification<N: Notification>(&mut self, definition: &str, params: &N::Params) {
        let sender = N::METHOD.sender(self.revision.era());
        let params = read_back(params);
        let mut value = json!({"method": N::METHOD.name(), "params": params});
        self.row(format!("{definition}Params"), &params);
        self.row("Notification", &value);
        self.envelope(
            &mut value,
            false,
            &["JSONRPCNotification", "JSONRPCMessage"],
        );
        if sender.is_client() {
            self.row("ClientNotification", &value);
        }
        if sender.is_server() {
            self.row("ServerNotification", &value);
        }
        self.add(definition, &value);
    }

    fn envelope(&mut self, value: &mut Value, has_id: bool, definitions: &[&str]) {
        let mut whole = value.clone();
        whole["jsonrpc"] = json!("2.0");
        if has_id {
            whole["id"] = json!(7);
        }
        for definition in definitions {
            self.row(*definition, &whole);
        }
        // Older schemas define a request and its envelope apart.
        if self.since(V2025_11_25) {
            *value = whole;
        }
    }

    /// `_meta` of a request: the envelope in the stateless era.
    fn request_meta(&self) -> Option<Meta> {
        let mut meta = Meta::new();
        meta.set_progress_token(&ProgressToken::from("p-1"));
        if self.since(V2026_07_28) {
            meta.set_protocol_version(self.revision.as_str());
            meta.set_client_info(&self.implementation());
            meta.set_client_capabilities(&self.client_capabilities());
            meta.set_log_level(LoggingLevel::Warning);
            meta.insert(
                key::TRACEPARENT,
                json!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            );
        }
        Some(meta)
    }

    /// `_meta` of a request that the stateless era carries inside a result.
    fn inner_meta(&self) -> Option<Meta> {
        if self.since(V2026_07_28) {
            None
        } else {
            self.request_meta()
        }
    }

    fn notification_meta(&self) -> Option<Meta> {
        let mut meta = Meta::new();
        meta.insert("com.example/note", json!({"a": 1}));
        if self.since(V2026_07_28) {
            meta.set_subscription_id(&RequestId::from("listen-1"));
        }
        Some(meta)
    }

    fn result_meta(&self) -> Option<Meta> {
        let mut meta = Meta::new();
        meta.insert("com.example/note", json!(true));
        if self.since(V2026_07_28) {
            meta.set_server_info(&self.implementation());
        }
        Some(meta)
    }

    /// `_meta` of an object, which most objects have since 2025-06-18.
    fn object_meta(&self) -> Option<Meta> {
        let mut meta = Meta::new();
        meta.insert("com.example/note", json!(null));
        self.from(V2025_06_18, meta)
    }

    fn complete(&self) -> Option<ResultType> {
        self.from(V2026_07_28, ResultType::Complete)
    }

    fn hint(&self, result: &mut impl Cacheable) {
        if self.since(V2026_07_28) {
            result.set_cache(Duration::from_secs(60), CacheScope::Public);
        }
    }

    fn icons(&self) -> Option<Vec<Icon>> {
        let mut light = Icon::new("https://example.com/icon.png");
        light.mime_type = Some("image/png".into());
        light.sizes = Some(vec!["48x48".into(), "any".into()]);
        light.theme = Some(IconTheme::Light);
        let mut dark = Icon::new("data:image/png;base64,AA==");
        dark.theme = Some(IconTheme::Dark);
        self.from(V2025_11_25, vec![light, dark])
    }

    fn implementation(&self) -> Implementation {
        let mut value = Implementation::new("example", "1.0.0");
        value.title = self.from(V2025_06_18, "Example".into());
        value.description = self.from(V2025_11_25, "An example".into());
        value.website_url = self.from(V2025_11_25, "https://example.com".into());
        value.icons = self.icons();
        value
    }

    fn annotations(&self) -> Annotations {
        let mut value = Annotations::default();
        value.audience = Some(vec![Role::User, Role::Assistant]);
        value.priority = Some(1.into());
        value.last_modified = self.from(V2025_06_18, "2025-01-12T15:00:58Z".into());
        value
    }

    fn client_capabilities(&self) -> ClientCapabilities {
        let mut roots = RootsCapability::default();
        if !self.since(V2026_07_28) {
            roots.list_changed = Some(true);
        }
        let mut sampling = SamplingCapability::default();
        sampling.context = self.from(V2025_11_25, Map::new());
        sampling.tools = self.from(V2025_11_25, Map::new());
        let mut elicitation = ElicitationCapability::default();
        elicitation.form = self.from(V2025_11_25, Map::new());
        elicitation.url = self.from(V2025_11_25, Map::new());
        let mut requests = TaskRequestsCapability::default();
        requests.sampling = Some(object(json!({"createMessage": {}})));
        requests.elicitation = Some(object(json!({"create": {}})));

        let mut value = ClientCapabilities::default();
        value.experimental = Some(object(json!({"com.example/x": {"deep": [1]}})));
        value.roots = Some(roots);
        value.sampling = Some(sampling);
        value.elicitation = self.from(V2025_06_18, elicitation);
        value.tasks = self.only(V2025_11_25, task_capability(requests));
        value.extensions = self.from(V2026_07_28, object(json!({TASKS_EXTENSION: {}})));
        value
    }

    fn server_capabilities(&self) -> ServerCapabilities {
        let mut prompts = PromptsCapability::default();
        prompts.list_changed = Some(true);
        let mut resources = ResourcesCapability::default();
        resources.subscribe = Some(true);
        resources.list_changed = Some(false);
        let mut tools = ToolsCapability::default();
        tools.list_changed = Some(true);
        let mut requests = TaskRequestsCapability::default();
        requests.tools = Some(object(json!({"call": {}})));

        let mut value = ServerCapabilities::default();
        value.experimental = Some(object(json!({"com.example/x": {}})));
        value.logging = Some(Map::new());
        value.completions = self.from(V2025_03_26, Map::new());
        value.prompts = Some(prompts);
        value.resources = Some(resources);
        value.tools = Some(tools);
        value.tasks = self.only(V2025_11_25, task_capability(requests));
        value.extensions = self.from(V2026_07_28, object(json!({TASKS_EXTENSION: {}})));
        value
    }

    fn tool(&self) -> Tool {
        let mut annotations = ToolAnnotations::default();
        annotations.title = Some("Weather".into());
        annotations.read_only_hint = Some(false);
        annotations.destructive_hint = Some(false);
        annotations.idempotent_hint = Some(true);
        annotations.open_world_hint = Some(true);
        let mut execution = ToolExecution::default();
        execution.task_support = Some(TaskSupport::Optional);

        let mut schema = object(json!({"type": "object", "required": ["place"]}));
        schema.insert("properties".into(), json!({"place": {"type": "string"}}));
        if self.since(V2025_11_25) {
            schema.insert("$schema".into(), json!(DIALECT));
        }
        let schema = RawJson::encode(&schema).expect("a sample has a JSON form");
        let mut tool = Tool::new("weather", schema.clone());
        tool.title = self.from(V2025_06_18, "Weather".into());
        tool.description = Some("The weather at a place".into());
        tool.output_schema = self.from(V2025_06_18, schema);
        tool.annotations = self.from(V2025_03_26, annotations);
        tool.execution = self.only(V2025_11_25, execution);
        tool.icons = self.icons();
        tool.meta = self.object_meta();
        tool
    }

    fn resource(&self) -> Resource {
        let mut value = Resource::new("file:///a.txt", "a.txt");
        value.title = self.from(V2025_06_18, "A".into());
        value.description = Some("The letter".into());
        value.mime_type = Some("text/plain".into());
        value.annotations = Some(self.annotations());
        value.size = Some(12.into());
        value.icons = self.icons();
        value.meta = self.object_meta();
        value
    }

    fn text_contents(&self) -> TextResourceContents {
        let mut value = TextResourceContents::new("file:///a.txt", "a");
        value.mime_type = Some("text/plain".into());
        value.meta = self.object_meta();
        value
    }

    fn blob_contents(&self) -> BlobResourceContents {
        let mut value = BlobResourceContents::new("file:///a.bin", "AA==");
        value.mime_type = Some("application/octet-stream".into());
        value.meta = self.object_meta();
        value
    }

    fn text_block(&self) -> TextContent {
        let mut value = TextContent::new("hello");
        value.annotations = Some(self.annotations());
        value.meta = self.object_meta();
        value
    }

    fn image_block(&self) -> ImageContent {
        let mut value = ImageContent::new("AA==", "image/png");
        value.annotations = Some(self.annotations());
        value.meta = self.object_meta();
        value
    }

    fn audio_block(&self) -> AudioContent {
        let mut value = AudioContent::new("AA==", "audio/wav");
        value.annotations = Some(self.annotations());
        value.meta = self.object_meta();
        value
    }

    fn embedded(&self, contents: ResourceContents) -> EmbeddedResource {
        let mut value = EmbeddedResource::new(contents);
        value.annotations = Some(self.annotations());
        value.meta = self.object_meta();
        value
    }

    /// Every kind of block that the revision has.
    fn blocks(&self) -> Vec<ContentBlock> {
        let mut blocks = vec![
            ContentBlock::Text(self.text_block()),
            ContentBlock::Image(self.image_block()),
            ContentBlock::Resource(self.embedded(ResourceContents::Text(self.text_contents()))),
            ContentBlock::Resource(self.embedded(ResourceContents::Blob(self.blob_contents()))),
        ];
        blocks.extend(self.from(V2025_03_26, ContentBlock::Audio(self.audio_block())));
        blocks.extend(self.from(V2025_06_18, ContentBlock::resource_link(self.resource())));
        blocks
    }

    fn tool_use(&self) -> ToolUseContent {
        let mut value = ToolUseContent::new("u-1", "weather", raw(r#"{"place":"Bern"}"#));
        value.meta = self.object_meta();
        value
    }

    fn tool_result(&self) -> ToolResultContent {
        let mut value = ToolResultContent::new("u-1", self.blocks());
        value.structured_content = Some(raw(r#"{"degrees":21}"#));
        value.is_error = Some(false);
        value.meta = self.object_meta();
        value
    }

    /// Every kind of block that a sampling message of the revision has.
    fn sampling_blocks(&self) -> Vec<SamplingMessageContentBlock> {
        use SamplingMessageContentBlock as Block;
        let mut blocks = vec![
            Block::Text(self.text_block()),
            Block::Image(self.image_block()),
        ];
        blocks.extend(self.from(V2025_03_26, Block::Audio(self.audio_block())));
        if self.since(V2025_11_25) {
            blocks.push(Block::ToolUse(self.tool_use()));
            blocks.push(Block::ToolResult(self.tool_result()));
        }
        blocks
    }

    fn sampling_messages(&self) -> Vec<SamplingMessage> {
        let blocks = self.sampling_blocks();
        let many = self.from(V2025_11_25, OneOrMany::Many(blocks.clone()));
        let all = blocks.into_iter().map(OneOrMany::One).chain(many);
        all.map(|content| {
            let mut message = SamplingMessage::new(Role::User, content);
            message.meta = self.from(V2025_11_25, Meta::new());
            message
        })
        .collect()
    }

    fn create_message(&self) -> CreateMessageRequestParams {
        let mut preferences = ModelPreferences::default();
        preferences.hints = Some(vec![ModelHint::new("sonnet")]);
        preferences.cost_priority = Some(0.into());
        preferences.speed_priority = serde_json::Number::from_f64(0.5);
        preferences.intelligence_priority = Some(1.into());

        let mut params = CreateMessageRequestParams::new(self.sampling_messages(), 100);
        params.model_preferences = Some(preferences);
        params.system_prompt = Some("Be brief.".into());
        params.include_context = Some(IncludeContext::None);
        params.temperature = serde_json::Number::from_f64(0.1);
        params.stop_sequences = Some(vec!["END".into()]);
        params.metadata = Some(object(json!({"tier": 1})));
        params.tools = self.from(V2025_11_25, vec![self.tool()]);
        params.tool_choice = self.from(V2025_11_25, ToolChoice::new(ToolChoiceMode::Required));
        params.task = self.task_metadata();
        params.meta = self.inner_meta();
        params
    }

    fn create_message_results(&self) -> Vec<CreateMessageResult> {
        let answer = |content| {
            let mut result = CreateMessageResult::new(Role::Assistant, content, "model-1");
            result.stop_reason = Some(StopReason::EndTurn);
            result.meta = self.inner_meta().or_else(|| self.object_meta());
            result
        };
        let blocks = self.sampling_blocks();
        let many = self.from(V2025_11_25, OneOrMany::Many(blocks.clone()));
        let one = blocks.into_iter().map(OneOrMany::One);
        one.chain(many).map(answer).collect()
    }

    fn roots_result(&self) -> ListRootsResult {
        let mut root = Root::new("file:///home/me");
        root.name = Some("home".into());
        root.meta = self.object_meta();
        let mut result = ListRootsResult::new(vec![root]);
        result.meta = self.inner_meta();
        result
    }

    fn elicit_schema(&self) -> ElicitSchema {
        let fields = self.primitive_schemas();
        let named = fields.into_iter().enumerate();
        let mut schema = ElicitSchema::new(
            named
                .map(|(i, field)| (format!("field{i}"), field))
                .collect(),
        );
        schema.schema = self.from(V2025_11_25, DIALECT.into());
        schema.required = Some(vec!["field0".into()]);
        schema
    }

    fn elicit_form(&self) -> ElicitRequestFormParams {
        let schema = RawJson::encode(&self.elicit_schema()).expect("a sample has a JSON form");
        let mut form = ElicitRequestFormParams::new("Who are you?", schema);
        form.mode = self.from(V2025_11_25, FormMode::Form);
        form.task = self.task_metadata();
        form.meta = self.inner_meta();
        form
    }

    fn elicit_url(&self) -> ElicitRequestUrlParams {
        let mut url = ElicitRequestUrlParams::new("Sign in", "https://example.com/sign-in");
        url.elicitation_id = self.only(V2025_11_25, "e-1".into());
        url.task = self.task_metadata();
        url.meta = self.inner_meta();
        url
    }

    fn elicit_results(&self) -> Vec<ElicitResult> {
        // The JSON schemas narrow the "number" of their TypeScript source to integers.
        let mut content = object(json!({"name": "A", "age": 7, "agree": true}));
        if self.since(V2025_11_25) {
            content.insert("colours".into(), json!(["red"]));
        }
        let mut accepted = ElicitResult::accept(content);
        accepted.meta = self.inner_meta();
        vec![
            accepted,
            ElicitResult::new(ElicitAction::Decline),
            ElicitResult::new(ElicitAction::Cancel),
        ]
    }

    /// Every kind of field that a form of the revision may have.
    fn primitive_schemas(&self) -> Vec<PrimitiveSchemaDefinition> {
        use PrimitiveSchemaDefinition as Schema;
        let mut fields = vec![
            Schema::String(self.string_schema()),
            Schema::Number(self.number_schema()),
            Schema::Boolean(boolean_schema()),
            Schema::LegacyTitled(self.legacy_enum()),
        ];
        if self.since(V2025_11_25) {
            fields.extend([
                Schema::SingleSelect(single_select()),
                Schema::TitledSingleSelect(titled_single_select()),
                Schema::MultiSelect(multi_select()),
                Schema::TitledMultiSelect(titled_multi_select()),
            ]);
        }
        fields
    }

    fn string_schema(&self) -> StringSchema {
        let mut value = StringSchema::default();
        value.title = Some("Address".into());
        value.description = Some("Where to write to".into());
        value.min_length = Some(3.into());
        value.max_length = Some(50.into());
        value.format = Some(StringFormat::Email);
        value.default = self.from(V2025_11_25, "a@example.com".into());
        value
    }

    fn number_schema(&self) -> NumberSchema {
        let mut value = NumberSchema::default();
        value.kind = NumberKind::Integer;
        value.title = Some("Age".into());
        value.description = Some("In years".into());
        value.minimum = Some(0.into());
        value.maximum = Some(150.into());
        value.default = self.from(V2025_11_25, 30.into());
        value
    }

    fn legacy_enum(&self) -> LegacyTitledEnumSchema {
        let mut value = LegacyTitledEnumSchema::new(words(&["r", "g"]), words(&["Red", "Green"]));
        value.title = Some("Colour".into());
        value.description = Some("The one you like".into());
        value.default = self.from(V2025_11_25, "r".into());
        value
    }

    fn task_metadata(&self) -> Option<TaskMetadata> {
        let mut value = TaskMetadata::default();
        value.ttl = Some(60_000.into());
        self.only(V2025_11_25, value)
    }

    fn input_responses(&self) -> Option<InputResponses> {
        self.from(V2026_07_28, answers(self))
    }
}

fn basics(t: &mut Table) {
    let mut empty = EmptyResult::default();
    empty.result_type = t.complete();
    empty.meta = t.result_meta();
    t.add("EmptyResult", &empty);
    t.row("Result", &empty);
    t.row("ServerResult", &empty);
    t.row("ClientResult", &empty);
    t.response("JSONRPCResponse", &empty);
    t.add("RequestParams", &request_params(t));
    t.add("NotificationParams", &notification_params(t));
    t.add("RequestId", &json!(1));
    t.add("RequestId", &json!("a"));
    t.add("ProgressToken", &ProgressToken::Integer(-1));
    t.add("ProgressToken", &ProgressToken::from("p"));
    t.add("Cursor", &paginated(t).cursor);
    t.add("PaginatedRequestParams", &paginated(t));
    let mut page = json!({"method": "tools/list", "params": paginated(t)});
    t.envelope(&mut page, true, &["PaginatedRequest"]);
    t.add("Role", &Role::User);
    t.add("Role", &Role::Assistant);
    t.add("Implementation", &t.implementation());
    t.add("BaseMetadata", &t.implementation());
    t.add("Icons", &t.implementation());
    for icon in t.icons().into_iter().flatten() {
        t.add("Icon", &icon);
    }
    t.add("Annotations", &t.annotations());
    t.add("Annotated", &t.text_block());

    let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32002, "message": "not found",
        "data": ResourceNotFoundData::new("file:///none")}});
    t.add("JSONRPCError", &error);
    t.add("JSONRPCErrorResponse", &error);
    t.add("JSONRPCMessage", &error);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    t.add("JSONRPCBatchRequest", &json!([ping]));
    t.add("JSONRPCBatchResponse", &json!([error]));
}

fn capabilities(t: &mut Table) {
    t.add("ClientCapabilities", &t.client_capabilities());
    t.add("ClientCapabilities", &ClientCapabilities::default());
    t.add("ServerCapabilities", &t.server_capabilities());
    t.add("ServerCapabilities", &ServerCapabilities::default());
}

fn opening(t: &mut Table) {
    if t.since(V2026_07_28) {
        return;
    }
    let version = t.revision.as_str();
    let mut params =
        InitializeRequestParams::new(version, t.client_capabilities(), t.implementation());
    params.meta = t.request_meta();
    t.request::<Initialize>("InitializeRequest", &params);
    let mut result = InitializeResult::new(version, t.server_capabilities(), t.implementation());
    result.instructions = Some("Ask for the weather.".into());
    result.meta = t.result_meta();
    t.result::<Initialize>("InitializeResult", &result);
    t.notification::<InitializedNotification>("InitializedNotification", &notification_params(t));
    t.request::<Ping>("PingRequest", &request_params(t));
}

fn content(t: &mut Table) {
    t.add("TextContent", &t.text_block());
    t.add("ImageContent", &t.image_block());
    t.add("AudioContent", &t.audio_block());
    t.add("ResourceLink", &ContentBlock::resource_link(t.resource()));
    for block in t.blocks() {
        t.add("ContentBlock", &block);
        if let ContentBlock::Resource(embedded) = &block {
            t.add("EmbeddedResource", embedded);
        }
    }
    t.add("TextResourceContents", &t.text_contents());
    t.add("BlobResourceContents", &t.blob_contents());
    t.add("ResourceContents", &t.text_contents());
    t.add(
        "ResourceContents",
        &ResourceContents::Blob(t.blob_contents()),
    );
}

fn tools(t: &mut Table) {
    let tool = t.tool();
    t.add("Tool", &tool);
    t.add("Tool", &Tool::new("bare", raw(r#"{"type":"object"}"#)));
    t.add(
        "ToolAnnotations",
        &tool.annotations.clone().unwrap_or_default(),
    );
    t.add("ToolExecution", &tool.execution.clone().unwrap_or_default());
    t.request::<ListTools>("ListToolsRequest", &paginated(t));
    let mut page = ListToolsResult::new(vec![tool]);
    page.next_cursor = Some("page-2".into());
    page.result_type = t.complete();
    page.meta = t.result_meta();
    t.hint(&mut page);
    t.result::<ListTools>("ListToolsResult", &page);
    t.add("PaginatedResult", &page);
    t.add("CacheableResult", &page);

    let mut call = CallToolRequestParams::new("weather");
    call.arguments = Some(raw(r#"{"place":"Bern","days":[1,2]}"#));
    call.task = t.task_metadata();
    call.input_responses = t.input_responses();
    call.request_state = t.from(V2026_07_28, "state".into());
    call.meta = t.request_meta();
    t.request::<CallTool>("CallToolRequest", &call);
    t.add("TaskAugmentedRequestParams", &call);
    t.add("InputResponseRequestParams", &call);

    let mut result = CallToolResult::new(t.blocks());
    result.structured_content = t.from(V2025_06_18, raw(r#"{"degrees":21}"#));
    result.is_error = Some(false);
    result.result_type = t.complete();
    result.meta = t.result_meta();
    t.result::<CallTool>("CallToolResult", &result);
    let mut error = CallToolResult::error("no such place");
    error.result_type = t.complete();
    // Any JSON may be a structured result in 2026-07-28, also null.
    error.structured_content = t.from(V2026_07_28, raw("null"));
    t.result::<CallTool>("CallToolResult", &error);
    t.notification::<ToolListChangedNotification>(
        "ToolListChangedNotification",
        &notification_params(t),
    );
}

fn resources(t: &mut Table) {
    t.add("Resource", &t.resource());
    let mut template = ResourceTemplate::new("file:///{path}", "files");
    template.title = t.from(V2025_06_18, "Files".into());
    template.description = Some("All files".into());
    template.mime_type = Some("text/plain".into());
    template.annotations = Some(t.annotations());
    template.icons = t.icons();
    template.meta = t.object_meta();
    t.add("ResourceTemplate", &template);

    t.request::<ListResources>("ListResourcesRequest", &paginated(t));
    let mut page = ListResourcesResult::new(vec![t.resource()]);
    page.next_cursor = Some("".into());
    page.result_type = t.complete();
    page.meta = t.result_meta();
    t.hint(&mut page);
    t.result::<ListResources>("ListResourcesResult", &page);

    t.request::<ListResourceTemplates>("ListResourceTemplatesRequest", &paginated(t));
    let mut page = ListResourceTemplatesResult::new(vec![template]);
    page.next_cursor = Some("page-2".into());
    page.result_type = t.complete();
    page.meta = t.result_meta();
    t.hint(&mut page);
    t.result::<ListResourceTemplates>("ListResourceTemplatesResult", &page);

    let mut read = ReadResourceRequestParams::new("file:///a.txt");
    read.input_responses = t.input_responses();
    read.request_state = t.from(V2026_07_28, "state".into());
    read.meta = t.request_meta();
    t.request::<ReadResource>("ReadResourceRequest", &read);
    let mut result = ReadResourceResult::new(vec![
        ResourceContents::Text(t.text_contents()),
        ResourceContents::Blob(t.blob_contents()),
    ]);
    result.result_type = t.complete();
    result.meta = t.result_meta();
    t.hint(&mut result);
    t.result::<ReadResource>("ReadResourceResult", &result);

    let mut followed = ResourceRequestParams::new("file:///a.txt");
    followed.meta = t.request_meta();
    t.add("ResourceRequestParams", &followed);
    if !t.since(V2026_07_28) {
        t.request::<Subscribe>("SubscribeRequest", &followed);
        t.request::<Unsubscribe>("UnsubscribeRequest", &followed);
    }
    let mut updated = ResourceUpdatedNotificationParams::new("file:///a.txt");
    updated.meta = t.notification_meta();
    t.notification::<ResourceUpdatedNotification>("ResourceUpdatedNotification", &updated);
    t.notification::<ResourceListChangedNotification>(
        "ResourceListChangedNotification",
        &notification_params(t),
    );
}

fn prompts(t: &mut Table) {
    let mut argument = PromptArgument::new("code");
    argument.title = t.from(V2025_06_18, "Code".into());
    argument.description = Some("What to review".into());
    argument.required = Some(true);
    let mut prompt = Prompt::new("review");
    prompt.title = t.from(V2025_06_18, "Review".into());
    prompt.description = Some("Reviews code".into());
    prompt.arguments = Some(vec![argument.clone()]);
    prompt.icons = t.icons();
    prompt.meta = t.object_meta();
    t.add("PromptArgument", &argument);
    t.add("Prompt", &prompt);

    t.request::<ListPrompts>("ListPromptsRequest", &paginated(t));
    let mut page = ListPromptsResult::new(vec![prompt]);
    page.next_cursor = Some("page-2".into());
    page.result_type = t.complete();
    page.meta = t.result_meta();
    t.hint(&mut page);
    t.result::<ListPrompts>("ListPromptsResult", &page);

    let mut get = GetPromptRequestParams::new("review");
    get.arguments = Some(BTreeMap::from([("code".into(), "x".into())]));
    get.input_responses = t.input_responses();
    get.request_state = t.from(V2026_07_28, "state".into());
    get.meta = t.request_meta();
    t.request::<GetPrompt>("GetPromptRequest", &get);
    let blocks = t.blocks().into_iter();
    let messages: Vec<_> = blocks
        .map(|block| PromptMessage::new(Role::User, block))
        .collect();
    for message in &messages {
        t.add("PromptMessage", message);
    }
    let mut result = GetPromptResult::new(messages);
    result.description = Some("A review".into());
    result.result_type = t.complete();
    result.meta = t.result_meta();
    t.result::<GetPrompt>("GetPromptResult", &result);
    t.notification::<PromptListChangedNotification>(
        "PromptListChangedNotification",
        &notification_params(t),
    );
}

fn completion(t: &mut Table) {
    let mut prompt = PromptReference::new("review");
    prompt.title = t.from(V2025_06_18, "Review".into());
    let template = ResourceTemplateReference::new("file:///{path}");
    t.add("PromptReference", &prompt);
    t.add("ResourceReference", &template);
    t.add("ResourceTemplateReference", &template);
    let references = [
        CompletionReference::Prompt(prompt),
        CompletionReference::ResourceTemplate(template),
    ];
    for reference in references {
        let argument = CompletionArgument::new("path", "a");
        let mut params = CompleteRequestParams::new(reference, argument);
        let mut context = CompletionContext::default();
        context.arguments = Some(BTreeMap::from([("root".into(), "home".into())]));
        params.context = t.from(V2025_06_18, context);
        params.meta = t.request_meta();
        t.request::<Complete>("CompleteRequest", &params);
    }
    let mut result = CompleteResult::new(Completion::new(vec!["a.txt".into(); 101]));
    result.result_type = t.complete();
    result.meta = t.result_meta();
    t.result::<Complete>("CompleteResult", &result);
}

fn utilities(t: &mut Table) {
    let mut cancelled = CancelledNotificationParams::new(RequestId::from(7));
    cancelled.reason = Some("no longer needed".into());
    cancelled.meta = t.notification_meta();
    t.notification::<CancelledNotification>("CancelledNotification", &cancelled);
    let mut progress = ProgressNotificationParams::new("p-1".into(), 50.into());
    progress.total = Some(100.into());
    progress.message = t.from(V2025_03_26, "half".into());
    progress.meta = t.notification_meta();
    t.notification::<ProgressNotification>("ProgressNotification", &progress);
    if t.since(V2025_11_25) {
        let error = ErrorObject::new(ErrorCode(-1), "why").with_data(&json!(["more"]));
        t.add("Error", &error);
    }
    for level in LoggingLevel::ALL {
        t.add("LoggingLevel", &level);
    }
    let mut message =
        LoggingMessageNotificationParams::new(LoggingLevel::Error, raw(r#"{"what":"broken"}"#));
    message.logger = Some("database".into());
    message.meta = t.notification_meta();
    t.notification::<LoggingMessageNotification>("LoggingMessageNotification", &message);
    if !t.since(V2026_07_28) {
        let mut level = SetLevelRequestParams::new(LoggingLevel::Info);
        level.meta = t.request_meta();
        t.request::<SetLevel>("SetLevelRequest", &level);
    }
}

fn sampling(t: &mut Table) {
    for message in t.sampling_messages() {
        t.add("SamplingMessage", &message);
    }
    for block in t.sampling_blocks() {
        t.add("SamplingMessageContentBlock", &block);
    }
    t.add("ToolUseContent", &t.tool_use());
    t.add("ToolResultContent", &t.tool_result());
    let params = t.create_message();
    let preferences = params.model_preferences.clone().expect("the sample has it");
    t.add("ModelPreferences", &preferences);
    t.add(
        "ModelHint",
        &preferences.hints.expect("the sample has it")[0],
    );
    for mode in [
        ToolChoiceMode::Auto,
        ToolChoiceMode::Required,
        ToolChoiceMode::None,
    ] {
        t.add("ToolChoice", &ToolChoice::new(mode));
    }
    t.request::<CreateMessage>("CreateMessageRequest", &params);
    for result in t.create_message_results() {
        t.result::<CreateMessage>("CreateMessageResult", &result);
    }
}

fn roots(t: &mut Table) {
    let mut params = RequestParams::default();
    params.meta = t.inner_meta().or_else(|| t.object_meta());
    t.request::<ListRoots>("ListRootsRequest", &params);
    let result = t.roots_result();
    t.add("Root", &result.roots[0]);
    t.result::<ListRoots>("ListRootsResult", &result);
    if !t.since(V2026_07_28) {
        t.notification::<RootsListChangedNotification>(
            "RootsListChangedNotification",
            &notification_params(t),
        );
    }
}

fn elicitation(t: &mut Table) {
    if !t.since(V2025_06_18) {
        return;
    }
    let form = t.elicit_form();
    t.add("ElicitRequestFormParams", &form);
    t.request::<Elicit>("ElicitRequest", &ElicitRequestParams::Form(form));
    for result in t.elicit_results() {
        t.result::<Elicit>("ElicitResult", &result);
    }
    if t.since(V2025_11_25) {
        let url = t.elicit_url();
        t.add("ElicitRequestURLParams", &url);
        t.request::<Elicit>("ElicitRequest", &ElicitRequestParams::Url(url));
    }
    if t.revision == V2025_11_25 {
        let done = ElicitationCompleteNotificationParams::new("e-1");
        t.notification::<ElicitationCompleteNotification>("ElicitationCompleteNotification", &done);
        let data = UrlElicitationRequiredData::new(vec![t.elicit_url()]);
        t.add(
            "URLElicitationRequiredError",
            &error_response(-32042, &data),
        );
    }
}

fn elicitation_schemas(t: &mut Table) {
    if !t.since(V2025_06_18) {
        return;
    }
    t.add("StringSchema", &t.string_schema());
    t.add("NumberSchema", &t.number_schema());
    t.add("BooleanSchema", &boolean_schema());
    t.add("LegacyTitledEnumSchema", &t.legacy_enum());
    t.add("EnumSchema", &t.legacy_enum());
    for schema in t.primitive_schemas() {
        t.add("PrimitiveSchemaDefinition", &schema);
    }
    if t.since(V2025_11_25) {
        t.add("UntitledSingleSelectEnumSchema", &single_select());
        t.add("TitledSingleSelectEnumSchema", &titled_single_select());
        t.add("UntitledMultiSelectEnumSchema", &multi_select());
        t.add("TitledMultiSelectEnumSchema", &titled_multi_select());
        t.add("SingleSelectEnumSchema", &single_select());
        t.add("SingleSelectEnumSchema", &titled_single_select());
        t.add("MultiSelectEnumSchema", &multi_select());
        t.add("MultiSelectEnumSchema", &titled_multi_select());
        t.add("EnumSchema", &single_select());
        t.add("EnumSchema", &titled_multi_select());
    }
}

/// Tasks of 2025-11-25; those of the extension have no official schema.
fn tasks(t: &mut Table) {
    for status in [
        "working",
        "input_required",
        "completed",
        "failed",
        "cancelled",
    ] {
        let status: TaskStatus = serde_json::from_value(json!(status)).expect("a known status");
        t.add("TaskStatus", &status);
    }
    let mut task = Task::experimental("t-1", TaskStatus::Working, "2025-11-25T10:30:00Z");
    task.status_message = Some("at work".into());
    task.poll_interval = Some(5000.into());
    t.add("Task", &task);
    t.add("TaskMetadata", &t.task_metadata());
    t.add("RelatedTaskMetadata", &RelatedTaskMetadata::new("t-1"));
    task.ttl = Some(Duration::from_secs(60).into());
    t.add("Task", &task);

    let mut created = CreateTaskResult::new(task.clone());
    let mut meta = Meta::new();
    meta.set_model_immediate_response("It is being done.");
    created.meta = Some(meta);
    t.add("CreateTaskResult", &created);

    let mut which = TaskRequestParams::new("t-1");
    which.meta = t.request_meta();
    t.request::<GetTask>("GetTaskRequest", &which);
    t.request::<GetTaskPayload>("GetTaskPayloadRequest", &which);
    t.request::<CancelTask>("CancelTaskRequest", &which);
    t.request::<ListTasks>("ListTasksRequest", &paginated(t));
    let mut page = ListTasksResult::new(vec![task.clone()]);
    page.next_cursor = Some("page-2".into());
    page.meta = t.result_meta();
    t.result::<ListTasks>("ListTasksResult", &page);

    task.meta = t.result_meta();
    t.result::<GetTask>("GetTaskResult", &task);
    t.result::<CancelTask>(
        "CancelTaskResult",
        &CancelTaskResult::Task(Box::new(task.clone())),
    );
    let mut payload = CallToolResult::text("done");
    let mut meta = Meta::new();
    meta.set_related_task(&RelatedTaskMetadata::new("t-1"));
    payload.meta = Some(meta);
    t.result::<GetTaskPayload>(
        "GetTaskPayloadResult",
        &RawJson::encode(&payload).expect("a sample has a JSON form"),
    );
    t.notification::<TaskStatusNotification>("TaskStatusNotification", &task);
}

/// What only 2026-07-28 has.
fn stateless(t: &mut Table) {
    t.add("MetaObject", &t.request_meta());
    t.add("RequestMetaObject", &t.request_meta());
    t.add("NotificationMetaObject", &t.notification_meta());
    t.add("ResultMetaObject", &t.result_meta());
    t.add("ResultType", &ResultType::Complete);
    t.add("ResultType", &ResultType::InputRequired);
    t.add("ResultType", &ResultType::Task);

    t.request::<Discover>("DiscoverRequest", &request_params(t));
    let mut found = DiscoverResult::new(words(&["2026-07-28"]), t.server_capabilities());
    found.instructions = Some("Ask for the weather.".into());
    found.result_type = t.complete();
    found.meta = t.result_meta();
    t.hint(&mut found);
    t.result::<Discover>("DiscoverResult", &found);

    let requests = BTreeMap::from([
        (
            "form".into(),
            ask(&ElicitRequestParams::Form(t.elicit_form())),
        ),
        ("url".into(), ask(&ElicitRequestParams::Url(t.elicit_url()))),
        (
            "model".into(),
            InputRequest::sampling(&t.create_message()).expect("a sample has a JSON form"),
        ),
        ("roots".into(), InputRequest::roots()),
    ]);
    t.add("InputRequests", &requests);
    t.add("InputResponses", &answers(t));
    let mut required = InputRequiredResult::new(requests);
    required.request_state = Some("state".into());
    required.meta = t.result_meta();
    t.add("InputRequiredResult", &required);
    for union in [
        "ServerResult",
        "CallToolResultResponse",
        "GetPromptResultResponse",
    ] {
        match union {
            "ServerResult" => t.row(union, &required),
            _ => t.response(union, &required),
        }
    }
    t.add("InputRequiredResult", &InputRequiredResult::later("state"));

    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = Some(true);
    filter.prompts_list_changed = Some(true);
    filter.resources_list_changed = Some(false);
    filter.resource_subscriptions = Some(words(&["file:///a.txt"]));
    t.add("SubscriptionFilter", &filter);
    let mut listen = SubscriptionsListenRequestParams::new(filter.clone());
    listen.meta = t.request_meta();
    t.request::<SubscriptionsListen>("SubscriptionsListenRequest", &listen);
    let mut honoured = SubscriptionsAcknowledgedNotificationParams::new(filter);
    honoured.meta = t.notification_meta();
    t.notification::<SubscriptionsAcknowledgedNotification>(
        "SubscriptionsAcknowledgedNotification",
        &honoured,
    );
    let mut ended = SubscriptionsListenResult::default();
    ended.result_type = t.complete();
    let mut meta = t.result_meta().expect("the sample has it");
    meta.set_subscription_id(&RequestId::from("listen-1"));
    t.add("SubscriptionsListenResultMetaObject", &meta);
    ended.meta = Some(meta);
    t.result::<SubscriptionsListen>("SubscriptionsListenResult", &ended);

    for (name, error) in [
        ("ParseError", ErrorCode::PARSE_ERROR),
        ("InvalidRequestError", ErrorCode::INVALID_REQUEST),
        ("MethodNotFoundError", ErrorCode::METHOD_NOT_FOUND),
        ("InvalidParamsError", ErrorCode::INVALID_PARAMS),
        ("InternalError", ErrorCode::INTERNAL_ERROR),
    ] {
        let error = ErrorObject::new(error, "why").with_data(&json!({ "more": 1 }));
        t.add(name, &error);
    }
    t.add(
        "HeaderMismatchError",
        &error_response(-32020, &json!({ "header": "Mcp-Name" })),
    );
    let unsupported = UnsupportedProtocolVersionData::new(words(&["2026-07-28"]), "1900-01-01");
    t.add(
        "UnsupportedProtocolVersionError",
        &error_response(-32022, &unsupported),
    );
    let missing = MissingRequiredClientCapabilityData::new(t.client_capabilities());
    t.add(
        "MissingRequiredClientCapabilityError",
        &error_response(-32021, &missing),
    );
}

fn request_params(t: &Table) -> RequestParams {
    let mut params = RequestParams::default();
    params.meta = t.request_meta();
    params
}

fn notification_params(t: &Table) -> NotificationParams {
    let mut params = NotificationParams::default();
    params.meta = t.notification_meta();
    params
}

fn paginated(t: &Table) -> PaginatedRequestParams {
    let mut params = PaginatedRequestParams::after("page-1");
    params.meta = t.request_meta();
    params
}

fn answers(t: &Table) -> InputResponses {
    let mut answers = BTreeMap::new();
    for (place, result) in t.elicit_results().iter().enumerate() {
        answers.insert(
            format!("form{place}"),
            RawJson::encode(result).expect("a sample has a JSON form"),
        );
    }
    for (place, result) in t.create_message_results().iter().enumerate() {
        answers.insert(
            format!("model{place}"),
            RawJson::encode(result).expect("a sample has a JSON form"),
        );
    }
    answers.insert(
        "roots".into(),
        RawJson::encode(&t.roots_result()).expect("a sample has a JSON form"),
    );
    answers
}

fn ask(params: &ElicitRequestParams) -> InputRequest {
    InputRequest::elicitation(params).expect("a sample has a JSON form")
}

fn boolean_schema() -> BooleanSchema {
    let mut value = BooleanSchema::default();
    value.title = Some("Agree".into());
    value.description = Some("To the terms".into());
    value.default = Some(false);
    value
}

fn single_select() -> UntitledSingleSelectEnumSchema {
    let mut value = UntitledSingleSelectEnumSchema::new(words(&["r", "g"]));
    value.title = Some("Colour".into());
    value.description = Some("The one you like".into());
    value.default = Some("g".into());
    value
}

fn titled_single_select() -> TitledSingleSelectEnumSchema {
    let mut value = TitledSingleSelectEnumSchema::new(vec![EnumOption::new("r", "Red")]);
    value.title = Some("Colour".into());
    value.description = Some("The one you like".into());
    value.default = Some("r".into());
    value
}

fn multi_select() -> UntitledMultiSelectEnumSchema {
    let mut value = UntitledMultiSelectEnumSchema::new(words(&["r", "g"]));
    value.title = Some("Colours".into());
    value.description = Some("Those you like".into());
    value.min_items = Some(1.into());
    value.max_items = Some(2.into());
    value.default = Some(words(&["r"]));
    value
}

fn titled_multi_select() -> TitledMultiSelectEnumSchema {
    let mut value = TitledMultiSelectEnumSchema::new(vec![EnumOption::new("r", "Red")]);
    value.title = Some("Colours".into());
    value.description = Some("Those you like".into());
    value.min_items = Some(1.into());
    value.max_items = Some(1.into());
    value.default = Some(words(&["r"]));
    value
}

fn task_capability(requests: TaskRequestsCapability) -> TasksCapability {
    let mut value = TasksCapability::default();
    value.list = Some(Map::new());
    value.cancel = Some(Map::new());
    value.requests = Some(requests);
    value
}

fn error_response(code: i32, data: &impl Serialize) -> Value {
    let error = ErrorObject::new(ErrorCode(code.into()), "no").with_data(data);
    let message = Message::from(Response::new(RequestId::from(1), Err(error)));
    serde_json::from_slice(&message.to_bytes()).expect("a message is JSON")
}

/// A message as we write it.
fn written(message: &Value) -> Value {
    let bytes = message.to_string().into();
    match Frame::read(&bytes, &Limits::default()) {
        Ok(Frame::Single(message)) => {
            serde_json::from_slice(&message.to_bytes()).expect("a message is JSON")
        }
        other => panic!("not one message: {other:?}"),
    }
}

/// What a value looks like on the wire, after it was read from there once more.
fn read_back<T: Serialize + DeserializeOwned>(value: &T) -> Value {
    let text = serde_json::to_string(value).expect("a sample has a JSON form");
    let again: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(
        serde_json::to_string(&again).expect("a sample has a JSON form"),
        text
    );
    serde_json::to_value(again).expect("a sample has a JSON form")
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn object(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).expect("the value is an object")
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).expect("the text is JSON")
}

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
