//! From a URL to a connection: address, TCP, proxy, TLS.
//!
//! Each step has its time, and its own error.
//!
//! Specification: RFC 8305 (trying several addresses), in its simplest form.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use http::Uri;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::connection::Connection;
use super::error::{Phase, SendError, shown};
use super::proxy::{Proxies, ProxyError, ProxyServer};
use super::reach::Reach;
use super::settings::{ClientSettings, SetupError};
use super::stream::Stream;
use super::target::Target;
use super::tls::Tls;
use crate::http::socket;

mod tunnel;

/// Makes connections.
#[derive(Debug)]
pub(super) struct Connector {
    proxies: Proxies,
    tls: Tls,
    reach: Reach,
    connect_timeout: Duration,
    tls_timeout: Duration,
    max_header_bytes: usize,
}

impl Connector {
    /// # Errors
    /// When a proxy or authorities were given that cannot be used.
    pub(super) fn new(settings: &ClientSettings) -> Result<Self, SetupError> {
        Ok(Self {
            proxies: Proxies::new(&settings.proxy).map_err(SetupError::Proxy)?,
            tls: Tls::new(&settings.roots)?,
            reach: settings.reach,
            connect_timeout: settings.connect_timeout,
            tls_timeout: settings.tls_timeout,
            max_header_bytes: settings.max_header_bytes,
        })
    }

    /// A new connection to where `uri` leads.
    pub(super) async fn connect(
        &self,
        target: &Target,
        uri: &Uri,
    ) -> Result<Box<Connection>, SendError> {
        let url = |reason| SendError::Url {
            url: shown(uri),
            reason,
        };
        let (host, port) = target.place().map_err(url)?;
        let host_header = target
            .host_header()
            .ok_or_else(|| url("its host cannot be read"))?;
        let proxy = self
            .proxies
            .route(target)
            .map_err(|(proxy, reason)| SendError::Proxy {
                url: shown(uri),
                proxy,
                reason,
            })?;
        let socket = match &proxy {
            None => self.dial(host, port, uri).await?,
            Some(_) if !self.reach.includes_host(host) => return Err(out_of_reach(uri, host)),
            Some(proxy) => self.dial_proxy(proxy, target, uri).await?,
        };
        let stream = match target.is_secure {
            false => Stream::Plain(socket),
            true => Stream::Secure(self.secure(socket, host, uri).await?),
        };
        let mut connection =
            Connection::new(stream, target.clone(), host_header, self.max_header_bytes);
        // A request to a plain host is given to its proxy as a whole.
        connection.relay = proxy.filter(|_| !target.is_secure);
        Ok(Box::new(connection))
    }

    async fn dial(&self, host: &str, port: u16, uri: &Uri) -> Result<TcpStream, SendError> {
        let outcome = dial(host, port, self.connect_timeout, self.reach).await;
        outcome.map_err(|error| match error {
            DialError::NameNotFound(source) => SendError::NameNotFound {
                url: shown(uri),
                source,
            },
            DialError::Address(address) => out_of_reach(uri, address),
            DialError::Connect(source) => SendError::Connect {
                url: shown(uri),
                source,
            },
            DialError::TimedOut(phase) => self.timed_out(uri, phase),
        })
    }

    async fn dial_proxy(
        &self,
        proxy: &ProxyServer,
        target: &Target,
        uri: &Uri,
    ) -> Result<TcpStream, SendError> {
        let failed = |reason| SendError::Proxy {
            url: shown(uri),
            proxy: proxy.to_string(),
            reason,
        };
        // Who chose the proxy knows where it is.
        let limit = self.connect_timeout;
        let dialed = dial(&proxy.host, proxy.port, limit, Reach::Anywhere).await;
        let mut socket = dialed.map_err(|error| match error {
            DialError::NameNotFound(source) => failed(ProxyError::NameNotFound(source)),
            DialError::Connect(source) => failed(ProxyError::Connect(source)),
            DialError::Address(address) => out_of_reach(uri, address),
            DialError::TimedOut(_) => self.timed_out(uri, Phase::Proxy),
        })?;
        if target.is_secure {
            let opened = timeout(
                self.connect_timeout,
                tunnel::open(&mut socket, proxy, target),
            );
            match opened.await {
                Ok(outcome) => outcome.map_err(failed)?,
                Err(_) => return Err(self.timed_out(uri, Phase::Proxy)),
            }
        }
        Ok(socket)
    }

