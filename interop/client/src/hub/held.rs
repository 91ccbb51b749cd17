//! The host that is killed: a hub of five servers of `npx`, from a file.

use switchboard_hub::Hub;

use crate::killed::{HOLDING, SERVERS};
use crate::members;
use crate::places::Places;
use crate::processes::VARIABLE;
use crate::report;

/// Starts the servers, says so, and waits for its end.
pub(crate) async fn hold(places: &Places, mark: &str) {
    match connected(places, mark).await {
        Err(reason) => report::line(&reason),
        Ok(_hub) => {
            report::line(HOLDING);
            std::future::pending().await
        }
    }
}

async fn connected(places: &Places, mark: &str) -> Result<Hub, String> {
    let entries = SERVERS.iter().map(|(package, argument)| {
        let words = ["--offline", "--no-install", package];
        let words: Vec<&str> = words.into_iter().chain(*argument).collect();
        let entry = serde_json::json!({
            "command": "npx", "args": words, "cwd": places.node, "env": {VARIABLE: mark},
        });
        (package.to_string(), entry)
    });
    let entries: serde_json::Map<_, _> = entries.collect();
    let text = serde_json::json!({"mcpServers": entries}).to_string();
    let file = places.scratch.join("held.json");
    std::fs::write(&file, text).map_err(|error| error.to_string())?;
    let hub = Hub::from_file(file)
        .await
        .map_err(|error| error.to_string())?;
    members::connect(&hub).await?;
    Ok(hub)
}

pub(crate) const NAME: &str = "kill -9 of a host with a hub of 5 servers of npx";
