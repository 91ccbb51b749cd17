//! What answers on the listener of a gateway beside its endpoint: is it alive, can it work, how much
//! has it done.
//!
//! Whether it is alive and can work may be asked by anybody, and no more than that is said. Numbers
//! name servers and tools, so they are for those who may call.

use std::future::Future;
use std::io;

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use switchboard_hub::{Hub, MemberState, PROMETHEUS_CONTENT_TYPE};
use switchboard_protocol::http::server::Fields;
use switchboard_server::transport::http::{Body, HttpSettings};
use switchboard_server::{Directed, HttpService, Reception, serve_endpoints};
use tokio::net::TcpListener;

use crate::gateway::Gateway;

impl Gateway {
    /// Serves over HTTP, until `shutdown` comes: then calls in flight may finish for a while.
    ///
    /// Beside the endpoint there are `/healthz`, which answers as long as anything does; `/readyz`,
    /// which says 503 while a server that is required cannot be called; `/metrics`, for Prometheus.
    ///
    /// # Errors
    /// The listener cannot be used.
    pub async fn serve_http(
        &self,
        listener: TcpListener,
        settings: HttpSettings,
        shutdown: impl Future<Output = ()> + Send,
    ) -> io::Result<()> {
        let endpoint = self.site().endpoint(settings.clone());
        let desk = FrontDesk {
            hub: self.hub().clone(),
            settings: settings.clone(),
        };
        serve_endpoints(listener, settings, vec![endpoint], desk, shutdown).await
    }
}

/// Leads each request to whom it is for.
struct FrontDesk {
    hub: Hub,
    settings: HttpSettings,
}

impl Reception for FrontDesk {
    fn direct<'a>(&'a self, head: &'a mut Parts, endpoints: &[HttpService]) -> Directed<'a> {
        let question = match head.uri.path() {
            "/healthz" | "/livez" => Question::Alive,
            "/readyz" => Question::Ready,
            "/metrics" => Question::Numbers,
            _ => {
                return match endpoints.first() {
                    Some(endpoint) => Directed::Endpoint(endpoint.clone()),
                    None => Directed::answer(plain(StatusCode::NOT_FOUND, "not found\n")),
                };
            }
        };
        if self
            .settings
            .guard
            .check(&head.uri, &Fields::of(&head.headers))
            .is_err()
        {
            let refused = "this host or origin is not served\n";
            return Directed::answer(plain(StatusCode::FORBIDDEN, refused));
        }
        if head.method != Method::GET && head.method != Method::HEAD {
            let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET\n");
            let allowed = HeaderValue::from_static("GET, HEAD");
            refused.headers_mut().insert(ALLOW, allowed);
            return Directed::answer(refused);
        }
        match question {
            Question::Alive => Directed::answer(plain(StatusCode::OK, "alive\n")),
            Question::Ready => Directed::answer(self.readiness()),
            Question::Numbers => Directed::Answer(Box::pin(self.numbers(head))),
        }
    }
}

enum Question {
    Alive,
    Ready,
    Numbers,
}

impl FrontDesk {
    fn readiness(&self) -> Response<Body> {
        let servers = self.hub.servers();
        let required = servers
            .iter()
            .filter(|server| server.config.is_required && server.config.is_enabled);
        let (mut all, mut ready) = (0_usize, 0_usize);
        for server in required {
            all += 1;
            // One that sleeps is started by the first call.
            ready +=
                usize::from(server.state.is_ready() || matches!(server.state, MemberState::Asleep));
        }
        let status = match ready == all {
            true => StatusCode::OK,
            false => StatusCode::SERVICE_UNAVAILABLE,
        };
        plain(
            status,
            format!("{ready} of {all} required servers are ready\n"),
        )
    }

    async fn numbers(&self, head: &Parts) -> Response<Body> {
        if let Some(access) = &self.settings.access
            && let Err(denied) = access.identify(head).await
        {
            return denied.response();
        }
        let mut response = plain(StatusCode::OK, self.hub.metrics().snapshot().prometheus());
        let kind = HeaderValue::from_static(PROMETHEUS_CONTENT_TYPE);
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response
    }
}

fn plain(status: StatusCode, text: impl Into<Vec<u8>>) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes::Bytes::from(text.into())));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
