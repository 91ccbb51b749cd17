//! A server of the tests: this very program, started once more.

use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_hub::ServerConfig;
use switchboard_server::{Server, tool};
use tokio::net::TcpStream;

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
struct Port {
    /// Where to connect to.
    port: u16,
}

async fn connect(port: &Port) -> Result<TcpStream, String> {
    let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, port.port)).await;
    connected.map_err(|error| error.to_string())
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
        // A connection that ends with the call, and one that ends with the process.
        .tool(tool("hold", async |port: Port| -> Result<String, String> {
            let _connection = connect(&port).await?;
            std::future::pending().await
        }))
        .tool(tool("stay", async |port: Port| -> Result<String, String> {
            std::mem::forget(connect(&port).await?);
            Ok("connected".to_owned())
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
