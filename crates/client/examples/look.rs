//! What does a server offer?
//!
//! ```sh
//! cargo run -q -p switchboard-client --example look -- npx -y @modelcontextprotocol/server-everything
//! cargo run -q -p switchboard-client --example look -- https://mcp.example.com/mcp
//! ```

use std::io::{self, Write};
use std::process::ExitCode;

use switchboard_client::{Client, Error, Spec};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let spec = match words.as_slice() {
        [] => {
            let _ = writeln!(io::stderr(), "usage: look (COMMAND [ARGUMENT…] | URL)");
            return ExitCode::from(2);
        }
        [one] => one.parse(),
        [program, arguments @ ..] => Ok(Spec::command(program).args(arguments)),
    };
    let outcome = match spec {
        Ok(spec) => look(spec).await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match outcome {
        Ok(found) => {
            let _ = write!(io::stdout(), "{found}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn look(spec: Spec) -> Result<String, Error> {
    let client = Client::connect(spec).await?;
    let ready = client.ready().await?;
    let name = ready.server.as_ref().map_or("?", |server| &server.name);
    let mut found = format!("{name}, revision {}\n", ready.revision);
    if ready.capabilities.has_tools() {
        for tool in &*client.tools().await? {
            found.push_str(&format!("tool     {}\n", tool.name));
        }
    }
    if ready.capabilities.prompts.is_some() {
        for prompt in &*client.prompts().await? {
            found.push_str(&format!("prompt   {}\n", prompt.name));
        }
    }
    if ready.capabilities.resources.is_some() {
        for resource in &*client.resources().await? {
            found.push_str(&format!("resource {}\n", resource.uri));
        }
    }
    client.close().await;
    Ok(found)
}
