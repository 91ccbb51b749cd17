//! `switchboard add-json`: a server as it stands in files.

use super::add::check_free;
use crate::app::App;
use crate::args::edit::AddJson;
use crate::arguments::standard_input;
use crate::edit::{self, Change};
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(args: &AddJson, app: &App) -> Result<Outcome, Failure> {
    let json = match args.server.as_str() {
        "-" => standard_input(LARGEST)?,
        json => json.to_owned(),
    };
    let file = edit::target(&app.global, args.file)?;
    let mut change = Change::open(&file)?;
    let action = check_free(&change, &args.name, args.force)?;
    for problem in change.add(&args.name, &json)? {
        app.output.warn(&problem.to_string());
    }
    edit::finish(app, &change, args.dry_run, action, &args.name)
}

// More than a server ever has.
const LARGEST: u64 = 1024 * 1024;
