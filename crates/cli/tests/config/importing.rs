//! import.

use crate::place::{Place, fixture};

/// The files of ten programs, where they keep them.
fn everything(place: &Place) {
    let here = place.project().to_string_lossy().into_owned();
    let data = match (cfg!(windows), cfg!(target_os = "macos")) {
        (true, _) => "AppData",
        (_, true) => "Library/Application Support",
        _ => ".config",
    };
    place.write_home(
        ".claude.json",
        &fixture("claude.json").replace("/path/to/project", &here.replace('\\', "\\\\")),
    );
    place.write_home(
        &format!("{data}/Claude/claude_desktop_config.json"),
        &fixture("claude_desktop_config.json"),
    );
    place.write(".vscode/mcp.json", &fixture("vscode-mcp.json"));
    place.write_home(".cursor/mcp.json", &fixture("cursor-mcp.json"));
    place.write_home(".codex/config.toml", &fixture("codex-config.toml"));
    if !cfg!(windows) {
        place.write_home(".config/goose/config.yaml", &fixture("goose-config.yaml"));
        place.write_home(".config/zed/settings.json", &fixture("zed-settings.json"));
    }
    place.write_home(".gemini/settings.json", &fixture("gemini-settings.json"));
    place.write("opencode.jsonc", &fixture("opencode.jsonc"));
    place.write_home(
        ".codeium/windsurf/mcp_config.json",
        &fixture("windsurf-mcp_config.json"),
    );
}

