//! A place on this machine where a browser can come back to.
//!
//! Reading one, and getting hold of its port. What is said there is not known here.
//!
//! Specification: RFC 8252, sections 7.3 and 8.3.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::uri::Scheme;
use tokio::net::TcpListener;

use crate::place::Place;

/// `http://127.0.0.1:PORT/path`, or of another name of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Site {
    /// To the letter, as issuers compare it.
    redirect_uri: String,
    /// As it stands in the URL, an IPv6 address in brackets.
    host: String,
    port: Option<u16>,
    path: String,
}

impl Site {
    /// None if it is not a place at which this machine can be found and that can be listened at.
    pub(super) fn parse(redirect_uri: &str) -> Option<Self> {
        let place = Place::parse(redirect_uri).ok()?;
        let uri = place.uri();
        let is_usable =
            uri.scheme() == Some(&Scheme::HTTP) && place.is_loopback() && uri.query().is_none();
        is_usable.then(|| Self {
            redirect_uri: redirect_uri.to_owned(),
            host: uri.host().unwrap_or_default().to_owned(),
            port: uri.port_u16().filter(|port| *port != 0),
            path: uri.path().to_owned(),
        })
    }

    /// Where a browser comes back to if nobody wants it elsewhere. An address, since names may
    /// lead elsewhere.
    pub(super) fn usual() -> Self {
        Self {
            redirect_uri: "http://127.0.0.1/callback".to_owned(),
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: None,
            path: "/callback".to_owned(),
        }
    }

    pub(super) fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    pub(super) fn port(&self) -> Option<u16> {
        self.port
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The same at another port; at a free one, if none is given.
    pub(super) fn at_port(&self, port: Option<u16>) -> Self {
        match port {
            port if port == self.port => self.clone(),
            None => Self {
                port: None,
                ..self.clone()
            },
            Some(number) => Self {
                redirect_uri: format!("http://{}:{number}{}", self.host, self.path),
                port,
                ..self.clone()
            },
        }
    }

    /// Is this what the header `Host` of a browser that comes back says?
    pub(super) fn is_host(&self, text: &str) -> bool {
        let Some(port) = self.port else {
            return false;
        };
        text.eq_ignore_ascii_case(&format!("{}:{port}", self.host))
            || (port == 80 && text.eq_ignore_ascii_case(&self.host))
    }

    /// Gets hold of the port, or of a free one, and says which it is.
    ///
    /// # Errors
    /// When somebody else has it, or it cannot be had.
    pub(super) async fn listen(&self) -> io::Result<(Self, Vec<TcpListener>)> {
        let literal = self.host.trim_start_matches('[').trim_end_matches(']');
        let wanted = self.port.unwrap_or(0);
        let (listeners, port) = match literal.parse::<IpAddr>() {
            Ok(address) => {
                let listener = TcpListener::bind(SocketAddr::new(address, wanted)).await?;
                let port = listener.local_addr()?.port();
                (vec![listener], port)
            }
            Err(_) => listen_at_both(wanted).await?,
        };
        Ok((self.at_port(Some(port)), listeners))
    }
}

/// A browser may take `localhost` for either address. Where somebody else has one of them, the
/// code would be theirs.
async fn listen_at_both(wanted: u16) -> io::Result<(Vec<TcpListener>, u16)> {
    let mut tries = 0;
    loop {
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), wanted);
        let first = TcpListener::bind(address).await?;
        let port = first.local_addr()?.port();
        let address = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), port);
        match TcpListener::bind(address).await {
            Ok(second) => return Ok((vec![first, second], port)),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                tries += 1;
                if wanted != 0 || tries == MOST_TRIES {
                    return Err(error);
                }
            }
            // A machine without IPv6.
            Err(_) => return Ok((vec![first], port)),
        }
    }
}

const MOST_TRIES: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_on_this_machine_can_be_listened_at() {
        for text in [
            "http://127.0.0.1:7/callback",
            "http://localhost/callback",
            "http://[::1]:7/",
            "http://127.0.0.1",
        ] {
            assert_eq!(Site::parse(text).unwrap().redirect_uri(), text);
        }
        for text in [
            "https://localhost:7/callback",
            "https://example.com/callback",
            "http://example.com/callback",
            "http://127.0.0.1:7/callback?x=y",
            "com.example.app:/callback",
            "urn:ietf:wg:oauth:2.0:oob",
            "",
        ] {
            assert_eq!(Site::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_host_is_that_of_the_address_and_nothing_else() {
        let site = Site::parse("http://localhost:7/callback").unwrap();
        assert!(site.is_host("localhost:7") && site.is_host("LOCALHOST:7"));
        assert!(!site.is_host("localhost") && !site.is_host("127.0.0.1:7"));
        let site = Site::parse("http://[::1]:80/callback").unwrap();
        assert!(site.is_host("[::1]") && site.is_host("[::1]:80") && !site.is_host("::1"));
    }

    #[tokio::test]
    async fn a_free_port_becomes_part_of_the_address() {
        let (site, listeners) = Site::usual().listen().await.unwrap();
        let port = listeners[0].local_addr().unwrap().port();
        assert_eq!(
            site.redirect_uri(),
            format!("http://127.0.0.1:{port}/callback")
        );
        assert!(site.is_host(&format!("127.0.0.1:{port}")));
        assert_eq!(Site::parse(site.redirect_uri()), Some(site));
    }

    #[tokio::test]
    async fn localhost_is_listened_at_on_both_addresses() {
        let site = Site::parse("http://localhost/callback").unwrap();
        let (site, listeners) = site.listen().await.unwrap();
        let port = site.port().unwrap();
        for listener in &listeners {
            let address = listener.local_addr().unwrap();
            assert!(address.ip().is_loopback() && address.port() == port);
        }
        assert_eq!(
            site.redirect_uri(),
            format!("http://localhost:{port}/callback")
        );
        // Somebody else on one of the two is somebody else.
        drop(listeners);
        if let Ok(_other) = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await {
            assert!(site.listen().await.is_err());
        }
    }
}
