//! `switchboard ls`.

use crate::app::App;
use crate::args::look::Ls;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Ls, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("ls"))
}
