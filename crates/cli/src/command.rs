//! The verbs, a file each.
//!
//! A verb takes what was said, asks the hub, and returns what is to be shown or why there is
//! nothing. It prints nothing.

mod add;
mod add_json;
mod auth;
mod call;
mod codegen;
mod complete;
mod complete_words;
mod completion;
mod demo;
mod diff;
mod disable;
mod doctor;
mod enable;
mod import;
mod lint;
mod lock;
mod login;
mod logout;
mod logs;
mod ls;
mod man;
mod prompt;
mod prompts;
mod raw;
mod read;
mod reload;
mod remove;
mod resources;
mod restart;
mod search;
mod serve;
mod show;
mod status;
mod tools;
mod trust;
mod validate;
mod watch;

use crate::app::App;
use crate::args::Verb;
use crate::exit::Failure;
use crate::output::Outcome;

/// Does what was said.
pub(crate) async fn run(verb: &Verb, app: &App) -> Result<Outcome, Failure> {
    match verb {
        Verb::Ls(args) => ls::run(args, app).await,
        Verb::Tools(args) => tools::run(args, app).await,
        Verb::Resources(args) => resources::run(args, app).await,
        Verb::Prompts(args) => prompts::run(args, app).await,
        Verb::Show(args) => show::run(args, app).await,
        Verb::Search(args) => search::run(args, app).await,
        Verb::Watch(args) => watch::run(args, app).await,
        Verb::Call(args) => call::run(args, app).await,
        Verb::Read(args) => read::run(args, app).await,
        Verb::Prompt(args) => prompt::run(args, app).await,
        Verb::Complete(args) => complete::run(args, app).await,
        Verb::Raw(args) => raw::run(args, app).await,
        Verb::Demo(args) => demo::run(args, app).await,
        Verb::Add(args) => add::run(args, app).await,
        Verb::AddJson(args) => add_json::run(args, app).await,
        Verb::Remove(args) => remove::run(args, app).await,
        Verb::Enable(args) => enable::run(args, app).await,
        Verb::Disable(args) => disable::run(args, app).await,
        Verb::Import(args) => import::run(args, app).await,
        Verb::Validate(args) => validate::run(args, app).await,
        Verb::Trust(args) => trust::run(args, app).await,
        Verb::Untrust(args) => trust::revoke(args, app).await,
        Verb::Diff(args) => diff::run(args, app).await,
        Verb::Login(args) => login::run(args, app).await,
        Verb::Logout(args) => logout::run(args, app).await,
        Verb::Auth(args) => auth::run(args, app).await,
        Verb::Lint(args) => lint::run(args, app).await,
        Verb::Lock(args) => lock::run(args, app).await,
        Verb::Codegen(args) => codegen::run(args, app).await,
        Verb::Doctor(args) => doctor::run(args, app).await,
        Verb::Completion(args) => completion::run(args, app).await,
        Verb::Serve(args) => serve::run(args, app).await,
        Verb::Status(args) => status::run(args, app).await,
        Verb::Logs(args) => logs::run(args, app).await,
        Verb::Restart(args) => restart::run(args, app).await,
        Verb::Reload(args) => reload::run(args, app).await,
        Verb::CompleteWords(args) => complete_words::run(args, app).await,
        Verb::Man(args) => man::run(args, app),
    }
}
