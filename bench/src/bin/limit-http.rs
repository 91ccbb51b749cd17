//! The limit on HTTP with hyper: the body is read, answered by byte search, sent as JSON.
//!
//! `limit-http --http PORT [--runtime current|multi]`

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use switchboard_bench::{Arguments, Copier};
use tokio::net::TcpListener;

fn main() -> std::io::Result<()> {
    let arguments = Arguments::read();
    arguments.runtime()?.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", arguments.port.unwrap_or(0))).await?;
        let copier = Arc::new(Copier::default());
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let copier = copier.clone();
            tokio::spawn(async move {
                let service = service_fn(|request| answer(request, &copier));
                // A client that goes away is no news.
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    })
}

async fn answer(
    request: Request<Incoming>,
    copier: &Copier,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::POST {
        // Clients of the handshake era ask for a stream of what belongs to no request.
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        return Ok(response);
    }
    let body = match request.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => Bytes::new(),
    };
    let mut answer = Vec::with_capacity(body.len() + 256);
    let answered = copier.answer(&body, &mut answer);
    let mut response = Response::new(Full::new(Bytes::from(answer)));
    if answered {
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
    } else {
        *response.status_mut() = StatusCode::ACCEPTED;
    }
    Ok(response)
}
