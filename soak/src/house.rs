//! The gateway of a run with chaos, and the servers before it.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Map, Value, json};
use switchboard_protocol::Era;
use switchboard_testkit::fault_proxy::TcpProxy;

use crate::gateway::{Gateway, START, command, config, free_port, wait_for};
use crate::options::Options;

/// A server, as the gateway is told of it.
#[derive(Debug)]
pub(crate) struct Behind {
    pub(crate) name: String,
    pub(crate) era: Era,
    pub(crate) kind: Kind,
    runs: PathBuf,
    /// What the file says of it now.
    pub(crate) is_listed: bool,
    pub(crate) is_banned: bool,
    edition: u64,
}

/// How a server is reached.
#[derive(Debug)]
pub(crate) enum Kind {
    /// Started by the gateway.
    Stdio {
        /// Each client has one alone.
        per_client: bool,
        /// Started when it is needed, and ended when it is not.
        lazy: bool,
        /// The seed of what stands between.
        pipe: Option<u64>,
    },
    /// Started by us, behind a proxy.
    Http {
        port: u16,
        proxy: TcpProxy,
        child: Option<Child>,
    },
}

impl Behind {
    fn plan(number: usize, folder: &Path, seed: u64) -> Result<Self, String> {
        let seed = seed.wrapping_mul(31).wrapping_add(number as u64);
        let stdio = |per_client, lazy, pipe| Kind::Stdio {
            per_client,
            lazy,
            pipe,
        };
        let (era, kind) = match number % 10 {
            0 => (Era::Handshake, stdio(false, false, None)),
            1 => (Era::Stateless, stdio(false, false, Some(seed))),
            2 | 6 => (Era::Handshake, http(seed)?),
            3 | 7 => (Era::Stateless, http(seed)?),
            4 => (Era::Handshake, stdio(true, false, None)),
            5 => (Era::Stateless, stdio(false, false, None)),
            8 => (Era::Handshake, stdio(false, false, Some(seed))),
            _ => (Era::Handshake, stdio(false, true, None)),
        };
        let name = format!("s{number}");
        Ok(Self {
            runs: folder.join(format!("{name}.runs")),
            name,
            era,
            kind,
            is_listed: true,
            is_banned: false,
            edition: 0,
        })
    }

    /// Can it say which client it asks?
    pub(crate) const fn knows_whom_it_asks(&self) -> bool {
        match (&self.kind, self.era) {
            (_, Era::Stateless) | (Kind::Http { .. }, _) => true,
            (Kind::Stdio { per_client, .. }, _) => *per_client,
        }
    }

    /// How many connections the gateway has to it.
    pub(crate) fn connections(&self) -> usize {
        match &self.kind {
            Kind::Http { proxy, .. } => proxy.connections(),
            Kind::Stdio { .. } => 0,
        }
    }

    pub(crate) const fn is_per_client(&self) -> bool {
        matches!(
            &self.kind,
            Kind::Stdio {
                per_client: true,
                ..
            }
        )
    }

    fn words(&self) -> Vec<String> {
        let era = match self.era {
            Era::Handshake => "handshake",
            Era::Stateless => "stateless",
        };
        let runs = self.runs.display().to_string();
        let words = ["serve", "--name", &self.name, "--era", era, "--runs", &runs];
        words.map(str::to_owned).to_vec()
    }

    fn entry(&self, program: &str) -> Value {
        let mut own = Map::new();
        if self.is_banned {
            own.insert("tools".to_owned(), json!({"deny": ["banned"]}));
        }
        let mut entry = match &self.kind {
            Kind::Stdio {
                per_client,
                lazy,
                pipe,
            } => {
                if *per_client {
                    own.insert("share".to_owned(), json!("per-client"));
                }
                if *lazy {
                    own.insert("start".to_owned(), json!("lazy"));
                    own.insert("idle".to_owned(), json!("50ms"));
                }
                let mut words = self.words();
                words.extend(["--edition".to_owned(), self.edition.to_string()]);
                if let Some(seed) = pipe {
                    let before = ["pipe", &seed.to_string(), "--", program].map(str::to_owned);
                    words.splice(0..0, before);
                }
                json!({"command": program, "args": words})
            }
            Kind::Http { proxy, .. } => {
                let url = format!("http://{}/mcp", proxy.address());
                json!({"url": url, "headers": {"x-edition": self.edition.to_string()}})
            }
        };
        entry["x-switchboard"] = Value::Object(own);
        entry
    }

