//! `switchboard show`: one server, tool or prompt in full.

use std::sync::Arc;

use switchboard_client::types::{Tool, ToolAnnotations};
use switchboard_hub::{MemberState, PromptEntry, ToolEntry};

use crate::app::App;
use crate::args::look::Show;
use crate::command::call::{find_prompt, find_tool};

use crate::command::tools::table;
use crate::exit::Failure;
use crate::json::Json;
use crate::output::{Column, Line, Outcome, Page, Style, Table};
use crate::signature;
use crate::source::reached;
use crate::target::Target;

pub(crate) async fn run(args: &Show, app: &App) -> Result<Outcome, Failure> {
    let target = Target::find(app, &args.target, &args.spot).await?;
    let Some(name) = target.name.as_deref() else {
        return server(&target, app);
    };
    match find_tool(&target, name) {
        Ok(entry) => Ok(Outcome::of(
            app,
            || match args.schema {
                true => schemas(&entry.tool),
                false => tool(&entry),
            },
            || Json::of(&*entry.tool).with_first("server", &*entry.server),
        )),
        // A prompt may be called so; otherwise it was a tool that was meant.
        Err(failure) => match find_prompt(&target, name) {
            Ok(entry) => Ok(Outcome::of(
                app,
                || prompt(&entry),
                || Json::of(&*entry.prompt).with_first("server", &*entry.server),
            )),
            Err(_) => resource(&target, name, app).ok_or(failure),
        },
    }
}

/// The resource or the template that has this URI, if there is one.
fn resource(target: &Target, uri: &str, app: &App) -> Option<Outcome> {
    let catalog = target.servers.hub.catalog();
    let is_on = |server: &str| target.server.as_deref().is_none_or(|one| one == server);
    let (server, known, about) = catalog
        .resources()
        .filter(|entry| is_on(&entry.server) && entry.resource.uri == uri)
        .map(|entry| {
            let known = Json::of(&*entry.resource);
            (
                Arc::clone(&entry.server),
                known,
                entry.resource.display_name().to_owned(),
            )
        })
        .next()
        .or_else(|| {
            let mut templates = catalog.templates();
            let entry = templates
                .find(|entry| is_on(&entry.server) && entry.template.uri_template == uri)?;
            let known = Json::of(&*entry.template);
            let about = entry.template.display_name().to_owned();
            Some((Arc::clone(&entry.server), known, about))
        })?;
    let people = || {
        let mut page = Page::new().line(Line::new().strong(uri).plain("  ").plain(about));
        page = page.line(Line::new().faint("server    ").plain(&*server));
        for (key, word) in [("mimeType", "type      "), ("size", "size      ")] {
            if let Some(value) = known.get(key) {
                let value = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                page = page.line(Line::new().faint(word).plain(value));
            }
        }
        match known.get("description").and_then(Json::as_str) {
            Some(description) => page.blank().text(description.trim()),
            None => page,
        }
    };
    Some(Outcome::of(app, people, || {
        known.clone().with_first("server", &*server)
    }))
}

fn server(target: &Target, app: &App) -> Result<Outcome, Failure> {
    let name = target.server.as_deref().unwrap_or_default();
    let servers = target.servers.hub.servers();
    let status = servers.iter().find(|status| &*status.name == name);
    let status = status.ok_or_else(|| Failure::unexpected(format!("no server {name:?}")))?;
    let catalog = target.servers.hub.catalog();
    let tools: Vec<_> = catalog.tools_of(name).iter().collect();
    let ready = match &status.state {
        MemberState::Ready(ready) | MemberState::ListingFailed { ready, .. } => Some(ready),
        _ => None,
    };
    let people = || {
        let about = ready.and_then(|ready| ready.server.as_ref());
        let about = about.map(|server| format!("{} {}", server.display_name(), server.version));
        let mut page = Page::new()
            .line(
                Line::new()
                    .strong(name)
                    .plain("  ")
                    .plain(about.unwrap_or_default()),
            )
            .line(
                Line::new()
                    .faint("state     ")
                    .plain(status.state.to_string()),
            )
            .line(
                Line::new()
                    .faint("reached   ")
                    .plain(reached(&status.config)),
            );
        if let Some(file) = &target.servers.file {
            let file = file.display().to_string();
            page = page.line(Line::new().faint("from      ").plain(file));
        }
        for note in catalog.notes_of(name) {
            page = page.line(Line::new().notable("note      ").plain(note));
        }
        if let Some(words) = ready.and_then(|ready| ready.instructions.as_deref()) {
            page = page.blank().text(words);
        }
        match tools.is_empty() {
            true => page,
            false => page.blank().table(table(&tools, true)),
        }
    };
    let json = || {
        let ready = ready.map(|ready| {
            Json::object([
                (
                    "protocolVersion",
                    ready.revision.to_string().as_str().into(),
                ),
                ("serverInfo", Json::of(&ready.server)),
                ("capabilities", Json::of(&ready.capabilities)),
                ("instructions", Json::of(&ready.instructions)),
            ])
        });
        Json::object([
            ("name", name.into()),
            ("state", status.state.to_string().as_str().into()),
            ("reached", reached(&status.config).as_str().into()),
            ("agreed", ready.unwrap_or(Json::Null)),
            ("tools", super::tools::list(&tools)),
        ])
    };
    Ok(Outcome::of(app, people, json))
}

