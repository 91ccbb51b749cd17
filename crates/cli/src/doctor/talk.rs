//! What servers of both kinds share: the handshake, the revision, the lists.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use switchboard_client::{Client, Era, Error, Handlers, Ready, Refusal, State};

use super::{Chart, cure};
use crate::exit::{Exit, Failure};

/// What a server wrote beside its messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(Arc<Mutex<(u64, Option<String>)>>);

impl Heard {
    /// A host that hears it.
    pub(super) fn host(&self) -> Handlers {
        let heard = self.clone();
        let nobody = || Refusal::by_user("nobody is asked during an examination");
        // With what the other verbs can do: some servers have more tools for such hosts.
        let host = Handlers::new()
            .on_form(move |_, _| async move { Err(nobody()) })
            .on_url(move |_, _| async move { Err(nobody()) });
        host.on_noise(move |line| {
            let mut heard = heard.0.lock().unwrap_or_else(PoisonError::into_inner);
            heard.0 += 1;
            heard.1.get_or_insert_with(|| line.to_owned());
        })
    }

    fn noise(&self) -> (u64, Option<String>) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// From the handshake to the lists. The client is closed in the end. What it wrote beside its
/// messages is only heard of one that has a standard output.
pub(super) async fn check(
    client: Client,
    opened: Result<Arc<Ready>, Error>,
    time: Duration,
    heard: Option<&Heard>,
    chart: &mut Chart,
) {
    let noise = |chart: &mut Chart| heard.into_iter().for_each(|heard| noise(heard, chart));
    match opened {
        Ok(ready) => {
            said(&ready, time, chart);
            lists(&client, &ready, chart).await;
            noise(chart);
        }
        Err(error) => {
            noise(chart);
            failed(&client, error, time, chart);
        }
    }
    client.close().await;
}

/// Who it is, and what it speaks.
pub(super) fn said(ready: &Ready, time: Duration, chart: &mut Chart) {
    let who = match &ready.server {
        Some(server) => format!("{} {}", server.name, server.version),
        None => "it does not say who it is".to_owned(),
    };
    chart.ok("handshake", who).took(time);
    let era = match ready.revision.era() {
        Era::Stateless => "stateless era",
        Era::Handshake => "handshake era",
    };
    chart.ok("revision", format!("{}, {era}", ready.revision));
}

fn failed(client: &Client, error: Error, time: Duration, chart: &mut Chart) {
    let state = client.state();
    if let State::NeedsLogin(report) = &state {
        let cure = chart.login();
        return chart.fail(Exit::LoginRequired, "login", report.to_string(), cure);
    }
    let report = match &state {
        State::Failed(report) => Some(report),
        _ => None,
    };
    let cure = report.map(|report| cure::of_report(report));
    let detail = match report {
        Some(report) => format!("{}{}", report.reason, last_lines(&report.stderr)),
        None => error.to_string(),
    };
    let exit = Failure::from(error).exit;
    chart.fail(
        exit,
        "handshake",
        detail,
        cure.unwrap_or_else(|| cure::OURS.to_owned()),
    );
    if let Some(check) = chart.checks.last_mut() {
        check.took(time);
    }
}

async fn lists(client: &Client, ready: &Ready, chart: &mut Chart) {
    let offers = &ready.capabilities;
    let started = Instant::now();
    let mut shown = Vec::new();
    let mut wrong = None;
    if offers.tools.is_some() {
        match client.tools().await {
            Ok(tools) => shown.push(many(tools.iter().count(), "tool")),
            Err(error) => wrong = Some(("tools", error)),
        }
    }
    if offers.prompts.is_some() && wrong.is_none() {
        match client.prompts().await {
            Ok(prompts) => shown.push(many(prompts.len(), "prompt")),
            Err(error) => wrong = Some(("prompts", error)),
        }
    }
    if offers.resources.is_some() && wrong.is_none() {
        match client.resources().await {
            Ok(resources) => shown.push(many(resources.len(), "resource")),
            Err(error) => wrong = Some(("resources", error)),
        }
    }
    let time = started.elapsed();
    if let Some((list, error)) = wrong {
        let failure = Failure::from(error);
        let cure = match failure.exit {
            Exit::LoginRequired => chart.login(),
            Exit::Unreachable => "it may need longer: `--timeout 2m`".to_owned(),
            _ => {
                let raw = chart.raw(&format!("{list}/list"));
                format!("{raw} shows the answer; tell its authors")
            }
        };
        chart.fail(failure.exit, "lists", failure.message, cure);
        return;
    }
    match shown.is_empty() {
        true => chart.warn(
            "lists",
            "it offers nothing",
            "look into its documentation: it may want to be configured",
        ),
        false => chart.ok("lists", shown.join(", ")).took(time),
    }
}

fn noise(heard: &Heard, chart: &mut Chart) {
    match heard.noise() {
        (0, _) => {
            chart.ok("stdout", "only messages");
        }
        (count, first) => {
            let first = first.unwrap_or_default();
            let detail = format!("{}, the first {first:?}", many_lines(count));
            let cure = "only messages belong there, and some clients give up at others: let it log to standard error";
            chart.warn("stdout", detail, cure);
        }
    }
}

/// The last words of a process, as a part of a sentence.
pub(super) fn last_lines(stderr: &str) -> String {
    let lines = stderr
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    let from = lines.len().saturating_sub(LAST);
    match lines.get(from..) {
        Some(last) if !last.is_empty() => format!("; it said: {}", last.join(" | ")),
        _ => String::new(),
    }
}

fn many_lines(count: u64) -> String {
    match count {
        1 => "1 line is no message".to_owned(),
        count => format!("{count} lines are no messages"),
    }
}

fn many(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    }
}

/// Lines of standard error that are shown; the reason is mostly among the last.
const LAST: usize = 3;
