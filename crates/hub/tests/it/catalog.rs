//! What is listed, found and denied, and what a change of one server changes.

use std::sync::Arc;

use serde_json::json;
use switchboard_hub::{
    Absence, Changes, Kind, MemberCatalog, Naming, Policy, Prefix, Reason, Registry,
};
use switchboard_protocol::types::{Prompt, Resource, ResourceTemplate, Tool};

use crate::given::{deny, described, names, near, reason, registry, resources, tool, tools};

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
fn what_a_server_listed_can_be_kept_and_read_again() {
    let listed = tools(&["x"]).with_prompts(vec![]);
    let text = serde_json::to_string(&listed).unwrap();
    assert_eq!(
        text,
        r#"{"tools":[{"name":"x","description":"","inputSchema":{"type":"object"}}],"prompts":[]}"#
    );
    assert_eq!(
        serde_json::from_str::<MemberCatalog>(&text).unwrap(),
        listed
    );
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
        r#"there is no server "githib"; did you mean "github" or "gitlab"?"#
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
