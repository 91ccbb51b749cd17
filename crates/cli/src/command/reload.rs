//! `switchboard reload`: the file of a gateway that runs, read again now.

use crate::app::App;
use crate::args::serve::Reload;
use crate::control::{Request, choose};
use crate::exit::Failure;
use crate::json::Json;
use crate::output::{Outcome, Page};

pub(crate) async fn run(args: &Reload, app: &App) -> Result<Outcome, Failure> {
    let visit = choose(args.of.socket.as_deref(), app.global.config.as_deref()).await?;
    let done = visit.ask(&Request::Reload).await?;
    let said = done.get("reloaded").and_then(Json::as_str);
    let said = said.unwrap_or_default().to_owned();
    Ok(Outcome::of(app, || Page::new().line(said), || done))
}
