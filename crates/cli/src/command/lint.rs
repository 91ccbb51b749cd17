//! `switchboard lint`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_hub::{MemberState, PinKind};
use switchboard_protocol::types::Tool;

use crate::app::App;
use crate::args::check::Lint;
use crate::exit::{Exit, Failure};
use crate::lint::{Finding, RULES, Severity, Subject, lint, lint_words};
use crate::output::{Column, Line, Outcome, Page, Style, Table};
use crate::servers::Servers;
use crate::tool_file::ToolFile;

pub(crate) async fn run(args: &Lint, app: &App) -> Result<Outcome, Failure> {
    if args.rules {
        return Ok(rules(app));
    }
    let Found {
        tools,
        others,
        partial,
    } = match &args.file {
        Some(path) => {
            let file = ToolFile::read(path)?;
            Found {
                tools: vec![(file.server, file.tools)],
                others: Vec::new(),
                partial: None,
            }
        }
        None => of_servers(args, app).await?,
    };
    let subjects: Vec<Subject<'_>> = tools
        .iter()
        .flat_map(|(server, tools)| tools.iter().map(|tool| Subject { server, tool }))
        .collect();
    let mut findings = lint(&subjects);
    for (server, place, definition) in &others {
        findings.extend(lint_words(server, place, definition));
    }
    let count = Count::of(&findings);
    let failure = count.failure(args.strict).or(partial);
    let outcome = Outcome::of(
        app,
        || page(&findings, &count, subjects.len(), args.all),
        || {
            json!({
                "findings": findings,
                "tools": subjects.len(),
                "errors": count.errors,
                "warnings": count.warnings,
                "notes": count.notes,
            })
        },
    );
    Ok(outcome.lines(&["findings"]).but(failure))
}

/// Everything that the servers list, whatever of it may be used.
async fn of_servers(args: &Lint, app: &App) -> Result<Found, Failure> {
    let servers = Servers::open_to_judge(app, &args.of).await?;
    let failures = servers.connect(app).await;
    let partial = servers.judge(app, failures)?;
    let catalog = servers.hub.catalog();
    let tools = servers.names.iter().map(|name| {
        for note in catalog.notes_of(name) {
            app.output.warn(&format!("{name}: {note}"));
        }
        (
            name.clone(),
            catalog.listed_by(name).tools.unwrap_or_default(),
        )
    });
    let tools = tools.collect();
    Ok(Found {
        tools,
        others: others(&servers),
        partial,
    })
}

/// What servers say to models beside their tools: the server, what it is, and its words.
pub(super) fn others(servers: &Servers) -> Vec<(String, String, Value)> {
    let catalog = servers.hub.catalog();
    let mut others = Vec::new();
    for status in servers.hub.servers() {
        let mut add = |kind: PinKind, name: &str, definition: Value| {
            let place = format!("{kind} {name}");
            others.push((
                status.name.to_string(),
                place.trim_end().to_owned(),
                definition,
            ));
        };
        if let MemberState::Ready(ready) = &status.state
            && let Some(text) = &ready.instructions
        {
            add(PinKind::Instructions, "", text.as_str().into());
        }
        let listed = catalog.listed_by(&status.name);
        for prompt in listed.prompts.unwrap_or_default() {
            add(PinKind::Prompt, &prompt.name, json!(prompt));
        }
        for template in listed.templates.unwrap_or_default() {
            add(PinKind::Template, &template.uri_template, json!(template));
        }
        for resource in listed.resources.unwrap_or_default() {
            add(PinKind::Resource, &resource.uri, json!(resource));
        }
    }
    others
}

/// What is looked at.
struct Found {
    /// By server.
    tools: Vec<(String, Vec<Tool>)>,
    /// What else a server says to models: the server, what it is, and its words.
    others: Vec<(String, String, Value)>,
    partial: Option<Failure>,
}

struct Count {
    errors: usize,
    warnings: usize,
    notes: usize,
}

impl Count {
    fn of(findings: &[Finding]) -> Self {
        let count = |severity| {
            let same = findings
                .iter()
                .filter(|finding| finding.severity == severity);
            same.count()
        };
        Self {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            notes: count(Severity::Note),
        }
    }

