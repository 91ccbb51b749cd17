//! `switchboard serve`: all servers as one, for other programs.
//!
//! On standard input and output, or over HTTP. Without a key it listens on this machine only.
//!
//! 1. `reloading`: the file with the servers, read again when it changes
//! 2. `locked`: what was approved; `key_ring`: who may call; `rules`: what they see, how much they may do
//! 3. `standing`: what it can be asked meanwhile
//! 4. `ending`: signals; `telemetry`: what is sent to a collector

mod ending;
mod key_ring;
mod locked;
mod reloading;
mod rules;
mod standing;
mod telemetry;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use http::Uri;
use switchboard_gateway::{FileWatch, Gateway, Names};
use switchboard_hub::Hub;
use switchboard_transport::http::OldPaths;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::app::App;
use crate::args::serve::{Prefix, Serve};
use crate::control::Desk;
use crate::exit::{Exit, Failure, with_causes};
use crate::journal::Journal;
use crate::logins;
use crate::output::Outcome;
use crate::source::{self, Source};
use ending::Signals;
use key_ring::KeyRing;
use locked::Locked;
use reloading::Reloading;
use rules::Rules;
use standing::Standing;

pub(crate) async fn run(args: &Serve, app: &App) -> Result<Outcome, Failure> {
    let signals = Signals::new().map_err(|error| Failure::unexpected(with_causes(&error)))?;
    let (source, watch) = find(args, app).await?;
    let journal = Arc::new(Journal::new(Arc::clone(&app.output)));
    for problem in source.config.errors() {
        journal.warn(None, &problem.to_string());
    }
    let surroundings = app.surroundings(&source.config);
    let surroundings = match args.http {
        Some(_) => surroundings,
        None => surroundings.unattended(),
    };
    let surroundings = Arc::new(surroundings);
    let ring = KeyRing::open(args, &source.config, Arc::clone(&surroundings) as _)?;
    let rules = Rules::new(args, &source.config, &ring.keys, &journal)?;
    let locked = Locked::open(args, &app.global, &source)?;
    let (reloads, asked) = mpsc::channel(1);
    let file = source.file.clone();
    let must_agree = source.foreign(&app.global).is_some();
    let reloading = source
        .file
        .map(|file| Reloading::new(file, must_agree, &source.config, watch, ring));
    let builder = Hub::builder().config(source.config);
    let builder = builder.surroundings(surroundings);
    let mut builder = builder.login(logins::describe);
    if let Some(locked) = &locked {
        builder = builder.lock(locked.lock.clone());
    }
    if let Some(folder) = source::cache_folder() {
        builder = builder.cache(folder);
    }
    let drain = rules.drain(args);
    let audit = rules.audit.clone();
    let gateway = Gateway::builder(builder);
    let gateway = rules
        .apply(gateway)?
        .names(match args.prefix {
            Prefix::Server => Names::Server,
            Prefix::Mcp => Names::Mcp,
            Prefix::None => Names::Plain,
        })
        .build();
    let hub = gateway.hub().clone();
    app.adopt(&hub);
    let sending = telemetry::start(args.otlp.as_deref(), &hub, &journal)?;
    let events = hub.events().without_progress();
    let connecting = tokio::spawn(gateway.connect_all());
    let standing = Arc::new(Standing {
        hub: hub.clone(),
        journal: Arc::clone(&journal),
        file,
        address: OnceLock::new(),
        began: Instant::now(),
        reloads,
    });
    let ending = watch::Sender::new(false);
    // Whoever reads where it listens may ask it from then on.
    let desk = Desk::open();
    let served = serve(args, &standing, &gateway, ending.subscribe());
    let following = async {
        let reloading = async {
            match reloading {
                Some(reloading) => reloading.run(&gateway, &journal, asked, locked).await,
                None => std::future::pending().await,
            }
        };
        tokio::join!(journal.follow(events), reloading, answer(&standing, desk));
        std::future::pending().await
    };
    let outcome = tokio::select! {
        outcome = served => outcome,
        () = signals.watch(&app.output, drain, &ending) => {
            Err(Failure::new(Exit::Interrupted, "interrupted"))
        }
        never = following => never,
    };
    connecting.abort();
    if let Some(audit) = audit {
        audit.flush();
    }
    if let Some(sending) = sending {
        sending.end().await;
    }
    outcome.map(|()| Outcome::nothing())
}

/// The servers, and what notices that their file has changed.
async fn find(args: &Serve, app: &App) -> Result<(Source, Option<FileWatch>), Failure> {
    if let Some(server) = source::on_the_spot(None, &args.command)? {
        return Ok((Source::of_one(server), None));
    }
    // Before it is read, so that nothing is missed.
    let watch = source::find_file(&app.global).map(FileWatch::new);
    let source = Source::agreed(app).await?;
    Ok((source, watch.filter(|_| !args.no_watch)))
}

/// Answers those who ask how it stands.
async fn answer(standing: &Arc<Standing>, desk: io::Result<Desk>) {
    match desk {
        Ok(desk) => desk.run(Arc::clone(standing)).await,
        Err(error) => {
            let reason = format!("`switchboard status` will not find it: {error}");
            standing.journal.warn(None, &reason);
        }
    }
}

async fn serve(
    args: &Serve,
    standing: &Standing,
    gateway: &Gateway,
    ending: watch::Receiver<bool>,
) -> Result<(), Failure> {
    let broken = |error: std::io::Error| Failure::unexpected(with_causes(&error));
    let Some(address) = &args.http else {
        // A task of its own: what else goes on is not looked at with every message.
        let (site, mut serving) = (gateway.site().clone(), JoinSet::new());
        serving.spawn(async move { site.serve_stdio().await });
        return match serving.join_next().await {
            Some(Ok(served)) => served.map_err(broken),
            Some(Err(error)) => Err(Failure::unexpected(error.to_string())),
            None => Ok(()),
        };
    };
    let address = address_of(address)?;
    let mut settings = gateway.site().http_settings();
    if !gateway.is_locked() && !address.ip().is_loopback() {
        let reason = format!("{} can be reached from elsewhere", address.ip());
        return Err(Failure::usage(reason).hint(
            "say with --keys, --key-env or --issuer who may call, or use an address of this machine",
        ));
    }
    if args.sse {
        settings.old_transport = Some(OldPaths::default());
    }
    // Whoever says by which URL it is called says by which name.
    let own = args
        .resource
        .as_deref()
        .and_then(|url| url.parse::<Uri>().ok());
    if let Some(host) = own.as_ref().and_then(Uri::host) {
        let allowed = settings.guard.allow_host(host);
        allowed.map_err(|error| Failure::usage(format!("--resource: {error}")))?;
    }
    for host in &args.host {
        let allowed = settings.guard.allow_host(host);
        allowed.map_err(|error| Failure::usage(format!("--host {host}: {error}")))?;
    }
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Failure::usage(format!("{address}: {error}")).hint("is something else listening there?")
    })?;
    let address = listener.local_addr().map_err(broken)?;
    let _ = standing.address.set(address);
    standing
        .journal
        .note(None, &format!("listening on http://{address}/mcp"));
    let served = gateway.serve_http(listener, settings, ending::begun(ending));
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
