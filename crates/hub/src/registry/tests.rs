//! The registry as the hub sees it: what is listed, found, denied, and shared between snapshots.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use switchboard_protocol::types::{
    CallToolResult, Prompt, ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Tool,
};

use crate::{
    Absence, Catalog, Changes, Kind, MemberCatalog, Naming, NotFound, Policy, Prefix, Reason,
    Registry, ToolFilter,
};

fn tool(name: &str) -> Tool {
    described(name, "")
}

fn described(name: &str, description: &str) -> Tool {
    let text = json!({"name": name, "description": description, "inputSchema": {"type": "object"}});
    serde_json::from_value(text).unwrap()
}

fn tools(names: &[&str]) -> MemberCatalog {
    MemberCatalog::new().with_tools(names.iter().map(|name| tool(name)).collect())
}

fn resources(uris: &[&str]) -> MemberCatalog {
    let resources = uris.iter().map(|uri| Resource::new(*uri, "r")).collect();
    MemberCatalog::new().with_resources(resources)
}

fn templates(templates: &[&str]) -> MemberCatalog {
    let templates = templates
        .iter()
        .map(|text| ResourceTemplate::new(*text, "t"));
    MemberCatalog::new().with_templates(templates.collect())
}

fn registry(members: &[(&str, MemberCatalog)]) -> Registry {
    let mut registry = Registry::new(Naming::default());
    for (server, listed) in members {
        registry.set_member(server, listed.clone());
    }
    registry
}

fn names(catalog: &Catalog) -> Vec<String> {
    catalog
        .tools()
        .map(|entry| entry.name.to_string())
        .collect()
}

fn uris(catalog: &Catalog) -> Vec<String> {
    catalog
        .resources()
        .map(|entry| entry.uri.to_string())
        .collect()
}

fn deny(patterns: &[&str]) -> ToolFilter {
    ToolFilter::new(vec![], patterns.iter().map(|text| (*text).into()).collect())
}

fn near(found: Result<&Arc<crate::ToolEntry>, NotFound>) -> Vec<String> {
    match found.unwrap_err().absence {
        Absence::Unknown { near } => near,
        other => panic!("expected no tool at all, found {other:?}"),
    }
}

fn reason(not_found: NotFound) -> Reason {
    match not_found.absence {
        Absence::Denied(denial) => denial.reason,
        other => panic!("expected a denial, found {other:?}"),
    }
}

#[test]
fn tools_are_ordered_by_server_and_then_as_the_server_has_them() {
    let expected = ["mcp__a__z", "mcp__a__a", "mcp__b__m"];
    let one = registry(&[("b", tools(&["m"])), ("a", tools(&["z", "a"]))]);
    let other = registry(&[("a", tools(&["z", "a"])), ("b", tools(&["m"]))]);
    assert_eq!(names(&one.catalog()), expected);
    assert_eq!(names(&other.catalog()), expected);
}

#[test]
fn a_tool_is_found_by_its_name_and_by_its_server() {
    let catalog = registry(&[("a", tools(&["x", "y.z"])), ("b", tools(&["x"]))]).catalog();
    for entry in catalog.tools() {
        let found = catalog.find_tool(entry.name.as_str()).unwrap();
        assert!(Arc::ptr_eq(found, entry));
        let found = catalog.find_on(&entry.server, &entry.tool.name).unwrap();
        assert!(Arc::ptr_eq(found, entry));
    }
    assert_eq!(&*catalog.find_tool("mcp__b__x").unwrap().server, "b");
}

#[test]
fn what_a_tool_says_of_itself_travels_along() {
    let original: Tool = serde_json::from_value(json!({
        "name": "x.y", "title": "T", "inputSchema": {"z": 1, "a": 2}, "outputSchema": {"b": [1]},
        "annotations": {"readOnlyHint": true}, "icons": [{"src": "https://x/y.png"}],
        "_meta": {"k": 1}, "unknown": true,
    }))
    .unwrap();
    let listed = MemberCatalog::new().with_tools(vec![original.clone()]);
    let catalog = registry(&[("a", listed)]).catalog();
    let entry = catalog.tools().next().unwrap();
    assert_eq!(*entry.tool, original);
    let mut expected = original;
    expected.name = entry.name.to_string();
    assert_eq!(catalog.definition(entry), expected);
}

