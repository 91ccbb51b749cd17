//! `switchboard lock`: what servers run and say is written down, or held against what was.
//!
//! What is pinned, and what has changed, is for the hub to say (`switchboard_hub::Lock`).

use serde_json::{Value, json};
use switchboard_hub::{
    Lock, MemberState, PinChange, PinDifference, PinKind, PinnedField, PinnedServer, is_invisible,
};

use crate::app::App;
use crate::args::check;
use crate::edit::{EditedFile, unified};
use crate::exit::{Exit, Failure};
use crate::lint::{Severity, Subject, is_about_safety, lint, lint_words};
use crate::locking;
use crate::output::{Line, Outcome, Page, Style};
use crate::servers::Servers;
use crate::source::Source;

pub(crate) async fn run(args: &check::Lock, app: &App) -> Result<Outcome, Failure> {
    let source = Source::agreed(app).await?;
    for name in &args.servers {
        source.check_server(name)?;
    }
    let path = locking::place(&app.global, &source);
    let (file, text) = EditedFile::open(&path)?;
    let name = path.display().to_string();
    let old = match file.is_new() {
        // There is nothing to hold anything against.
        true if args.check => Lock::read(&path)?,
        true => Lock::new(),
        false => Lock::parse(&text, &name)?,
    };
    let only: Vec<&str> = args.servers.iter().map(String::as_str).collect();
    let only = (!only.is_empty()).then_some(&*only);
    let servers = Servers::to_judge(app, source, only);
    let failures = servers.connect(app).await;
    let failure = servers.judge(app, failures)?;
    let new = pinned(args, &servers, &old);
    let differences = old.differences(&new);
    let new_text = new.to_text();
    let is_written = !args.check && new_text != text;
    if is_written {
        file.replace(&new_text)?;
    }
    if !args.check {
        warn_of_deceit(app, &servers, &differences);
    }
    let refusal = (args.check && !differences.is_empty()).then(|| {
        let message = format!("{} from {name}", many(differences.len(), "difference"));
        Failure::new(Exit::Refused, message).told()
    });
    let page = || {
        let mut page = differences.iter().fold(Page::new(), |page, difference| {
            show(page, difference, new.server(&difference.server))
        });
        if !differences.is_empty() {
            page = page.blank();
        }
        page.line(match (args.check, differences.len()) {
            (true, 0) => format!("{name}: nothing is different: {}", counts(&new)),
            (true, count) => format!(
                "{name}: {}; `switchboard lock` approves what is there now",
                many(count, "difference"),
            ),
            (false, _) if is_written => format!("wrote {name}: {}", counts(&new)),
            (false, _) => format!("{name} stays as it is: {}", counts(&new)),
        })
    };
    let document = || {
        json!({
            "file": name,
            "written": is_written,
            "differences": differences.iter().map(document_of).collect::<Vec<_>>(),
            "servers": new.servers().collect::<Vec<_>>(),
        })
    };
    let outcome = Outcome::of(app, page, document);
    Ok(outcome.lines(&["differences"]).but(refusal.or(failure)))
}

/// The lock as it is now: those that answered anew, the others as they were.
fn pinned(args: &check::Lock, servers: &Servers, old: &Lock) -> Lock {
    let mut new = old.clone();
    let config = &servers.config;
    if args.servers.is_empty() {
        let is_there = |name: &str| config.server(name).is_some();
        let is_broken = |name: &str| config.broken.iter().any(|broken| broken == name);
        for name in old
            .servers()
            .filter(|name| !is_there(name) && !is_broken(name))
        {
            new.remove(name);
        }
    }
    let catalog = servers.hub.catalog();
    for status in servers.hub.servers() {
        let Some(server) = config.server(&status.name) else {
            continue;
        };
        let MemberState::Ready(ready) = &status.state else {
            // What would run is known all the same; approved is only what was seen.
            if let Some(before) = old.server(&status.name).filter(|_| args.check) {
                new.set(&status.name, before.clone().running(server));
            }
            continue;
        };
        let listed = catalog.listed_by(&status.name);
        let mut now = PinnedServer::new(server, &listed, ready.instructions.as_deref());
        let before = old.server(&status.name);
        if args.no_resources || before.is_some_and(|before| !before.has_resources()) {
            now = now.without_resources();
        }
        new.set(&status.name, now);
    }
    new
}

