//! TLS to a host: whose certificates are trusted, and what is said when one is not.
//!
//! Certificates are always checked. What the machine trusts is read for the first `https`.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::settings::{Roots, SetupError};

/// Makes plain connections trusted ones.
#[derive(Debug)]
pub(super) struct Tls {
    given: RootCertStore,
    uses_platform: bool,
    ready: OnceCell<Arc<ClientConfig>>,
}

impl Tls {
    /// # Errors
    /// When authorities were given that cannot be read.
    pub(super) fn new(roots: &Roots) -> Result<Self, SetupError> {
        let mut given = RootCertStore::empty();
        for text in &roots.pem {
            add(&mut given, text, None)?;
        }
        for path in &roots.files {
            let text = std::fs::read(path).map_err(|source| SetupError::RootsFile {
                path: path.clone(),
                source,
            })?;
            add(&mut given, &text, Some(path))?;
        }
        Ok(Self {
            given,
            uses_platform: roots.platform,
            ready: OnceCell::new(),
        })
    }

    /// # Errors
    /// In words, why the host is not trusted.
    pub(super) async fn handshake(
        &self,
        stream: TcpStream,
        host: &str,
    ) -> Result<Box<TlsStream<TcpStream>>, String> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| format!("{host:?} is no name that a certificate could have"))?;
        let config = self.ready.get_or_try_init(|| self.configure()).await?;
        let connector = TlsConnector::from(Arc::clone(config));
        match connector.connect(name, stream).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(reason(&error)),
        }
    }

    async fn configure(&self) -> Result<Arc<ClientConfig>, String> {
        let mut roots = self.given.clone();
        if self.uses_platform {
            // It reads files, hundreds of them on some machines.
            let found = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs)
                .await
                .map_err(|_| "what this machine trusts cannot be read".to_owned())?;
            // Single ones that cannot be read are common, and only those are not trusted.
            roots.add_parsable_certificates(found.certs);
        }
        if roots.is_empty() {
            return Err("no trusted roots were found on this machine, name some".to_owned());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn add(roots: &mut RootCertStore, text: &[u8], path: Option<&Path>) -> Result<(), SetupError> {
    let wrong = |reason: String| SetupError::RootsText {
        path: path.map(Path::to_owned),
        reason,
    };
    let before = roots.len();
    for certificate in CertificateDer::pem_slice_iter(text) {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| wrong(error.to_string()))?;
    }
    match roots.len() > before {
        true => Ok(()),
        false => Err(wrong("there is none".to_owned())),
    }
}

/// What went wrong, for people.
fn reason(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    match inner {
        Some(rustls::Error::InvalidCertificate(reason)) => certificate_reason(reason),
        Some(rustls::Error::InvalidMessage(_)) => "the server does not speak TLS".to_owned(),
        Some(other) => other.to_string(),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the server hung up in the TLS handshake".to_owned()
        }
        None => super::error::in_words(error),
    }
}

fn certificate_reason(reason: &CertificateError) -> String {
    match reason {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet, check the clock".to_owned()
        }
        CertificateError::UnknownIssuer => {
            "its certificate is signed by an authority that is not trusted here".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another host name".to_owned()
        }
        CertificateError::Revoked => "its certificate was revoked".to_owned(),
        other => format!("its certificate is not valid: {other}"),
    }
}