#[test]
fn of_two_tools_with_one_name_the_first_is_kept_and_it_is_noted() {
    let listed = vec![described("x", "first"), tool("y"), described("x", "second")];
    let catalog = registry(&[("a", MemberCatalog::new().with_tools(listed))]).catalog();
    assert_eq!(names(&catalog), ["mcp__a__x", "mcp__a__y"]);
    let found = catalog.find_tool("mcp__a__x").unwrap();
    assert_eq!(found.tool.description.as_deref(), Some("first"));
    assert_eq!(
        catalog.notes_of("a"),
        [r#"tool "x": left out, its name came before"#]
    );
}

#[test]
fn notes_of_a_careless_server_have_an_end() {
    let listed: Vec<Tool> = (0..1000).map(|_| tool(&"x".repeat(1000))).collect();
    let catalog = registry(&[("a", MemberCatalog::new().with_tools(listed))]).catalog();
    assert_eq!(catalog.notes_of("a").len(), 65);
    assert!(catalog.notes_of("a").iter().all(|note| note.len() < 300));
}

#[test]
fn a_denied_tool_is_neither_listed_nor_found_and_says_why() {
    let mut registry = registry(&[("a", tools(&["get", "delete"]))]);
    let changes = registry.set_filter("a", deny(&["del*"]));
    assert!(changes.tools);
    let catalog = registry.catalog();
    assert_eq!(names(&catalog), ["mcp__a__get"]);
    assert!(catalog.search("delete", 9).is_empty());
    for denied in [
        catalog.find_tool("mcp__a__delete"),
        catalog.find_on("a", "delete"),
    ] {
        let denied = denied.unwrap_err();
        assert_eq!(
            denied.to_string(),
            r#"the tool "delete" of server "a" is denied by "del*""#
        );
        assert_eq!(reason(denied), Reason::Denied("del*".into()));
    }
    registry.set_filter("a", deny(&[]));
    assert_eq!(
        names(&registry.catalog()),
        ["mcp__a__get", "mcp__a__delete"]
    );
}

#[test]
fn a_server_that_is_switched_off_offers_nothing_until_it_is_switched_on() {
    let everything = MemberCatalog::new()
        .with_tools(vec![tool("x")])
        .with_prompts(vec![Prompt::new("p")])
        .with_resources(vec![Resource::new("file:///r", "r")])
        .with_templates(vec![ResourceTemplate::new("file:///{t}", "t")]);
    let mut registry = registry(&[("a", everything)]);
    let before = registry.catalog();
    let changes = registry.set_enabled("a", false);
    assert!(changes.tools && changes.prompts && changes.resources);
    let off = registry.catalog();
    assert_eq!(off.tools().len() + off.prompts().len(), 0);
    assert_eq!(off.resources().len() + off.templates().len(), 0);
    assert_eq!(
        reason(off.find_tool("mcp__a__x").unwrap_err()),
        Reason::ServerOff
    );
    assert_eq!(
        reason(off.find_prompt("mcp__a__p").unwrap_err()),
        Reason::ServerOff
    );
    assert_eq!(
        reason(off.find_resource("file:///r").unwrap_err()),
        Reason::ServerOff
    );
    assert_eq!(
        reason(off.find_resource("a+x:y").unwrap_err()),
        Reason::ServerOff
    );
    registry.set_enabled("a", true);
    let after = registry.catalog();
    assert!(Arc::ptr_eq(
        before.tools().next().unwrap(),
        after.tools().next().unwrap()
    ));
    assert_eq!(after.resources().len(), 1);
}

#[test]
fn what_is_allowed_can_be_said_before_a_server_is_listed() {
    let mut registry = Registry::new(Naming::default());
    let mut policy = Policy::new(deny(&["x"]));
    policy.is_read_only = true;
    assert!(registry.set_policy("a", policy).is_empty());
    registry.set_member("a", tools(&["x", "y"]));
    let catalog = registry.catalog();
    assert_eq!(catalog.tools().len(), 0);
    assert_eq!(
        reason(catalog.find_on("a", "y").unwrap_err()),
        Reason::NotReadOnly
    );
}

#[test]
fn a_server_that_lists_the_same_again_changes_nothing() {
    let mut registry = registry(&[("a", tools(&["x", "y"]))]);
    let before = registry.catalog();
    assert_eq!(
        registry.set_member("a", tools(&["x", "y"])),
        Changes::default()
    );
    assert_eq!(registry.catalog().version(), before.version());
    let changes = registry.set_member("a", tools(&["y", "x"]));
    assert!(changes.tools && !changes.prompts && !changes.resources);
    assert!(registry.catalog().version() > before.version());
    // What is not named stays; the tools that are the same are not made again.
    registry.set_member("a", resources(&["file:///a"]));
    let after = registry.catalog();
    assert_eq!(names(&after), ["mcp__a__y", "mcp__a__x"]);
    assert!(Arc::ptr_eq(
        before.find_on("a", "x").unwrap(),
        after.find_on("a", "x").unwrap()
    ));
}

#[test]
fn a_change_that_nobody_can_see_is_none() {
    let mut registry = registry(&[("a", tools(&["x", "y"]))]);
    registry.set_filter("a", deny(&["y"]));
    let hidden = vec![tool("x"), described("y", "changed")];
    let changes = registry.set_member("a", MemberCatalog::new().with_tools(hidden));
    assert!(changes.is_empty());
}

#[test]
fn a_snapshot_does_not_change() {
    let mut registry = registry(&[("a", tools(&["x"]))]);
    let before = registry.catalog();
    registry.set_member("b", tools(&["y"]));
    registry.remove_member("a");
    assert_eq!(names(&before), ["mcp__a__x"]);
    assert_eq!(names(&registry.catalog()), ["mcp__b__y"]);
    assert!(registry.remove_member("a").is_empty());
}

#[test]
fn servers_whose_cleaned_names_meet_keep_their_tools_apart() {
    let forged = Naming::default().tool("git hub", "x").to_string();
    let forged = forged.strip_prefix("mcp__git_hub__").unwrap();
    let mut registry = registry(&[("git hub", tools(&["x", "y"]))]);
    let alone = registry.catalog();
    let contested = alone.find_on("git hub", "x").unwrap().name.to_string();
    registry.set_member("git_hub", tools(&[forged, "y"]));
    let both = registry.catalog();
    let mut all = names(&both);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4);
    // Nobody has the name that both could have, and whoever uses it is told.
    let refused = both.find_tool(&contested).unwrap_err();
    assert!(
        matches!(refused.absence, Absence::Ambiguous { ref offered_as } if offered_as.len() == 2)
    );
    assert!(both.notes_of("git hub")[0].contains("could be another one too"));
    for entry in both.tools() {
        assert!(Arc::ptr_eq(
            both.find_tool(entry.name.as_str()).unwrap(),
            entry
        ));
    }
    // And the first has it again when the other is gone.
    registry.remove_member("git_hub");
    assert_eq!(names(&registry.catalog()), names(&alone));
}

