//! `switchboard diff`.

use crate::app::App;
use crate::args::edit::Diff;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Diff, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("diff"))
}
