//! Resources as tools, for hosts that show models nothing but tools.
//!
//! Two definitions; answering a call to them is the hub's part. Their names hold no `__`, so no
//! tool of a server can have them.

use std::sync::LazyLock;

use switchboard_protocol::types::Tool;

/// The name of the tool that lists resources.
pub const LIST_RESOURCES: &str = "list_resources";

/// The name of the tool that reads a resource.
pub const READ_RESOURCE: &str = "read_resource";

/// The tools [`LIST_RESOURCES`] and [`READ_RESOURCE`].
pub fn resource_tools() -> &'static [Tool; 2] {
    static TOOLS: LazyLock<[Tool; 2]> = LazyLock::new(|| {
        serde_json::from_str(DEFINITIONS).expect("invariant: the definitions below are tools")
    });
    &TOOLS
}

const DEFINITIONS: &str = r#"[
  {
    "name": "list_resources",
    "title": "List resources",
    "description": "Lists the resources and resource templates of all servers, or of one. Read one with read_resource.",
    "inputSchema": {
      "type": "object",
      "properties": {
        "server": {
          "type": "string",
          "description": "Only the resources of this server"
        },
        "cursor": {
          "type": "string",
          "description": "The nextCursor of the page before, to go on behind it"
        }
      },
      "additionalProperties": false
    },
    "annotations": {
      "readOnlyHint": true,
      "openWorldHint": false
    }
  },
  {
    "name": "read_resource",
    "title": "Read a resource",
    "description": "Reads a resource by its URI, as list_resources or a resource link gives it, or as a resource template makes it.",
    "inputSchema": {
      "type": "object",
      "properties": {
        "uri": {
          "type": "string",
          "description": "The URI of the resource"
        },
        "server": {
          "type": "string",
          "description": "The server to ask, if the URI alone does not say"
        }
      },
      "required": ["uri"],
      "additionalProperties": false
    },
    "annotations": {
      "readOnlyHint": true,
      "openWorldHint": true
    }
  }
]"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Naming, Prefix};

    #[test]
    fn the_definitions_can_be_read() {
        let [list, read] = resource_tools();
        assert_eq!(
            [list.name.as_str(), read.name.as_str()],
            [LIST_RESOURCES, READ_RESOURCE]
        );
        for tool in resource_tools() {
            assert!(tool.hints().is_read_only(), "{}", tool.name);
        }
    }

    #[test]
    fn no_tool_of_a_server_can_be_called_like_them() {
        for prefix in [Prefix::Mcp, Prefix::Server] {
            for tool in resource_tools() {
                assert_eq!(Naming::new(prefix).split(&tool.name), None);
            }
        }
    }
}