    async fn secure(
        &self,
        socket: TcpStream,
        host: &str,
        uri: &Uri,
    ) -> Result<Box<tokio_rustls::client::TlsStream<TcpStream>>, SendError> {
        match timeout(self.tls_timeout, self.tls.handshake(socket, host)).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(reason)) => Err(SendError::Tls {
                url: shown(uri),
                reason,
            }),
            Err(_) => Err(SendError::TimedOut {
                url: shown(uri),
                phase: Phase::Tls,
                after: self.tls_timeout,
            }),
        }
    }

    fn timed_out(&self, uri: &Uri, phase: Phase) -> SendError {
        SendError::TimedOut {
            url: shown(uri),
            phase,
            after: self.connect_timeout,
        }
    }
}

fn out_of_reach(uri: &Uri, address: impl ToString) -> SendError {
    SendError::Address {
        url: shown(uri),
        address: address.to_string(),
    }
}

enum DialError {
    NameNotFound(io::Error),
    Address(IpAddr),
    Connect(io::Error),
    TimedOut(Phase),
}

/// Connects to a name or an address, all within one time.
async fn dial(
    host: &str,
    port: u16,
    limit: Duration,
    reach: Reach,
) -> Result<TcpStream, DialError> {
    let connect = async |addresses: &[SocketAddr]| {
        let socket = connect_any(addresses).await?;
        prepare(&socket);
        Ok(socket)
    };
    dial_by(resolve(host, port), connect, limit, reach).await
}

/// Connects to what a resolver said, once: it is not asked a second time, so that what was checked
/// is what is connected to, however soon the resolver would say something else.
async fn dial_by<T>(
    resolved: impl Future<Output = io::Result<Vec<SocketAddr>>>,
    connect: impl AsyncFnOnce(&[SocketAddr]) -> io::Result<T>,
    limit: Duration,
    reach: Reach,
) -> Result<T, DialError> {
    let mut phase = Phase::Resolve;
    let outcome = timeout(limit, async {
        let addresses = resolved.await.map_err(DialError::NameNotFound)?;
        let outside = addresses.iter().find(|found| !reach.includes(found.ip()));
        // One address that is out of reach is enough: its name may mean another at any time.
        if let Some(outside) = outside {
            return Err(DialError::Address(outside.ip()));
        }
        phase = Phase::Connect;
        connect(&addresses).await.map_err(DialError::Connect)
    });
    match outcome.await {
        Ok(outcome) => outcome,
        Err(_) => Err(DialError::TimedOut(phase)),
    }
}

async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let addresses = in_turns(tokio::net::lookup_host((host, port)).await?);
    match addresses.is_empty() {
        true => Err(io::Error::new(
            io::ErrorKind::NotFound,
            "the name has no address",
        )),
        false => Ok(addresses),
    }
}

/// Some of these addresses, in the resolver's order, but the two families in turns: one of them
/// may lead nowhere.
fn in_turns(found: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let (first, second): (Vec<_>, Vec<_>) = {
        let mut found = found.peekable();
        let leads = found.peek().is_some_and(SocketAddr::is_ipv6);
        found.partition(|address| address.is_ipv6() == leads)
    };
    let mut second = second.into_iter();
    let mut addresses = Vec::new();
    for address in first {
        addresses.push(address);
        addresses.extend(second.next());
    }
    addresses.extend(second);
    addresses.truncate(MOST_ADDRESSES);
    addresses
}

