//! `switchboard watch`.

use crate::app::App;
use crate::args::look::Watch;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Watch, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("watch"))
}
