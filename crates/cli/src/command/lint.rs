//! `switchboard lint`.

use crate::app::App;
use crate::args::check::Lint;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Lint, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("lint"))
}
