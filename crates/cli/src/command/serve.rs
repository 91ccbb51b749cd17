//! `switchboard serve`.

use crate::app::App;
use crate::args::check::Serve;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Serve, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("serve"))
}
