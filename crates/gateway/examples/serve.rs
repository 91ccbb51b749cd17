//! A gateway before the servers of a configuration.
//!
//! ```text
//! cargo run -p switchboard-gateway --example serve -- mcp.json [--http PORT] [--plain]
//! ```
//!
//! On standard input and output, or at `/mcp` of a loopback port. `--plain` leaves the names of
//! tools as the servers have them.

use std::error::Error;
use std::io::Write;
use std::net::Ipv4Addr;

use switchboard_gateway::{Gateway, Names};
use switchboard_hub::{Config, Hub};
use switchboard_server::shutdown_signal;
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (mut file, mut port, mut names) = (None, None, Names::Server);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--http" => port = words.next().map(|port| port.parse::<u16>()).transpose()?,
            "--plain" => names = Names::Plain,
            _ => file = Some(word),
        }
    }
    let config = Config::from_file(file.ok_or("a configuration is missing")?)?;
    for problem in &config.problems {
        say(format_args!("{problem}"))?;
    }
    let gateway = Gateway::builder(Hub::builder().config(config))
        .names(names)
        .build();
    for server in gateway.hub().connect_all().await {
        say(format_args!("{}: {}", server.name, server.state))?;
    }
    match port {
        Some(port) => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
            let address = listener.local_addr()?;
            say(format_args!("listening on http://{address}/mcp"))?;
            let settings = gateway.site().http_settings();
            let site = gateway.site();
            site.serve_http_on(listener, settings, shutdown_signal())
                .await?;
        }
        None => gateway.site().serve_stdio().await?,
    }
    gateway.hub().close().await;
    Ok(())
}

/// On standard error: standard output may be the connection.
fn say(words: std::fmt::Arguments<'_>) -> std::io::Result<()> {
    writeln!(std::io::stderr(), "{words}")
}
