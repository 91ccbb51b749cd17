//! `switchboard resources`.

use crate::app::App;
use crate::args::look::Resources;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Resources, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("resources"))
}
