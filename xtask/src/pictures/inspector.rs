//! The Inspector's page before the gateway, in a browser: as somebody sees it who follows the README.
//!
//! What is done there is in `interop/gateway/inspector.mjs`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::interop::wait_until_ready;
use crate::process::{self, Show};
use crate::report;
use crate::tools;
use crate::workspace::Workspace;

/// Takes them, with the servers of this stage behind the gateway.
pub(super) fn take(workspace: &Workspace, stage: &Path) -> Result<(), String> {
    let Some(browser) = tools::on_path("chromium") else {
        report::line(
            "chromium is not on the search path: the Inspector's pictures stay as they are",
        );
        return Ok(());
    };
    let node = tools::node(workspace)?;
    let config = stage.join("gateway.json");
    super::write(&config, SERVERS)?;
    let mut gateway = Command::new(workspace.binary("switchboard"));
    gateway
        .args(["serve", "--http", GATEWAY, "--config"])
        .arg(&config);
    super::within(&mut gateway, stage);
    let mut taken = Ok(());
    process::with_server(&mut gateway, "listening on ", |address| {
        // All at once would take longer than any of them.
        taken = wait_until_ready(address);
        if taken.is_err() {
            return;
        }
        let mut inspector = Command::new("sh");
        // It says on stdout where it is.
        inspector.args(["-c", "exec \"$@\" >&2", "sh", "node"]);
        inspector.arg(node.join(tools::INSPECTOR));
        inspector.args(["--web", "--transport", "http", "--protocol-era", "modern"]);
        inspector.args(["--server-url", address]);
        super::within(&mut inspector, stage);
        inspector
            .env("HOME", stage)
            .env("MCP_AUTO_OPEN_ENABLED", "false");
        let mut seen = Ok(());
        let served = process::with_server(&mut inspector, PAGE, |rest| {
            seen = look(
                workspace,
                &node,
                &browser,
                &format!("{}{rest}", PAGE.trim()),
            );
        });
        taken = served.and(seen);
    })?;
    taken
}

fn look(workspace: &Workspace, node: &Path, browser: &Path, page: &str) -> Result<(), String> {
    let pictures = workspace.root.join("docs").join("pictures");
    fs::create_dir_all(&pictures).map_err(|error| format!("{}: {error}", pictures.display()))?;
    let mut command = Command::new("node");
    command.arg(node.join("gateway").join("inspector.mjs"));
    command.arg(page).arg(browser).arg(&pictures);
    let looked = process::run_bounded(&mut command, Show::All, LIMIT)?;
    looked.check("the browser")
}

/// How the Inspector says where its page is.
const PAGE: &str = "   http://127.0.0.1:";
/// As in the README, so that it looks the same in the picture.
const GATEWAY: &str = "127.0.0.1:8000";
const LIMIT: Duration = Duration::from_secs(180);
const SERVERS: &str = r#"{
  "mcpServers": {
    "everything": { "command": "mcp-server-everything", "args": ["stdio"], "required": true },
    "memory": { "command": "mcp-server-memory", "env": { "MEMORY_FILE_PATH": "memory.jsonl" }, "required": true },
    "tasks": { "command": "switchboard", "args": ["demo", "serve", "--db", "tasks.sqlite"], "required": true },
    "time": { "command": "mcp-server-time", "args": ["--local-timezone", "UTC"], "required": true }
  }
}
"#;
