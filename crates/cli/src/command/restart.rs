//! `switchboard restart`: a server of a gateway that runs, ended and started anew.

use crate::app::App;
use crate::args::serve::Restart;
use crate::control::{Request, choose};
use crate::exit::Failure;
use crate::output::{Outcome, Page};

pub(crate) async fn run(args: &Restart, app: &App) -> Result<Outcome, Failure> {
    let visit = choose(args.of.socket.as_deref(), app.global.config.as_deref()).await?;
    let server = args.server.clone();
    let _status = app.output.status(&format!("restarting {server}"));
    let done = visit.ask(&Request::Restart { server }).await?;
    Ok(Outcome::of(
        app,
        || Page::new().line(format!("{} is restarted and ready", args.server)),
        || done,
    ))
}
