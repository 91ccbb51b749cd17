//! `switchboard remove`.

use crate::app::App;
use crate::args::edit::Remove;
use crate::edit::{self, Change};
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(args: &Remove, app: &App) -> Result<Outcome, Failure> {
    let file = edit::file_in_use(&app.global)?;
    let mut change = Change::open(&file)?;
    change.remove(&args.name)?;
    edit::finish(app, &change, args.dry_run, "removed", &args.name)
}
