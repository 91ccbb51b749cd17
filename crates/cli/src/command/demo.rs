//! `switchboard demo`.

use crate::app::App;
use crate::args::call::Demo;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Demo, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("demo"))
}
