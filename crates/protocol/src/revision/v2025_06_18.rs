//! What 2025-06-18 does not have: tasks, icons, url elicitation, sampling with tools.
//!
//! A field of a form that takes several values has no older form that would
//! bring back what the server expects. An optional one is not asked; a form that
//! requires one is refused by `check_step_down`.
//!
//! The table is `LOSSES`: what goes, and what is written instead. It is also in
//! `docs/revisions.md`.
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
    loss("several blocks in a sampling message", "one message of the same role for each block; an empty message goes"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revision::NotRepresentable;
    use crate::revision::step_down::testing::{check, refuse};
    use crate::types::{ElicitRequestParams, EmptyResult, Task};

    const TO: Revision = Revision::V2025_06_18;

    #[test]
    fn icons_and_words_on_an_implementation_go() {
        check::<Implementation>(
            TO,
            r#"{"name":"a","version":"1","title":"t","icons":[],"description":"d","websiteUrl":"w"}"#,
            r#"{"name":"a","version":"1","title":"t"}"#,
        );
        check::<Tool>(
            TO,
            r#"{"name":"a","inputSchema":{},"icons":[],"execution":{},"title":"t","_meta":{}}"#,
            r#"{"name":"a","inputSchema":{},"title":"t","_meta":{}}"#,
        );
        check::<Resource>(
            TO,
            r#"{"uri":"u","name":"a","icons":[]}"#,
            r#"{"uri":"u","name":"a"}"#,
        );
        check::<ResourceTemplate>(
            TO,
            r#"{"uriTemplate":"u","name":"a","icons":[]}"#,
            r#"{"uriTemplate":"u","name":"a"}"#,
        );
        check::<Prompt>(TO, r#"{"name":"a","icons":[]}"#, r#"{"name":"a"}"#);
    }

    #[test]
    fn tasks_go() {
        check::<CallToolRequestParams>(TO, r#"{"name":"a","task":{}}"#, r#"{"name":"a"}"#);
        check::<ServerCapabilities>(
            TO,
            r#"{"tasks":{},"completions":{}}"#,
            r#"{"completions":{}}"#,
        );
        check::<EmptyResult>(
            TO,
            r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}"#,
            "{}",
        );
        let task =
            r#"{"taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttl":null}"#;
        refuse::<Task>(TO, task, Some(NotRepresentable::Task));
    }

    #[test]
    fn capabilities_lose_their_parts() {
        check::<ClientCapabilities>(
            TO,
            r#"{"sampling":{"tools":{},"context":{},"x":1},"tasks":{}}"#,
            r#"{"sampling":{"x":1}}"#,
        );
        check::<ClientCapabilities>(
            TO,
            r#"{"elicitation":{"form":{},"url":{}}}"#,
            r#"{"elicitation":{}}"#,
        );
        check::<ClientCapabilities>(TO, r#"{"elicitation":{}}"#, r#"{"elicitation":{}}"#);
        check::<ClientCapabilities>(TO, r#"{"elicitation":{"url":{}}}"#, "{}");
    }

    #[test]
    fn a_message_says_one_block() {
        check::<CreateMessageRequestParams>(
            TO,
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"_meta":{},"x":1},{"role":"assistant","content":[]}],"maxTokens":1,"task":{}}"#,
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"a"},"x":1},{"role":"user","content":{"type":"text","text":"b"},"x":1}],"maxTokens":1}"#,
        );
    }

    #[test]
    fn tools_in_sampling_become_text_and_are_refused() {
        let asked = r#"{"messages":[
            {"role":"assistant","content":{"type":"tool_use","id":"u","name":"weather","input":{"a":1}}},
            {"role":"user","content":[{"type":"tool_result","toolUseId":"u","isError":true,"structuredContent":{"b":2},"content":[
                {"type":"image","data":"AA==","mimeType":"image/png"},
                {"type":"resource_link","uri":"f:a","name":"a"},
                {"type":"resource","resource":{"uri":"f:b","text":"t"}},
                {"type":"resource","resource":{"uri":"f:c","blob":""}}]}]}],
            "maxTokens":1,"tools":[{"name":"weather","inputSchema":{}}],"toolChoice":{"mode":"auto"}}"#;
        check::<CreateMessageRequestParams>(
            TO,
            asked,
            r#"{"messages":[
                {"role":"assistant","content":{"type":"text","text":"tool call u: weather {\"a\":1}"}},
                {"role":"user","content":{"type":"text","text":"tool error u:\na: f:a\nf:b: t\nf:c: (resource left out: bytes)\n{\"b\":2}"}},
                {"role":"user","content":{"type":"image","data":"AA==","mimeType":"image/png"}}],"maxTokens":1}"#,
        );
        refuse::<CreateMessageRequestParams>(TO, asked, Some(NotRepresentable::SamplingTools));
        refuse::<CreateMessageRequestParams>(Revision::V2025_11_25, asked, None);
        refuse::<CreateMessageRequestParams>(
            TO,
            r#"{"messages":[],"maxTokens":1,"tools":[]}"#,
            None,
        );
    }

    #[test]
    fn a_sampled_message_is_one_block() {
        let result =
            |content: &str| format!(r#"{{"role":"assistant","model":"m","content":{content}}}"#);
        let one = |before, after| check::<CreateMessageResult>(TO, &result(before), &result(after));
        one(
            r#"[{"type":"image","data":"","mimeType":"i/p"}]"#,
            r#"{"type":"image","data":"","mimeType":"i/p"}"#,
        );
        one(
            r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
            r#"{"type":"text","text":"a\nb"}"#,
        );
        one(
            r#"[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"i/p"}]"#,
            r#"{"type":"text","text":"a\n(image left out: i/p)"}"#,
        );
        one(
            r#"{"type":"tool_use","id":"u","name":"n","input":{}}"#,
            r#"{"type":"text","text":"tool call u: n {}"}"#,
        );
        one("[]", r#"{"type":"text","text":""}"#);
    }

    #[test]
    fn a_form_has_what_its_revision_has() {
        let form = |schema: &str| {
            format!(r#"{{"message":"m","requestedSchema":{{"type":"object",{schema}}}}}"#)
        };
        let field = |before: &str, after: &str| {
            check::<ElicitRequestFormParams>(
                TO,
                &form(&format!(r#""properties":{{"a":{before}}}"#)),
                &form(&format!(r#""properties":{{"a":{after}}}"#)),
            );
        };
        field(
            r#"{"type":"string","default":"d","format":"email"}"#,
            r#"{"type":"string","format":"email"}"#,
        );
        field(
            r#"{"type":"integer","default":1,"minimum":0}"#,
            r#"{"type":"integer","minimum":0}"#,
        );
        field(
            r#"{"type":"boolean","default":true}"#,
            r#"{"type":"boolean","default":true}"#,
        );
        field(
            r#"{"type":"string","enum":["r"],"default":"r"}"#,
            r#"{"type":"string","enum":["r"]}"#,
        );
        field(
            r#"{"type":"string","enum":["r"],"enumNames":["R"],"default":"r"}"#,
            r#"{"type":"string","enum":["r"],"enumNames":["R"]}"#,
        );
        field(
            r#"{"type":"string","title":"t","description":"d","oneOf":[{"const":"r","title":"Red"}],"default":"r"}"#,
            r#"{"type":"string","title":"t","description":"d","enum":["r"],"enumNames":["Red"]}"#,
        );
        check::<ElicitRequestFormParams>(
            TO,
            &form(r#""$schema":"s","properties":{}"#),
            &form(r#""properties":{}"#),
        );
        check::<ElicitRequestFormParams>(
            TO,
            r#"{"mode":"form","message":"m","requestedSchema":{ "odd":1 },"task":{}}"#,
            r#"{"message":"m","requestedSchema":{"odd":1}}"#,
        );
    }

    #[test]
    fn a_field_of_several_values_is_not_asked_and_not_required() {
        let form = |schema: &str| {
            format!(r#"{{"message":"m","requestedSchema":{{"type":"object",{schema}}}}}"#)
        };
        let fields = r#""properties":{"a":{"type":"array","items":{"type":"string","enum":["r"]}},"b":{"type":"array","items":{"anyOf":[{"const":"r","title":"R"}]}},"c":{"type":"boolean"}}"#;
        let (optional, required) = (
            form(&format!(r#"{fields},"required":["c"]"#)),
            form(&format!(r#"{fields},"required":["b","c"]"#)),
        );
        let left = form(r#""properties":{"c":{"type":"boolean"}},"required":["c"]"#);
        check::<ElicitRequestFormParams>(TO, &optional, &left);
        check::<ElicitRequestFormParams>(TO, &required, &left);
        refuse::<ElicitRequestParams>(TO, &optional, None);
        refuse::<ElicitRequestParams>(TO, &required, Some(NotRepresentable::MultiSelect));
        refuse::<ElicitRequestParams>(Revision::V2025_11_25, &required, None);
    }

    #[test]
    fn a_url_cannot_be_asked_for() {
        refuse::<ElicitRequestParams>(
            TO,
            r#"{"mode":"url","message":"m","url":"u","elicitationId":"e"}"#,
            Some(NotRepresentable::UrlElicitation),
        );
    }

    #[test]
    fn several_values_of_an_answer_are_joined() {
        check::<ElicitResult>(
            TO,
            r#"{"action":"accept","content":{"a":["r","g"],"b":1}}"#,
            r#"{"action":"accept","content":{"a":"r, g","b":1}}"#,
        );
    }
}