    /// Starts a server over HTTP, and waits until it listens.
    pub(crate) fn start(&mut self, program: &Path) -> Result<(), String> {
        let words = self.words();
        let name = self.name.clone();
        let Kind::Http { port, child, .. } = &mut self.kind else {
            return Ok(());
        };
        let mut command = Command::new(program);
        command.args(words).args(["--http", &port.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let started = command
            .spawn()
            .map_err(|error| format!("{name}: {error}"))?;
        *child = Some(started);
        wait_for(&name, START, || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).is_ok()
        })
    }

    /// Kills a server over HTTP. When it returns, nothing of its connections is left.
    pub(crate) fn kill(&mut self) {
        if let Kind::Http { child, proxy, .. } = &mut self.kind
            && let Some(mut child) = child.take()
        {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
            proxy.cut(switchboard_testkit::fault_proxy::Cut::Both);
        }
    }

    /// What it has run: who called, and which of their calls.
    pub(crate) fn runs(&self) -> Vec<(String, u64)> {
        let text = fs::read_to_string(&self.runs).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        lines
            .filter_map(|(caller, number)| Some((caller.to_owned(), number.parse().ok()?)))
            .collect()
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        self.kill();
    }
}

fn http(seed: u64) -> Result<Kind, String> {
    let port = free_port()?;
    let proxy = TcpProxy::start(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), seed);
    Ok(Kind::Http {
        port,
        proxy: proxy.map_err(|error| error.to_string())?,
        child: None,
    })
}

/// The gateway and all servers.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) servers: Vec<Behind>,
    pub(crate) gateway: Gateway,
    pub(crate) folder: PathBuf,
    /// That of the gateway.
    binary: PathBuf,
    program: PathBuf,
    clients: usize,
}

impl House {
    pub(crate) fn open(options: &Options, folder: &Path) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut servers = Vec::new();
        for number in 0..options.servers {
            let mut server = Behind::plan(number, folder, options.seed)?;
            server.start(&program)?;
            servers.push(server);
        }
        let text = config_text(&servers, &program, options.clients);
        fs::write(config(folder), text).map_err(|error| error.to_string())?;
        let callers = format!("callsPerCaller={CALLS_PER_CALLER}");
        let audit = folder.join("audit.jsonl").display().to_string();
        let more = [
            "--limit",
            &callers,
            "--limit",
            "parkedPerCaller=1000",
            "--limit",
            "parked=10000",
            "--audit",
            &audit,
        ];
        Ok(Self {
            servers,
            gateway: Gateway::start(&options.gateway, folder, &key(0), &more)?,
            folder: folder.to_owned(),
            binary: options.gateway.clone(),
            program,
            clients: options.clients,
        })
    }

    pub(crate) fn id(&self) -> i32 {
        self.gateway.id()
    }

    /// The configuration as it is to be now.
    pub(crate) fn text(&self) -> String {
        config_text(&self.servers, &self.program, self.clients)
    }

    pub(crate) fn config(&self) -> PathBuf {
        config(&self.folder)
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Makes one server another, as far as the file can tell.
    pub(crate) fn next_edition(&mut self, server: usize) {
        self.servers[server].edition += 1;
    }

    /// A command of the gateway's own program.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = command(&self.binary, &self.folder);
        command.args(words).arg("--config").arg(self.config());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// How a client starts a gateway of its own before this one.
    pub(crate) fn chain(&self, client: usize, mode: &str) -> Result<Vec<String>, String> {
        let file = self.folder.join(format!("chain-{client}.json"));
        let text = json!({"mcpServers": {"gateway": {
            "url": self.gateway.url(),
            "headers": {"authorization": format!("Bearer {}", key(client))},
            "x-switchboard": {"era": mode},
        }}});
        fs::write(&file, text.to_string()).map_err(|error| error.to_string())?;
        let (program, file) = (self.binary.display(), file.display());
        Ok([
            program.to_string(),
            "serve".to_owned(),
            "--prefix".to_owned(),
            "none".to_owned(),
            "--config".to_owned(),
            file.to_string(),
        ]
        .to_vec())
    }
}

/// The key of a client.
pub(crate) fn key(client: usize) -> String {
    format!("key-of-client-{client}-0123456789abcdef")
}

fn config_text(servers: &[Behind], program: &Path, clients: usize) -> String {
    let program = program.display().to_string();
    let listed = servers.iter().filter(|server| server.is_listed);
    let entries: Map<String, Value> = listed
        .map(|server| (server.name.clone(), server.entry(&program)))
        .collect();
    let keys: Vec<Value> = (0..clients)
        .map(|client| json!({"name": format!("c{client}"), "value": key(client)}))
        .collect();
    let text = json!({
        "mcpServers": entries,
        "x-switchboard": {"gateway": {"keys": keys}},
    });
    format!("{text:#}\n")
}

/// More than a client has in flight, less than it has when it is greedy.
pub(crate) const CALLS_PER_CALLER: usize = 64;
