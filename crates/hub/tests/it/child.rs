//! A server of the tests: this very program, started once more.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_hub::ServerConfig;
use switchboard_server::{Server, tool};

/// How it is configured.
pub(crate) fn server(name: &str) -> ServerConfig {
    let program = std::env::current_exe().unwrap().display().to_string();
    ServerConfig::command(name, [&*program, "--exact", "child::serves", "--nocapture"])
        .env(VARIABLE, "yes")
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Slow {
    /// What is written when it is given up.
    mark: String,
}

/// Writes a file when it is dropped.
struct Mark(String);

impl Drop for Mark {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.0, "given up");
    }
}

#[test]
fn serves() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let server = Server::new("child", "1.0.0");
    let handle = server.handle();
    let server = server
        .tool(tool("pid", async || std::process::id()).read_only())
        .tool(tool("add", async |add: Add| add.a + add.b))
        .tool(tool("slow", async |slow: Slow| {
            let _mark = Mark(slow.mark);
            tokio::time::sleep(Duration::from_secs(3600)).await;
            "done"
        }))
        .tool(tool("die", async || -> String { std::process::abort() }))
        .tool(tool("grow", move || {
            let added = handle.add_tool(tool("grown", async || "new"));
            assert!(added.is_ok());
            std::future::ready("grown")
        }));
    runtime.unwrap().block_on(server.serve_stdio()).unwrap();
}

const VARIABLE: &str = "SWITCHBOARD_HUB_CHILD";
