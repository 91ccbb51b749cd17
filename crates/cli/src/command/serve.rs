//! `switchboard serve`: all servers as one, for other programs.
//!
//! On standard input and output, or over HTTP. Without a key it listens on this machine only.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use switchboard_gateway::{Gateway, Names};
use switchboard_hub::{Event, Hub, MemberState};
use switchboard_server::access::{BearerTokens, Principal};
use switchboard_server::{Site, shutdown_signal};
use tokio::net::TcpListener;

use crate::app::App;
use crate::args::check::{Serve, ServedNames};
use crate::exit::{Failure, with_causes};
use crate::logins;
use crate::output::Outcome;
use crate::source::{self, Source};

pub(crate) async fn run(args: &Serve, app: &App) -> Result<Outcome, Failure> {
    let source = match source::on_the_spot(None, &args.command)? {
        Some(server) => Source::of_one(server),
        None => Source::find(&app.global)?,
    };
    for problem in source.config.errors() {
        app.output.warn(&problem.to_string());
    }
    let surroundings = app.surroundings(&source.config);
    let surroundings = match args.http {
        Some(_) => surroundings,
        None => surroundings.unattended(),
    };
    let builder = Hub::builder().config(source.config);
    let builder = builder.surroundings(Arc::new(surroundings));
    let mut builder = builder.login(logins::describe);
    if let Some(folder) = source::cache_folder() {
        builder = builder.cache(folder);
    }
    let gateway = Gateway::builder(builder)
        .names(match args.names {
            ServedNames::Server => Names::Server,
            ServedNames::Mcp => Names::Mcp,
            ServedNames::Plain => Names::Plain,
        })
        .build();
    let hub = gateway.hub().clone();
    app.adopt(&hub);
    let watching = hub.events();
    let connecting = hub.clone();
    // A client that is quick is answered by those that are ready; it hears of the others.
    let connecting = tokio::spawn(async move { drop(connecting.connect_all().await) });
    let serving = serve(args, app, gateway.site());
    let outcome = tokio::select! {
        outcome = serving => outcome,
        never = tell(app, watching) => never,
    };
    connecting.abort();
    outcome.map(|()| Outcome::nothing())
}

async fn serve(args: &Serve, app: &App, site: &Site) -> Result<(), Failure> {
    let broken = |error: std::io::Error| Failure::unexpected(with_causes(&error));
    let Some(address) = &args.http else {
        return site.serve_stdio().await.map_err(broken);
    };
    let address = address_of(address)?;
    let mut settings = site.http_settings();
    match &args.key_env {
        Some(variable) => {
            let key = std::env::var(variable).map_err(|_| {
                Failure::usage(format!("the variable {variable} has no value"))
                    .hint("it is to hold the key that clients must have")
            })?;
            let tokens = BearerTokens::new([(key, Principal::new("key"))])
                .map_err(|error| Failure::usage(format!("the key in {variable}: {error}")))?;
            settings.access = Some(Arc::new(tokens));
        }
        None if address.ip().is_loopback() => {}
        None => {
            let reason = format!("{} can be reached from elsewhere", address.ip());
            return Err(Failure::usage(reason)
                .hint("say with --key-env VARIABLE which key clients must have"));
        }
    }
    for host in &args.host {
        let allowed = settings.guard.allow_host(host);
        allowed.map_err(|error| Failure::usage(format!("--host {host}: {error}")))?;
    }
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Failure::usage(format!("{address}: {error}")).hint("is something else listening there?")
    })?;
    let address = listener.local_addr().map_err(broken)?;
    app.output
        .note(&format!("listening on http://{address}/mcp"));
    let served = site.serve_http_on(listener, settings, shutdown_signal());
    served.await.map_err(broken)
}

/// A port of this machine, or an address with a port.
fn address_of(text: &str) -> Result<SocketAddr, Failure> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let text = text.replace("localhost:", "127.0.0.1:");
    text.parse().map_err(|_| {
        Failure::usage(format!("{text:?} is no address")).hint("such as 127.0.0.1:8000, or 8000")
    })
}

/// Says how servers stand, as it changes.
async fn tell(app: &App, mut events: switchboard_hub::Events) -> Result<(), Failure> {
    while let Some(event) = events.next().await {
        match event {
            Event::State { server, state } => match state {
                MemberState::Configured | MemberState::Starting | MemberState::Stopped => {}
                MemberState::Ready(_) | MemberState::Asleep => {
                    app.output.note(&format!("{server}: {state}"));
                }
                state => app.output.warn(&format!("{server}: {state}")),
            },
            Event::Stderr { server, line } if app.global.verbose => {
                app.output.note(&format!("{server}: {line}"));
            }
            _ => {}
        }
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_of_this_machine() {
        let shown = |text: &str| address_of(text).map(|address| address.to_string()).ok();
        assert_eq!(shown("8000").as_deref(), Some("127.0.0.1:8000"));
        assert_eq!(shown("localhost:8000").as_deref(), Some("127.0.0.1:8000"));
        assert_eq!(shown("[::1]:0").as_deref(), Some("[::1]:0"));
        assert_eq!(shown("0.0.0.0:80").as_deref(), Some("0.0.0.0:80"));
        assert_eq!(shown("example.com:80"), None);
        assert_eq!(shown("70000"), None);
    }
}
