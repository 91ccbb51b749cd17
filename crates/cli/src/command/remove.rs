//! `switchboard remove`.

use crate::app::App;
use crate::args::edit::Remove;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Remove, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("remove"))
}
