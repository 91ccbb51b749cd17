//! `docs/revisions.md` is written from the method table and the list of losses.
//!
//! `SWITCHBOARD_BLESS=1` writes the file; otherwise it must already say the same.

use std::fmt::Write as _;
use std::path::Path;

use switchboard_protocol::method::{Kind, Need, Rule, Sender};
use switchboard_protocol::revision::losses;
use switchboard_protocol::{Method, Revision};

#[test]
fn the_document_says_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/revisions.md");
    let expected = document();
    if std::env::var_os("SWITCHBOARD_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &expected).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == expected,
        "docs/revisions.md is out of date: run the tests with SWITCHBOARD_BLESS=1"
    );
}

fn document() -> String {
    let mut text = String::from(HEADER);
    methods(&mut text);
    matrix(&mut text);
    lost(&mut text);
    text
}

fn methods(text: &mut String) {
    text.push_str(METHODS);
    for rule in Method::table() {
        line(
            text,
            &[
                &format!("`{}`", rule.name),
                kind(rule),
                sender(rule.handshake),
                sender(rule.stateless),
                rule.since.as_str(),
                rule.until.as_str(),
                need(rule.needs),
                &rule.mirrored.map_or(String::new(), |p| format!("`{p}`")),
                yes(rule.cacheable),
                yes(rule.may_ask),
            ],
        );
    }
}

fn matrix(text: &mut String) {
    text.push_str("\n## Methods by revision\n\n");
    let mut heads = vec!["method"];
    heads.extend(Revision::ALL.iter().map(|r| r.as_str()));
    line(text, &heads);
    line(text, &vec!["---"; heads.len()]);
    for rule in Method::table() {
        let name = format!("`{}`", rule.name);
        let mut cells = vec![name.as_str()];
        cells.extend(Revision::ALL.iter().map(|&revision| {
            if rule.method.exists_in(revision) {
                sender(rule.method.sender(revision.era()))
            } else {
                ""
            }
        }));
        line(text, &cells);
    }
}

fn lost(text: &mut String) {
    text.push_str(LOST);
    for revision in Revision::ALL.iter().rev() {
        let _ = write!(text, "\n### {revision}\n\n");
        line(text, &["what it does not have", "is written as"]);
        line(text, &["---", "---"]);
        for loss in losses().filter(|loss| loss.revision == *revision) {
            line(text, &[loss.what, loss.becomes]);
        }
    }
}

fn line(text: &mut String, cells: &[&str]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

const fn kind(rule: &Rule) -> &'static str {
    match rule.kind {
        Kind::Request => "request",
        Kind::Notification => "notification",
    }
}

const fn sender(sender: Sender) -> &'static str {
    match sender {
        Sender::Client => "client",
        Sender::Server => "server",
        Sender::Either => "either",
        Sender::InsideResult => "server, inside a result",
        Sender::Nobody => "",
    }
}

const fn need(need: Need) -> &'static str {
    match need {
        Need::Nothing => "",
        Need::Tools => "`tools`",
        Need::Resources => "`resources`",
        Need::ResourceSubscriptions => "`resources.subscribe`",
        Need::Prompts => "`prompts`",
        Need::Completions => "`completions`",
        Need::Logging => "`logging`",
        Need::Sampling => "`sampling`",
        Need::Roots => "`roots`",
        Need::Elicitation => "`elicitation`",
        Need::Tasks => "`tasks`",
        Need::TaskList => "`tasks.list`",
        Need::TaskCancel => "`tasks.cancel`",
    }
}

const fn yes(yes: bool) -> &'static str {
    if yes { "yes" } else { "" }
}

const HEADER: &str = "\
# Methods and revisions

Written by a test from the table in `crates/protocol/src/method.rs` and the losses in
`crates/protocol/src/revision/`. Do not edit: change those, then run
`SWITCHBOARD_BLESS=1 cargo test -p switchboard-protocol --test it revisions_doc`.
";

const METHODS: &str = "
## Methods

Who sends it in the handshake era (2024-11-05 to 2025-11-25) and in the stateless era
(2026-07-28); what the receiver must have declared; which parameter the `Mcp-Name` header
repeats; whether the result carries caching hints; whether it may be `input_required`.
Methods of tasks in 2026-07-28 belong to the tasks extension.

| method | kind | handshake | stateless | since | until | needs | `Mcp-Name` | cacheable | may ask |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

const LOST: &str = "
## What a value loses on the way down

A peer is sent what its own revision has. What the revision does not have is taken out, or
becomes the nearest honest form. A peer of the handshake era loses what is listed for its
revision and for every newer one of that era; 2026-07-28 stands beside them, for what it
dropped. Members that no revision knows are kept. What would come to mean something else is
refused by `StepDown::check_step_down`.
";