#[test]
#[cfg(unix)]
fn everything_that_is_found_comes_over_once() {
    let place = Place::new();
    everything(&place);
    place.write("mcp.json", "{\n  // mine\n  \"mcpServers\": {}\n}\n");
    let dry = place.run(&["import", "--dry-run", "--json"]);
    assert_eq!(dry.code, 0, "{dry:?}");
    assert_eq!(dry.json()["written"], false);
    assert!(!dry.out.contains("BSA-not-a-real-key"), "{}", dry.out);
    assert_eq!(
        place.read("mcp.json"),
        "{\n  // mine\n  \"mcpServers\": {}\n}\n"
    );

    let ended = place.run(&["import", "--json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let document = ended.json();
    let results = |result: &str| -> Vec<String> {
        let servers = document["servers"].as_array().unwrap().iter();
        let of_it = servers.filter(|server| server["result"] == result);
        of_it
            .map(|server| server["server"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        results("added"),
        [
            "db",
            "context7",
            "sentry",
            "legacy-events",
            "filesystem",
            "brave-search",
            "notion",
            "docs",
            "git",
            "my.browser",
            "figma",
            "linear",
            "supabase",
            "github",
            "events",
            "python-tools",
            "internal",
            "everything",
            "jira",
            "perplexity",
            "old",
            "remote-docs",
            "postgres",
            "old-shape",
        ]
    );
    // Others of the same name, which stay.
    assert_eq!(
        results("conflict"),
        ["figma", "git", "docs", "sentry", "github", "github", "docs"]
    );
    assert!(ended.err.contains("stay as they are"), "{}", ended.err);
    let text = place.read("mcp.json");
    assert!(text.starts_with("{\n  // mine\n"), "{text}");
    assert!(
        text.contains("\"${input:perplexity-key}\"") && text.contains("\"id\": \"perplexity-key\"")
    );
    assert!(!text.contains("\"region\""), "nobody asks for it: {text}");

    let again = place.run(&["import", "--json"]);
    let document = again.json();
    let servers = document["servers"].as_array().unwrap().iter();
    assert!(
        servers.clone().all(|server| server["result"] != "added"),
        "{document}"
    );
    assert_eq!(document["written"], false);
    assert_eq!(place.read("mcp.json"), text);
    let judged = place.run(&["validate", "--json"]).json();
    assert_eq!(judged["errors"], 0, "{judged}");
    assert_eq!(judged["servers"], 24);
}

#[test]
fn one_program_is_named() {
    let place = Place::new();
    place.write_home(".codex/config.toml", &fixture("codex-config.toml"));
    let ended = place.run(&["import", "codex", "--project"]);
    ended.done(
        "SERVER      IS     FROM\n\
         docs        added  …/home/.codex/config.toml\n\
         git         added  …/home/.codex/config.toml\n\
         my.browser  added  …/home/.codex/config.toml\n\
         figma       added  …/home/.codex/config.toml\n",
    );
    let text = place.read(".mcp.json");
    for part in [
        "\"Authorization\": \"Bearer ${DOCS_TOKEN}\"",
        "\"PRICE\": \"$5 or $${nothing}\"",
        "\"timeout\": 90500",
        "\"start\": \"60s\"",
        "\"approval_mode\": \"approve\"",
        "\"oauth_resource\": \"https://mcp.figma.com/\"",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let ended = place.run(&["import", "goose"]);
    assert_eq!(ended.code, 2);
    assert!(
        ended
            .err
            .starts_with("error: goose has no file with servers here\nhint: looked at ")
    );
    place.run(&["import", "gooze"]).failed(
        2,
        "error: \"gooze\" is no file, and no program that is known\nhint: known are claude-code, claude-desktop, codex, cursor, gemini, goose, opencode, vscode, windsurf, zed\n",
    );
}

#[test]
fn what_has_the_same_name_is_replaced_by_force_only() {
    let place = Place::new();
    place.write(
        "mcp.json",
        "{\"mcpServers\":{\"a\":{\"command\":\"mine\"}}}",
    );
    place.write(
        "other.json",
        "{\"servers\":{\"a\":{\"command\":\"theirs\"},\"b\":{\"command\":\"x\"}}}",
    );
    let ended = place.run(&["import", "other.json"]);
    ended.done("SERVER  IS           FROM\na       in conflict  other.json\nb       added        other.json\n");
    assert_eq!(
        ended.err,
        "other servers of the same name stay as they are; --force replaces them\n"
    );
    assert!(place.read("mcp.json").contains("\"mine\""));
    place.run(&["import", "other.json", "--force"]).done(
        "SERVER  IS             FROM\na       replaced       other.json\nb       there already  other.json\n",
    );
    let text = place.read("mcp.json");
    assert!(
        text.contains("\"theirs\"") && !text.contains("\"mine\""),
        "{text}"
    );
}

#[test]
fn nothing_is_brought_to_files_in_which_it_would_mean_something_else() {
    let place = Place::new();
    place.write(".zed/settings.json", "{\"context_servers\": {}}");
    place.write(
        "other.json",
        "{\"mcpServers\":{\"a\":{\"command\":\"x\",\"timeout\":5000}}}",
    );
    let words = ["--config", ".zed/settings.json", "import", "other.json"];
    place.run(&words).failed(
        2,
        "error: .zed/settings.json is another program's, in its own words\nhint: --project, --user or another --config says where to\n",
    );
    place.write(".vscode/mcp.json", "{\"servers\": {}}");
    let words = ["--config", ".vscode/mcp.json", "import", "other.json"];
    place
        .run(&words)
        .done("SERVER  IS     FROM\na       added  other.json\n");
    assert!(
        place
            .read(".vscode/mcp.json")
            .starts_with("{\"servers\": {\n")
    );
}

#[test]
fn what_is_broken_is_named_and_left_out() {
    let place = Place::new();
    place.write(
        "other.json",
        "{\"mcpServers\":{\"a\":{\"args\":[]},\"b\":{\"command\":\"x\"}}}",
    );
    let ended = place.run(&["import", "other.json", "--project"]);
    ended.done("SERVER  IS     FROM\nb       added  other.json\n");
    assert_eq!(
        ended.err,
        "warning: not imported: other.json:1:16: server \"a\": has neither a \"command\" nor a \"url\"\n"
    );
    place.write("bad.yaml", "extensions: [\n");
    let ended = place.run(&["import", "bad.yaml"]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.starts_with("error: bad.yaml:1:"), "{ended:?}");
}

#[test]
fn paths_of_another_project_still_lead_there() {
    let place = Place::new();
    place.write(
        "there/.mcp.json",
        "{\"mcpServers\":{\"a\":{\"command\":\"./run\",\"cwd\":\"sub\"}}}",
    );
    place.write("here/mcp.json", "{}");
    let words = ["--config", "here/mcp.json", "import", "there/.mcp.json"];
    assert_eq!(place.run(&words).code, 0);
    let text = place.read("here/mcp.json");
    let there = place.project().join("there");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let server = &value["mcpServers"]["a"];
    assert_eq!(server["cwd"], *there.join("sub").to_string_lossy());
    assert_eq!(server["command"], *there.join("./run").to_string_lossy());
}
