//! `switchboard add-json`.

use crate::app::App;
use crate::args::edit::AddJson;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &AddJson, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("add-json"))
}
