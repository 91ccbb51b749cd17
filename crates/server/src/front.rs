//! Several endpoints on one listener, and what else answers there.
//!
//! Which of them a request is for is not decided here, but by a [`Reception`].

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use http::Response;
use switchboard_transport::http::{Body, Front, HttpSettings, Incoming, RequestHead, serve};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

use crate::site::{HttpService, sweep_all};

/// Says who answers each request.
pub trait Reception: Send + Sync + 'static {
    /// Who answers a request with this head, of these endpoints or beside them. The head may be
    /// changed before it goes on, its path for instance.
    fn direct<'a>(&'a self, head: &'a mut RequestHead, endpoints: &[HttpService]) -> Directed<'a>;
}

/// Who answers a request.
#[non_exhaustive]
pub enum Directed<'a> {
    /// An endpoint.
    Endpoint(HttpService),
    /// This; the body is not read.
    Answer(Pin<Box<dyn Future<Output = Response<Body>> + Send + 'a>>),
}

impl Directed<'_> {
    /// This very response.
    pub fn answer(response: Response<Body>) -> Self {
        Self::Answer(Box::pin(std::future::ready(response)))
    }
}

impl fmt::Debug for Directed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Endpoint(_) => "Endpoint",
            Self::Answer(_) => "Answer",
        })
    }
}

/// Serves endpoints on one listener, until `shutdown` comes: then calls in flight may finish for a
/// while. The settings are those of the connections.
///
/// # Errors
/// The listener cannot be used.
pub async fn serve_endpoints(
    listener: TcpListener,
    settings: HttpSettings,
    endpoints: Vec<HttpService>,
    reception: impl Reception,
    shutdown: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let hall = Hall(Arc::new(Shared {
        settings,
        endpoints,
        reception: Box::new(reception),
    }));
    let result = tokio::select! {
        result = serve(listener, hall.clone(), shutdown) => result,
        () = sweep_all(&hall.0.endpoints) => Ok(()),
    };
    for endpoint in &hall.0.endpoints {
        endpoint.close();
    }
    result
}

#[derive(Clone)]
struct Hall(Arc<Shared>);

struct Shared {
    settings: HttpSettings,
    endpoints: Vec<HttpService>,
    reception: Box<dyn Reception>,
}

impl Front for Hall {
    fn settings(&self) -> &HttpSettings {
        &self.0.settings
    }

    async fn answer<S>(&self, mut head: RequestHead, body: Incoming<S>) -> Response<Body>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let endpoint = match self.0.reception.direct(&mut head, &self.0.endpoints) {
            Directed::Endpoint(endpoint) => endpoint,
            Directed::Answer(answer) => return answer.await,
        };
        endpoint.answer(head, body).await
    }

    fn stopping(&self) {
        for endpoint in &self.0.endpoints {
            endpoint.stopping();
        }
    }

    fn closing(&self) {
        for endpoint in &self.0.endpoints {
            endpoint.closing();
        }
    }
}
