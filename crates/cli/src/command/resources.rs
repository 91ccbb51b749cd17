//! `switchboard resources`: what can be read, and the families of it.

use crate::app::App;
use crate::args::look::Resources;
use crate::command::tools::first_sentence;
use crate::exit::Failure;
use crate::json::Json;
use crate::output::{Column, Line, Outcome, Page, Table};
use crate::servers::Servers;

pub(crate) async fn run(args: &Resources, app: &App) -> Result<Outcome, Failure> {
    let servers = Servers::open(app, &args.of).await?;
    let failures = servers.connect(app).await;
    let failure = servers.judge(app, failures)?;
    servers.warn_of_refused(app);
    let catalog = servers.hub.catalog();
    let is_one = servers.is_one();
    let people = || {
        let mut table = Table::new([
            Column::left("RESOURCE"),
            Column::left("TYPE"),
            Column::rest("DESCRIPTION"),
        ]);
        let kind = |mime_type: &Option<String>| mime_type.clone().unwrap_or_else(|| "-".to_owned());
        let name = |server: &str, uri: &str| match is_one {
            true => Line::new().strong(uri),
            false => Line::new().faint(format!("{server} ")).strong(uri),
        };
        for entry in catalog.resources() {
            let resource = &entry.resource;
            let description = resource.description.as_deref();
            table.row([
                name(&entry.server, &resource.uri),
                kind(&resource.mime_type).into(),
                first_sentence(description.or(Some(resource.display_name()))).into(),
            ]);
        }
        for entry in catalog.templates() {
            let template = &entry.template;
            let description = template.description.as_deref();
            table.row([
                name(&entry.server, &template.uri_template),
                kind(&template.mime_type).into(),
                first_sentence(description.or(Some(template.display_name()))).into(),
            ]);
        }
        match table.is_empty() {
            true => Page::new().line("no resources"),
            false => Page::new().table(table),
        }
    };
    let json = || {
        let resources = catalog.resources().map(|entry| {
            let resource = Json::of(&*entry.resource);
            resource.with_first("server", &*entry.server)
        });
        let templates = catalog.templates().map(|entry| {
            let template = Json::of(&*entry.template);
            template.with_first("server", &*entry.server)
        });
        Json::object([
            ("resources", Json::List(resources.collect())),
            ("resourceTemplates", Json::List(templates.collect())),
        ])
    };
    Ok(Outcome::of(app, people, json)
        .lines(&["resources", "resourceTemplates"])
        .but(failure))
}
