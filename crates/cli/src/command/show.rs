//! `switchboard show`.

use crate::app::App;
use crate::args::look::Show;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Show, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("show"))
}
