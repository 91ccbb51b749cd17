//! `switchboard prompts`: what can be filled in.

use crate::app::App;
use crate::args::look::Prompts;
use crate::command::tools::first_sentence;
use crate::exit::Failure;
use crate::json::Json;
use crate::output::{Column, Line, Outcome, Page, Table};
use crate::servers::Servers;
use crate::signature;

pub(crate) async fn run(args: &Prompts, app: &App) -> Result<Outcome, Failure> {
    let servers = Servers::open(app, &args.of).await?;
    let failures = servers.connect(app).await;
    let failure = servers.judge(app, failures)?;
    servers.warn_of_refused(app);
    let catalog = servers.hub.catalog();
    let is_one = servers.is_one();
    let people = || {
        let mut table = Table::new([Column::left("PROMPT"), Column::rest("DESCRIPTION")]);
        for entry in catalog.prompts() {
            let signature = signature::of_prompt(&entry.prompt);
            let name = match is_one {
                true => Line::new().strong(signature),
                false => Line::new().strong(format!("{}.{signature}", entry.server)),
            };
            let description = entry.prompt.description.as_deref();
            let title = entry.prompt.title.as_deref();
            table.row([name, first_sentence(description.or(title)).into()]);
        }
        match table.is_empty() {
            true => Page::new().line("no prompts"),
            false => Page::new().table(table),
        }
    };
    let json = || {
        let prompts = catalog.prompts().map(|entry| {
            let prompt = Json::of(&*entry.prompt);
            prompt.with_first("server", &*entry.server)
        });
        Json::object([("prompts", Json::List(prompts.collect()))])
    };
    Ok(Outcome::of(app, people, json)
        .lines(&["prompts"])
        .but(failure))
}
