//! `switchboard logout`.

use crate::app::App;
use crate::args::login::Logout;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Logout, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("logout"))
}
