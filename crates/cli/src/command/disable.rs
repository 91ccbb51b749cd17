//! `switchboard disable`.

use crate::app::App;
use crate::args::edit::Disable;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Disable, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("disable"))
}