#[test]
fn who_mistypes_a_tool_is_told_what_there_is() {
    let catalog = registry(&[
        ("github", tools(&["create_issue", "list_issues"])),
        ("gitlab", tools(&["create_issue"])),
    ])
    .catalog();
    let check =
        |given: &str, expected: &[&str]| assert_eq!(near(catalog.find_tool(given)), expected);
    check("mcp__github__create_isue", &["mcp__github__create_issue"]);
    check(
        "create_issue",
        &["mcp__github__create_issue", "mcp__gitlab__create_issue"],
    );
    check("mcp__gitlab__list_issues", &["mcp__github__list_issues"]);
    check("mcp__gitea__list_issues", &["mcp__github__list_issues"]);
    check("mcp__github__zzz", &[]);
    check("", &[]);
    assert_eq!(
        near(catalog.find_on("github", "create_issues")),
        ["create_issue"]
    );
    let unknown = catalog.find_on("githib", "x").unwrap_err();
    assert_eq!(unknown.kind, Kind::Server);
    assert_eq!(
        unknown.to_string(),
        r#"there is no server "githib"; did you mean "github"?"#
    );
}

#[test]
fn a_far_place_in_a_list_is_reached_without_a_walk() {
    let members: Vec<_> = (0..50)
        .map(|number| (format!("s{number:02}"), tools(&["a", "b", "c"])))
        .collect();
    let mut registry = Registry::new(Naming::default());
    for (server, listed) in members {
        registry.set_member(&server, listed);
    }
    registry.set_enabled("s07", false);
    let catalog = registry.catalog();
    let all: Vec<_> = catalog.tools().collect();
    assert_eq!(all.len(), 147);
    for place in [0, 1, 20, 21, 146, 147, 1000] {
        let mut rest = catalog.tools();
        let found = rest.nth(place);
        assert_eq!(
            found.map(|entry| &entry.name),
            all.get(place).map(|entry| &entry.name)
        );
        assert_eq!(rest.len(), 147_usize.saturating_sub(place + 1));
        assert_eq!(rest.count(), 147_usize.saturating_sub(place + 1));
    }
}

