//! Which server to connect to, and how.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use switchboard_protocol::Era;
use switchboard_protocol::machine::client::Mode;
use switchboard_protocol::types::Implementation;
use switchboard_transport::credentials::Credentials;
use switchboard_transport::http::client::{ClientSettings, shown};
use switchboard_transport::process::ProcessSpec;

mod limits;
mod memory;
mod words;

pub use limits::{Limits, Timeouts};
pub(crate) use memory::Memory;

/// Which server to connect to, and how. What is said about programs counts for commands, what
/// is said about HTTP for URLs.
///
/// ```
/// use std::time::Duration;
///
/// use switchboard_client::Spec;
///
/// # fn main() -> Result<(), switchboard_client::BadSpec> {
/// let local = Spec::command("npx").args(["-y", "@modelcontextprotocol/server-memory"]);
/// let remote = Spec::url("https://mcp.example.com/mcp")?.header("x-team", "blue")?;
/// let either: Spec = "uvx mcp-server-time --local-timezone UTC".parse()?;
/// # let _ = (local, remote, either);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Spec {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) target: Target,
    pub(crate) mode: Mode,
    pub(crate) info: Implementation,
    pub(crate) sends_info: bool,
    pub(crate) tasks: bool,
    pub(crate) timeouts: Timeouts,
    pub(crate) limits: Limits,
    pub(crate) memory: Memory,
}

/// Where a server is.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// A program that is started.
    Process(ProcessSpec),
    /// An address.
    Http(Box<HttpTarget>),
    /// At the other end of a pipe that is there already.
    Pipe,
}

/// A server behind an address.
#[derive(Clone, Debug)]
pub(crate) struct HttpTarget {
    pub(crate) url: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) credentials: Option<Arc<dyn Credentials>>,
    pub(crate) settings: ClientSettings,
    /// Only the transport of 2024-11-05.
    pub(crate) is_old: bool,
}

impl Spec {
    /// A program that speaks on its standard streams. It is looked for in `PATH`, and no shell
    /// has a look at it.
    pub fn command(program: impl Into<OsString>) -> Self {
        Self::new(Target::Process(ProcessSpec::new(program)))
    }

    /// A server behind a URL: Streamable HTTP, or the older HTTP with SSE if it only has that.
    ///
    /// # Errors
    /// When it is no URL of HTTP, or has a user and a password in it.
    pub fn url(url: &str) -> Result<Self, BadSpec> {
        let url = words::url(url)?;
        Ok(Self::new(Target::Http(Box::new(HttpTarget {
            url,
            headers: HeaderMap::new(),
            credentials: None,
            settings: ClientSettings::default(),
            is_old: false,
        }))))
    }

    /// A server behind a URL that speaks HTTP with SSE as of 2024-11-05 and nothing else.
    ///
    /// # Errors
    /// As for [`url`](Self::url).
    pub fn sse(url: &str) -> Result<Self, BadSpec> {
        let mut spec = Self::url(url)?;
        if let Target::Http(http) = &mut spec.target {
            http.is_old = true;
        }
        spec.mode = Mode::Legacy;
        Ok(spec)
    }

    /// A server in this process, see
    /// [`Client::connect_in_memory_as`](crate::Client::connect_in_memory_as).
    pub fn in_memory() -> Self {
        Self::new(Target::Pipe)
    }

    fn new(target: Target) -> Self {
        Self {
            name: None,
            target,
            mode: Mode::Auto,
            info: Implementation::new("switchboard", env!("CARGO_PKG_VERSION")),
            sends_info: true,
            tasks: true,
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            memory: Memory::default(),
        }
    }

    /// The name under which errors speak of the server. Without one, what is run or the host.
    #[must_use]
    pub fn name(mut self, name: impl AsRef<str>) -> Self {
        self.name = Some(Arc::from(name.as_ref()));
        self
    }

    /// An argument for the program.
    #[must_use]
    pub fn arg(self, argument: impl Into<OsString>) -> Self {
        self.args([argument])
    }

    /// Arguments for the program.
    #[must_use]
    pub fn args(self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.process(|process| process.arguments(arguments))
    }

    /// A variable in the program's environment.
    #[must_use]
    pub fn env(self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.process(|process| process.variable(name, value))
    }

    /// A variable that the program inherits from us, beside the few that it always does.
    #[must_use]
    pub fn inherit(self, name: impl Into<OsString>) -> Self {
        self.process(|process| process.inherit(name))
    }

    /// A variable that the program does not inherit from us, even if it always would.
    #[must_use]
    pub fn withhold(self, name: impl Into<OsString>) -> Self {
        self.process(|process| process.withhold(name))
    }

