//! `switchboard ls`: servers, how they stand, how much they offer.

use switchboard_hub::{Catalog, MemberState, ServerStatus};

use crate::app::App;
use crate::args::look::Ls;
use crate::exit::{Exit, Failure};
use crate::json::Json;
use crate::output::{Column, Line, Outcome, Page, Table};
use crate::servers::Servers;
use crate::source::reached;

pub(crate) async fn run(args: &Ls, app: &App) -> Result<Outcome, Failure> {
    let servers = match args.offline {
        true => Servers::open_offline(app, &args.of)?,
        false => Servers::open(app, &args.of).await?,
    };
    let mut failures = match args.offline {
        true => Vec::new(),
        false => servers.connect(app).await,
    };
    // That one is switched off is worth a row, and no failure.
    failures.retain(|failure| failure.exit != Exit::Refused);
    let catalog = servers.hub.catalog();
    let rows: Vec<Row> = servers
        .hub
        .servers()
        .iter()
        .map(|status| Row::new(status, &catalog))
        .collect();
    let outcome = Outcome::of(
        app,
        || page(&rows, &servers),
        || {
            let servers = rows.iter().map(Row::json).collect();
            Json::object([("servers", Json::List(servers))])
        },
    );
    // Each reason is on the page.
    let failure = match failures.len() {
        0 => None,
        count if count == rows.len() => failures.into_iter().next().map(Failure::told),
        count => {
            let all = rows.len();
            let message = format!("{count} of {all} servers failed, the rest answered");
            Some(Failure::new(Exit::Partial, message).told())
        }
    };
    Ok(outcome.lines(&["servers"]).but(failure))
}

/// A server, as it is shown.
pub(super) struct Row {
    name: String,
    state: &'static str,
    revision: Option<String>,
    /// Tools, resources, prompts, tokens; if they are known.
    counts: Option<[u64; 4]>,
    /// How it is reached, with references in place of secrets.
    reached: String,
    about: Option<String>,
    reason: Option<String>,
}

impl Row {
    pub(super) fn new(status: &ServerStatus, catalog: &Catalog) -> Self {
        let name = status.name.to_string();
        let (state, ready, reason) = match &status.state {
            MemberState::Ready(ready) => ("ready", Some(ready), None),
            MemberState::ListingFailed { ready, reason, .. } => {
                ("not listed", Some(ready), Some(reason))
            }
            MemberState::NeedsLogin { reason } => ("needs login", None, Some(reason)),
            MemberState::Failed { reason, .. } | MemberState::BackingOff { reason, .. } => {
                ("failed", None, Some(reason))
            }
            MemberState::Disabled => ("disabled", None, None),
            MemberState::Starting => ("starting", None, None),
            MemberState::Stopped => ("stopped", None, None),
            _ => ("configured", None, None),
        };
        let tools = catalog.tools_of(&name);
        let of_server = |server: &str| server == name;
        let resources = catalog.resources().filter(|entry| of_server(&entry.server));
        let prompts = catalog.prompts().filter(|entry| of_server(&entry.server));
        let tokens: u64 = tools.iter().map(|entry| u64::from(entry.tokens)).sum();
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Self {
            state,
            revision: ready.map(|ready| ready.revision.to_string()),
            counts: ready.map(|_| {
                let (resources, prompts) = (resources.count(), prompts.count());
                [count(tools.len()), count(resources), count(prompts), tokens]
            }),
            reached: reached(&status.config),
            about: ready.and_then(|ready| {
                let server = ready.server.as_ref()?;
                Some(format!("{} {}", server.display_name(), server.version))
            }),
            reason: reason.map(ToString::to_string),
            name,
        }
    }

    pub(super) fn json(&self) -> Json {
        let text = |text: &Option<String>| text.as_deref().map_or(Json::Null, Json::from);
        let count = |place: usize| {
            let counts = self.counts.as_ref().and_then(|counts| counts.get(place));
            counts.map_or(Json::Null, |count| Json::from(*count))
        };
        Json::object([
            ("name", self.name.as_str().into()),
            ("state", self.state.into()),
            ("revision", text(&self.revision)),
            ("tools", count(0)),
            ("resources", count(1)),
            ("prompts", count(2)),
            ("tokens", count(3)),
            ("reached", self.reached.as_str().into()),
            ("server", text(&self.about)),
            ("reason", text(&self.reason)),
        ])
    }
}

fn page(rows: &[Row], servers: &Servers) -> Page {
    if rows.is_empty() {
        let file = servers.file.as_ref().map(|file| file.display().to_string());
        let file = file.unwrap_or_default();
        return Page::new().line(format!("no servers in {file}"));
    }
    let mut table = Table::new([
        Column::left("SERVER"),
        Column::left("STATE"),
        Column::left("REVISION").or_none(),
        Column::right("TOOLS"),
        Column::right("RESOURCES").or_none(),
        Column::right("PROMPTS").or_none(),
        Column::right("TOKENS"),
        Column::rest("WHAT"),
    ]);
    for row in rows {
        let count = |place: usize| {
            let counts = row.counts.as_ref().and_then(|counts| counts.get(place));
            counts.map_or_else(|| "-".into(), |count| Line::from(count.to_string()))
        };
        let state = match row.state {
            "ready" => Line::new().good(row.state),
            "needs login" | "not listed" => Line::new().notable(row.state),
            "failed" => Line::new().bad(row.state),
            other => Line::new().faint(other),
        };
        let what = match &row.about {
            Some(about) => Line::new().plain(about),
            None => Line::new().faint(&row.reached),
        };
        let revision = row.revision.clone().unwrap_or_else(|| "-".to_owned());
        table.row([
            Line::new().strong(&row.name),
            state,
            revision.into(),
            count(0),
            count(1),
            count(2),
            count(3),
            what,
        ]);
    }
    let mut page = Page::new().table(table);
    // A row is too short for a reason.
    for row in rows {
        let Some(reason) = &row.reason else {
            continue;
        };
        let said = Line::new().strong(&row.name).plain(format!(": {reason}"));
        page = page.blank().line(said);
        if servers.file.is_some() {
            let verb = if row.state == "needs login" {
                "login"
            } else {
                "doctor"
            };
            page = page.line(format!("  → `switchboard {verb} {}`", row.name));
        }
    }
    page
}