#[test]
fn the_best_tool_comes_first_in_a_search() {
    let listed = vec![
        described("create_issue", "Opens a new issue in a repository"),
        described("list_issues", "Lists issues of a repository"),
        described(
            "search_code",
            "Finds code; mentions of an issue are not looked at",
        ),
        described("createPullRequest", "Proposes a change"),
    ];
    let github = MemberCatalog::new().with_tools(listed);
    let catalog = registry(&[
        ("github", github),
        ("weather", tools(&["forecast", "current_weather"])),
    ])
    .catalog();
    let check = |words: &str, expected: &[&str]| {
        let hits = catalog.search(words, 2);
        let found: Vec<_> = hits.iter().map(|hit| hit.tool.tool.name.as_str()).collect();
        assert_eq!(found, expected, "{words}");
        assert!(hits.is_sorted_by(|one, other| one.score >= other.score));
    };
    check("create issue", &["create_issue", "createPullRequest"]);
    check("ISSUES", &["list_issues", "create_issue"]);
    check("pull request", &["createPullRequest"]);
    check("pullreq", &[]);
    check("forec", &["forecast"]);
    check("weather", &["current_weather", "forecast"]);
    check(
        "how do I open a new issue?",
        &["create_issue", "list_issues"],
    );
    check("", &[]);
    check("zzz", &[]);
    assert_eq!(catalog.search("issue", 0).len(), 0);
}

#[test]
fn tools_that_are_as_good_come_in_the_order_of_the_catalogue() {
    let listed = || tools(&["x_one", "x_two"]);
    let catalog = registry(&[("b", listed()), ("a", listed())]).catalog();
    let found: Vec<_> = catalog
        .search("x", 9)
        .iter()
        .map(|hit| hit.tool.name.to_string())
        .collect();
    assert_eq!(found, names(&catalog));
}

#[test]
fn parameters_are_searched_too() {
    let parameters = json!({"name": "t", "inputSchema": {"type": "object", "properties": {
        "filters": {"type": "array", "items": {"type": "object", "properties": {
            "postalCode": {"description": "where it is delivered"}}}}}}});
    let listed = vec![serde_json::from_value(parameters).unwrap(), tool("u")];
    let catalog = registry(&[("a", MemberCatalog::new().with_tools(listed))]).catalog();
    for words in ["postal", "postalcode", "deliver", "filter"] {
        assert_eq!(catalog.search(words, 9).len(), 1, "{words}");
    }
}

#[test]
fn tools_that_are_kept_for_an_interface_are_listed_and_not_searched() {
    let of = |visibility: Value| {
        let mut value = json!({"name": "refresh", "inputSchema": {}});
        value["_meta"] = json!({"ui": {"visibility": visibility}});
        let tool: Tool = serde_json::from_value(value).unwrap();
        registry(&[("a", MemberCatalog::new().with_tools(vec![tool]))]).catalog()
    };
    for (visibility, is_found) in [
        (json!(["app"]), false),
        (json!([]), false),
        (json!(["app", "model"]), true),
        (json!("app"), true),
        (Value::Null, true),
    ] {
        let catalog = of(visibility.clone());
        assert_eq!(catalog.tools().len(), 1);
        assert_eq!(
            catalog.search("refresh", 9).len() == 1,
            is_found,
            "{visibility}"
        );
    }
}

