//! What 2025-06-18 does not have: tasks, icons, url elicitation, sampling with tools.
//!
//! A field of a form that takes several values has no older form that would
//! bring back what the server expects. An optional one is not asked; a form that
//! requires one is refused by `check_step_down`.
//!
//! Specification: 2025-06-18 schema, against that of 2025-11-25.

use crate::RawJson;
use crate::revision::Revision;
use crate::revision::as_text;
use crate::revision::meta_keys::{self, TASK_KEYS};
use crate::revision::step::Step;
use crate::revision::step_down::Loss;
use crate::types::{
    CallToolRequestParams, ClientCapabilities, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestFormParams, ElicitResult, ElicitSchema, Implementation, LegacyTitledEnumSchema,
    Meta, OneOrMany, PrimitiveSchemaDefinition as Field, Prompt, Resource, ResourceTemplate,
    SamplingMessage, SamplingMessageContentBlock as Block, ServerCapabilities, Tool,
};

#[rustfmt::skip]
pub(super) const LOSSES: &[Loss] = &[
    loss("`icons`", "nothing"),
    loss("`description` and `websiteUrl` of an implementation", "nothing"),
    loss("tool `execution`, `task` of a request, capability `tasks`", "nothing: the call is answered at once"),
    loss("`_meta` keys `related-task` and `model-immediate-response`", "nothing"),
    loss("client capability `sampling.context`, `sampling.tools`", "`sampling` alone"),
    loss("client capability `elicitation.form`, `elicitation.url`", "`elicitation` alone; nothing when forms are not accepted"),
    loss("`tools` and `toolChoice` of sampling", "nothing, and `check_step_down` refuses them"),
    loss("`tool_use` and `tool_result` in a sampling message", "text; images and audio of a result follow it"),
    loss("several blocks in a sampling message", "one message of the same role for each block"),
    loss("several blocks in a sampling result", "one text block; an image or audio beside others is named in it"),
    loss("`_meta` of a sampling message", "nothing"),
    loss("elicitation by url", "no older form: `check_step_down` refuses it"),
    loss("`mode` of a form, `$schema` of its schema", "nothing"),
    loss("form field with titled options (`oneOf`)", "`enum` and `enumNames`"),
    loss("form field that takes several values", "nothing: it is not asked; `check_step_down` refuses a form that requires it"),
    loss("default of a form field that is not boolean", "nothing"),
    loss("several values in a form's answer", "one text, joined by commas"),
];

/// The step to 2025-06-18.
pub(super) struct Down;

impl Step for Down {
    fn revision(&self) -> Revision {
        Revision::V2025_06_18
    }

    fn message_meta(&self, meta: &mut Option<Meta>) {
        meta_keys::remove(meta, TASK_KEYS);
    }

    fn implementation(&self, value: &mut Implementation) {
        value.icons = None;
        value.description = None;
        value.website_url = None;
    }

    fn client_capabilities(&self, value: &mut ClientCapabilities) {
        value.tasks = None;
        if let Some(sampling) = &mut value.sampling {
            sampling.context = None;
            sampling.tools = None;
        }
        if !value.accepts_form() {
            value.elicitation = None;
        }
        if let Some(elicitation) = &mut value.elicitation {
            elicitation.form = None;
            elicitation.url = None;
        }
    }

    fn server_capabilities(&self, value: &mut ServerCapabilities) {
        value.tasks = None;
    }

    fn tool(&self, value: &mut Tool) {
        value.execution = None;
        value.icons = None;
    }

    fn resource(&self, value: &mut Resource) {
        value.icons = None;
    }

    fn resource_template(&self, value: &mut ResourceTemplate) {
        value.icons = None;
    }

    fn prompt(&self, value: &mut Prompt) {
        value.icons = None;
    }

    fn call_tool(&self, params: &mut CallToolRequestParams) {
        params.task = None;
    }

    fn create_message(&self, params: &mut CreateMessageRequestParams) {
        params.tools = None;
        params.tool_choice = None;
        params.task = None;
        let messages = std::mem::take(&mut params.messages);
        params.messages = messages.into_iter().flat_map(split).collect();
    }

    fn message_created(&self, result: &mut CreateMessageResult) {
        let content = std::mem::replace(&mut result.content, OneOrMany::Many(Vec::new()));
        result.content = OneOrMany::One(join(without_tools(content)));
    }

