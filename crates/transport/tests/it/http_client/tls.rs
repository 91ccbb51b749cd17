//! TLS: who is trusted and who is not.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use switchboard_transport::http::client::{ClientSettings, HttpClient, SendError, SetupError};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use super::{Peer, Raw, answer, call, chain, client, refused};

pub(super) const AUTHORITY: &[u8] = include_bytes!("../certificates/authority.pem");
const SERVER: &[u8] = include_bytes!("../certificates/server.pem");
const EXPIRED: &[u8] = include_bytes!("../certificates/expired.pem");
const KEY: &[u8] = include_bytes!("../certificates/server-key.pem");

/// Answers `{}` through TLS.
pub(super) struct TlsServer {
    pub(super) address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    requests: mpsc::UnboundedReceiver<String>,
    task: JoinHandle<()>,
}

impl TlsServer {
    pub(super) async fn start() -> Self {
        Self::with_certificate(SERVER).await
    }

    async fn with_certificate(certificate: &[u8]) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let certificate = CertificateDer::from_pem_slice(certificate).unwrap();
        let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        // Whoever speaks something else is refused.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let accepted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&accepted);
        let (seen, requests) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let mut peers = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let (acceptor, seen) = (acceptor.clone(), seen.clone());
                peers.spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let mut peer = Peer { stream, seen };
                    while peer.request().await.is_some() {
                        peer.say(&answer("{}")).await;
                    }
                });
            }
        });
        Self {
            address,
            accepted,
            requests,
            task,
        }
    }

    fn url(&self) -> String {
        format!("https://localhost:{}/mcp", self.address.port())
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn trusting() -> HttpClient {
    client(|settings| {
        settings.roots.platform = false;
        settings.roots.pem = vec![AUTHORITY.into()];
    })
}

#[tokio::test]
async fn a_server_of_a_given_authority_is_trusted_and_its_connection_kept() {
    let server = TlsServer::start().await;
    let client = trusting();
    for _ in 0..5 {
        assert_eq!(call(&client, &server.url()).await, "{}");
    }
    assert_eq!(server.accepted.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_given_authority_is_trusted_beside_those_of_the_machine_and_from_a_file() {
    let server = TlsServer::start().await;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/certificates");
    let client = client(|settings| {
        settings.roots.files = vec![format!("{folder}/authority.pem").into()];
    });
    assert_eq!(call(&client, &server.url()).await, "{}");
}

// Fault matrix: 61.
#[tokio::test]
async fn a_server_that_is_not_trusted_is_sent_nothing() {
    let unknown = "its certificate is signed by an authority that is not trusted here";
    let mut server = TlsServer::start().await;
    let error = refused(&client(|_| {}), &server.url()).await;
    assert!(matches!(error, SendError::Tls { .. }), "{error:?}");
    let no_roots = "no trusted roots were found on this machine, name some";
    let text = error.to_string();
    assert!(
        text.ends_with(unknown) || text.ends_with(no_roots),
        "{text}"
    );

    let other = format!("https://127.0.0.1:{}/mcp", server.address.port());
    let error = refused(&trusting(), &other).await;
    assert_eq!(
        error.to_string(),
        format!("no trusted connection to {other}: its certificate is for another host name")
    );
    assert!(!error.may_have_run());
    assert!(server.requests.try_recv().is_err());

    let mut expired = TlsServer::with_certificate(EXPIRED).await;
    let error = refused(&trusting(), &expired.url()).await;
    assert!(
        error.to_string().ends_with(": its certificate has expired"),
        "{error}"
    );
    assert!(expired.requests.try_recv().is_err());
}

#[tokio::test]
async fn a_plain_server_at_a_url_of_tls_is_told_apart() {
    let server = Raw::start(|_, mut peer| async move {
        peer.say("HTTP/1.1 400 Bad Request\r\n\r\n").await;
    });
    let server = server.await;
    let url = format!("https://localhost:{}/", server.address.port());
    let error = refused(&trusting(), &url).await;
    assert!(
        error
            .to_string()
            .ends_with(": the server does not speak TLS"),
        "{error}"
    );
}

#[test]
fn roots_that_are_none_are_refused_when_set() {
    let setup = |change: &dyn Fn(&mut ClientSettings)| {
        let mut settings = ClientSettings::default();
        change(&mut settings);
        HttpClient::new(settings).unwrap_err()
    };
    let error = setup(&|settings| settings.roots.pem = vec!["hello".into()]);
    assert_eq!(
        chain(&error),
        "the trusted roots are not certificates in PEM: there is none"
    );
    let error = setup(&|settings| settings.roots.files = vec!["no/such/file".into()]);
    assert!(matches!(error, SetupError::RootsFile { .. }), "{error:?}");
    assert!(error.to_string().contains("no/such/file"), "{error}");
}
