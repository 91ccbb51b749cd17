//! Tools found by words.

use serde_json::{Value, json};
use switchboard_hub::MemberCatalog;
use switchboard_protocol::types::Tool;

use crate::given::{described, names, registry, tool, tools};

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