    fn elicit_by_form(&self, params: &mut ElicitRequestFormParams) {
        params.mode = None;
        params.task = None;
        // A schema that is no form is not valid anywhere: it goes as it came.
        let Ok(before) = params.schema() else { return };
        let mut after = before.clone();
        plain_form(&mut after);
        if after != before
            && let Ok(schema) = RawJson::encode(&after)
        {
            params.requested_schema = schema;
        }
    }

    fn elicited(&self, result: &mut ElicitResult) {
        for value in result.content.iter_mut().flat_map(|c| c.values_mut()) {
            if let Some(values) = value.as_array() {
                let words: Vec<&str> = values.iter().filter_map(|v| v.as_str()).collect();
                *value = words.join(", ").into();
            }
        }
    }
}

/// Must one of the fields take several values?
pub(super) fn requires_multi_select(form: &ElicitRequestFormParams) -> bool {
    form.schema().is_ok_and(|schema| {
        let mut fields = schema.properties.iter();
        fields.any(|(name, field)| takes_several(field) && schema.is_required(name))
    })
}

fn split(mut message: SamplingMessage) -> Vec<SamplingMessage> {
    let content = std::mem::replace(&mut message.content, OneOrMany::Many(Vec::new()));
    message.meta = None;
    let blocks = without_tools(content).into_iter();
    let one = |block| {
        let mut part = SamplingMessage::new(message.role, OneOrMany::One(block));
        part.extra = message.extra.clone();
        part
    };
    blocks.map(one).collect()
}

fn without_tools(content: OneOrMany<Block>) -> Vec<Block> {
    let blocks = match content {
        OneOrMany::One(block) => vec![block],
        OneOrMany::Many(blocks) => blocks,
    };
    let blocks = blocks.into_iter();
    let plain = |block| match block {
        Block::ToolUse(block) => vec![Block::text(as_text::tool_use(&block))],
        Block::ToolResult(block) => as_text::tool_result(block),
        other => vec![other],
    };
    blocks.flat_map(plain).collect()
}

fn join(mut blocks: Vec<Block>) -> Block {
    if blocks.len() == 1
        && let Some(block) = blocks.pop()
    {
        return block;
    }
    let said = blocks.into_iter().map(|block| match block {
        Block::Text(block) => block.text,
        Block::Image(block) => as_text::left_out("image", &block.mime_type),
        Block::Audio(block) => as_text::left_out("audio", &block.mime_type),
        Block::ToolUse(block) => as_text::tool_use(&block),
        Block::ToolResult(block) => as_text::left_out("tool result", &block.tool_use_id),
        Block::Unknown(block) => as_text::unknown(&block),
    });
    Block::text(said.collect::<Vec<_>>().join("\n"))
}

fn plain_form(schema: &mut ElicitSchema) {
    schema.schema = None;
    let mut dropped = Vec::new();
    schema.properties.retain(|(name, field)| {
        let keep = !takes_several(field);
        if !keep {
            dropped.push(name.clone());
        }
        keep
    });
    if let Some(required) = &mut schema.required {
        required.retain(|name| !dropped.contains(name));
    }
    for (_, field) in &mut schema.properties {
        plain_field(field);
    }
}

fn plain_field(field: &mut Field) {
    match field {
        Field::String(schema) => schema.default = None,
        Field::Number(schema) => schema.default = None,
        Field::SingleSelect(schema) => schema.default = None,
        Field::LegacyTitled(schema) => schema.default = None,
        Field::TitledSingleSelect(schema) => {
            let options = schema.options.drain(..).map(|o| (o.value, o.title));
            let (values, titles) = options.unzip();
            let mut legacy = LegacyTitledEnumSchema::new(values, titles);
            legacy.title = schema.title.take();
            legacy.description = schema.description.take();
            legacy.extra = std::mem::take(&mut schema.extra);
            *field = Field::LegacyTitled(legacy);
        }
        Field::Boolean(_) | Field::MultiSelect(_) | Field::TitledMultiSelect(_) => {}
    }
}

const fn takes_several(field: &Field) -> bool {
    matches!(field, Field::MultiSelect(_) | Field::TitledMultiSelect(_))
}

const fn loss(what: &'static str, becomes: &'static str) -> Loss {
    Loss::new(Revision::V2025_06_18, what, becomes)
}
