//! `switchboard doctor`.

use crate::app::App;
use crate::args::check::Doctor;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Doctor, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("doctor"))
}
