//! What if the arguments are not a Rust type, or go into headers?
//!
//! A raw tool has a schema of its author's making, which clients get as it is. An argument
//! with `x-mcp-header` is repeated in a header, so that whoever stands between can route by
//! it; the server checks that both say the same.
//!
//! Specification: server/tools (input schema); 2026-07-28 basic/transports/streamable-http
//! (custom headers).

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_server::protocol::{Payload, RawJson};
use switchboard_server::{Context, Server, raw_tool, tool};

pub(crate) fn offer(server: Server) -> Server {
    let schema = RawJson::parse(CONTACT).expect("invariant: the text below is JSON");
    server
        .tool(
            raw_tool("json_schema_2020_12_tool", schema, contact)
                .description("Takes a way to reach somebody: a telephone or an address.")
                .read_only(),
        )
        .tool(tool("test_x_mcp_header", route).read_only())
}

/// What comes here fits the schema: the crate's feature `validate` has seen to that.
async fn contact(arguments: Payload, _context: Context) -> String {
    format!("Reached with {}", String::from_utf8_lossy(arguments.text()))
}

/// Says which region the call was routed to.
#[derive(Deserialize, JsonSchema)]
struct Route {
    /// The region, which is also in the header `Mcp-Param-Region`.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

async fn route(route: Route) -> String {
    format!("Routed to {}", route.region)
}

const CONTACT: &str = r##"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {
    "address": {
      "$anchor": "addressDef",
      "type": "object",
      "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
    }
  },
  "properties": {
    "name": {"type": "string"},
    "address": {"$ref": "#/$defs/address"},
    "contactMethod": {"type": "string", "enum": ["phone", "email"]},
    "phone": {"type": "string"},
    "email": {"type": "string"}
  },
  "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
  "then": {"required": ["phone"]},
  "else": {"required": ["email"]},
  "additionalProperties": false
}"##;
