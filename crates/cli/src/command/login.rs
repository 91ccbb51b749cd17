//! `switchboard login`.

use crate::app::App;
use crate::args::login::Login;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Login, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("login"))
}
