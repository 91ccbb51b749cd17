//! `switchboard logout`: logins ended where they came from, and forgotten.

use serde_json::json;
use switchboard_auth::{FileStore, OAuth, Store};

use crate::app::App;
use crate::args::login::Logout;
use crate::exit::{Failure, with_causes};
use crate::logins::{Login, failure};
use crate::output::{Line, Outcome, Page};

pub(crate) async fn run(args: &Logout, app: &App) -> Result<Outcome, Failure> {
    let ended = match &args.server {
        Some(server) => {
            let login = Login::of(app, server, &[]).await?.quiet()?;
            match login.logout().await {
                Ok(true) => vec![server.clone()],
                Ok(false) => Vec::new(),
                Err(error) => return Err(failure(server, &error)),
            }
        }
        None => all().await?,
    };
    let page = || match (&args.server, &ended[..]) {
        (Some(server), []) => Page::new().line(format!("nobody was logged in to {server}")),
        (None, []) => Page::new().line("nobody was logged in"),
        (_, ended) => ended.iter().fold(Page::new(), |page, server| {
            page.line(Line::new().plain("logged out of ").strong(server))
        }),
    };
    Ok(Outcome::of(app, page, || json!({ "loggedOut": ended })).lines(&["loggedOut"]))
}

/// Every login that is kept.
async fn all() -> Result<Vec<String>, Failure> {
    let unread = |error: &dyn std::error::Error| Failure::unexpected(with_causes(error));
    let store = FileStore::of_user().map_err(|error| unread(&error))?;
    let servers = store.servers().await.map_err(|error| unread(&error))?;
    let mut ended = Vec::new();
    for server in servers {
        let login = OAuth::for_server(&server).and_then(switchboard_auth::OAuthBuilder::build);
        let login = login.map_err(|error| failure(&server, &error))?;
        if login
            .logout()
            .await
            .map_err(|error| failure(&server, &error))?
        {
            ended.push(server);
        }
    }
    Ok(ended)
}
