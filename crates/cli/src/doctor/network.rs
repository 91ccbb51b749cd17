//! The first steps of a server behind a URL: its name, its port, its certificate, its login.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use http::Uri;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use switchboard_auth::{Bearer, Place, TokenSource};
use switchboard_client::{Client, Reason, State};
use switchboard_hub::{Hub, MemberState, Resolved, ResolvedAuth, ServerConfig};
use switchboard_protocol::machine::client::Failure;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::certificate::Certificate;
use super::talk::{self, Heard};
use super::{Chart, Verdict};
use crate::exit::Exit;
use crate::logins;
use crate::surroundings::Around;

pub(super) async fn check(
    config: &ServerConfig,
    resolved: Resolved,
    around: &Arc<Around>,
    chart: &mut Chart,
) {
    let url = resolved.url.as_ref().map(|url| url.reveal().to_owned());
    let Some(uri) = url.as_deref().and_then(|url| url.parse::<Uri>().ok()) else {
        return chart.fail(
            Exit::Usage,
            "url",
            "it is no URL",
            "write http:// or https://, a host, a path",
        );
    };
    match proxy() {
        // Through it the name is looked up, and its port is the only one that we see.
        Some(name) => {
            let detail =
                format!("{name} is set; the name, the port and the certificate are not looked at");
            chart.add("proxy", Verdict::Skip, detail);
        }
        None => {
            if reach(&uri, chart).await.is_none() {
                return;
            }
        }
    }
    talk(config, resolved, around, chart).await;
}

/// The name, the port and the certificate. None when it ends there.
async fn reach(uri: &Uri, chart: &mut Chart) -> Option<()> {
    let host = uri.host()?.trim_matches(['[', ']']).to_owned();
    let is_secure = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    let addresses = find(&host, port, chart).await?;
    let stream = connect(&addresses, chart).await?;
    match is_secure {
        true => secure(stream, &host, chart).await,
        false => {
            let is_near = addresses.iter().all(|address| address.ip().is_loopback());
            if !is_near {
                chart.warn(
                    "tls",
                    "none: everybody on the way can read along",
                    "use https:// if the server has it",
                );
            }
            Some(())
        }
    }
}

async fn find(host: &str, port: u16, chart: &mut Chart) -> Option<Vec<SocketAddr>> {
    let started = Instant::now();
    let found = timeout(PATIENCE, lookup_host((host, port))).await;
    let time = started.elapsed();
    let cure = "check the name; your network, your VPN";
    let wrong = match found {
        Ok(Ok(addresses)) => {
            let addresses = some_of(addresses);
            if !addresses.is_empty() {
                let shown: Vec<String> = addresses
                    .iter()
                    .map(|address| address.ip().to_string())
                    .collect();
                chart
                    .ok("dns", format!("{host} is {}", shown.join(", ")))
                    .took(time);
                return Some(addresses);
            }
            "it has no addresses".to_owned()
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
    };
    chart.fail(Exit::Unreachable, "dns", format!("{host}: {wrong}"), cure);
    None
}

/// Nobody waits for the hundredth.
fn some_of(addresses: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    addresses.take(MOST_ADDRESSES).collect()
}

async fn connect(addresses: &[SocketAddr], chart: &mut Chart) -> Option<TcpStream> {
    let mut last = (String::new(), "");
    for address in addresses {
        let started = Instant::now();
        match timeout(PATIENCE, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                chart
                    .ok("tcp", format!("connected to {address}"))
                    .took(started.elapsed());
                return Some(stream);
            }
            Ok(Err(error)) => {
                let cure = match error.kind() {
                    io::ErrorKind::ConnectionRefused => {
                        "nobody listens there: start the server, check the port"
                    }
                    _ => "check your network, your VPN, your firewall",
                };
                last = (format!("{address}: {error}"), cure);
            }
            Err(_) => {
                let detail = format!("{address}: no answer within {} s", PATIENCE.as_secs());
                last = (
                    detail,
                    "a firewall may drop what you send; check your network, your VPN",
                );
            }
        }
    }
    chart.fail(Exit::Unreachable, "tcp", last.0, last.1);
    None
}

async fn secure(stream: TcpStream, host: &str, chart: &mut Chart) -> Option<()> {
    match trust().await {
        Ok(config) => shake_hands(config, stream, host, chart).await,
        Err(reason) => {
            chart.fail(
                Exit::Unreachable,
                "tls",
                reason,
                "install the certificates of your system: `ca-certificates`",
            );
            None
        }
    }
}

