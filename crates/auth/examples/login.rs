//! How does a person log in to a server, once?
//!
//! ```sh
//! cargo run -q -p switchboard-auth --example login -- https://mcp.example.com/mcp
//! cargo run -q -p switchboard-auth --example login -- --logout https://mcp.example.com/mcp
//! ```
//!
//! The second time it needs nobody. Without a browser on this machine, open the URL elsewhere
//! and paste the one that it ends at.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use switchboard_auth::{Browser, OAuth, Secret};
use switchboard_client::{Client, Spec};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::sync::Mutex;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["--logout", url] => log_out(url).await,
        [url] if !url.starts_with('-') => log_in(url).await,
        _ => {
            let _ = writeln!(io::stderr(), "usage: login [--logout] URL");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(text) => {
            let _ = write!(io::stdout(), "{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            let mut cause = error.source();
            while let Some(error) = cause {
                let _ = writeln!(io::stderr(), "  because: {error}");
                cause = error.source();
            }
            ExitCode::FAILURE
        }
    }
}

async fn log_in(url: &str) -> Result<String, Box<dyn Error>> {
    let login = OAuth::for_server(url)?.interaction(browser()).build()?;
    if login.status().await?.is_none() {
        login.login().await?;
    }
    let spec = Spec::url(url)?.credentials(Arc::new(login.clone()));
    let client = Client::connect(spec).await?;
    let mut text = String::new();
    if let Some(status) = login.status().await? {
        text.push_str(&format!("logged in at {}\n", status.issuer));
    }
    for tool in &*client.tools().await? {
        text.push_str(&format!("tool {}\n", tool.name));
    }
    client.close().await;
    Ok(text)
}

async fn log_out(url: &str) -> Result<String, Box<dyn Error>> {
    let login = OAuth::for_server(url)?.build()?;
    Ok(match login.logout().await? {
        true => "logged out\n".to_owned(),
        false => "nobody was logged in\n".to_owned(),
    })
}

/// A browser on this machine, or one elsewhere whose last URL is pasted here.
fn browser() -> Browser {
    let lines = Arc::new(Mutex::new(BufReader::new(stdin()).lines()));
    Browser::new()
        .announce(|page| {
            let _ = writeln!(
                io::stderr(),
                "Log in to {} here:\n\n  {}\n\nIf the browser is on another machine, paste the \
                 URL that it ends at.",
                page.server,
                page.url.as_str()
            );
        })
        .explain(|reason| {
            let _ = writeln!(io::stderr(), "{reason}");
        })
        .paste(move || {
            let lines = Arc::clone(&lines);
            Box::pin(async move {
                let line = lines.lock().await.next_line().await;
                Ok(line.ok().flatten().map(Secret::new))
            })
        })
}
