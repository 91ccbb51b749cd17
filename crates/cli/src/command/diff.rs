//! `switchboard diff`: what would happen if one configuration became another.

use std::path::Path;

use serde_json::{Map, Value, json};
use switchboard_hub::{Config, plan};

use crate::app::App;
use crate::args::edit::Diff;
use crate::edit;
use crate::exit::Failure;
use crate::import::{Reading, read_any, read_as};
use crate::output::{Column, Line, Outcome, Page, Style, Table};

pub(crate) async fn run(args: &Diff, app: &App) -> Result<Outcome, Failure> {
    let in_use;
    let (old_file, new_file) = match &args.new {
        Some(new) => (&args.old, new),
        None => {
            in_use = edit::file_in_use(&app.global)?;
            (&in_use, &args.old)
        }
    };
    let old = read_any(old_file)?;
    // The question is what if it stood where the old one is.
    let folder = old.servers.first().and_then(|server| server.folder.clone());
    let reading = Reading {
        folder,
        ..Reading::default()
    };
    let new = read_as(new_file, &reading)?;
    warn(app, &old);
    warn(app, &new);
    let plan = plan(&old.servers, &new.servers);
    let rows: Vec<(&str, Style, &str)> = [
        ("start", Style::Good, &plan.start),
        ("stop", Style::Bad, &plan.stop),
        ("restart", Style::Notable, &plan.restart),
        ("update", Style::Notable, &plan.update),
        ("keep", Style::Faint, &plan.keep),
    ]
    .into_iter()
    .flat_map(|(word, style, names)| names.iter().map(move |name| (word, style, name.as_str())))
    .collect();
    let page = || {
        if plan.is_empty() {
            return Page::new().line("nothing would change");
        }
        let mut table = Table::new([
            Column::left("PLAN"),
            Column::left("SERVER"),
            Column::rest("WHAT CHANGES"),
        ]);
        for (word, style, name) in &rows {
            let what = match *word {
                "restart" | "update" => changed(&old, &new, name).join(", "),
                _ => String::new(),
            };
            table.row([
                Line::new().styled(*style, *word),
                Line::new().strong(*name),
                what.into(),
            ]);
        }
        Page::new().table(table)
    };
    let document = || {
        let plans = rows.iter().map(|(word, _, name)| {
            let mut row = json!({"plan": word, "server": name});
            if let ("restart" | "update", Some(row)) = (*word, row.as_object_mut()) {
                row.insert("changed".to_owned(), changed(&old, &new, name).into());
            }
            row
        });
        json!({
            "old": name_of(old_file),
            "new": name_of(new_file),
            "changes": !plan.is_empty(),
            "servers": plans.collect::<Vec<_>>(),
        })
    };
    Ok(Outcome::of(app, page, document).lines(&["servers"]))
}

fn warn(app: &App, config: &Config) {
    for problem in config.errors() {
        app.output.warn(&problem.to_string());
    }
}

fn name_of(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}

/// The keys that differ, one level into our own.
fn changed(old: &Config, new: &Config, name: &str) -> Vec<String> {
    let members = |config: &Config| -> Map<String, Value> {
        let server = config.server(name);
        let json = server.map(|server| server.to_json(None));
        let value: Option<Map<_, _>> = json.and_then(|json| serde_json::from_str(&json).ok());
        let mut members = value.unwrap_or_default();
        if let Some(Value::Object(own)) = members.remove("x-switchboard") {
            members.extend(own);
        }
        members
    };
    let (old, new) = (members(old), members(new));
    let keys = old
        .keys()
        .chain(new.keys().filter(|key| !old.contains_key(*key)));
    let keys = keys.filter(|key| old.get(*key) != new.get(*key));
    keys.cloned().collect()
}
