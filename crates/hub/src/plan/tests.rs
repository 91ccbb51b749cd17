//! Random configurations, and what is done with a plan.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;
use switchboard_client::Mode;

use super::*;
use crate::config::{Sharing, Start};
use crate::variables::Template;

/// Changes that do not touch a connection.
const GENTLE: &[fn(&mut ServerConfig)] = &[
    |server| server.display_name = Some("Other".to_owned()),
    |server| server.is_required = true,
    |server| server.start = Start::Lazy,
    |server| server.tools.deny.push("*delete*".into()),
    |server| server.tools.allow = Some(Vec::new()),
    |server| server.is_read_only = true,
    |server| server.timeouts.call = Some(Duration::from_secs(5)),
    |server| server.idle = Some(Duration::from_secs(600)),
    |server| server.limits.result = Some(1000),
    |server| server.limits.restarts = Some(3),
    |server| {
        server.unknown.0.insert("note".to_owned(), "x".into());
    },
];

/// Changes that do.
const HARD: &[fn(&mut ServerConfig)] = &[
    |server| server.transport = ServerConfig::url("", "https://example.com/mcp").transport,
    |server| server.transport = ServerConfig::command("", ["other"]).transport,
    |server| server.is_enabled = false,
    |server| server.limits.message = Some(1000),
    |server| server.sharing = Sharing::PerClient,
    |server| server.mode = Mode::Legacy,
    |server| server.folder = Some("/elsewhere".into()),
];

fn server(name: &str) -> ServerConfig {
    ServerConfig::command(name, ["program", name])
}

#[test]
fn what_is_only_shown_or_allowed_touches_no_process() {
    for change in GENTLE {
        let mut changed = server("a");
        change(&mut changed);
        let plan = plan(&[server("a")], &[changed]);
        assert_eq!(plan.update, ["a"]);
        assert!(plan.restart.is_empty() && !plan.is_empty());
    }
}

#[test]
fn what_is_another_server_now_is_begun_anew() {
    for change in HARD {
        let mut changed = server("a");
        change(&mut changed);
        let plan = plan(&[server("a")], &[changed]);
        assert_eq!(plan.restart, ["a"]);
        assert!(plan.update.is_empty());
    }
}

#[test]
fn where_it_stands_in_the_file_changes_nothing() {
    let mut moved = server("a");
    moved.location.file = Some("other.json".into());
    moved.location.position.line = 99;
    let plan = plan(&[server("b"), server("a")], &[moved, server("b")]);
    assert_eq!(plan.keep, ["a", "b"]);
    assert!(plan.is_empty());
}

#[test]
fn a_variable_written_otherwise_is_another_server() {
    let with = |text: &str| {
        let mut server = server("a");
        if let crate::config::TransportConfig::Stdio(stdio) = &mut server.transport {
            stdio.env = vec![("TOKEN".to_owned(), Some(Template::parse(text)))];
        }
        server
    };
    assert_eq!(plan(&[with("${A}")], &[with("${B}")]).restart, ["a"]);
    assert_eq!(plan(&[with("${A}")], &[with("${A}")]).keep, ["a"]);
}

#[test]
fn of_two_of_a_name_the_first_counts() {
    let mut second = server("a");
    second.is_enabled = false;
    let plan = plan(&[server("a"), second.clone()], &[server("a"), second]);
    assert_eq!(plan.keep, ["a"]);
    assert!(plan.is_empty());
}

fn servers() -> impl Strategy<Value = Vec<ServerConfig>> {
    let change = select([GENTLE, HARD].concat());
    let one = (
        select(vec!["a", "b", "c", "d", "e", "f"]),
        prop::option::of(change),
    );
    let one = one.prop_map(|(name, change)| {
        let mut server = server(name);
        if let Some(change) = change {
            change(&mut server);
        }
        server
    });
    prop::collection::vec(one, 0..8)
}

/// The first of each name.
fn effective(servers: &[ServerConfig]) -> BTreeMap<String, ServerConfig> {
    let mut found = BTreeMap::new();
    for server in servers {
        found
            .entry(server.name.clone())
            .or_insert_with(|| server.clone());
    }
    found
}

proptest! {
    #[test]
    fn carrying_out_a_plan_makes_the_new_of_the_old(old in servers(), new in servers()) {
        let plan = plan(&old, &new);
        let (before, after) = (effective(&old), effective(&new));
        let mut now = before.clone();
        for name in &plan.stop {
            prop_assert!(now.remove(name).is_some());
        }
        for name in &plan.start {
            prop_assert!(now.insert(name.clone(), after[name].clone()).is_none());
        }
        for name in plan.restart.iter().chain(&plan.update) {
            prop_assert!(now.insert(name.clone(), after[name].clone()).is_some());
            prop_assert_ne!(&before[name], &after[name]);
        }
        for name in &plan.keep {
            prop_assert_eq!(&before[name], &after[name]);
        }
        for name in &plan.update {
            prop_assert_eq!(&before[name].transport, &after[name].transport);
        }
        prop_assert_eq!(&now, &after);
        let lists = [&plan.keep, &plan.start, &plan.stop, &plan.restart, &plan.update];
        let names: usize = lists.iter().map(|list| list.len()).sum();
        let all: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
        prop_assert_eq!(names, all.len());
    }

    #[test]
    fn nothing_is_to_be_done_when_nothing_changed(servers in servers()) {
        let plan = plan(&servers, &servers);
        prop_assert!(plan.is_empty());
        prop_assert_eq!(plan.keep.len(), effective(&servers).len());
    }
}
