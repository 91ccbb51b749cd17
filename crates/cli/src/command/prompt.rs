//! `switchboard prompt`: a prompt is filled in, its text printed.

use switchboard_client::types::{GetPromptResult, Role};
use switchboard_hub::HubError;

use crate::app::App;
use crate::args::call::Prompt;
use crate::arguments::{self, Input};
use crate::command::call::{find_prompt, unanswered};
use crate::exit::Failure;
use crate::json::Json;
use crate::output::Outcome;
use crate::parts::Parts;
use crate::target::Target;

pub(crate) async fn run(args: &Prompt, app: &App) -> Result<Outcome, Failure> {
    let input = Input::ahead(&args.words)?;
    let target = Target::find(app, &args.words, &args.spot).await?;
    let entry = find_prompt(&target, target.name("prompt")?)?;
    let given = arguments::of_prompt(&entry.prompt, &target.rest, &input)?;
    let name = &entry.prompt.name;
    let call = target.servers.hub.prompt_on(&entry.server, name, given);
    let payload = call
        .raw()
        .await
        .map_err(|error| unanswered(app).unwrap_or_else(|| error.into()))?;
    let unreadable = |error| HubError::Unreadable {
        server: entry.server.to_string(),
        name: name.clone(),
        error,
    };
    let result: GetPromptResult = payload.decode().map_err(unreadable)?;
    let mut parts = Parts::new(app, args.save.as_deref());
    if !app.output.is_json() || args.save.is_some() {
        let has_turns = result.messages.len() > 1;
        for message in &result.messages {
            if has_turns {
                parts.text(match message.role {
                    Role::User => "[user]",
                    Role::Assistant => "[assistant]",
                });
            }
            parts.block(&message.content)?;
        }
    }
    Ok(Outcome::of(
        app,
        || parts.into_page(),
        || Json::read(payload.text()),
    ))
}