#[test]
fn prompts_have_names_like_tools() {
    let listed = MemberCatalog::new().with_prompts(vec![
        Prompt::new("review"),
        Prompt::new("a b"),
        Prompt::new("review"),
    ]);
    let catalog = registry(&[("a", listed)]).catalog();
    let entry = catalog.find_prompt("mcp__a__review").unwrap();
    assert_eq!(
        (&*entry.server, entry.prompt.name.as_str()),
        ("a", "review")
    );
    assert_eq!(entry.definition().name, "mcp__a__review");
    assert_eq!(catalog.prompts().len(), 2);
    assert!(
        catalog
            .find_prompt_on("a", "a b")
            .unwrap()
            .name
            .as_str()
            .starts_with("mcp__a__a_b_")
    );
    let missing = catalog.find_prompt("mcp__a__reviev").unwrap_err();
    assert_eq!(
        missing.to_string(),
        r#"there is no prompt "mcp__a__reviev"; did you mean "mcp__a__review"?"#
    );
}

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

#[test]
fn names_without_the_first_part_are_found_as_well() {
    let mut registry = Registry::new(Naming::new(Prefix::Server).with_longest(48));
    registry.set_member("github", tools(&["create_issue", &"x".repeat(60)]));
    let catalog = registry.catalog();
    for entry in catalog.tools() {
        assert!(entry.name.as_str().starts_with("github__"));
        assert!(entry.name.as_str().len() <= 48);
        assert!(catalog.find_tool(entry.name.as_str()).is_ok());
    }
}

/// What a hub might do to a registry.
#[derive(Clone, Debug)]
enum Step {
    List(usize, Vec<usize>, Vec<usize>),
    Filter(usize, bool),
    Switch(usize, bool),
    Remove(usize),
}

/// Few names, so that they meet often.
const SERVERS: [&str; 6] = ["a", "a b", "a_b", "a__b", "A", "日"];
const URIS: [&str; 6] = ["x:1", "x:2", "ui://v", "a+x:1", "ui://a+v", "x:{n}"];

fn tool_names() -> Vec<String> {
    let naming = Naming::default();
    let forged = |server: &str, tool: &str| {
        let name = naming.tool(server, tool);
        naming.split(name.as_str()).unwrap().1.to_owned()
    };
    let mut names: Vec<String> = ["x", "x!", "", "a__b", "_"].map(str::to_owned).to_vec();
    names.extend([forged("a", "x!"), forged("a b", "x"), forged("a__b", "x")]);
    names.push("long ".repeat(40));
    names
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let server = 0..SERVERS.len();
    let listed = (
        server.clone(),
        proptest::collection::vec(0..9_usize, 0..8),
        proptest::collection::vec(0..URIS.len(), 0..5),
    );
    let step = prop_oneof![
        4 => listed.prop_map(|(server, tools, uris)| Step::List(server, tools, uris)),
        1 => (server.clone(), any::<bool>()).prop_map(|(server, deny)| Step::Filter(server, deny)),
        1 => (server.clone(), any::<bool>()).prop_map(|(server, is_on)| Step::Switch(server, is_on)),
        1 => server.prop_map(Step::Remove),
    ];
    proptest::collection::vec(step, 1..24)
}

fn listed(tools: &[usize], uris: &[usize]) -> MemberCatalog {
    let names = tool_names();
    let uris = uris.iter().filter_map(|place| URIS.get(*place));
    let (templates, uris): (Vec<&str>, Vec<&str>) = uris.partition(|uri| uri.contains('{'));
    MemberCatalog::empty()
        .with_tools(
            tools
                .iter()
                .filter_map(|place| names.get(*place))
                .map(|name| tool(name))
                .collect(),
        )
        .with_prompts(
            tools
                .iter()
                .filter_map(|place| names.get(*place))
                .map(Prompt::new)
                .collect(),
        )
        .with_resources(
            uris.into_iter()
                .map(|uri| Resource::new(uri, "r"))
                .collect(),
        )
        .with_templates(
            templates
                .into_iter()
                .map(|text| ResourceTemplate::new(text, "t"))
                .collect(),
        )
}

