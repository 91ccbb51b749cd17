//! Resources of many servers: under which URI, found how, rewritten where.

use serde_json::{Value, json};
use switchboard_hub::{Absence, MemberCatalog};
use switchboard_protocol::types::{CallToolResult, ReadResourceResult, ResourceContents, Tool};

use crate::given::{registry, resources, templates, uris};

#[test]
fn a_uri_keeps_its_form_until_another_server_has_the_same() {
    let mut registry = registry(&[("a", resources(&["file:///x", "file:///y", "ui://v/w"]))]);
    assert_eq!(
        uris(&registry.catalog()),
        ["file:///x", "file:///y", "ui://v/w"]
    );
    let changes = registry.set_member("b", resources(&["file:///x", "ui://v/w", "git+ssh://h"]));
    assert!(changes.resources && !changes.tools);
    let both = registry.catalog();
    assert_eq!(
        uris(&both),
        [
            "a+file:///x",
            "file:///y",
            "ui://a+v/w",
            "b+file:///x",
            "ui://b+v/w",
            "b+git+ssh://h"
        ]
    );
    let check = |uri: &str, server: &str, original: &str| {
        let found = both.find_resource(uri).unwrap();
        assert_eq!(
            (&*found.server, found.uri.as_str()),
            (server, original),
            "{uri}"
        );
    };
    check("file:///y", "a", "file:///y");
    check("a+file:///x", "a", "file:///x");
    check("b+file:///x", "b", "file:///x");
    check("ui://b+v/w", "b", "ui://v/w");
    check("b+git+ssh://h", "b", "git+ssh://h");
    // Not in any list, and not gated on it.
    check("a+file:///unlisted", "a", "file:///unlisted");
    assert_eq!(
        both.find_resource("file:///x").unwrap_err().to_string(),
        r#"several servers have the resource "file:///x"; use "a+file:///x" or "b+file:///x""#
    );
    assert_eq!(
        both.find_resource("file:///z").unwrap_err().to_string(),
        r#"there is no resource "file:///z"; did you mean "file:///y"?"#
    );
    assert!(both.find_resource("c+file:///x").is_err());
    for uri in ["file:///x", "b+file:///x"] {
        let found = both.find_resource_on("b", uri).unwrap();
        assert_eq!((&*found.server, found.uri.as_str()), ("b", "file:///x"));
    }
    assert!(both.find_resource_on("c", "file:///x").is_err());
    registry.remove_member("b");
    assert_eq!(
        uris(&registry.catalog()),
        ["file:///x", "file:///y", "ui://v/w"]
    );
}

#[test]
fn a_uri_that_fits_a_template_of_one_server_is_there() {
    let catalog = registry(&[
        (
            "a",
            templates(&["file:///{+path}", "db://{table}", "{broken"]),
        ),
        ("b", templates(&["db://{table}", "git:{rev}"])),
        ("c", templates(&["file:///logs/{day}"])),
    ])
    .catalog();
    let offered: Vec<_> = catalog
        .templates()
        .map(|entry| &*entry.uri_template)
        .collect();
    assert_eq!(
        offered,
        [
            "file:///{+path}",
            "a+db://{table}",
            "{broken",
            "b+db://{table}",
            "git:{rev}",
            "file:///logs/{day}"
        ]
    );
    assert_eq!(&*catalog.find_resource("git:main").unwrap().server, "b");
    assert_eq!(
        &*catalog.find_resource("file:///src/x").unwrap().server,
        "a"
    );
    let several = |uri| {
        let refused = catalog.find_resource(uri).unwrap_err();
        matches!(refused.absence, Absence::Ambiguous { .. })
    };
    assert!(several("db://t"));
    assert!(several("file:///logs/monday"));
    assert_eq!(catalog.find_resource("b+db://t").unwrap().uri, "db://t");
    let found = catalog.find_template("b+db://{table}").unwrap();
    assert_eq!(
        (&*found.server, found.template.uri_template.as_str()),
        ("b", "db://{table}")
    );
    assert!(catalog.notes_of("a")[0].contains("{broken"));
}

