//! What answers on the listener of a gateway beside its endpoint: is it alive, can it work, how much
//! has it done.
//!
//! Whether it is alive and can work may be asked by anybody, and no more than that is said. Numbers
//! name servers and tools, so they are for those who may call.

use std::future::Future;
use std::io;
use std::sync::Arc;

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Response, StatusCode, Uri};
use switchboard_hub::{Hub, MemberState, PROMETHEUS_CONTENT_TYPE};
use switchboard_protocol::http::server::Fields;
use switchboard_server::access::Access;
use switchboard_server::transport::http::{Body, HttpSettings, RequestHead};
use switchboard_server::{Directed, HttpService, Reception, Site, serve_endpoints};
use tokio::net::TcpListener;

use crate::access::{Door, DoorOf};
use crate::audit::Audit;
use crate::gateway::Gateway;
use crate::lot::Lot;
use crate::turnstile::Turnstile;

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
        mut settings: HttpSettings,
        shutdown: impl Future<Output = ()> + Send,
    ) -> io::Result<()> {
        settings.refusals = self.turnstile().refusals().clone();
        let path = settings.path.clone().unwrap_or_else(|| "/mcp".to_owned());
        let path = path.trim_end_matches('/').to_owned();
        let endpoint = |site: &Site, path: String, profile: Option<&Arc<str>>| {
            let mut settings = settings.clone();
            settings.path = Some(path);
            if self.door().is_locked() {
                settings.access = Some(Arc::new(DoorOf {
                    door: Arc::clone(self.door()),
                    profile: profile.cloned(),
                }));
            }
            site.endpoint(settings)
        };
        let mut endpoints = vec![endpoint(self.site(), path.clone(), self.profile())];
        for (name, site) in self.profiles() {
            endpoints.push(endpoint(site, format!("{path}/{name}"), Some(name)));
        }
        let names = self.profiles().iter().map(|(name, _)| Arc::clone(name));
        let desk = FrontDesk {
            hub: self.hub().clone(),
            door: Arc::clone(self.door()),
            turnstile: Arc::clone(self.turnstile()),
            lot: Arc::clone(self.lot()),
            audit: self.audit().cloned(),
            settings: settings.clone(),
            path,
            profiles: names.collect(),
        };
        serve_endpoints(listener, settings, endpoints, desk, shutdown).await
    }
}

/// Leads each request to whom it is for.
struct FrontDesk {
    hub: Hub,
    door: Arc<Door>,
    turnstile: Arc<Turnstile>,
    lot: Arc<Lot>,
    audit: Option<Audit>,
    settings: HttpSettings,
    /// That of the first endpoint; the others are below it.
    path: String,
    /// The names of the other endpoints, in their order.
    profiles: Vec<Arc<str>>,
}

impl Reception for FrontDesk {
    fn direct<'a>(&'a self, head: &'a mut RequestHead, endpoints: &[HttpService]) -> Directed<'a> {
        let question = match head.uri.path() {
            "/healthz" | "/livez" => Question::Alive,
            "/readyz" => Question::Ready,
            "/metrics" => Question::Numbers,
            _ => {
                return match endpoints.get(self.endpoint_of(head)) {
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
            Question::Numbers => {
                let sessions = endpoints.iter().map(HttpService::sessions).sum();
                Directed::Answer(Box::pin(self.numbers(head, sessions)))
            }
        }
    }
}

enum Question {
    Alive,
    Ready,
    Numbers,
}

impl FrontDesk {
    /// The endpoint that a request is for: by its path, or by the key of its caller.
    fn endpoint_of(&self, head: &mut RequestHead) -> usize {
        if self.profiles.is_empty() {
            return 0;
        }
        let path = head.uri.path().trim_end_matches('/');
        let behind = path.strip_prefix(METADATA);
        let path = behind.unwrap_or(path);
        let below = path.strip_prefix(&*self.path);
        let name = match below {
            Some("") if behind.is_none() => {
                let own = self.door.profile_of(head);
                let Some(place) = own.and_then(|own| self.place(&own)) else {
                    return 0;
                };
                // The endpoint knows itself by this path.
                self.lead(head, place);
                return place + 1;
            }
            Some(below) => below.strip_prefix('/'),
            None => None,
        };
        let place = name.and_then(|name| self.place(name));
        place.map_or(0, |place| place + 1)
    }

    /// Makes a request one for the path of a profile.
    fn lead(&self, head: &mut RequestHead, place: usize) {
        let Some(name) = self.profiles.get(place) else {
            return;
        };
        let mut parts = head.uri.clone().into_parts();
        parts.path_and_query = format!("{}/{name}", self.path).parse().ok();
        if let Ok(uri) = Uri::from_parts(parts) {
            head.to_mut().uri = uri;
        }
    }

    fn place(&self, profile: &str) -> Option<usize> {
        self.profiles.iter().position(|name| **name == *profile)
    }

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

    /// What is counted here, in the form that Prometheus reads.
    fn own_numbers(&self, page: &mut String, sessions: usize) {
        let gauges = [
            ("sessions", "Sessions of the handshake era.", sessions),
            (
                "calls_in_flight",
                "Calls of clients that are under way.",
                self.turnstile.calls(),
            ),
            (
                "calls_parked",
                "Calls that wait for stateless clients.",
                self.lot.len(),
            ),
        ];
        for (name, help, value) in gauges {
            let name = format!("switchboard_gateway_{name}");
            page.push_str(&format!(
                "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n"
            ));
        }
        let name = "switchboard_gateway_refused_total";
        page.push_str(&format!(
            "# HELP {name} What was over a limit, by its name.\n# TYPE {name} counter\n"
        ));
        for (limit, count) in self.turnstile.refusals().counts() {
            page.push_str(&format!("{name}{{limit={limit:?}}} {count}\n"));
        }
        if let Some(audit) = &self.audit {
            let (name, lost) = ("switchboard_gateway_audit_lines_lost_total", audit.lost());
            page.push_str(&format!(
                "# HELP {name} Lines of the audit log that could not be written.\n\
                 # TYPE {name} counter\n{name} {lost}\n"
            ));
        }
    }

    async fn numbers(&self, head: &RequestHead, sessions: usize) -> Response<Body> {
        if self.door.is_locked() {
            let whole = DoorOf {
                door: Arc::clone(&self.door),
                profile: None,
            };
            // Whoever may see a part only may not see the numbers of all.
            if let Err(denied) = whole.identify(head).await {
                return denied.response();
            }
        } else if let Some(access) = &self.settings.access
            && let Err(denied) = access.identify(head).await
        {
            return denied.response();
        }
        let mut page = self.hub.metrics().snapshot().prometheus();
        self.own_numbers(&mut page, sessions);
        let mut response = plain(StatusCode::OK, page);
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

/// Before the path of an endpoint, where its metadata is.
const METADATA: &str = "/.well-known/oauth-protected-resource";
