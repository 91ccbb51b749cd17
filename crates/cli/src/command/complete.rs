//! `switchboard complete`: an argument is completed by its server.

use switchboard_client::types::{
    CompleteRequestParams, CompletionArgument, CompletionContext, CompletionReference,
};

use crate::app::App;
use crate::args::call::Complete;
use crate::arguments::{Input, Said};
use crate::command::call::find_prompt;
use crate::exit::Failure;
use crate::json::Json;
use crate::output::{Outcome, Page};
use crate::target::Target;

pub(crate) async fn run(args: &Complete, app: &App) -> Result<Outcome, Failure> {
    let input = Input::ahead(&args.words)?;
    let target = Target::find(app, &args.words, &args.spot).await?;
    let name = target.name("prompt")?;
    let reference = reference(&target, name)?;
    let mut said = Vec::new();
    for word in &target.rest {
        let one = Said::read(word, &input)?;
        said.push(one.ok_or_else(|| Failure::usage(format!("{word:?} is no name=value")))?);
    }
    let Some(last) = said.pop() else {
        return Err(Failure::usage("which argument? write name=beginning"));
    };
    let argument = CompletionArgument::new(last.name, last.value);
    let mut params = CompleteRequestParams::new(reference, argument);
    if !said.is_empty() {
        let mut context = CompletionContext::default();
        context.arguments = Some(said.into_iter().map(|one| (one.name, one.value)).collect());
        params.context = Some(context);
    }
    let result = target.servers.hub.complete(params).await?;
    Ok(Outcome::of(
        app,
        || {
            let values = result.completion.values.iter();
            values.fold(Page::new(), |page, value| page.line(value.as_str()))
        },
        || Json::of(&result),
    ))
}

/// The prompt or the template that is meant, as the catalogue has it.
fn reference(target: &Target, name: &str) -> Result<CompletionReference, Failure> {
    let catalog = target.servers.hub.catalog();
    let template = catalog.templates().find(|entry| {
        let is_on = target
            .server
            .as_deref()
            .is_none_or(|server| *entry.server == *server);
        is_on && entry.template.uri_template == name
    });
    if let Some(entry) = template {
        return Ok(CompletionReference::resource_template(&*entry.uri_template));
    }
    let entry = find_prompt(target, name)?;
    Ok(CompletionReference::prompt(entry.name.as_str()))
}