    /// The folder in which the program is started.
    #[must_use]
    pub fn cwd(self, directory: impl Into<PathBuf>) -> Self {
        self.process(|process| process.directory(directory))
    }

    /// A header for each request. One called `authorization` takes the place of a login.
    ///
    /// # Errors
    /// When the name or the value cannot stand in a header, neither of which is repeated in the
    /// error; when the server is not behind a URL.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, BadSpec> {
        let bad = |what| BadSpec(format!("the header's {what} cannot be sent over HTTP"));
        let Target::Http(http) = &mut self.target else {
            return Err(BadSpec("headers are for servers behind a URL".to_owned()));
        };
        let name: HeaderName = name.parse().map_err(|_| bad("name"))?;
        let mut value: HeaderValue = value.parse().map_err(|_| bad("value"))?;
        // It may be a secret: it is neither shown nor indexed.
        value.set_sensitive(true);
        http.headers.append(name, value);
        Ok(self)
    }

    /// Who proves to the server who we are.
    #[must_use]
    pub fn credentials(mut self, credentials: Arc<dyn Credentials>) -> Self {
        if let Target::Http(http) = &mut self.target {
            http.credentials = Some(credentials);
        }
        self
    }

    /// Proxies, certificates and the like.
    #[must_use]
    pub fn http(mut self, settings: ClientSettings) -> Self {
        if let Target::Http(http) = &mut self.target {
            http.settings = settings;
        }
        self
    }

    /// Which revisions to try: all by default, the newest first.
    #[must_use]
    pub const fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Who we say we are.
    #[must_use]
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// Says nothing about who we are where that is allowed.
    #[must_use]
    pub const fn anonymous(mut self) -> Self {
        self.sends_info = false;
        self
    }

    /// Whether the server may turn a call into a task that is then waited for. It may.
    #[must_use]
    pub const fn tasks(mut self, tasks: bool) -> Self {
        self.tasks = tasks;
        self
    }

    /// How long things may take.
    #[must_use]
    pub const fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// How much of everything.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The era that the server was last found to speak, through this description or a clone of
    /// it. Whoever keeps it over a restart gives it back with [`remember`](Self::remember).
    pub fn remembered(&self) -> Option<Era> {
        self.memory.era()
    }

    /// The server was found to speak this era before. It saves asking; what is wrong is noticed.
    #[must_use]
    pub fn remember(self, era: Era) -> Self {
        self.memory.set(Some(era));
        self
    }

    /// What is run, or the URL: for people, without secrets.
    pub fn target(&self) -> String {
        match &self.target {
            Target::Process(process) => process.to_string(),
            Target::Http(http) => shown(&http.url),
            Target::Pipe => "pipe".to_owned(),
        }
    }

    /// The name under which errors speak of the server.
    pub(crate) fn display_name(&self) -> Arc<str> {
        match (&self.name, &self.target) {
            (Some(name), _) => Arc::clone(name),
            (None, Target::Http(http)) => Arc::from(http.url.host().unwrap_or("http")),
            (None, _) => Arc::from(self.target()),
        }
    }

    fn process(mut self, change: impl FnOnce(ProcessSpec) -> ProcessSpec) -> Self {
        if let Target::Process(process) = self.target {
            self.target = Target::Process(change(process));
        }
        self
    }
}

/// A URL, or a command with its arguments. Words are separated by spaces; quotes and
/// backslashes keep them together as in a shell, and nothing else of a shell is understood.
impl std::str::FromStr for Spec {
    type Err = BadSpec;

    fn from_str(text: &str) -> Result<Self, BadSpec> {
        let text = text.trim();
        if text.starts_with("http://") || text.starts_with("https://") {
            return Self::url(text);
        }
        let mut words = words::split(text)?.into_iter();
        let program = words
            .next()
            .ok_or_else(|| BadSpec("expected a URL or a command, found nothing".to_owned()))?;
        Ok(Self::command(program).args(words))
    }
}

impl TryFrom<&str> for Spec {
    type Error = BadSpec;

    fn try_from(text: &str) -> Result<Self, BadSpec> {
        text.parse()
    }
}

impl TryFrom<&String> for Spec {
    type Error = BadSpec;

    fn try_from(text: &String) -> Result<Self, BadSpec> {
        text.parse()
    }
}

impl TryFrom<String> for Spec {
    type Error = BadSpec;

    fn try_from(text: String) -> Result<Self, BadSpec> {
        text.parse()
    }
}

/// Why the description of a server cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSpec(pub(crate) String);

impl fmt::Display for BadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadSpec {}

impl From<std::convert::Infallible> for BadSpec {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}
