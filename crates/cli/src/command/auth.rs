//! `switchboard auth`: which logins there are, for how long, and where they are kept.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use switchboard_auth::{FileStore, OAuth, OAuthBuilder, Place, Status, Store};
use switchboard_hub::System;

use super::login::document;
use crate::app::App;
use crate::args::login::Auth;
use crate::exit::{Failure, with_causes};
use crate::logins::{Login, failure};
use crate::output::{Column, Line, Outcome, Page, Style, Table};
use crate::source::{Source, find_file};

pub(crate) async fn run(args: &Auth, app: &App) -> Result<Outcome, Failure> {
    let unread = |error: &dyn std::error::Error| Failure::unexpected(with_causes(error));
    let store = FileStore::of_user().map_err(|error| unread(&error))?;
    let logins = match &args.server {
        Some(server) => {
            let login = Login::of(app, server, &[]).await?.quiet()?;
            match login.status().await {
                Ok(Some(status)) => vec![(server.clone(), status)],
                Ok(None) => {
                    let message = format!("nobody is logged in to {server:?}");
                    return Err(Failure::login(server, message));
                }
                Err(error) => return Err(failure(server, &error)),
            }
        }
        None => all(app, &store).await?,
    };
    let folder = store.folder().to_string_lossy().into_owned();
    let page = || {
        if logins.is_empty() {
            return Page::new().line("no logins");
        }
        let mut table = Table::new([
            Column::left("SERVER"),
            Column::left("EXPIRES"),
            Column::left("ISSUER"),
            Column::rest("SCOPES"),
        ]);
        let now = now();
        for (server, status) in &logins {
            let (style, expires) = expires(status, now);
            table.row([
                Line::new().strong(server),
                Line::new().styled(style, expires),
                status.issuer.as_str().into(),
                status.scopes.to_string().into(),
            ]);
        }
        let kept = Line::new().faint(format!("kept in {folder}"));
        Page::new().table(table).line(kept)
    };
    let rows = || {
        let rows = logins.iter();
        rows.map(|(server, status)| document(server, status))
    };
    Ok(Outcome::of(
        app,
        page,
        || json!({"folder": folder, "logins": rows().collect::<Vec<_>>()}),
    )
    .lines(&["logins"]))
}

/// Every login that is kept, under the names that the servers have here.
async fn all(app: &App, store: &FileStore) -> Result<Vec<(String, Status)>, Failure> {
    let mut logins = Vec::new();
    let mut named = Vec::new();
    // Without a configuration there are only URLs.
    let source = match find_file(&app.global) {
        Some(_) => Some(Source::agreed(app).await?),
        None => None,
    };
    let servers = source.iter().flat_map(|source| &source.config.servers);
    for server in servers {
        // One whose variables have no values has no login here either.
        let Ok(Some(login)) = Login::of_server(server, &[], &System::new()) else {
            continue;
        };
        let place = login.place.clone();
        let oauth = login.quiet()?;
        let status = oauth.status().await;
        if let Some(status) = status.map_err(|error| failure(&server.name, &error))? {
            named.push(place);
            logins.push((server.name.clone(), status));
        }
    }
    let unread = |error: &dyn std::error::Error| Failure::unexpected(with_causes(error));
    let others = store.servers().await.map_err(|error| unread(&error))?;
    for url in others {
        let is_named = |place: &Place| {
            Place::parse(&url).is_ok_and(|other| other.canonical() == place.canonical())
        };
        if named.iter().any(is_named) {
            continue;
        }
        let login = OAuth::for_server(&url).and_then(OAuthBuilder::build);
        let login = login.map_err(|error| failure(&url, &error))?;
        if let Some(status) = login
            .status()
            .await
            .map_err(|error| failure(&url, &error))?
        {
            logins.push((url, status));
        }
    }
    Ok(logins)
}

/// How long it counts. One that renews itself has no end that anybody would notice.
fn expires(status: &Status, now: u64) -> (Style, String) {
    let renews = if status.is_renewable {
        ", renews itself"
    } else {
        ""
    };
    match status.expires_at {
        None => (Style::Plain, "not said".to_owned()),
        Some(at) if at > now => (Style::Good, format!("in {}{renews}", span(at - now))),
        Some(_) if status.is_renewable => (Style::Good, "renews itself".to_owned()),
        Some(at) => (
            Style::Bad,
            format!("ended {} ago", span(now.saturating_sub(at))),
        ),
    }
}

/// The largest unit that says something.
fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_the_unit_that_says_most() {
        let check = |seconds, expected: &str| assert_eq!(span(seconds), expected);
        check(0, "0 s");
        check(119, "119 s");
        check(120, "2 min");
        check(7_199, "119 min");
        check(7_200, "2 h");
        check(172_800, "2 d");
    }
}
