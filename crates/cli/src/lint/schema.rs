//! The rules about schemas: those of every server (`schema_faults`), those of the providers
//! (`provider`), and references (`reference`).

use serde_json::Value;
use switchboard_protocol::RawJson;
use switchboard_protocol::types::Tool;
use switchboard_server::{SchemaFaultKind, schema_faults};

use super::rule::{self, Rule};
use super::{Desk, provider, reference};

pub(super) fn check(desk: &mut Desk<'_>, tool: &Tool) {
    common(desk, &tool.input_schema, INPUT, false);
    if let Ok(schema) = tool.input_schema.decode::<Value>() {
        provider::check(desk, &schema, INPUT);
        reference::check(desk, &schema, INPUT);
    }
    // Output schemas are not shown to models by their providers: only what everybody reads counts.
    if let Some(raw) = &tool.output_schema {
        common(desk, raw, OUTPUT, true);
        if let Ok(schema) = raw.decode::<Value>() {
            reference::check_broken(desk, &schema, OUTPUT);
        }
    }
}

/// What is wrong with a schema for everybody.
fn common(desk: &mut Desk<'_>, schema: &RawJson, base: &str, is_output: bool) {
    for fault in schema_faults(schema) {
        let rule: &'static Rule = match &fault.kind {
            SchemaFaultKind::NoObjectSchema => &rule::SCHEMA_OBJECT,
            SchemaFaultKind::RootType if is_output => &rule::OUTPUT_ROOT_TYPE,
            SchemaFaultKind::RootType => &rule::ROOT_TYPE,
            SchemaFaultKind::RootChoice | SchemaFaultKind::RootProperties if is_output => continue,
            SchemaFaultKind::RootChoice => &rule::ROOT_CHOICE,
            SchemaFaultKind::RootProperties => &rule::ROOT_PROPERTIES,
            SchemaFaultKind::Open => &rule::OPEN_OBJECT,
            SchemaFaultKind::Required => &rule::REQUIRED_MISSING,
            SchemaFaultKind::Undescribed => &rule::PROPERTY_UNDESCRIBED,
            SchemaFaultKind::NumberFormat(_) => &rule::NUMBER_FORMAT,
            // The server crate may learn more.
            _ => continue,
        };
        let detail = match &fault.kind {
            SchemaFaultKind::NumberFormat(format) => format!("{} is `{format}`", fault.path),
            _ => fault.path,
        };
        desk.report(rule, format!("{base}{}", fault.pointer), detail);
    }
}

const INPUT: &str = "/inputSchema";
const OUTPUT: &str = "/outputSchema";
