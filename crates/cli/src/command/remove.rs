//! `switchboard remove`.

use crate::app::App;
use crate::args::edit::{One, Remove};
use crate::edit::{self, Change};
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(args: &Remove, app: &App) -> Result<Outcome, Failure> {
    let One { name, dry_run } = &args.one;
    let file = edit::file_in_use(&app.global)?;
    let mut change = Change::open(&file)?;
    change.remove(name)?;
    edit::finish(app, &change, *dry_run, "removed", name)
}
