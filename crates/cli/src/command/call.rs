//! `switchboard call`: a tool is called, its text printed.

use std::sync::Arc;

use serde_json::Value;
use switchboard_client::types::{CallToolResult, ProgressNotificationParams};
use switchboard_hub::{HubError, PromptEntry, ToolEntry};

use crate::app::App;
use crate::args::call::Call;
use crate::arguments::{self, Input};
use crate::exit::{Exit, Failure};
use crate::json::Json;
use crate::output::{Outcome, Page, clean_line, shorten};
use crate::parts::Parts;
use crate::target::Target;

pub(crate) async fn run(args: &Call, app: &App) -> Result<Outcome, Failure> {
    let input = Input::ahead(&args.words)?;
    let target = Target::find(app, &args.words, &args.spot).await?;
    let entry = find_tool(&target, target.name("tool")?)?;
    let given = arguments::of_tool(&entry.tool, &target.rest, &input)?;
    if args.dry_run {
        let params = Json::object([
            ("name", entry.tool.name.as_str().into()),
            ("arguments", Value::Object(given).into()),
        ]);
        let text = serde_json::to_string_pretty(&params).unwrap_or_default();
        return Ok(Outcome::of(
            app,
            || Page::new().text(text),
            || params.clone(),
        ));
    }
    let name = entry.tool.name.clone();
    let status = app.output.status(&format!("calling {name}"));
    let call = target
        .servers
        .hub
        .call_on(&entry.server, &name)
        .args(&given);
    let result = call
        .on_progress(move |progress| status.say(&format!("{name} {}", shown(&progress))))
        .raw()
        .await;
    let payload = result.map_err(|error| unanswered(app).unwrap_or_else(|| error.into()))?;
    let unreadable = |error| HubError::Unreadable {
        server: entry.server.to_string(),
        name: entry.tool.name.clone(),
        error,
    };
    let result: CallToolResult = payload.decode().map_err(unreadable)?;
    if result.is_error() {
        let failure = unanswered(app).unwrap_or_else(|| tool_error(&entry, &result));
        let outcome = match app.output.is_json() {
            true => Outcome::of(app, Page::new, || Json::read(payload.text())),
            false => Outcome::nothing(),
        };
        return Ok(outcome.but(Some(failure)));
    }
    let page = match app.output.is_json() && args.save.is_none() {
        true => Page::new(),
        false => {
            let mut parts = Parts::new(app, args.save.as_deref());
            for block in &result.content {
                parts.block(block)?;
            }
            if let Some(structured) = &result.structured_content
                && parts.is_without_text()
            {
                let value = Json::read(structured.as_str().as_bytes());
                parts.text(&serde_json::to_string_pretty(&value).unwrap_or_default());
            }
            parts.into_page()
        }
    };
    let outcome = Outcome::of(app, || page, || Json::read(payload.text()));
    // It got on without an answer; whoever runs it should know that there was a question.
    Ok(outcome.but(unanswered(app)))
}

/// The tool that is meant.
pub(super) fn find_tool(target: &Target, name: &str) -> Result<Arc<ToolEntry>, Failure> {
    let catalog = target.servers.hub.catalog();
    let found = match &target.server {
        Some(server) => catalog.find_on(server, name).cloned(),
        None => match catalog.find_tool(name).cloned() {
            Ok(entry) => Ok(entry),
            // Some server may call it so itself.
            Err(missing) => {
                let mut own = catalog.tools().filter(|entry| entry.tool.name == name);
                match (own.next(), own.next()) {
                    (Some(only), None) => Ok(Arc::clone(only)),
                    (Some(one), Some(other)) => {
                        let of = |entry: &ToolEntry| format!("{}.{name}", entry.server);
                        let message = format!("several servers have a tool {name:?}");
                        let hint = format!("say {} or {}", of(one), of(other));
                        return Err(Failure::usage(message).hint(hint));
                    }
                    _ => Err(missing),
                }
            }
        },
    };
    found.map_err(|missing| {
        let server = target.server.as_deref();
        let failure = Failure::from(missing);
        let hint = match server {
            Some(server) if target.servers.file.is_some() => {
                format!("`switchboard tools {server}` shows those that there are")
            }
            _ => "`switchboard tools` shows those that there are".to_owned(),
        };
        match server {
            Some(server) => failure.server(server).or_hint(|| hint),
            None => failure.or_hint(|| hint),
        }
    })
}

/// The prompt that is meant.
pub(super) fn find_prompt(target: &Target, name: &str) -> Result<Arc<PromptEntry>, Failure> {
    let catalog = target.servers.hub.catalog();
    let found = match &target.server {
        Some(server) => catalog.find_prompt_on(server, name).cloned(),
        None => catalog.find_prompt(name).cloned().or_else(|missing| {
            let mut own = catalog.prompts().filter(|entry| entry.prompt.name == name);
            match (own.next(), own.next()) {
                (Some(only), None) => Ok(Arc::clone(only)),
                _ => Err(missing),
            }
        }),
    };
    found.map_err(|missing| {
        Failure::from(missing)
            .or_hint(|| "`switchboard prompts` shows those that there are".to_owned())
    })
}

/// What nobody answered explains more than what came of it.
pub(super) fn unanswered(app: &App) -> Option<Failure> {
    app.desk.unanswered()
}

/// The tool ran, and says that it could not do its work.
fn tool_error(entry: &ToolEntry, result: &CallToolResult) -> Failure {
    let text = result.joined_text();
    let text = match text.trim() {
        "" => format!(
            "the tool {:?} says that it failed, and not why",
            entry.tool.name
        ),
        text => text.to_owned(),
    };
    Failure::new(Exit::ToolError, text).server(&entry.server)
}

/// How far a call is: a bar if its end is known.
fn shown(progress: &ProgressNotificationParams) -> String {
    let message = progress.message.as_deref().unwrap_or_default();
    let message = shorten(&clean_line(message), LONGEST_MESSAGE);
    let done = progress.progress.as_f64().unwrap_or_default();
    let total = progress.total.as_ref().and_then(serde_json::Number::as_f64);
    match total.filter(|total| *total > 0.0) {
        Some(total) => {
            let part = (done / total).clamp(0.0, 1.0);
            let filled = (0..BAR).take_while(|place| f64::from(*place) < part * f64::from(BAR));
            let filled = filled.count();
            let bar = "#".repeat(filled) + &"-".repeat(BAR as usize - filled);
            format!("[{bar}] {:.0}% {message}", part * 100.0)
        }
        None => format!("{} {message}", progress.progress),
    }
}

const BAR: u32 = 20;
const LONGEST_MESSAGE: usize = 60;
