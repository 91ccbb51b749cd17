//! `switchboard enable`.

use crate::app::App;
use crate::args::edit::Enable;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Enable, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("enable"))
}
