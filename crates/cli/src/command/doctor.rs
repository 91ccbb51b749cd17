//! `switchboard doctor`.

use std::sync::Arc;

use serde_json::json;
use switchboard_hub::{Config, Problem};
use tokio::task::JoinSet;

use crate::app::App;
use crate::args::check::Doctor;
use crate::doctor::{Check, Examined, Patient, Verdict, examine};
use crate::exit::{Exit, Failure};
use crate::output::{Line, Outcome, Page, Style};
use crate::source::{self, Source};

pub(crate) async fn run(args: &Doctor, app: &App) -> Result<Outcome, Failure> {
    let patients = patients(args, app).await?;
    let all = patients.len();
    let mut waiting = JoinSet::new();
    for (place, patient) in patients.into_iter().enumerate() {
        waiting.spawn(async move { (place, examine(patient).await) });
    }
    let status = app.output.status(&format!("examining {all} servers"));
    let mut found = Vec::new();
    while let Some(ended) = waiting.join_next().await {
        found.push(ended.map_err(|error| Failure::unexpected(error.to_string()))?);
        status.say(&format!("examining {all} servers, {} done", found.len()));
    }
    drop(status);
    found.sort_by_key(|(place, _)| *place);
    let found: Vec<Examined> = found.into_iter().map(|(_, examined)| examined).collect();
    let failure = judge(&found);
    let outcome = Outcome::of(app, || page(&found), || json!({ "servers": found }));
    Ok(outcome.lines(&["servers"]).but(failure))
}

async fn patients(args: &Doctor, app: &App) -> Result<Vec<Patient>, Failure> {
    let timeout = app.global.timeout;
    let server = args.of.server.as_deref();
    if let Some(config) = source::given(server, &args.of.spot)? {
        return Ok(vec![Patient {
            config,
            file: None,
            problems: Vec::new(),
            timeout,
            surroundings: Arc::new(app.surroundings(&Config::default())),
            is_meant: true,
        }]);
    }
    let source = Source::agreed(app).await?;
    if let Some(name) = server {
        source.check_server(name)?;
    }
    let is_meant = |name: &str| server.is_none_or(|meant| meant == name);
    for problem in source.config.errors() {
        let name = problem.server.as_deref();
        // One that cannot even be read is nobody to examine.
        if name.is_none_or(|name| source.config.server(name).is_none()) && server.is_none() {
            app.output.warn(&problem.to_string());
        }
    }
    let file = source
        .file
        .as_deref()
        .map(|file| file.display().to_string());
    let of = |name: &str| -> Vec<Problem> {
        let problems = source.config.problems.iter();
        let own = problems.filter(|problem| problem.server.as_deref() == Some(name));
        own.cloned().collect()
    };
    let chosen = source
        .config
        .servers
        .iter()
        .filter(|config| is_meant(&config.name));
    let surroundings = Arc::new(app.surroundings(&source.config));
    let patients = chosen.map(|config| Patient {
        problems: of(&config.name),
        config: config.clone(),
        file: file.clone(),
        timeout,
        surroundings: Arc::clone(&surroundings),
        is_meant: server.is_some(),
    });
    Ok(patients.collect())
}

/// How it ends: as the one server does, or in general if there are several.
fn judge(found: &[Examined]) -> Option<Failure> {
    let mut failed = found.iter().filter(|examined| examined.exit != Exit::Done);
    let first = failed.next()?;
    let count = 1 + failed.count();
    let last = first
        .checks
        .iter()
        .rev()
        .find(|check| check.verdict == Verdict::Fail);
    let detail = last.map(|check| format!("{}: {}", check.check, check.detail));
    let cure = last.and_then(|check| check.cure.clone());
    let mut failure = match (count == found.len(), found.len()) {
        (_, 1) => Failure::new(first.exit, detail.unwrap_or_default()).server(&first.server),
        (true, all) => Failure::new(first.exit, format!("all {all} servers failed")),
        (false, all) => {
            return Some(
                Failure::new(Exit::Partial, format!("{count} of {all} servers failed")).told(),
            );
        }
    };
    failure.hint = cure;
    Some(failure.told())
}

fn page(found: &[Examined]) -> Page {
    let mut page = Page::new();
    for examined in found {
        page = page.blank().line(
            Line::new()
                .strong(&examined.server)
                .faint(format!("  {}", examined.target)),
        );
        for check in &examined.checks {
            page = line(page, check);
        }
    }
    if found.is_empty() {
        return page.line("there are no servers");
    }
    let bad = found
        .iter()
        .filter(|examined| examined.exit != Exit::Done)
        .count();
    let doubtful = found.iter().filter(|examined| {
        let mut checks = examined.checks.iter();
        examined.exit == Exit::Done && checks.any(|check| check.verdict == Verdict::Warn)
    });
    let doubtful = doubtful.count();
    let is_off = |examined: &&Examined| {
        let last = examined.checks.last();
        last.is_some_and(|check| check.verdict == Verdict::Skip)
    };
    let off = found.iter().filter(is_off).count();
    let good = found.len().saturating_sub(bad + doubtful + off);
    let off = match off {
        0 => String::new(),
        off => format!(", {off} switched off"),
    };
    page.blank().line(format!(
        "{good} well, {doubtful} with warnings, {bad} failed{off}"
    ))
}

fn line(page: Page, check: &Check) -> Page {
    let (mark, style) = match check.verdict {
        Verdict::Ok => ("ok  ", Style::Good),
        Verdict::Warn => ("warn", Style::Notable),
        Verdict::Fail => ("FAIL", Style::Bad),
        Verdict::Skip => ("skip", Style::Faint),
    };
    let mut line = Line::new()
        .plain("  ")
        .styled(style, mark)
        .plain(format!("  {:<10} {}", check.check, check.detail));
    if let Some(milliseconds) = check.milliseconds {
        line = line.faint(format!("  {milliseconds} ms"));
    }
    let page = page.line(line);
    match &check.cure {
        Some(cure) => page.line(format!("                   → {cure}")),
        None => page,
    }
}
