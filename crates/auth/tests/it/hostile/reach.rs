//! Addresses that nobody should be sent to.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::sync::Arc;

use switchboard_auth::{Grant, MemoryStore, OAuth, Secret};
use switchboard_transport::http::client::Reach;

use super::{bounded, call, chain};

/// A port that nobody has any business with. Who connects is not answered, but counted.
struct Canary(TcpListener);

impl Canary {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(listener)
    }

    fn port(&self) -> String {
        self.0.local_addr().unwrap().port().to_string()
    }

    fn check_silent(&self, case: &str) {
        let error = self.0.accept().expect_err(case);
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "{case}");
    }
}

/// A client with a secret, which it would show there.
fn login(server: &str, token_endpoint: &str, reach: Option<Reach>) -> OAuth {
    let login = OAuth::for_server(server).unwrap();
    let login = login.store(Arc::new(MemoryStore::new()));
    let login = login.client("client", Some(Secret::new("s3cret")));
    let login = login.grant(Grant::ClientCredentials);
    let login = login.token_endpoint(token_endpoint).unwrap();
    match reach {
        Some(reach) => login.reach(reach).build().unwrap(),
        None => login.build().unwrap(),
    }
}

#[tokio::test]
async fn with_public_addresses_only_no_other_is_connected_to() {
    for (endpoint, says) in [
        ("http://127.0.0.1:PORT/token", "127.0.0.1"),
        ("http://localhost:PORT/token", "127.0.0.1"),
        ("https://127.0.0.1:PORT/token", "127.0.0.1"),
        ("https://127.1.2.3:PORT/token", "127.1.2.3"),
        ("https://0.0.0.0:PORT/token", "0.0.0.0"),
        ("https://[::1]:PORT/token", "::1"),
        ("https://[::ffff:127.0.0.1]:PORT/token", "::ffff:127.0.0.1"),
        ("https://[64:ff9b::7f00:1]:PORT/token", "64:ff9b::7f00:1"),
        // Resolvers read these as numbers.
        ("https://2130706433:PORT/token", "127.0.0.1"),
        ("https://0x7f.1:PORT/token", "127.0.0.1"),
        ("https://017700000001:PORT/token", "127.0.0.1"),
        ("https://10.0.0.1/token", "10.0.0.1"),
        ("https://172.16.0.1/token", "172.16.0.1"),
        ("https://192.168.0.1/token", "192.168.0.1"),
        ("https://100.64.0.1/token", "100.64.0.1"),
        ("https://169.254.169.254/token", "169.254.169.254"),
        ("https://[fe80::1]/token", "fe80::1"),
        ("https://[fd00:ec2::254]/token", "fd00:ec2::254"),
    ] {
        let canary = Canary::new();
        let endpoint = endpoint.replace("PORT", &canary.port());
        let login = login("https://mcp.example/mcp", &endpoint, Some(Reach::Public));
        let error = bounded(Box::pin(login.login())).await.unwrap_err();
        assert_eq!(
            chain(&error),
            format!(
                "a token could not be asked for: {endpoint} is not asked: it leads to {says}, \
                 which is not a public address"
            )
        );
        canary.check_silent(&endpoint);
    }
}

#[tokio::test]
async fn a_public_server_sends_nobody_to_private_addresses_unless_told() {
    let canary = Canary::new();
    let endpoint = format!("http://127.0.0.1:{}/token", canary.port());
    let login = login("https://1.1.1.1/mcp", &endpoint, None);
    let error = call("https://1.1.1.1/mcp", &login).await.unwrap_err();
    assert_eq!(
        chain(&error).replace(&canary.port(), "PORT"),
        "there are no credentials for https://1.1.1.1/mcp: they could not be got: a token \
             could not be asked for: http://127.0.0.1:PORT/token is not asked: it leads to \
             127.0.0.1, which is not a public address"
    );
    canary.check_silent("default");
}

#[tokio::test]
async fn a_server_that_is_out_of_reach_itself_is_not_asked() {
    let canary = Canary::new();
    let server = format!("http://127.0.0.1:{}/mcp", canary.port());
    let login = OAuth::for_server(&server).unwrap();
    let login = login.store(Arc::new(MemoryStore::new()));
    let login = login.reach(Reach::Public).build().unwrap();
    let error = bounded(Box::pin(login.login())).await.unwrap_err();
    let says = format!(
        "the metadata of the server could not be asked for: {server} is not asked: it leads to \
         127.0.0.1, which is not a public address"
    );
    assert_eq!(chain(&error), says);
    canary.check_silent("server");
}
