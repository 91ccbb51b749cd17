//! `switchboard codegen`.

use serde_json::json;

use crate::app::App;
use crate::args::check::{Codegen, Language};
use crate::codegen::{ServerTools, rust, typescript};
use crate::exit::Failure;
use crate::output::{Outcome, Page};
use crate::servers::Servers;
use crate::tool_file::ToolFile;

pub(crate) async fn run(args: &Codegen, app: &App) -> Result<Outcome, Failure> {
    let write = match args.lang {
        Language::Typescript => typescript,
        Language::Rust => rust,
    };
    let (text, count, partial) = match &args.file {
        Some(path) => {
            let file = ToolFile::read(path)?;
            let tools = ServerTools {
                server: &file.server,
                tools: file.tools.iter().collect(),
            };
            (write(&[tools]), file.tools.len(), None)
        }
        None => {
            let servers = Servers::open(app, &args.of).await?;
            let failures = servers.connect(app).await;
            let partial = servers.judge(app, failures)?;
            let catalog = servers.hub.catalog();
            // Only what may be called.
            let tools = |name: &String| catalog.tools_of(name).to_vec();
            let usable: Vec<_> = servers
                .names
                .iter()
                .map(|name| (name, tools(name)))
                .collect();
            let described = usable.iter().map(|(server, tools)| ServerTools {
                server,
                tools: tools.iter().map(|entry| &*entry.tool).collect(),
            });
            let described: Vec<ServerTools<'_>> = described.collect();
            let count = described.iter().map(|server| server.tools.len()).sum();
            (write(&described), count, partial)
        }
    };
    let outcome = match &args.out {
        Some(path) => {
            let written = std::fs::write(path, &text);
            written.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
            let path = path.display().to_string();
            Outcome::of(
                app,
                || Page::new().line(format!("{path}: {count} tools")),
                || json!({ "file": path, "tools": count }),
            )
        }
        None => Outcome::of(
            app,
            || Page::new().text(&text),
            || json!({ "text": text, "tools": count }),
        ),
    };
    Ok(outcome.but(partial))
}