    /// The rules are a policy, and the tools were refused by it.
    fn failure(&self, is_strict: bool) -> Option<Failure> {
        let is_bad = self.errors > 0 || (is_strict && self.warnings > 0);
        let message = format!(
            "{}, {}",
            many(self.errors, "error"),
            many(self.warnings, "warning")
        );
        is_bad.then(|| Failure::new(Exit::Refused, message).told())
    }
}

fn page(findings: &[Finding], count: &Count, tools: usize, all: bool) -> Page {
    let mut page = Page::new();
    // By server and rule: what one tool does wrong, its neighbours do too.
    let mut groups: BTreeMap<&str, Vec<Vec<&Finding>>> = BTreeMap::new();
    for finding in findings {
        if finding.severity == Severity::Note && !all {
            continue;
        }
        let group = groups.entry(&finding.server).or_default();
        let is_same =
            |same: &&mut Vec<&Finding>| same.first().is_some_and(|one| one.rule == finding.rule);
        match group.iter_mut().find(is_same) {
            Some(same) => same.push(finding),
            None => group.push(vec![finding]),
        }
    }
    for (server, mut group) in groups {
        page = page.blank().line(Line::new().strong(server));
        group.sort_by_key(|same| std::cmp::Reverse(same.first().map(|one| one.severity)));
        for same in group {
            page = entry(page, &same, all);
        }
    }
    let notes = match (all, count.notes) {
        (false, 1..) => format!(", {} (--all shows them)", many(count.notes, "note")),
        _ => format!(", {}", many(count.notes, "note")),
    };
    page.blank().line(format!(
        "{}: {}, {}{notes}",
        many(tools, "tool"),
        many(count.errors, "error"),
        many(count.warnings, "warning"),
    ))
}

fn entry(mut page: Page, same: &[&Finding], all: bool) -> Page {
    let Some(first) = same.first() else {
        return page;
    };
    let (word, style) = match first.severity {
        Severity::Error => ("error  ", Style::Bad),
        Severity::Warning => ("warning", Style::Notable),
        Severity::Note => ("note   ", Style::Faint),
    };
    let line = Line::new().plain("  ").styled(style, word);
    page = page.line(
        line.plain(format!("  {}", first.summary))
            .faint(format!("  [{}: {}]", first.rule, first.whose)),
    );
    let most = if all { usize::MAX } else { PLACES };
    for finding in same.iter().take(most) {
        let mut line = Line::new().plain(MARGIN);
        if let Some(tool) = &finding.tool {
            line = line.plain(tool).faint(format!(" {}", finding.place));
        } else if !finding.place.is_empty() {
            line = line.faint(finding.place.as_str());
        }
        page = page.line(match finding.detail.as_str() {
            "" => line,
            detail => line.plain(format!("  {detail}")),
        });
    }
    if let more @ 1.. = same.len().saturating_sub(most) {
        page = page.line(Line::new().faint(format!("{MARGIN}and {more} more (--all)")));
    }
    page.line(Line::new().plain(MARGIN).good(format!("→ {}", first.cure)))
}

fn rules(app: &App) -> Outcome {
    let page = || {
        let mut table = Table::new([
            Column::left("RULE"),
            Column::left("SEVERITY"),
            Column::left("WHOSE"),
            Column::rest("WHAT"),
        ]);
        for rule in RULES {
            let severity = format!("{:?}", rule.severity).to_lowercase();
            table.row([
                rule.id.into(),
                severity.into(),
                rule.whose.words().into(),
                rule.summary.into(),
            ]);
        }
        Page::new().table(table)
    };
    let json = || {
        let rules = RULES.iter().map(|rule| {
            json!({
                "rule": rule.id,
                "severity": rule.severity,
                "whose": rule.whose.words(),
                "summary": rule.summary,
                "cure": rule.cure,
            })
        });
        json!({ "rules": rules.collect::<Vec<_>>() })
    };
    Outcome::of(app, page, json).lines(&["rules"])
}

fn many(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    }
}

/// Places of one entry that are shown to people.
const PLACES: usize = 4;
const MARGIN: &str = "           ";
