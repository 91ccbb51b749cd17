//! `switchboard add`.

use crate::app::App;
use crate::args::edit::Add;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Add, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("add"))
}