async fn shake_hands(
    config: Arc<ClientConfig>,
    stream: TcpStream,
    host: &str,
    chart: &mut Chart,
) -> Option<()> {
    let started = Instant::now();
    let Ok(name) = ServerName::try_from(host.to_owned()) else {
        chart.fail(
            Exit::Usage,
            "tls",
            format!("{host:?} is no name that a certificate could have"),
            "check the URL",
        );
        return None;
    };
    let shaking = TlsConnector::from(config).connect(name, stream);
    let (detail, cure) = match timeout(PATIENCE, shaking).await {
        Ok(Ok(stream)) => {
            let (_, session) = stream.get_ref();
            let version = match session.protocol_version() {
                Some(rustls::ProtocolVersion::TLSv1_3) => "TLS 1.3",
                _ => "TLS 1.2",
            };
            let leaf = session.peer_certificates().and_then(|all| all.first());
            let leaf = leaf.and_then(|leaf| Certificate::read(leaf));
            certified(leaf, version, started.elapsed(), chart);
            return Some(());
        }
        Ok(Err(error)) => refusal(&error, host),
        Err(_) => (
            format!("no answer within {} s", PATIENCE.as_secs()),
            "is it really https at this port?".to_owned(),
        ),
    };
    chart.fail(Exit::Unreachable, "tls", detail, cure);
    None
}

fn certified(leaf: Option<Certificate>, version: &str, time: Duration, chart: &mut Chart) {
    let Some(leaf) = leaf else {
        chart.ok("tls", version).took(time);
        return;
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX));
    let days = (leaf.not_after - now).div_euclid(DAY);
    let detail = format!(
        "{version}, certificate until {} ({days} days)",
        leaf.until()
    );
    match days {
        ..SOON => chart.warn("tls", detail, "tell who runs the server: it ends soon"),
        _ => chart.ok("tls", detail).took(time),
    }
}

/// Why the server is not trusted, and what to do.
fn refusal(error: &io::Error, host: &str) -> (String, String) {
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(reason)) => match reason {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => (
                format!("the certificate of {host} has expired"),
                "tell who runs the server; check the clock of this machine".to_owned(),
            ),
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => (
                format!("the certificate of {host} is not valid yet"),
                "check the clock of this machine".to_owned(),
            ),
            CertificateError::NotValidForNameContext { presented, .. } => (
                format!(
                    "the certificate is not for {host}, but for {}",
                    presented.join(", ")
                ),
                "use the name of the certificate; or somebody stands in between".to_owned(),
            ),
            CertificateError::NotValidForName => (
                format!("the certificate is not for {host}"),
                "check the name; or somebody stands in between".to_owned(),
            ),
            CertificateError::UnknownIssuer => (
                "the certificate is signed by an authority that is not trusted here".to_owned(),
                "add the authority of your company or of the server to those of your system"
                    .to_owned(),
            ),
            other if other.to_string().contains("CaUsedAsEndEntity") => (
                format!("the certificate of {host} is signed by itself"),
                "get one from an authority; your own is fine, if this machine trusts it".to_owned(),
            ),
            other => (other.to_string(), "tell who runs the server".to_owned()),
        },
        Some(rustls::Error::InvalidMessage(_)) => (
            "the server does not speak TLS at this port".to_owned(),
            "write http:// instead, or the port of https".to_owned(),
        ),
        Some(other) => (other.to_string(), "tell who runs the server".to_owned()),
        None => (
            error.to_string(),
            "is it really https at this port?".to_owned(),
        ),
    }
}

async fn trust() -> Result<Arc<ClientConfig>, String> {
    // It reads files, hundreds of them on some machines.
    let found = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs).await;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.map_err(|error| error.to_string())?.certs);
    if roots.is_empty() {
        return Err("this machine trusts no authority".to_owned());
    }
    trusting(roots).map_err(|error| error.to_string())
}

/// Trusts these authorities and no other.
fn trusting(roots: RootCertStore) -> Result<Arc<ClientConfig>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(Arc::new(
        builder.with_root_certificates(roots).with_no_client_auth(),
    ))
}

