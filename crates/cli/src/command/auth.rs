//! `switchboard auth`.

use crate::app::App;
use crate::args::login::Auth;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Auth, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("auth"))
}
