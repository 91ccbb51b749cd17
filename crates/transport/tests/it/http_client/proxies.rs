//! Proxies: whole URLs for plain hosts, tunnels for TLS.

use switchboard_transport::http::client::{
    ClientSettings, HttpClient, ProxyChoice, ProxyError, Reach, SendError, SetupError,
};
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;

use super::tls::{AUTHORITY, TlsServer};
use super::{Raw, answer, call, chain, client, refused};

fn through(proxy: &Raw) -> HttpClient {
    let address = proxy.address;
    client(|settings| {
        settings.proxy = ProxyChoice::Always(format!("http://ada:pw%21@{address}"));
        settings.roots.platform = false;
        settings.roots.pem = vec![AUTHORITY.into()];
    })
}

/// A proxy that lets through whoever is Ada.
async fn tunnelling() -> Raw {
    Raw::start(|_, mut peer| async move {
        let Some(request) = peer.request().await else {
            return;
        };
        if !request.contains("proxy-authorization: Basic YWRhOnB3IQ==\r\n") {
            return peer
                .say("HTTP/1.1 407 Who?\r\ncontent-length: 0\r\n\r\n")
                .await;
        }
        let place = request.split(' ').nth(1).unwrap_or_default();
        let port = place.rsplit_once(':').map_or("", |(_, port)| port);
        let mut server = TcpStream::connect(format!("127.0.0.1:{port}"))
            .await
            .unwrap();
        peer.say("HTTP/1.1 200 Connection established\r\nvia: test\r\n\r\n")
            .await;
        let _ = copy_bidirectional(&mut peer.stream, &mut server).await;
    })
    .await
}

#[tokio::test]
async fn a_plain_request_is_given_to_the_proxy_as_a_whole() {
    let mut proxy = Raw::answering(answer("{}")).await;
    let client = through(&proxy);
    for _ in 0..2 {
        let found = call(&client, "http://u:p@service.test:81/mcp?x=1").await;
        assert_eq!(found, "{}");
        let seen = proxy.next_request().await;
        assert!(
            seen.starts_with("POST http://service.test:81/mcp?x=1 HTTP/1.1\r\n"),
            "{seen}"
        );
        assert!(seen.contains("host: service.test:81\r\n"), "{seen}");
        assert!(seen.contains("authorization: Basic dTpw\r\n"), "{seen}");
        assert!(
            seen.contains("proxy-authorization: Basic YWRhOnB3IQ==\r\n"),
            "{seen}"
        );
    }
    assert_eq!(proxy.accepted(), 1);
}

#[tokio::test]
async fn tls_goes_through_a_tunnel_that_sees_no_secret() {
    let mut proxy = tunnelling().await;
    let server = TlsServer::start().await;
    let client = through(&proxy);
    let url = format!(
        "https://service.test:{}/mcp?token=secret",
        server.address.port()
    );
    for _ in 0..2 {
        assert_eq!(call(&client, &url).await, "{}");
    }
    let place = format!("service.test:{}", server.address.port());
    assert_eq!(
        proxy.next_request().await,
        format!(
            "CONNECT {place} HTTP/1.1\r\nhost: {place}\r\n\
             proxy-authorization: Basic YWRhOnB3IQ==\r\n\r\n"
        )
    );
    assert_eq!(proxy.unread(), 0);
    assert_eq!(proxy.accepted(), 1);
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_password() {
    for (text, reason) in [
        (
            "HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n",
            "the proxy wants a name and a password (status 407), put them in its URL",
        ),
        (
            "HTTP/1.1 403 No\r\n\r\n",
            "the proxy refused the host (status 403)",
        ),
        ("hello\r\n\r\n", "the proxy does not answer with HTTP"),
        (
            "HTTP/1.1 200 OK\r\n\r\nevil",
            "the proxy does not answer with HTTP",
        ),
        (
            "HTTP/1.1 200 OK\r\n",
            "the proxy hung up: unexpected end of file",
        ),
    ] {
        let proxy = Raw::once(text).await;
        let error = refused(&through(&proxy), "https://service.test/mcp?x=secret").await;
        assert!(matches!(error, SendError::Proxy { .. }), "{error:?}");
        assert_eq!(
            chain(&error),
            format!(
                "no connection to https://service.test/mcp through the proxy http://{}: {reason}",
                proxy.address
            )
        );
        assert!(!error.may_have_run());
    }
}

#[tokio::test]
async fn a_relay_that_wants_a_password_is_an_error_and_not_an_answer() {
    let proxy = Raw::once("HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n").await;
    let error = refused(&through(&proxy), "http://service.test/mcp").await;
    let SendError::Proxy { reason, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(matches!(reason, ProxyError::Refused { .. }));
}

// Fault matrix: 85.
#[tokio::test]
async fn a_proxy_is_not_asked_for_what_is_not_public() {
    let mut proxy = Raw::answering(answer("{}")).await;
    let address = proxy.address;
    let client = client(|settings| {
        settings.proxy = ProxyChoice::Always(format!("http://{address}"));
        settings.reach = Reach::Public;
    });
    for host in ["127.0.0.1", "localhost", "[::1]", "127.1", "192.168.0.1"] {
        for scheme in ["http", "https"] {
            let error = refused(&client, &format!("{scheme}://{host}/x")).await;
            assert!(matches!(error, SendError::Address { .. }), "{error:?}");
        }
    }
    assert_eq!((proxy.accepted(), proxy.unread()), (0, 0));
    // A name is the proxy's to resolve, and the proxy itself may be anywhere.
    assert_eq!(call(&client, "http://service.test/x").await, "{}");
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_named() {
    let proxy = Raw::answering("").await;
    let client = through(&proxy);
    let address = proxy.address;
    proxy.task.abort();
    drop(proxy);
    // The listener goes with its task.
    while TcpStream::connect(address).await.is_ok() {}
    let error = refused(&client, "http://service.test/mcp").await;
    assert!(
        chain(&error).contains("the proxy takes no connections: "),
        "{}",
        chain(&error)
    );
}

#[test]
fn a_proxy_that_we_do_not_speak_with_is_refused_when_set() {
    for url in ["socks5://host:1", "https://host:1"] {
        let mut settings = ClientSettings::default();
        settings.proxy = ProxyChoice::Always(url.to_owned());
        let error = HttpClient::new(settings).unwrap_err();
        assert!(
            matches!(error, SetupError::Proxy(ProxyError::Scheme(_))),
            "{error:?}"
        );
        let scheme = url.split(':').next().unwrap();
        assert_eq!(
            chain(&error),
            format!(
                "the proxy cannot be used: proxies of the kind {scheme:?} are not supported, \
                 expected http://host:port"
            )
        );
    }
}
