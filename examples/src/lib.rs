//! What the example programs share: how they are started.
//!
//! [`run`] is enough for a program without options of its own; one that has some reads its
//! [`Options`] first and then calls [`serve`].

mod options;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use switchboard_server::protocol::http::origin::Guard;
use switchboard_server::{Server, shutdown_signal};
use tokio::net::TcpListener;

pub use options::{Options, OwnOption};

/// Serves on stdio or, with `--http PORT`, at `http://127.0.0.1:PORT/mcp`.
///
/// # Errors
/// The arguments are not these, or the server cannot be served.
pub async fn run(server: Server) -> io::Result<()> {
    match Options::of_process("An example server.", &[])? {
        Some(options) => serve(server, &options).await,
        None => Ok(()),
    }
}

/// Serves as the options say.
///
/// # Errors
/// The server cannot be served.
pub async fn serve(server: Server, options: &Options) -> io::Result<()> {
    let site = server.site()?;
    let Some(port) = options.http() else {
        return site.serve_stdio().await;
    };
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    let address = listener.local_addr()?;
    let mut settings = site.http_settings();
    settings.guard = Guard::for_address(address);
    print(&format!("listening on http://{address}/mcp"));
    site.serve_http_on(listener, settings, shutdown_signal())
        .await
}

/// What a program ends with. An error is said in one line, with its causes.
pub fn exit_code(result: io::Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    let mut line = format!("error: {error}");
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        line.push_str(&format!(": {error}"));
        cause = error.source();
    }
    print(&line);
    ExitCode::FAILURE
}

#[expect(
    clippy::print_stderr,
    reason = "standard output belongs to the protocol"
)]
fn print(line: &str) {
    eprintln!("{line}");
}
