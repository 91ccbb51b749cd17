//! `switchboard read`: a resource is read, its text printed.

use switchboard_client::types::{ReadResourceResult, ResourceContents};
use switchboard_hub::HubError;

use crate::app::App;
use crate::args::call::Read;
use crate::args::look::Of;
use crate::command::call::unanswered;
use crate::exit::Failure;
use crate::json::Json;
use crate::output::Outcome;
use crate::parts::Parts;
use crate::servers::Servers;

pub(crate) async fn run(args: &Read, app: &App) -> Result<Outcome, Failure> {
    let (server, uri) = match &*args.target {
        [uri] => (None, uri),
        [server, uri] => (Some(server.clone()), uri),
        _ => return Err(Failure::usage("which resource?")),
    };
    let of = Of {
        server,
        spot: args.spot.clone(),
    };
    let servers = Servers::open(app, &of).await?;
    let failures = servers.connect(app).await;
    servers.judge(app, failures)?;
    let status = app.output.status(&format!("reading {uri}"));
    let call = match &*servers.names {
        [only] => servers.hub.read_on(only, uri),
        _ => servers.hub.read(uri),
    };
    let result = call.raw().await;
    drop(status);
    let payload = result.map_err(|error| {
        unanswered(app).unwrap_or_else(|| {
            Failure::from(error)
                .or_hint(|| "`switchboard resources` shows those that are listed".to_owned())
        })
    })?;
    let unreadable = |error| HubError::Unreadable {
        server: servers.names.first().cloned().unwrap_or_default(),
        name: uri.clone(),
        error,
    };
    let result: ReadResourceResult = payload.decode().map_err(unreadable)?;
    // Into a file or a pipe go the bytes themselves.
    if let [ResourceContents::Blob(blob)] = &*result.contents
        && args.save.is_none()
        && !app.output.is_json()
        && !app.output.is_terminal()
        && let Some(bytes) = blob.bytes()
    {
        return Ok(Outcome::nothing().bytes(bytes));
    }
    let mut parts = Parts::new(app, args.save.as_deref());
    if !app.output.is_json() || args.save.is_some() {
        for contents in &result.contents {
            parts.contents(contents)?;
        }
    }
    Ok(Outcome::of(
        app,
        || parts.into_page(),
        || Json::read(payload.text()),
    ))
}
