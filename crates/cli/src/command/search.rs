//! `switchboard search`: the tools that fit some words best.
//!
//! Servers that ran before are not started: what they offered then is searched.

use std::sync::Arc;

use switchboard_hub::ToolEntry;

use crate::app::App;
use crate::args::look::Search;
use crate::command::tools::{list, table};
use crate::exit::Failure;
use crate::json::Json;
use crate::output::{Outcome, Page};
use crate::servers::Servers;
use crate::source::{self, Source};

pub(crate) async fn run(args: &Search, app: &App) -> Result<Outcome, Failure> {
    let servers = match source::on_the_spot(None, &args.command)? {
        Some(server) => Servers::new(app, Source::of_one(server), None)?,
        None => Servers::asleep(app, Source::agreed(app).await?)?,
    };
    let failures = servers.wake_unknown(app).await;
    let failure = servers.judge(app, failures)?;
    let words = args.words.join(" ");
    let hits = servers.hub.search(&words, args.limit);
    let tools: Vec<&Arc<ToolEntry>> = hits.iter().map(|hit| &hit.tool).collect();
    let outcome = Outcome::of(
        app,
        || match tools.is_empty() {
            true => Page::new().line(format!("no tool fits {words:?}")),
            false => Page::new().table(table(&tools, servers.is_one())),
        },
        || Json::object([("tools", list(&tools))]),
    );
    Ok(outcome.lines(&["tools"]).but(failure))
}