/// Tries one address after the other. Where one keeps silent for a moment, the next is tried
/// beside it; the first that connects is taken.
async fn connect_any(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut left = addresses.iter().copied();
    let mut attempts: Vec<Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>> = Vec::new();
    let mut patience = pin!(sleep(Duration::ZERO));
    let mut last_error = io::Error::from(io::ErrorKind::NotFound);
    poll_fn(|cx| {
        loop {
            let mut finished = None;
            for (index, attempt) in attempts.iter_mut().enumerate() {
                if let Poll::Ready(outcome) = attempt.as_mut().poll(cx) {
                    finished = Some((index, outcome));
                    break;
                }
            }
            let has_failed = match finished {
                Some((_, Ok(socket))) => return Poll::Ready(Ok(socket)),
                Some((index, Err(error))) => {
                    drop(attempts.swap_remove(index));
                    last_error = error;
                    true
                }
                None => false,
            };
            if !has_failed && !attempts.is_empty() && patience.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            match left.next() {
                Some(address) => {
                    attempts.push(Box::pin(TcpStream::connect(address)));
                    patience
                        .as_mut()
                        .reset(tokio::time::Instant::now() + NEXT_ADDRESS);
                }
                None if attempts.is_empty() => {
                    let error = std::mem::replace(&mut last_error, io::ErrorKind::Other.into());
                    return Poll::Ready(Err(error));
                }
                // An attempt that failed may not be the last that was polled.
                None if has_failed => {}
                None => return Poll::Pending,
            }
        }
    })
    .await
}

/// What can be asked of a socket; it works without, too.
fn prepare(socket: &TcpStream) {
    socket::prepare(socket);
    // A stream that is silent for long may have lost its peer without a word.
    let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(60));
    let _ = SockRef::from(socket).set_tcp_keepalive(&keepalive);
}

// RFC 8305, section 8 recommends it.
const NEXT_ADDRESS: Duration = Duration::from_millis(250);

const MOST_ADDRESSES: usize = 8;

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn an_address_that_refuses_is_followed_by_the_next() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let live = listener.local_addr().unwrap();
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let dead = gone.local_addr().unwrap();
        drop(gone);
        let socket = connect_any(&[dead, dead, live]).await.unwrap();
        assert_eq!(socket.peer_addr().unwrap(), live);
        let error = connect_any(&[dead, dead]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        assert!(connect_any(&[]).await.is_err());
    }

    /// A name server that changes its mind: public when it is checked, private when it is used.
    #[tokio::test]
    async fn a_name_that_means_something_else_the_next_time_leads_nobody_inside() {
        let public: SocketAddr = "8.8.8.8:443".parse().unwrap();
        let inside: SocketAddr = "127.0.0.1:443".parse().unwrap();
        let answers = [vec![public], vec![inside], vec![public, inside]];
        let mut answers = answers.into_iter();
        let mut asked = 0;
        let mut connected = Vec::new();
        let mut refused = Vec::new();
        for _ in 0..3 {
            let resolved = async {
                asked += 1;
                Ok(answers.next().unwrap())
            };
            let connect = async |addresses: &[SocketAddr]| {
                connected.push(addresses.to_vec());
                Ok(())
            };
            let limit = Duration::from_secs(60);
            match dial_by(resolved, connect, limit, Reach::Public).await {
                Ok(()) => {}
                Err(DialError::Address(address)) => refused.push(address),
                Err(_) => panic!("neither connected nor out of reach"),
            }
        }
        // Once for each connection, which goes where that answer led.
        assert_eq!(asked, 3);
        assert_eq!(connected, [[public]]);
        assert_eq!(refused, [inside.ip(), inside.ip()]);
    }

    #[test]
    fn of_many_addresses_some_of_both_families_are_tried() {
        let old = (1..=20).map(|last| format!("192.0.2.{last}:1"));
        let new = (1..=2).map(|last| format!("[2001:db8::{last}]:1"));
        let all = old.chain(new).map(|address| address.parse().unwrap());
        let tried: Vec<_> = in_turns(all).iter().map(ToString::to_string).collect();
        assert_eq!(tried.len(), MOST_ADDRESSES);
        let first = [
            "192.0.2.1:1",
            "[2001:db8::1]:1",
            "192.0.2.2:1",
            "[2001:db8::2]:1",
        ];
        assert_eq!(tried[..4], first);
        assert_eq!(tried[7], "192.0.2.6:1");
    }

    #[tokio::test]
    async fn an_address_is_its_own_and_this_machine_has_a_name() {
        let found = resolve("::1", 7).await.unwrap();
        assert_eq!(found, ["[::1]:7".parse().unwrap()]);
        let found = resolve("localhost", 7).await.unwrap();
        assert!(
            found.iter().all(|address| address.ip().is_loopback()),
            "{found:?}"
        );
    }
}
