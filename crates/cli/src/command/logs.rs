//! `switchboard logs`: what a gateway and its servers have said.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::app::App;
use crate::args::serve::Logs;
use crate::control::{Request, choose};
use crate::exit::Failure;
use crate::json::Json;
use crate::output::{Line, Outcome, Page};

pub(crate) async fn run(args: &Logs, app: &App) -> Result<Outcome, Failure> {
    let visit = choose(args.of.socket.as_deref(), app.global.config.as_deref()).await?;
    let request = Request::Logs {
        server: args.server.clone(),
        follow: args.follow,
        last: args.last,
    };
    let told = visit.follow(&request, |entry| {
        app.output.stream(|| shown(&entry), || entry.clone())
    });
    told.await?;
    Ok(Outcome::nothing())
}

fn shown(entry: &Json) -> Page {
    let text = |name: &str| entry.get(name).and_then(Json::as_str).unwrap_or_default();
    let time = match entry.get("time") {
        Some(Json::Number(time)) => time.as_u64().unwrap_or_default(),
        _ => 0,
    };
    let mut line = Line::new().faint(format!("{} ", since(time)));
    if !text("server").is_empty() {
        line = line.strong(text("server")).plain(" ");
    }
    let line = line.faint(format!("{} ", text("kind")));
    Page::new().line(line.plain(text("text")))
}

/// How long ago it was: without a table of time zones, nobody can be told his own time.
fn since(time: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
    let seconds = now.saturating_sub(time) / 1_000;
    match seconds {
        0..60 => format!("-{seconds}s"),
        60..3_600 => format!("-{}m", seconds / 60),
        3_600..86_400 => format!("-{}h", seconds / 3_600),
        _ => format!("-{}d", seconds / 86_400),
    }
}