fn tool(entry: &ToolEntry) -> Page {
    let tool = &entry.tool;
    let mut title = Line::new().strong(format!("{}.{}", entry.server, tool.name));
    if tool.display_name() != tool.name {
        title = title.plain("  ").plain(tool.display_name());
    }
    let mut page = Page::new()
        .line(title)
        .words(Style::Plain, 2, signature::of_tool(tool));
    let hints = hints(&tool.hints());
    let tokens = entry.tokens;
    page = page.line(Line::new().faint(format!("  {hints}; about {tokens} tokens")));
    if let Some(description) = &tool.description {
        page = page.blank().text(description.trim());
    }
    let schema = Json::read(tool.input_schema.as_str().as_bytes());
    page = members(page, "ARGUMENT", &schema);
    match &tool.output_schema {
        Some(schema) => members(page, "RESULT", &Json::read(schema.as_str().as_bytes())),
        None => page,
    }
}

/// The members that a schema describes, as a table.
fn members(page: Page, heading: &'static str, schema: &Json) -> Page {
    let is_argument = heading == "ARGUMENT";
    let mut columns = vec![Column::left(heading), Column::left("TYPE")];
    if is_argument {
        columns.push(Column::left("DEFAULT"));
    }
    columns.push(Column::whole("DESCRIPTION"));
    let mut table = Table::new(columns);
    for member in signature::arguments(schema) {
        let mut cells = vec![Line::new().strong(member.name), member.kind.into()];
        if is_argument {
            cells.push(match (&member.default, member.is_required) {
                (Some(default), _) => default.as_str().into(),
                (None, true) => "required".into(),
                (None, false) => "-".into(),
            });
        }
        cells.push(member.description.unwrap_or_default().into());
        table.row(cells);
    }
    match table.is_empty() {
        true => page,
        false => page.blank().table(table),
    }
}

fn schemas(tool: &Tool) -> Page {
    let pretty = |text: &[u8]| serde_json::to_string_pretty(&Json::read(text)).unwrap_or_default();
    let page = Page::new()
        .line(Line::new().faint("arguments"))
        .text(pretty(tool.input_schema.as_str().as_bytes()));
    match &tool.output_schema {
        Some(schema) => page
            .line(Line::new().faint("result"))
            .text(pretty(schema.as_str().as_bytes())),
        None => page,
    }
}

fn prompt(entry: &PromptEntry) -> Page {
    let prompt = &entry.prompt;
    let mut page = Page::new()
        .line(Line::new().strong(format!("{}.{}", entry.server, prompt.name)))
        .words(Style::Plain, 2, signature::of_prompt(prompt));
    if let Some(description) = &prompt.description {
        page = page.blank().text(description.trim());
    }
    let mut table = Table::new([
        Column::left("ARGUMENT"),
        Column::left("DEFAULT"),
        Column::whole("DESCRIPTION"),
    ]);
    for argument in prompt.arguments.iter().flatten() {
        let required = if argument.is_required() {
            "required"
        } else {
            "-"
        };
        table.row([
            Line::new().strong(&argument.name),
            required.into(),
            argument.description.as_deref().unwrap_or_default().into(),
        ]);
    }
    match table.is_empty() {
        true => page,
        false => page.blank().table(table),
    }
}

/// What a tool says of itself, in words.
fn hints(hints: &ToolAnnotations) -> String {
    let mut words = vec![match (hints.is_read_only(), hints.is_destructive()) {
        (true, _) => "reads only",
        (false, true) => "may destroy",
        (false, false) => "adds only",
    }];
    if !hints.is_read_only() && hints.is_idempotent() {
        words.push("the same again changes nothing");
    }
    if hints.is_open_world() {
        words.push("reaches beyond the server");
    }
    words.join(", ")
}
