//! What a catalogue of very many tools costs: time, and memory for each tool.
//!
//! ```sh
//! cargo run --release -p switchboard-hub --example catalog_cost [members] [tools of each] [tools.json]
//! ```
//!
//! With a file, which holds tools by server as `{"server": [tool, …]}`, its tools are taken in turn
//! for all members, so that texts and schemas are those of real servers.

#![expect(clippy::print_stdout, reason = "it is here to print")]

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_hub::{MemberCatalog, Naming, Registry, ToolFilter};
use switchboard_protocol::types::{Resource, Tool};
use switchboard_testkit::process::resident;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: usize| arguments.next().map_or(Ok(default), |text| text.parse());
    let (members, tools_of_each) = (number(1_000)?, number(100)?);
    let tools = match arguments.next() {
        Some(path) => tools_of_file(&path)?,
        None => made_up_tools(1_000)?,
    };
    let listed = |member: usize| {
        let tools = tools.iter().cycle().skip(member * 7).take(tools_of_each);
        let tools = tools.enumerate().map(|(place, tool)| {
            let mut tool = tool.clone();
            tool.name = format!("{}_{place}", tool.name);
            tool
        });
        let resources = (0..10).map(|place| Resource::new(format!("m{member}:///{place}"), "r"));
        MemberCatalog::new()
            .with_tools(tools.collect())
            .with_resources(resources.collect())
    };

    let mut all: Vec<(String, MemberCatalog)> = (0..members)
        .map(|member| (format!("server-{member:04}"), listed(member)))
        .collect();
    let definitions = resident();
    let started = Instant::now();
    let mut registry = Registry::new(Naming::default());
    for (server, listed) in all.drain(..) {
        registry.set_member(&server, listed);
    }
    let built = started.elapsed();
    drop(all);
    let catalog = registry.catalog();
    let count = catalog.tools().len();
    println!(
        "{members} members, {count} tools, {} tokens",
        catalog.tokens()
    );
    println!("build                     {:>9.1} ms", millis(built));
    if let (before @ 1.., after) = (definitions, resident()) {
        let each = |bytes: usize| bytes as f64 / count.max(1) as f64;
        println!(
            "memory, definitions       {:>9.0} bytes per tool",
            each(before)
        );
        println!(
            "memory, catalogue         {:>9.0} bytes per tool more",
            each(after.saturating_sub(before))
        );
    }

    let changed = listed(members / 2 + 1);
    let server = format!("server-{:04}", members / 2);
    let mut is_changed = false;
    let original = listed(members / 2);
    report("list one member anew", 20, || {
        is_changed = !is_changed;
        let listed = if is_changed {
            changed.clone()
        } else {
            original.clone()
        };
        black_box(registry.set_member(&server, listed));
    });
    report("list one, nothing changed", 20, || {
        black_box(registry.set_member(&server, original.clone()));
    });
    let deny = |text: &str| ToolFilter::deny([text]);
    let mut is_denied = false;
    report("change a filter", 200, || {
        is_denied = !is_denied;
        let filter = deny(if is_denied { "*delete*" } else { "*remove*" });
        black_box(registry.set_filter(&server, filter));
    });
    report("take a snapshot", 10_000, || {
        black_box(registry.catalog());
    });

    let names: Vec<String> = catalog
        .tools()
        .map(|entry| entry.name.to_string())
        .collect();
    let mut turn = names.iter().step_by(997).cycle();
    report("find a tool", 10_000, || {
        let name = turn.next().map_or("", String::as_str);
        black_box(catalog.find_tool(name).is_ok());
    });
    report("find a tool that is none", 200, || {
        black_box(catalog.find_tool("mcp__server-0500__creat_isue").is_ok());
    });
    let uri = format!("m{}:///7", members / 2);
    report("find a resource", 1_000, || {
        black_box(catalog.find_resource(&uri).is_ok());
    });
    report("rewrite a link", 1_000, || {
        black_box(catalog.expose_uri("server-0000", "file:///in/no/list"));
    });
    report("one page at the end", 1_000, || {
        black_box(catalog.tools().skip(count.saturating_sub(100)).count());
    });
    for words in [
        "create issue",
        "delete a domain record",
        "the",
        "list all users of a project",
        "se",
        "qqqq",
    ] {
        report(&format!("search {words:?}"), 20, || {
            black_box(catalog.search(words, 10));
        });
    }
    for words in std::env::args().skip(4) {
        println!("{words}");
        for hit in catalog.search(&words, 8) {
            println!("  {:>6.2} {}", hit.score, hit.tool.name);
        }
    }
    Ok(())
}

/// Prints the median of some runs.
fn report(what: &str, runs: usize, mut run: impl FnMut()) {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let started = Instant::now();
            run();
            started.elapsed()
        })
        .collect();
    times.sort();
    let median = times.get(runs / 2).copied().unwrap_or_default();
    println!("{what:<25} {:>9.2} µs", millis(median) * 1e3);
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn tools_of_file(path: &str) -> Result<Vec<Tool>, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    let servers: BTreeMap<String, Vec<Tool>> = serde_json::from_str(&text)?;
    Ok(servers.into_values().flatten().collect())
}

/// Tools of about the size of real ones, of words that are as rare as real ones.
fn made_up_tools(count: usize) -> Result<Vec<Tool>, serde_json::Error> {
    let verbs = [
        "create", "list", "get", "delete", "update", "search", "move", "copy",
    ];
    let things = [
        "issue", "user", "project", "domain", "record", "message", "file", "branch",
    ];
    let word = |number: usize| {
        // Some words are everywhere, most are rare.
        let number = number.wrapping_mul(2_654_435_761) % 4_000;
        format!("word{}", number * number / 4_000)
    };
    let pick = |words: &[&str], number: usize| {
        words
            .get(number % words.len())
            .copied()
            .unwrap_or_default()
            .to_owned()
    };
    let text = |seed: usize, length: usize| {
        let words: Vec<String> = (0..length).map(|place| word(seed * 131 + place)).collect();
        words.join(" ")
    };
    let tools = (0..count).map(|number| {
        let (verb, thing) = (pick(&verbs, number), pick(&things, number / 8));
        let properties: serde_json::Map<String, serde_json::Value> = (0..6)
            .map(|place| {
                let description = text(number * 7 + place, 8);
                (
                    word(number + place),
                    json!({"type": "string", "description": description}),
                )
            })
            .collect();
        serde_json::from_value(json!({
            "name": format!("{verb}_{thing}_{}", word(number)),
            "description": format!("Can {verb} the {thing} of a team. {}", text(number, 24)),
            "inputSchema": {"type": "object", "properties": properties},
        }))
    });
    tools.collect()
}