/// Whoever approves something should know what it does to models.
fn warn_of_deceit(app: &App, servers: &Servers, differences: &[PinDifference]) {
    let is_new = |server: &str, what: &str| {
        differences.iter().any(|difference| {
            let PinDifference { kind, name, .. } = difference;
            let is_whole = *kind == PinKind::Server && difference.change == PinChange::Added;
            let is_it = || format!("{kind} {name}").trim_end() == what;
            difference.server == server && (is_whole || is_it())
        })
    };
    let catalog = servers.hub.catalog();
    let tools: Vec<_> = servers
        .names
        .iter()
        .map(|name| (name, catalog.listed_by(name).tools.unwrap_or_default()))
        .collect();
    let subjects: Vec<Subject<'_>> = tools
        .iter()
        .flat_map(|(server, tools)| tools.iter().map(move |tool| Subject { server, tool }))
        .collect();
    let of_tools = lint(&subjects).into_iter().filter_map(|finding| {
        let what = format!("{} {}", PinKind::Tool, finding.tool.as_deref()?);
        Some((what, finding))
    });
    let others = super::lint::others(servers);
    let of_others = others.iter().flat_map(|(server, what, definition)| {
        let findings = lint_words(server, what, definition).into_iter();
        findings.map(|finding| (what.clone(), finding))
    });
    for (what, finding) in of_tools.chain(of_others) {
        let is_bad = finding.severity == Severity::Error && is_about_safety(&finding);
        if is_bad && is_new(&finding.server, &what) {
            let words = format!("{what} of {}: {}", finding.server, finding.message);
            app.output
                .warn(&format!("{} (`switchboard lint`)", seen(&words)));
        }
    }
}

fn show(page: Page, difference: &PinDifference, server: Option<&PinnedServer>) -> Page {
    let (style, word) = match difference.change {
        PinChange::Added => (Style::Good, "added  "),
        PinChange::Removed => (Style::Bad, "removed"),
        PinChange::Changed => (Style::Notable, "changed"),
    };
    let name = match difference.kind {
        PinKind::Server | PinKind::Instructions => difference.server.clone(),
        _ => format!("{}.{}", difference.server, difference.name),
    };
    let line = Line::new().styled(style, word);
    let line = line.plain(format!("  {} ", difference.kind));
    let mut page = page.line(line.strong(seen(&name)));
    if let (PinKind::Server, PinChange::Added, Some(server)) =
        (difference.kind, difference.change, server)
    {
        let counted = count(std::iter::once(server));
        return page.line(Line::new().faint(format!("{MARGIN}{counted}")));
    }
    for field in &difference.fields {
        // Of what is new, what a model is told is enough.
        let is_told = matches!(&*field.place, "/description" | "");
        if difference.change == PinChange::Changed || is_told {
            page = show_field(page, field, difference.change);
        }
    }
    page
}

fn show_field(mut page: Page, field: &PinnedField, change: PinChange) -> Page {
    let place = field.place.trim_start_matches('/');
    if change == PinChange::Changed && !place.is_empty() {
        page = page.line(Line::new().plain(MARGIN).faint(seen(place)));
    }
    let text = |side: &Option<String>| side.as_deref().map(text_of).unwrap_or_default();
    // Line by line, as everybody writes it; without what is only for programs.
    let lines = unified("", &text(&field.old), &text(&field.new));
    for line in lines.lines().skip(2) {
        let style = match line.chars().next() {
            Some('+') => Style::Good,
            Some('-') => Style::Bad,
            Some(' ') => Style::Plain,
            _ => continue,
        };
        let (sign, words) = line.split_at_checked(1).unwrap_or((line, ""));
        let line = Line::new().plain(MARGIN);
        page = page.line(line.styled(style, format!("{sign} {}", seen(words))));
    }
    page
}

/// A text as its lines, anything else as JSON.
fn text_of(json: &str) -> String {
    let text = serde_json::from_str::<String>(json);
    let mut text = text.unwrap_or_else(|_| json.to_owned());
    text.push('\n');
    text
}

/// With what nobody would see.
fn seen(text: &str) -> String {
    let mut seen = String::with_capacity(text.len());
    for character in text.chars() {
        match is_invisible(character) {
            true => seen.extend(character.escape_unicode()),
            false => seen.push(character),
        }
    }
    seen
}

fn document_of(difference: &PinDifference) -> Value {
    let value = |side: &Option<String>| -> Value {
        let side = side.as_deref().map(serde_json::from_str);
        side.and_then(Result::ok).unwrap_or_default()
    };
    let fields = difference.fields.iter().map(|field| {
        let mut document = json!({"place": field.place});
        for (name, side) in [("old", &field.old), ("new", &field.new)] {
            if side.is_some() {
                document[name] = value(side);
            }
        }
        document
    });
    json!({
        "server": difference.server,
        "kind": difference.kind.word(),
        "name": difference.name,
        "change": difference.change.word(),
        "fields": fields.collect::<Vec<_>>(),
    })
}

fn counts(lock: &Lock) -> String {
    let servers = lock.servers().filter_map(|name| lock.server(name));
    let servers: Vec<&PinnedServer> = servers.collect();
    let counted = count(servers.iter().copied());
    format!("{}, {counted}", many(servers.len(), "server"))
}

fn count<'a>(servers: impl Iterator<Item = &'a PinnedServer> + Clone) -> String {
    let kinds = [
        PinKind::Tool,
        PinKind::Prompt,
        PinKind::Template,
        PinKind::Resource,
    ];
    let counted = kinds.iter().filter_map(|kind| {
        let count = servers.clone().map(|server| server.count(*kind)).sum();
        (count > 0 || *kind == PinKind::Tool).then(|| many(count, kind.word()))
    });
    counted.collect::<Vec<_>>().join(", ")
}

fn many(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    }
}

const MARGIN: &str = "         ";
