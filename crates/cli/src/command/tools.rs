//! `switchboard tools`: what can be called.

use std::sync::Arc;

use switchboard_hub::ToolEntry;

use crate::app::App;
use crate::args::look::Tools;
use crate::exit::Failure;
use crate::json::Json;
use crate::output::{Column, Line, Outcome, Page, Style, Table};
use crate::servers::Servers;
use crate::signature;

pub(crate) async fn run(args: &Tools, app: &App) -> Result<Outcome, Failure> {
    let servers = Servers::open(app, &args.of).await?;
    let failures = servers.connect(app).await;
    let failure = servers.judge(app, failures)?;
    servers.warn_of_refused(app);
    let catalog = servers.hub.catalog();
    let tools: Vec<&Arc<ToolEntry>> = catalog.tools().collect();
    let is_one = servers.is_one();
    let outcome = Outcome::of(
        app,
        || match (args.names, args.signatures) {
            (true, _) => tools
                .iter()
                .fold(Page::new(), |page, entry| page.line(shown(entry, is_one))),
            (false, _) if tools.is_empty() => Page::new().line("no tools"),
            (false, true) => signatures(&tools, is_one),
            (false, false) => Page::new().table(table(&tools, is_one)),
        },
        || Json::object([("tools", list(&tools))]),
    );
    Ok(outcome.lines(&["tools"]).but(failure))
}

/// What people say to call it.
pub(super) fn shown(entry: &ToolEntry, is_one: bool) -> String {
    match is_one {
        true => entry.tool.name.clone(),
        false => format!("{}.{}", entry.server, entry.tool.name),
    }
}

/// Tools as their servers described them, each with its server.
pub(super) fn list(tools: &[&Arc<ToolEntry>]) -> Json {
    let tools = tools.iter().map(|entry| {
        let tool = Json::of(&*entry.tool);
        tool.with_first("server", &*entry.server)
    });
    Json::List(tools.collect())
}

pub(super) fn table(tools: &[&Arc<ToolEntry>], is_one: bool) -> Table {
    let mut table = Table::new([
        Column::left("TOOL"),
        Column::right("TOKENS"),
        Column::rest("DESCRIPTION"),
    ]);
    for entry in tools {
        table.row([
            Line::new().strong(shown(entry, is_one)),
            entry.tokens.to_string().into(),
            first_sentence(
                entry
                    .tool
                    .description
                    .as_deref()
                    .or(entry.tool.title.as_deref()),
            )
            .into(),
        ]);
    }
    table
}

fn signatures(tools: &[&Arc<ToolEntry>], is_one: bool) -> Page {
    let mut page = Page::new();
    for entry in tools {
        let signature = match is_one {
            true => signature::of_tool(&entry.tool),
            false => format!("{}.{}", entry.server, signature::of_tool(&entry.tool)),
        };
        page = page.blank().words(Style::Strong, 0, signature);
        if let Some(description) = &entry.tool.description {
            page = page.words(Style::Plain, 2, first_sentence(Some(description)));
        }
    }
    page
}

/// The first line of a text, whose beginning says what there is to say.
pub(super) fn first_sentence(text: Option<&str>) -> String {
    let text = text.unwrap_or_default().trim();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}
