//! A page on the loopback, for servers that read from the web.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What the page says.
pub(crate) const TEXT: &str = "The page says forty-two.";

/// Serves the page for as long as this program runs; gives its address.
pub(crate) async fn serve() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // One that goes away early misses the page.
            tokio::spawn(async move { answer(stream).await.ok() });
        }
    });
    Ok(format!("http://{address}"))
}

/// Any request gets the page; none of them has a body.
async fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut request).await? == 0 || request.len() > 64 * 1024 {
            return Ok(());
        }
    }
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{TEXT}",
        TEXT.len()
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}