/// All that can be seen.
fn seen(catalog: &Catalog) -> Vec<String> {
    let tools = catalog.tools().map(|entry| format!("{entry:?}"));
    let prompts = catalog.prompts().map(|entry| format!("{entry:?}"));
    let resources = catalog.resources().map(|entry| format!("{entry:?}"));
    let templates = catalog.templates().map(|entry| format!("{entry:?}"));
    tools
        .chain(prompts)
        .chain(resources)
        .chain(templates)
        .collect()
}

proptest! {
    #[test]
    fn however_it_came_to_be_a_catalogue_is_what_its_servers_make_it(steps in steps()) {
        let mut registry = Registry::new(Naming::default());
        let mut held: BTreeMap<&str, (Option<MemberCatalog>, Policy)> = BTreeMap::new();
        for step in &steps {
            let before = seen(&registry.catalog());
            let changes = match step {
                Step::List(server, tools, uris) => {
                    let server = SERVERS[*server];
                    held.entry(server).or_default().0 = Some(listed(tools, uris));
                    registry.set_member(server, listed(tools, uris))
                }
                Step::Filter(server, denies) => {
                    let server = SERVERS[*server];
                    let filter = deny(if *denies { &["x*"] } else { &[] });
                    held.entry(server).or_default().1.tools = filter.clone();
                    registry.set_filter(server, filter)
                }
                Step::Switch(server, is_on) => {
                    let server = SERVERS[*server];
                    held.entry(server).or_default().1.is_enabled = *is_on;
                    registry.set_enabled(server, *is_on)
                }
                Step::Remove(server) => {
                    held.remove(SERVERS[*server]);
                    registry.remove_member(SERVERS[*server])
                }
            };
            prop_assert_eq!(changes.is_empty(), before == seen(&registry.catalog()), "{:?}", step);
        }
        let catalog = registry.catalog();

        // The same servers in another order are the same catalogue.
        let mut fresh = Registry::new(Naming::default());
        for (server, (listed, policy)) in held.iter().rev() {
            fresh.set_policy(server, policy.clone());
            if let Some(listed) = listed {
                fresh.set_member(server, listed.clone());
            }
        }
        prop_assert_eq!(seen(&catalog), seen(&fresh.catalog()));

        // Every name leads back to what has it, and no two are the same.
        let mut all = names(&catalog);
        all.sort();
        all.dedup();
        prop_assert_eq!(all.len(), catalog.tools().len());
        for entry in catalog.tools() {
            let found = catalog.find_tool(entry.name.as_str()).unwrap();
            prop_assert!(Arc::ptr_eq(found, entry));
        }
        for entry in catalog.prompts() {
            let found = catalog.find_prompt(entry.name.as_str()).unwrap();
            prop_assert!(Arc::ptr_eq(found, entry));
        }
        for entry in catalog.resources() {
            let found = catalog.find_resource(&entry.uri).unwrap();
            prop_assert_eq!((&found.server, &found.uri), (&entry.server, &entry.resource.uri));
        }
        // So does every URI that a server might send.
        for server in catalog.servers() {
            for uri in URIS.into_iter().chain(["x:unlisted", "ui://other"]) {
                let exposed = catalog.expose_uri(server, uri);
                match catalog.find_resource(&exposed) {
                    Ok(found) => prop_assert_eq!((&*found.server, found.uri.as_str()), (&**server, uri)),
                    Err(refused) => prop_assert_eq!(reason(refused), Reason::ServerOff),
                }
            }
        }
    }

    #[test]
    fn any_pairs_in_one_catalogue_have_different_names_that_lead_back(
        pairs in proptest::collection::vec((any::<String>(), proptest::collection::vec(any::<String>(), 0..8)), 0..12),
    ) {
        let mut registry = Registry::new(Naming::default().with_longest(32));
        for (server, names) in &pairs {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            registry.set_member(server, tools(&names));
        }
        let catalog = registry.catalog();
        for entry in catalog.tools() {
            let found = catalog.find_tool(entry.name.as_str()).unwrap();
            prop_assert!(Arc::ptr_eq(found, entry));
        }
        for (server, names) in pairs.iter().rev().take(1) {
            for name in names {
                prop_assert!(catalog.find_on(server, name).is_ok());
            }
        }
    }
}
