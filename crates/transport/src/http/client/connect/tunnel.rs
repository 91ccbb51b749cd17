//! A tunnel through a proxy, for TLS that it cannot read.
//!
//! Specification: RFC 9110, section 9.3.6; RFC 9112, section 3.2.3.

use http::StatusCode;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::super::proxy::{ProxyError, ProxyServer};
use super::super::target::Target;

/// Asks the proxy to pass on what follows.
pub(super) async fn open(
    socket: &mut (impl AsyncRead + AsyncWrite + Unpin),
    proxy: &ProxyServer,
    target: &Target,
) -> Result<(), ProxyError> {
    let (host, port) = target.place().map_err(|_| ProxyError::Malformed)?;
    let place = match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    };
    let mut request = format!("CONNECT {place} HTTP/1.1\r\nhost: {place}\r\n").into_bytes();
    if let Some(value) = &proxy.authorization {
        request.extend_from_slice(b"proxy-authorization: ");
        request.extend_from_slice(value.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    socket.write_all(&request).await.map_err(ProxyError::Lost)?;

    let mut head = Vec::new();
    loop {
        let count = socket.read_buf(&mut head).await.map_err(ProxyError::Lost)?;
        if let Some(end) = end_of_head(&head) {
            let status = status(&head).ok_or(ProxyError::NotHttp)?;
            if !status.is_success() {
                return Err(ProxyError::Refused { status });
            }
            // In TLS it is we who speak first, so nothing can have come from behind the proxy.
            return match end == head.len() {
                true => Ok(()),
                false => Err(ProxyError::NotHttp),
            };
        }
        if count == 0 {
            return Err(ProxyError::Lost(std::io::ErrorKind::UnexpectedEof.into()));
        }
        if head.len() > LARGEST_HEAD {
            return Err(ProxyError::NotHttp);
        }
    }
}

fn end_of_head(head: &[u8]) -> Option<usize> {
    let start = head.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    Some(start + 4)
}

fn status(head: &[u8]) -> Option<StatusCode> {
    let rest = head
        .strip_prefix(b"HTTP/1.1 ")
        .or(head.strip_prefix(b"HTTP/1.0 "))?;
    StatusCode::from_bytes(rest.get(..3)?).ok()
}

const LARGEST_HEAD: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of a proxy that answers with this, and then waits.
    async fn answered(answer: &str) -> Result<(), ProxyError> {
        let (mut ours, mut theirs) = tokio::io::duplex(2 * LARGEST_HEAD);
        theirs.write_all(answer.as_bytes()).await.unwrap();
        let proxy = ProxyServer {
            host: "proxy".to_owned(),
            port: 1080,
            authorization: None,
        };
        let target = Target::of(&"https://example.com/".parse().unwrap()).unwrap();
        open(&mut ours, &proxy, &target).await
    }

    #[tokio::test]
    async fn a_head_that_does_not_end_is_given_up() {
        let head = |length: usize| format!("HTTP/1.1 200 OK\r\nx: {}", "x".repeat(length));
        let good = format!("{}\r\n\r\n", head(LARGEST_HEAD / 2));
        assert!(answered(&good).await.is_ok());
        let refused = answered(&head(LARGEST_HEAD)).await.unwrap_err();
        assert!(matches!(refused, ProxyError::NotHttp), "{refused:?}");
    }
}