#[test]
fn interfaces_that_are_in_no_list_are_found_and_told_apart() {
    let with_view = |flat: bool| {
        let meta = if flat {
            json!({"ui/resourceUri": "ui://view"})
        } else {
            json!({"ui": {"resourceUri": "ui://view", "visibility": ["model"]}})
        };
        let value = json!({"name": "x", "inputSchema": {}, "_meta": meta});
        MemberCatalog::new().with_tools(vec![serde_json::from_value(value).unwrap()])
    };
    let mut registry = registry(&[("a", with_view(false))]);
    let alone = registry.catalog();
    assert_eq!(&*alone.find_resource("ui://view").unwrap().server, "a");
    let entry = alone.tools().next().unwrap();
    let expected = json!({"ui": {"resourceUri": "ui://view", "visibility": ["model"]}});
    let meta_of = |tool: Tool| serde_json::to_value(tool.meta.unwrap()).unwrap();
    assert_eq!(meta_of(alone.definition(entry)), expected);
    registry.set_member("b", with_view(true));
    let both = registry.catalog();
    let definitions: Vec<Value> = both
        .tools()
        .map(|entry| meta_of(both.definition(entry)))
        .collect();
    assert_eq!(
        definitions,
        [
            json!({"ui": {"resourceUri": "ui://a+view", "visibility": ["model"]}}),
            json!({"ui/resourceUri": "ui://b+view"})
        ]
    );
    assert_eq!(both.find_resource("ui://b+view").unwrap().uri, "ui://view");
}

#[test]
fn uris_in_results_lead_back_to_their_server() {
    let catalog = registry(&[
        ("a", resources(&["file:///x", "file:///y"])),
        ("b", resources(&["file:///x"])),
    ])
    .catalog();
    let text = json!({"content": [
        {"type": "text", "text": "file:///x", "uri": "file:///x"},
        {"type": "resource_link", "uri": "file:///x", "name": "x"},
        {"type": "resource_link", "uri": "file:///y", "name": "y"},
        {"type": "resource_link", "uri": "file:///unlisted", "name": "u"},
        {"type": "resource_link", "uri": "https://example.com/", "name": "w"},
        {"type": "resource", "resource": {"uri": "file:///x", "text": "file:///x"}},
        {"type": "hologram", "uri": "file:///x"}],
        "structuredContent": {"uri": "file:///x"}});
    let expected = json!({"content": [
        {"type": "text", "text": "file:///x", "uri": "file:///x"},
        {"type": "resource_link", "uri": "a+file:///x", "name": "x"},
        {"type": "resource_link", "uri": "file:///y", "name": "y"},
        {"type": "resource_link", "uri": "a+file:///unlisted", "name": "u"},
        {"type": "resource_link", "uri": "https://example.com/", "name": "w"},
        {"type": "resource", "resource": {"uri": "a+file:///x", "text": "file:///x"}},
        {"type": "hologram", "uri": "file:///x"}],
        "structuredContent": {"uri": "file:///x"}});
    let mut result: CallToolResult = serde_json::from_value(text.clone()).unwrap();
    catalog.expose_tool_result("a", &mut result);
    assert_eq!(serde_json::to_value(&result).unwrap(), expected);
    let mut value = text;
    assert!(catalog.expose_json("a", &mut value));
    assert_eq!(value, expected);

    // The same link from another server is another resource.
    let mut read = ReadResourceResult::new(vec![
        ResourceContents::text("file:///y", ""),
        ResourceContents::blob("file:///x", b""),
    ]);
    let mut value = serde_json::to_value(&read).unwrap();
    catalog.expose_read_result("b", &mut read);
    let found: Vec<_> = read
        .contents
        .iter()
        .filter_map(ResourceContents::uri)
        .collect();
    assert_eq!(found, ["b+file:///y", "b+file:///x"]);
    assert!(catalog.expose_json("b", &mut value));
    assert_eq!(value, serde_json::to_value(&read).unwrap());

    let check = |value: Value, expected: Value| {
        let mut changed = value.clone();
        assert_eq!(catalog.expose_json("b", &mut changed), value != expected);
        assert_eq!(changed, expected);
    };
    check(json!({"uri": "file:///x"}), json!({"uri": "b+file:///x"}));
    check(
        json!({"messages": [{"role": "user", "content":
            {"type": "resource_link", "uri": "file:///x", "name": "x"}}]}),
        json!({"messages": [{"role": "user", "content":
            {"type": "resource_link", "uri": "b+file:///x", "name": "x"}}]}),
    );
    check(
        json!({"content": 7, "uri": [1]}),
        json!({"content": 7, "uri": [1]}),
    );
    check(json!([{"uri": "file:///x"}]), json!([{"uri": "file:///x"}]));
}
