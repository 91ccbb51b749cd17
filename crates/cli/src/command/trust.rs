//! `switchboard trust` and `untrust`: whether the servers of a project's file may be started.

use std::path::PathBuf;

use serde_json::json;

use crate::app::App;
use crate::args::edit::{Trust, Untrust};
use crate::edit;
use crate::exit::Failure;
use crate::output::{Outcome, Page};
use crate::source::Source;
use crate::trust::Agreement;

pub(crate) async fn run(args: &Trust, app: &App) -> Result<Outcome, Failure> {
    let file = chosen(args.file.as_ref(), app)?;
    let (config, text) = Source::read(&file)?;
    for problem in config.errors() {
        app.output.warn(&problem.to_string());
    }
    let before = Agreement::about(&file);
    let now = Agreement::to(&file, &text, &config);
    let is_new = before.as_ref() != Some(&now);
    if is_new && !args.dry_run {
        now.keep()?;
    }
    let name = file.display().to_string();
    let page = || {
        let page = now.page(before.as_ref().filter(|_| is_new));
        page.line(match (args.dry_run, is_new) {
            (_, false) => format!("{name} is trusted already"),
            (true, true) => format!("{name} is not trusted yet, as it is now"),
            (false, true) => format!("{name} is trusted, as long as nothing in it changes"),
        })
    };
    let document = || {
        json!({
            "file": name,
            "trusted": !(args.dry_run && is_new),
            "written": is_new && !args.dry_run,
            "starts": now.starts,
            "before": before.as_ref().map(|before| &before.starts),
        })
    };
    Ok(Outcome::of(app, page, document))
}

pub(crate) async fn revoke(args: &Untrust, app: &App) -> Result<Outcome, Failure> {
    let file = chosen(args.file.as_ref(), app)?;
    let was_trusted = Agreement::forget(&file)?;
    let name = file.display().to_string();
    let said = match was_trusted {
        true => format!("{name} is no longer trusted"),
        false => format!("{name} was not trusted"),
    };
    let document = || json!({"file": name, "trusted": false, "written": was_trusted});
    Ok(Outcome::of(app, || Page::new().line(&*said), document))
}

/// The file that was said, or the one in use.
fn chosen(file: Option<&PathBuf>, app: &App) -> Result<PathBuf, Failure> {
    match file {
        Some(file) => Ok(file.clone()),
        None => edit::file_in_use(&app.global),
    }
}
