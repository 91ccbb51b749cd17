//! The server that is talked to, and a connection to it.

use std::cell::{Cell, RefCell};
use std::mem::{ManuallyDrop, take};
use std::panic;
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{Method, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_protocol::http::origin::Guard;
use switchboard_server::transport::http::{
    Body, Front, HttpSettings, Incoming, OldPaths, RequestHead, serve_stream,
};
use switchboard_server::{Context, HttpService, NoArguments, Server, prompt, resource, tool};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};

use super::wire::Wire;
use crate::headers::assert_local;

/// A server with a clock that jumps to whatever is waited for.
pub(super) struct Stage {
    runtime: Runtime,
    settings: HttpSettings,
    service: HttpService,
    uses: u32,
}

/// What happened on a connection.
#[derive(Default)]
pub(super) struct Talk {
    pub(super) written: Vec<u8>,
    /// The methods of the requests that reached the endpoint.
    pub(super) methods: Vec<Method>,
}

impl Stage {
    /// Does something with the stage of this thread, and looks whether anything panicked meanwhile:
    /// a runtime catches what its tasks do.
    pub(super) fn with(body: impl FnOnce(&mut Self)) {
        note_panics();
        let stage = STAGE.take().map(ManuallyDrop::into_inner);
        let mut stage = stage.unwrap_or_else(Self::new);
        let before = PANICS.get();
        body(&mut stage);
        assert_eq!(PANICS.get(), before, "a task panicked");
        stage.uses += 1;
        // Sessions that nobody ends would only grow.
        if stage.uses < USES && stage.service.sessions() < SESSIONS {
            STAGE.set(Some(ManuallyDrop::new(stage)));
        }
    }

    fn new() -> Self {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime");
        let site = server().site().expect("a server that is well put together");
        let mut settings = site.http_settings();
        settings.guard = Guard::for_address("127.0.0.1:8080".parse().expect("an address"));
        settings.old_transport = Some(OldPaths::default());
        settings.body_limit = 4096;
        let service = site.endpoint(settings.clone());
        Self {
            runtime,
            settings,
            service,
            uses: 0,
        }
    }

    /// One connection, from its beginning to its end.
    pub(super) fn talk(&self, requests: Vec<Vec<u8>>) -> Talk {
        let written = Arc::new(Mutex::new(Vec::new()));
        let door = Door {
            settings: self.settings.clone(),
            service: self.service.clone(),
            methods: Arc::default(),
        };
        let methods = Arc::clone(&door.methods);
        let connection = async {
            let wire = Wire::new(requests, Arc::clone(&written));
            // How it ended matters to nobody: what was written is looked at. A stream may go on
            // while the client says nothing, until that is gone.
            let _ = tokio::time::timeout(LONGEST_TALK, serve_stream(wire, door)).await;
        };
        self.runtime.block_on(connection);
        Talk {
            written: take(&mut *written.lock().expect("nobody panicked")),
            methods: take(&mut *methods.lock().expect("nobody panicked")),
        }
    }
}

/// The endpoint, and who looks at what comes to it.
#[derive(Clone)]
struct Door {
    settings: HttpSettings,
    service: HttpService,
    methods: Arc<Mutex<Vec<Method>>>,
}

impl Door {
    fn note(&self, method: &Method) {
        let mut methods = self.methods.lock().expect("nobody panicked");
        methods.push(method.clone());
    }
}

impl Front for Door {
    fn settings(&self) -> &HttpSettings {
        &self.settings
    }

    async fn answer<S>(&self, head: RequestHead, body: Incoming<S>) -> Response<Body>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        self.note(&head.method);
        let before = RUNS.get();
        let answer = self.service.answer(head.clone(), body).await;
        if RUNS.get() != before {
            check_admitted(&head);
        }
        answer
    }

    fn stopping(&self) {}

    fn closing(&self) {}
}

/// A handler ran: so this was a message, from this machine, and from no page of somebody else.
fn check_admitted(head: &RequestHead) {
    assert_eq!(head.method, Method::POST);
    assert!(
        matches!(head.uri.path(), "/mcp" | "/mcp/" | "/message" | "/message/"),
        "{head:?}"
    );
    assert_local(&head.uri, &head.headers);
    let kind = head.headers.get(CONTENT_TYPE).expect("a content type");
    let kind = String::from_utf8_lossy(kind.as_bytes()).to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    assert_eq!(kind, "application/json", "{head:?}");
}

fn server() -> Server {
    Server::new("fuzz", "1")
        .tool(tool("echo", |echo: Echo| async move {
            RUNS.set(RUNS.get() + 1);
            echo.text
        }))
        .tool(tool("ask", |_: NoArguments, context: Context| async move {
            RUNS.set(RUNS.get() + 1);
            let form = context.elicit::<Echo>("who", "Who is it?").await?;
            Ok::<_, switchboard_server::AskError>(format!("{}", form.accepted().is_some()))
        }))
        .resource(resource("a:/b", || async { "text" }))
        .prompt(prompt("greet", |_: NoArguments| async { "hello" }))
}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

fn note_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            PANICS.set(PANICS.get() + 1);
            before(info);
        }));
    });
}

thread_local! {
    /// Not dropped with its thread: the runtime's own variables may be gone by then.
    static STAGE: RefCell<Option<ManuallyDrop<Stage>>> = const { RefCell::new(None) };
    /// How many handlers have begun, and how much has panicked, in this thread.
    static RUNS: Cell<u64> = const { Cell::new(0) };
    static PANICS: Cell<u64> = const { Cell::new(0) };
}

const USES: u32 = 1_000;
const SESSIONS: usize = 64;
/// Time of a clock that jumps.
const LONGEST_TALK: Duration = Duration::from_secs(120);
