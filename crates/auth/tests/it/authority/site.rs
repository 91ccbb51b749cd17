//! A web server on this machine that keeps what it was asked, and misbehaves where it is told.
//!
//! What it answers is up to its routes. Faults and holds are by path and come before them: they
//! are the same for everyone who answers here.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::message::{Asked, Reply, read_request, write_reply};

/// A web server. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Site {
    inside: Arc<Inside>,
    accepting: JoinHandle<()>,
}

/// Answers what is its own; None for what is not.
pub(crate) type Route = Box<dyn Fn(Arc<Asked>) -> Option<Reply> + Send + Sync>;

/// What is done in place of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// This answer, whatever was asked.
    Answers(Reply),
    /// The connection is closed without an answer.
    Closes,
    /// There is no answer, ever.
    StaysSilent,
}

impl Fault {
    /// Refuses in the words of OAuth.
    pub(crate) fn refuses(status: u16, code: &str) -> Self {
        let body = serde_json::json!({ "error": code, "error_description": "as it was told" });
        Self::Answers(Reply::json(status, &body))
    }

    /// Is down for a moment.
    pub(crate) fn is_unavailable() -> Self {
        Self::refuses(503, "temporarily_unavailable")
    }

    /// A status with a page for people.
    pub(crate) fn breaks() -> Self {
        Self::Answers(Reply::new(500).body("text/html", "<h1>Sorry</h1>"))
    }

    /// What is no JSON, as JSON.
    pub(crate) fn garbage() -> Self {
        Self::Answers(Reply::new(200).body("application/json", "{\"a\":\u{0}"))
    }

    /// An answer of JSON that is this many bytes long.
    pub(crate) fn is_huge(bytes: usize) -> Self {
        let filling = "x".repeat(bytes.saturating_sub(2));
        Self::Answers(Reply::new(200).body("application/json", &format!("\"{filling}\"")))
    }

    /// Sends whoever asks elsewhere.
    pub(crate) fn redirects(status: u16, to: &str) -> Self {
        Self::Answers(Reply::new(status).header("location", to))
    }
}

impl Site {
    /// Listens on a free port.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let inside = Arc::new(Inside {
            origin: format!("http://{address}"),
            routes: Mutex::default(),
            asked: watch::Sender::default(),
            faults: Mutex::default(),
            held: watch::Sender::default(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&inside)));
        Self { inside, accepting }
    }

    /// Who else answers here. The first that does is the one.
    pub(crate) fn add_route(&self, route: Route) {
        lock(&self.inside.routes).push(Arc::new(route));
    }

    pub(crate) fn origin(&self) -> &str {
        &self.inside.origin
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.inside.origin)
    }

    /// Everything that was asked so far, in order, as `METHOD /path`.
    pub(crate) fn lines(&self) -> Vec<String> {
        let asked = self.inside.asked.borrow();
        let line = |asked: &Arc<Asked>| format!("{} {}", asked.method, asked.path);
        asked.iter().map(line).collect()
    }

    /// Everything that was asked so far, in order.
    pub(crate) fn all(&self) -> Vec<Arc<Asked>> {
        self.inside.asked.borrow().clone()
    }

    /// What was asked of a path so far.
    pub(crate) fn asked(&self, path: &str) -> Vec<Arc<Asked>> {
        let asked = self.inside.asked.borrow();
        let of_path = asked.iter().filter(|asked| asked.path == path);
        of_path.cloned().collect()
    }

    /// How often a path was asked.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.asked(path).len()
    }

    /// Waits until a path was asked this often.
    pub(crate) async fn reached(&self, path: &str, times: usize) {
        let has_reached = |asked: &Vec<Arc<Asked>>| {
            asked.iter().filter(|asked| asked.path == path).count() >= times
        };
        let mut asked = self.inside.asked.subscribe();
        asked.wait_for(has_reached).await.unwrap();
    }

    /// The next request to a path, after those that were told before, meets this.
    pub(crate) fn misbehave(&self, path: &str, fault: Fault) {
        let mut faults = lock(&self.inside.faults);
        let faults = faults.entry(path.to_owned()).or_default();
        faults.next.push_back(fault);
    }

    /// Every request to a path meets this from now on.
    pub(crate) fn misbehave_always(&self, path: &str, fault: Fault) {
        let mut faults = lock(&self.inside.faults);
        faults.entry(path.to_owned()).or_default().always = Some(fault);
    }

    /// No request to a path meets a fault any longer.
    pub(crate) fn behave(&self, path: &str) {
        lock(&self.inside.faults).remove(path);
    }

    /// Requests to a path wait for an answer until they are released. They are counted as they
    /// come.
    pub(crate) fn hold(&self, path: &str) {
        self.inside.held.send_modify(|held| {
            if !held.iter().any(|held| held == path) {
                held.push(path.to_owned());
            }
        });
    }

    pub(crate) fn release(&self, path: &str) {
        let is_other = |held: &String| held != path;
        self.inside.held.send_modify(|held| held.retain(is_other));
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// What the connections share.
struct Inside {
    origin: String,
    routes: Mutex<Vec<Arc<Route>>>,
    asked: watch::Sender<Vec<Arc<Asked>>>,
    faults: Mutex<HashMap<String, Faults>>,
    held: watch::Sender<Vec<String>>,
}

#[derive(Default)]
struct Faults {
    next: VecDeque<Fault>,
    always: Option<Fault>,
}

impl Inside {
    async fn answer(&self, asked: Arc<Asked>) -> Option<Reply> {
        self.asked.send_modify(|all| all.push(Arc::clone(&asked)));
        let is_free = |held: &Vec<String>| !held.contains(&asked.path);
        let mut held = self.held.subscribe();
        held.wait_for(is_free).await.ok()?;
        match self.fault(&asked.path) {
            None => Some(self.route(&asked)),
            Some(Fault::Answers(reply)) => Some(reply),
            Some(Fault::Closes) => None,
            Some(Fault::StaysSilent) => std::future::pending().await,
        }
    }

    fn fault(&self, path: &str) -> Option<Fault> {
        let mut faults = lock(&self.faults);
        let faults = faults.get_mut(path)?;
        faults.next.pop_front().or_else(|| faults.always.clone())
    }

    fn route(&self, asked: &Arc<Asked>) -> Reply {
        let routes = lock(&self.routes).clone();
        let mut replies = routes.iter().map(|route| route(Arc::clone(asked)));
        replies
            .find_map(|reply| reply)
            .unwrap_or_else(|| Reply::new(404).body("text/plain", "nothing is here"))
    }
}

impl std::fmt::Debug for Inside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Inside({})", self.origin)
    }
}

/// A lock that survives a test that failed while it was held.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

async fn accept(listener: TcpListener, inside: Arc<Inside>) {
    // With the set, its connections end.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, Arc::clone(&inside)));
        while connections.try_join_next().is_some() {}
    }
}

fn serve(mut stream: TcpStream, inside: Arc<Inside>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        while let Some(asked) = read_request(&mut stream).await {
            let is_last = asked.header("connection") == Some("close");
            let Some(reply) = inside.answer(Arc::new(asked)).await else {
                return;
            };
            if write_reply(&mut stream, &reply).await.is_err() || is_last {
                return;
            }
        }
    })
}
