//! The first steps of a server that is a program: is it there, does it start?

use std::env;
use std::path::{Path, PathBuf};
use std::time::Instant;

use switchboard_client::{Client, Phase, Reason, Report, State};
use switchboard_hub::{Resolved, ServerConfig, TransportConfig};
use switchboard_protocol::machine::client::Failure;

use super::talk::{self, Heard};
use super::{Chart, cure};
use crate::exit::Exit;

pub(super) async fn check(config: &ServerConfig, resolved: Resolved, chart: &mut Chart) {
    let TransportConfig::Stdio(stdio) = &config.transport else {
        return;
    };
    let program = stdio.command.as_literal();
    let found = program.as_deref().and_then(find);
    let heard = Heard::default();
    let started = Instant::now();
    let client = Client::start(resolved.spec, heard.host());
    let opened = client.ready().await;
    let time = started.elapsed();
    let report = match client.state() {
        State::Failed(report) | State::NeedsLogin(report) => Some(report),
        _ => None,
    };
    if let Some(report) = report
        .as_ref()
        .filter(|report| report.phase == Phase::Start)
    {
        if let Reason::Start(error) = &report.reason {
            let cure = cure::of_start(error.as_ref(), program.as_deref());
            return chart.fail(Exit::Unreachable, "command", error.to_string(), cure);
        }
        return chart.fail(Exit::Unreachable, "command", report.to_string(), cure::OURS);
    }
    let shown = found.map(|path| path.display().to_string());
    chart.ok(
        "command",
        shown.or(program).unwrap_or_else(|| "found".to_owned()),
    );
    if let Some((report, exit)) = report
        .as_ref()
        .and_then(|report| Some((report, ended(report)?)))
    {
        let mut detail = format!("it {exit}{}", talk::last_lines(&report.stderr));
        if let Some(noise) = &report.first_noise {
            detail = format!("{detail}; on its standard output: {noise:?}");
        }
        let cure = cure::of_exit(report, config);
        return chart.fail(Exit::Unreachable, "start", detail, cure);
    }
    chart.ok("start", "it runs");
    talk::check(client, opened, time, Some(&heard), chart).await;
}

/// How it ended by itself, before it said anything of the protocol. One that was ended by us did
/// start.
fn ended(report: &Report) -> Option<&str> {
    let is_gone = matches!(report.reason, Reason::Protocol(Failure::PeerClosed(_)));
    report.exit.as_deref().filter(|_| is_gone)
}

/// Where a program is that is looked for by name: for people, who have several.
fn find(program: &str) -> Option<PathBuf> {
    if Path::new(program).components().count() > 1 {
        return Some(PathBuf::from(program));
    }
    let folders = env::var_os("PATH")?;
    let mut places = env::split_paths(&folders).map(|folder| folder.join(program));
    places.find(|place| place.is_file())
}
