//! `switchboard raw`: any request, its result as JSON.

use serde_json::Value;

use crate::app::App;
use crate::args::call::Raw;
use crate::args::look::Of;
use crate::arguments::{LARGEST_INPUT, standard_input};
use crate::command::call::unanswered;
use crate::exit::Failure;
use crate::json::Json;
use crate::output::{Outcome, Page};
use crate::servers::Servers;

pub(crate) async fn run(args: &Raw, app: &App) -> Result<Outcome, Failure> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let (server, method, params) = match (&*words, args.spot.command.is_empty()) {
        ([method], false) => (None, *method, None),
        ([method, params], false) => (None, *method, Some(*params)),
        ([server, method], true) => (Some(*server), *method, None),
        ([server, method, params], true) => (Some(*server), *method, Some(*params)),
        ([_], true) => return Err(Failure::usage("which server, and which method?")),
        _ => {
            return Err(Failure::usage(
                "a command is the server: METHOD [JSON] -- COMMAND",
            ));
        }
    };
    let params: Option<Value> = params
        .map(|text| {
            let text = match text {
                "-" => standard_input(LARGEST_INPUT)?,
                text => text.to_owned(),
            };
            serde_json::from_str(&text)
                .map_err(|error| Failure::usage(format!("the parameters are no JSON: {error}")))
        })
        .transpose()?;
    let of = Of {
        server: server.map(str::to_owned),
        spot: args.spot.clone(),
    };
    let servers = Servers::open(app, &of).await?;
    let failures = servers.connect(app).await;
    // Lists that cannot be read are what this is used to look into.
    if let Some(name) = servers.names.first()
        && !servers.is_ready(name)
    {
        servers.judge(app, failures)?;
    }
    let name = servers.names.first().cloned().unwrap_or_default();
    let call = servers.hub.request_on(&name, method, params.as_ref());
    let payload = call
        .await
        .map_err(|error| unanswered(app).unwrap_or_else(|| error.into()))?;
    let result = Json::read(payload.text());
    Ok(Outcome::of(
        app,
        || Page::new().text(serde_json::to_string_pretty(&result).unwrap_or_default()),
        || result.clone(),
    ))
}