/// From the first request on. Without a login at first, so that one that is missing can be told
/// from one that does not help.
async fn talk(config: &ServerConfig, resolved: Resolved, around: &Arc<Around>, chart: &mut Chart) {
    let mut spec = resolved.spec;
    let mut has_token = false;
    if let (ResolvedAuth::Bearer(token), Some(url)) = (&resolved.auth, &resolved.url)
        && let Ok(place) = Place::parse(url.reveal())
    {
        spec = spec.credentials(Arc::new(Bearer::new(
            &place,
            TokenSource::fixed(token.clone()),
        )));
        has_token = true;
    }
    let heard = Heard::default();
    let started = Instant::now();
    let client = Client::start(spec, heard.host());
    let opened = client.ready().await;
    let time = started.elapsed();
    match client.state() {
        State::NeedsLogin(report) => {
            client.close().await;
            if has_token {
                let cure = "the token is not accepted: check it, or get a new one";
                return chart.fail(Exit::LoginRequired, "login", report.to_string(), cure);
            }
            if matches!(resolved.auth, ResolvedAuth::None) {
                let cure =
                    "the configuration says `auth: none`; take that out, then `switchboard login`";
                return chart.fail(Exit::LoginRequired, "login", report.to_string(), cure);
            }
            chart.ok("http", "it answers, and wants a login");
            logged_in(config, around, chart).await;
        }
        State::Failed(report) => {
            if let Reason::Http(failure) = &report.reason {
                let detail = failure.to_string();
                let cure = super::cure::of_report(&report);
                client.close().await;
                let exit = opened.err().map_or(Exit::Unreachable, |error| {
                    crate::exit::Failure::from(error).exit
                });
                return chart.fail(exit, "http", detail, cure);
            }
            // One that says nothing at all does not answer.
            let is_silent = matches!(
                &report.reason,
                Reason::Protocol(Failure::TimedOut(_) | Failure::Unreachable(_))
            );
            if !is_silent {
                chart.ok("http", "it answers");
            }
            talk::check(client, opened, time, None, chart).await;
        }
        _ => {
            chart.ok("http", "it answers");
            chart.ok(
                "login",
                if has_token {
                    "the token is accepted"
                } else {
                    "none is wanted"
                },
            );
            talk::check(client, opened, time, None, chart).await;
        }
    }
}

/// With the login that is kept on this machine, if there is one.
async fn logged_in(config: &ServerConfig, around: &Arc<Around>, chart: &mut Chart) {
    let started = Instant::now();
    let builder = Hub::builder()
        .server(config.clone())
        .surroundings(Arc::<Around>::clone(around))
        .login(logins::describe);
    let hub = builder.time_between_pings(None).build();
    let connected = hub.connect(&config.name).await;
    let state = hub.servers().into_iter().next().map(|server| server.state);
    match (connected, state) {
        (Ok(()), Some(MemberState::Ready(ready))) => {
            chart.ok("login", "the one on this machine is accepted");
            talk::said(&ready, started.elapsed(), chart);
            let listed = hub.catalog().listed_by(&config.name);
            let tools = listed.tools.map_or(0, |tools| tools.len());
            chart.ok("lists", format!("{tools} tools"));
        }
        (Ok(()), Some(state)) => {
            chart.ok("login", "the one on this machine is accepted");
            chart.fail(
                Exit::Violation,
                "lists",
                state.to_string(),
                "tell the authors of the server",
            );
        }
        (Err(error), _) => {
            let failure = crate::exit::Failure::from(error);
            let cure = match failure.exit {
                Exit::LoginRequired => chart.login(),
                _ => "try again; see what it says".to_owned(),
            };
            chart.fail(failure.exit, "login", failure.message, cure);
        }
        (Ok(()), None) => {}
    }
    hub.close().await;
}

/// The variable that sends our requests elsewhere.
fn proxy() -> Option<&'static str> {
    let is_set = |name: &&&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    PROXIES.iter().find(is_set).copied()
}

/// As long as anybody waits for one step.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_ADDRESSES: usize = 8;
const DAY: i64 = 86_400;
/// Days before its end that a certificate is worth a word.
const SOON: i64 = 14;
const PROXIES: &[&str] = &[
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    fn chart() -> Chart {
        Chart {
            checks: Vec::new(),
            exit: None,
            words: (String::new(), String::new()),
        }
    }

    /// It took as long as a step may take, and that is what it failed for.
    fn check_given_up(chart: &Chart, began: tokio::time::Instant, step: &str) {
        assert_eq!(began.elapsed(), PATIENCE);
        let last = chart.checks.last().unwrap();
        assert_eq!((last.check, last.verdict), (step, Verdict::Fail));
        assert!(last.detail.contains("no answer within 10 s"), "{last:?}");
        assert!(last.cure.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_does_not_answer_is_given_up() {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let listener = socket.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        // More than it has room for, so that it takes no more.
        let mut waiting = Vec::new();
        while let Ok(stream) = timeout(Duration::from_secs(1), TcpStream::connect(address)).await {
            waiting.push(stream.unwrap());
        }
        let (mut chart, began) = (chart(), tokio::time::Instant::now());
        assert!(connect(&[address], &mut chart).await.is_none());
        check_given_up(&chart, began, "tcp");
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_does_not_shake_hands_is_given_up() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await;
        let config = trusting(RootCertStore::empty()).unwrap();
        let (mut chart, began) = (chart(), tokio::time::Instant::now());
        let shaken = shake_hands(config, stream.unwrap(), "localhost", &mut chart).await;
        assert!(shaken.is_none());
        check_given_up(&chart, began, "tls");
    }

    #[test]
    fn of_many_addresses_some_are_tried() {
        let all = (1..=20).map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let some = some_of(all.clone());
        assert_eq!(some, all.take(8).collect::<Vec<_>>());
    }
}
