//! Whatever happens to a registry, and whatever things are called.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use switchboard_hub::{Catalog, MemberCatalog, Naming, Policy, Prefix, Reason, Registry};
use switchboard_protocol::types::{Meta, Prompt, Resource, ResourceTemplate};

use crate::given::{deny, names, reason, tool, tools};

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
    let names = || tools.iter().filter_map(|place| names.get(*place));
    let uris = uris.iter().filter_map(|place| URIS.get(*place));
    let (templates, uris): (Vec<&str>, Vec<&str>) = uris.partition(|uri| uri.contains('{'));
    let with_interface = |name: &String| {
        let mut tool = tool(name);
        if name.starts_with('x') {
            let mut meta = Meta::new();
            meta.insert("ui", json!({"resourceUri": "ui://v"}));
            tool.meta = Some(meta);
        }
        tool
    };
    let resource = |uri: &str| Resource::new(uri, "r");
    let template = |text: &str| ResourceTemplate::new(text, "t");
    MemberCatalog::empty()
        .with_tools(names().map(with_interface).collect())
        .with_prompts(names().map(Prompt::new).collect())
        .with_resources(uris.into_iter().map(resource).collect())
        .with_templates(templates.into_iter().map(template).collect())
}

/// Names as servers and people might write them, and as they should not; always the same ones.
struct WildNames(u64);

impl WildNames {
    fn number(&mut self, below: u64) -> u64 {
        // Xorshift: quick, where proptest would take seconds for so many.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }

    fn name(&mut self) -> String {
        const PLAIN: &str = "abcdefghijklmnopqrstuvwxyz_-0123456789";
        let (letters, longest) = match self.number(6) {
            0 | 1 => (PLAIN, 40),
            2 => ("abcXYZ019_.-", 130),
            3 => ("a_", 5),
            4 => ("0123456789_", 90),
            _ => ("aé日\u{202e}\0 /\\\"\u{1f600}_+:", 30),
        };
        let letters: Vec<char> = letters.chars().collect();
        let length = self.number(longest);
        let mut letter = || {
            let place = self.number(letters.len() as u64);
            letters[usize::try_from(place).unwrap()]
        };
        (0..length).map(|_| letter()).collect()
    }
}

#[test]
fn ten_thousand_pairs_have_different_names_that_lead_back() {
    for (longest, prefix) in [(64, Prefix::Mcp), (32, Prefix::Mcp), (48, Prefix::Server)] {
        let mut wild = WildNames(0x9e37_79b9_7f4a_7c15);
        let mut pairs: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for _ in 0..100 {
            let tools = (0..100).map(|_| wild.name()).collect();
            pairs.insert(wild.name(), tools);
        }
        let mut registry = Registry::new(Naming::new(prefix).with_longest(longest));
        for (server, names) in &pairs {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            registry.set_member(server, tools(&names));
        }
        let catalog = registry.catalog();
        for (server, names) in &pairs {
            for name in names {
                let entry = catalog.find_on(server, name).unwrap();
                let found = catalog.find_tool(entry.name.as_str()).unwrap();
                assert_eq!((&*found.server, &found.tool.name), (server.as_str(), name));
            }
        }
        let mut all = names(&catalog);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        assert!(
            all.iter()
                .all(|name| name.len() <= longest && name.bytes().all(is_plain))
        );
        all.sort();
        all.dedup();
        assert_eq!(all.len(), catalog.tools().len());
        assert!(all.len() > 8_000, "{}", all.len());
    }
}

/// All that can be seen.
fn seen(catalog: &Catalog) -> Vec<String> {
    let tools = catalog.tools().map(|entry| {
        let definition = catalog.definition(entry);
        format!("{entry:?} {definition:?}")
    });
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
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

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
}
