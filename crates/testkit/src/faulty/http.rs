//! Misbehaving servers on a loopback port.
//!
//! ```no_run
//! use switchboard_testkit::faulty::{Eras, Role, http::HttpServer};
//!
//! let server = HttpServer::start(&Role::new("reset").eras(Eras::Legacy));
//! // … connect to `server.url()`, call `defect` …
//! assert_eq!(server.seen().count("tools/call"), 1);
//! ```
//!
//! - `shared`: what all connections of a server know
//! - `exchange`: one request and what is written for it, right or wrong
//! - `serving`: the honest server, in both eras
//! - `connections`, `statuses`, `bodies`, `redirects`, `events`, `opening`, `sessions`, `streams`,
//!   `old_sse`: the kinds
//!
//! HTTP/1.1 by hand over sockets and threads; all threads have ended when the server is dropped.

mod bodies;
mod connections;
mod events;
mod exchange;
mod old_sse;
mod opening;
mod redirects;
mod serving;
mod sessions;
mod shared;
mod statuses;
mod streams;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use exchange::Exchange;
use shared::Shared;

pub use exchange::Recorded;
pub use shared::Seen;

use super::Role;

/// A misbehaving server; it ends when it is dropped.
#[derive(Debug)]
pub struct HttpServer {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl HttpServer {
    /// Starts a server of this role on a free port.
    ///
    /// # Panics
    /// For an unknown kind, or without a free port.
    pub fn start(role: &Role) -> Self {
        Self::start_prepared(role, |_| {})
    }

    /// The same, with something done to the socket from which its connections come.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn start_prepared(role: &Role, prepare: impl FnOnce(&TcpListener)) -> Self {
        let kind = kinds().find(|kind| kind.name == role.kind);
        let kind = kind.unwrap_or_else(|| panic!("no kind {:?} of HTTP server", role.kind));
        let (listener, address) = listen();
        prepare(&listener);
        let (other, elsewhere) = listen();
        let shared = Arc::new(Shared::new(role, kind.defect, address, elsewhere));
        let (here, there) = (Arc::clone(&shared), Arc::clone(&shared));
        let threads = vec![
            thread::spawn(move || accept(&listener, &here)),
            thread::spawn(move || count_strays(&other, &there)),
        ];
        Self { shared, threads }
    }

    /// Where the server is.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.shared.address)
    }

    /// What has come until now.
    pub fn seen(&self) -> Seen {
        self.shared.seen()
    }

    /// Waits until what has come is so; `false` if it is not in time.
    pub fn wait_until(&self, limit: Duration, is_so: impl Fn(&Seen) -> bool) -> bool {
        self.shared.wait_until(limit, &is_so)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.shared.stop();
        for address in [self.shared.address, self.shared.elsewhere] {
            // Wakes the thread that waits for connections.
            drop(TcpStream::connect(address));
        }
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            if !thread::panicking() {
                ended.expect("a thread of the server panicked");
            }
        }
    }
}

/// One way to misbehave.
#[derive(Debug)]
pub struct Kind {
    /// The word for it in a [`Role`].
    pub name: &'static str,
    /// What such a server does.
    pub about: &'static str,
    defect: Defect,
}

impl Kind {
    const fn new(name: &'static str, about: &'static str, defect: Defect) -> Self {
        Self {
            name,
            about,
            defect,
        }
    }
}

/// All kinds.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    let tables = [
        connections::KINDS,
        statuses::KINDS,
        bodies::KINDS,
        redirects::KINDS,
        events::KINDS,
        opening::KINDS,
        sessions::KINDS,
        streams::KINDS,
        old_sse::KINDS,
    ];
    tables.into_iter().flatten()
}

/// Where the behaviour differs from the honest one.
#[derive(Clone, Copy, Debug)]
enum Defect {
    /// Nowhere.
    None,
    /// On calls of the tool `defect`.
    Call(fn(&mut Exchange<'_>)),
    /// On requests with this method of HTTP.
    Method(&'static str, fn(&mut Exchange<'_>)),
    /// On every request.
    Every(fn(&mut Exchange<'_>)),
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound port has an address");
    (listener, address)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut threads = Vec::new();
    while let Ok((stream, _)) = listener.accept() {
        let Some(number) = shared.admit(&stream) else {
            break;
        };
        let shared = Arc::clone(shared);
        threads.push(thread::spawn(move || {
            while Exchange::read(&shared, &stream, number).is_some_and(Exchange::run) {}
            // Closed before it is said to be.
            drop(stream);
            shared.forget(number);
        }));
    }
    for thread in threads {
        thread.join().expect("a connection's thread panicked");
    }
}

fn count_strays(listener: &TcpListener, shared: &Shared) {
    while listener.accept().is_ok() && shared.admit_stray() {}
}

#[cfg(test)]
mod tests;
