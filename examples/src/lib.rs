//! What the example programs share: how they are started.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use switchboard_server::protocol::http::origin::Guard;
use switchboard_server::{Server, shutdown_signal};
use tokio::net::TcpListener;

/// Serves on stdio or, with `--http PORT`, at `http://127.0.0.1:PORT/mcp`.
///
/// # Errors
/// The arguments are not these, or the server cannot be served.
pub async fn run(server: Server) -> io::Result<()> {
    let site = server.site()?;
    let Some(port) = port(std::env::args().skip(1))? else {
        return site.serve_stdio().await;
    };
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    let address = listener.local_addr()?;
    let mut settings = site.http_settings();
    settings.guard = Guard::for_address(address);
    eprint(&format!("listening on http://{address}/mcp"));
    site.serve_http_on(listener, settings, shutdown_signal())
        .await
}

/// The port to listen on, if there is one.
fn port(mut arguments: impl Iterator<Item = String>) -> io::Result<Option<u16>> {
    match (
        arguments.next().as_deref(),
        arguments.next(),
        arguments.next(),
    ) {
        (None, _, _) => Ok(None),
        (Some("--http"), Some(port), None) => port.parse().map(Some).map_err(|_| usage()),
        _ => Err(usage()),
    }
}

fn usage() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "expected no arguments, or --http PORT (0 for any free port)",
    )
}

#[expect(
    clippy::print_stderr,
    reason = "standard output belongs to the protocol"
)]
fn eprint(line: &str) {
    eprintln!("{line}");
}
