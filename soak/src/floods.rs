//! One peer without measure at a time, beside a healthy neighbour, at one gateway: what the flood
//! costs the gateway in memory, and the neighbour in time.
//!
//! Rounds without and with the flood take turns, so that whatever else the machine does meets
//! both. The quickest round of each kind counts: a busy machine makes rounds slower, and a
//! gateway that lets the flood through makes all of them slower. The gateway has a processor for
//! itself, see `cores`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use switchboard_client::{Client, Mode, Revision, Spec};
use tokio::runtime::Runtime;

use crate::cores::{self, Cores};
use crate::gateway::{Gateway, START, config, wait_for};
use crate::options::{Said, number, said, time, unknown};
use crate::proc;
use crate::report::{self, Folder};
use crate::server::answer;

/// Runs, and says what came of it.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode, String> {
    let options = Options::read(words)?;
    let chosen: Vec<&Flood> = FLOODS
        .iter()
        .filter(|flood| {
            options
                .only
                .as_ref()
                .is_none_or(|only| flood.name.starts_with(only))
        })
        .collect();
    if chosen.is_empty() {
        return Err("no flood is called so".to_owned());
    }
    let cores = Cores::found();
    if let Some(cores) = &cores {
        cores.take_others();
    }
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    // Before others who are busy on this machine, where that is allowed: their turns are not
    // what is measured.
    let _ = rustix::process::nice(-10);
    report::line(&format!(
        "{} rounds of {:?} each; a message may have {} MiB: memory + {} MiB, p99 × 1.5 + 1 ms",
        options.rounds,
        options.time,
        options.message >> 20,
        allowed_memory(options.message) as u64
    ));
    report::line(&format!(
        "{:<20}{:>12}{:>24}{:>24}{:>20}",
        "flood", "MiB/s", "p99 without, ms", "p99 with, ms", "memory, MiB"
    ));
    let mut against = Vec::new();
    for flood in chosen {
        against.extend(flood.measure(&options, &runtime, cores.as_ref())?);
    }
    Ok(report::verdict(&against))
}

struct Options {
    gateway: PathBuf,
    rounds: usize,
    time: Duration,
    /// The limit of a message, in bytes.
    message: usize,
    only: Option<String>,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            gateway: PathBuf::new(),
            rounds: 5,
            time: Duration::from_secs(3),
            message: 4 << 20,
            only: None,
        };
        for Said { name, value } in said(words)? {
            match name {
                "--gateway" => options.gateway = PathBuf::from(value),
                "--rounds" => options.rounds = number(name, value)?,
                "--for" => options.time = time(name, value)?,
                "--message" => options.message = number(name, value)? << 20,
                "--only" => options.only = Some(value.to_owned()),
                _ => return Err(unknown(name)),
            }
        }
        Ok(options)
    }
}

/// A peer without measure.
struct Flood {
    name: &'static str,
    server: Bad,
    /// Who uses that server, or is the flood himself.
    client: Option<&'static str>,
}

/// The server that is, or may be, hostile: see `hostile`.
enum Bad {
    Pipe(&'static str),
    Web(&'static str, &'static str),
}

const fn flood(name: &'static str, server: Bad, client: Option<&'static str>) -> Flood {
    Flood {
        name,
        server,
        client,
    }
}

const BIG: Option<&str> = Some("calls bad__big");
const DEFECT: Option<&str> = Some("calls bad__defect");

const FLOODS: [Flood; 18] = [
    flood("notifications", Bad::Pipe("notifications"), None),
    flood("endless line", Bad::Pipe("endless line"), None),
    flood("changed lists", Bad::Pipe("changed lists"), None),
    flood("questions", Bad::Pipe("questions"), None),
    flood("standard error", Bad::Pipe("standard error"), None),
    flood("progress", Bad::Pipe("progress"), BIG),
    flood("large results", Bad::Pipe("results"), BIG),
    flood("too large results", Bad::Pipe("results too large"), BIG),
    flood("events", Bad::Web("events-flood", "stateless"), DEFECT),
    flood(
        "endless event",
        Bad::Web("events-endless", "stateless"),
        DEFECT,
    ),
    flood(
        "endless body",
        Bad::Web("endless-body", "stateless"),
        DEFECT,
    ),
    flood("listen stream", Bad::Web("get-flood", "handshake"), DEFECT),
    flood("requests", Bad::Pipe("nothing"), Some("requests bad__big")),
    flood("bodies", Bad::Pipe("nothing"), Some("bodies")),
    flood("half bodies", Bad::Pipe("nothing"), Some("half-bodies")),
    flood("connections", Bad::Pipe("nothing"), Some("connections")),
    flood(
        "slow readers",
        Bad::Pipe("results"),
        Some("slow-readers bad__big"),
    ),
    flood("sessions", Bad::Pipe("nothing"), Some("sessions")),
];

/// What rounds of one kind have come to.
#[derive(Clone, Debug, Default)]
struct Rounds {
    /// The p99 of each, in milliseconds.
    p99: Vec<f64>,
    /// The most memory that was taken in each, in MiB.
    memory: Vec<f64>,
}

impl Rounds {
    fn best(&self) -> f64 {
        self.p99.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn worst(&self) -> f64 {
        self.p99.iter().copied().fold(0.0, f64::max)
    }

    fn shown(&self) -> String {
        format!("{:.2} (to {:.2})", self.best(), self.worst())
    }
}

impl Flood {
    fn measure(
        &self,
        options: &Options,
        runtime: &Runtime,
        cores: Option<&Cores>,
    ) -> Result<Vec<String>, String> {
        let folder = Folder::new("floods")?;
        let flag = folder.path().join("flood");
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let limit = options.message.to_string();
        let mut peers = Peers(Vec::new());
        // Who is started by the gateway does not stay where it is.
        let environment = match cores {
            Some(cores) => json!({cores::VARIABLE: cores.others_in_words()}),
            None => json!({}),
        };
        let bad = match self.server {
            Bad::Pipe(kind) => json!({
                "command": program.display().to_string(),
                "args": ["hostile", "pipe", kind, flag.display().to_string(), limit],
                "env": environment,
                "x-switchboard": {"era": "legacy", "limits": {"message": options.message}},
            }),
            Bad::Web(kind, era) => {
                let file = folder.path().join("url");
                let words = ["web", kind, era, &file.display().to_string()];
                peers.start(&program, &words)?;
                wait_for(kind, START, || file.exists())?;
                let url = fs::read_to_string(&file).map_err(|error| error.to_string())?;
                json!({"url": url, "x-switchboard": {"limits": {"message": options.message}}})
            }
        };
        write_config(folder.path(), &program, &environment, &bad)?;
        let message = format!("message={}", options.message);
        let answers = format!("answers={}", options.message);
        if let Some(cores) = cores {
            cores.take_first();
        }
        let gateway = Gateway::start(
            &options.gateway,
            folder.path(),
            GOOD,
            &["--limit", &message, "--limit", &answers],
        );
        if let Some(cores) = cores {
            cores.take_others();
        }
        let gateway = gateway?;
        if let Some(kind) = self.client {
            let (flag, address) = (flag.display().to_string(), gateway.address.to_string());
            peers.start(&program, &["client", kind, &flag, &limit, &address, BAD])?;
        }
        let neighbour = runtime.block_on(neighbour(&gateway))?;
        peers.pause(true);
        // What is made once and kept is made by the first ones.
        runtime.block_on(round(&neighbour, options.time))?;
        let (mut without, mut with) = (Rounds::default(), Rounds::default());
        let mut written = 0;
        for _ in 0..options.rounds {
            proc::forget_peak(gateway.id());
            without
                .p99
                .push(runtime.block_on(round(&neighbour, options.time))?);
            without.memory.push(proc::peak(gateway.id()));
            let before = peers.written(gateway.id(), &flag);
            proc::forget_peak(gateway.id());
            fs::write(&flag, "").map_err(|error| error.to_string())?;
            peers.pause(false);
            with.p99
                .push(runtime.block_on(round(&neighbour, options.time))?);
            with.memory.push(proc::peak(gateway.id()));
            written += peers.written(gateway.id(), &flag).saturating_sub(before);
            fs::remove_file(&flag).map_err(|error| error.to_string())?;
            thread::sleep(REST);
            peers.pause(true);
            thread::sleep(REST);
        }
        runtime.block_on(neighbour.close());
        drop(peers);
        Ok(self.judge(options, &without, &with, written))
    }

    fn judge(
        &self,
        options: &Options,
        without: &Rounds,
        with: &Rounds,
        written: u64,
    ) -> Vec<String> {
        let seconds = options.time.as_secs_f64() * options.rounds as f64;
        let quiet = without.memory.first().copied().unwrap_or_default();
        let peak = with.memory.iter().copied().fold(0.0, f64::max);
        let rate = written as f64 / seconds / f64::from(1 << 20);
        report::line(&format!(
            "{:<20}{rate:>12.2}{:>24}{:>24}{:>20}",
            self.name,
            without.shown(),
            with.shown(),
            format!("{quiet:.1} → {peak:.1}"),
        ));
        let mut against = Vec::new();
        if written == 0 {
            against.push(format!("{}: there was no flood", self.name));
        }
        let most = quiet + allowed_memory(options.message);
        if peak > most {
            against.push(format!(
                "{}: {peak:.1} MiB, {most:.1} are allowed",
                self.name
            ));
        }
        let (most, best) = (without.best() * 1.5 + 1.0, with.best());
        if best > most {
            against.push(format!(
                "{}: p99 {best:.2} ms, {most:.2} are allowed",
                self.name
            ));
        }
        against
    }
}

/// Twice a message, and 8 MiB, in MiB.
fn allowed_memory(message: usize) -> f64 {
    2.0 * (message >> 20) as f64 + 8.0
}

fn write_config(
    folder: &Path,
    program: &Path,
    environment: &Value,
    bad: &Value,
) -> Result<(), String> {
    let text = json!({
        "mcpServers": {
            "it": {
                "command": program.display().to_string(),
                "args": ["serve", "--name", "it", "--era", "stateless", "--runs", "/dev/null"],
                "env": environment,
            },
            "bad": bad,
        },
        "x-switchboard": {"gateway": {"keys": [
            {"name": "good", "value": GOOD},
            {"name": "bad", "value": BAD},
        ]}},
    });
    fs::write(config(folder), text.to_string()).map_err(|error| error.to_string())
}

async fn neighbour(gateway: &Gateway) -> Result<Client, String> {
    let spec = Spec::url(&gateway.url()).map_err(|error| error.to_string())?;
    let spec = spec.header("authorization", &format!("Bearer {GOOD}"));
    let spec = spec.map_err(|error| error.to_string())?;
    let spec = spec.mode(Mode::Pinned(Revision::LATEST));
    Client::connect(spec)
        .await
        .map_err(|error| error.to_string())
}

/// Calls one after the other for a while: the p99, in milliseconds.
async fn round(neighbour: &Client, time: Duration) -> Result<f64, String> {
    let began = Instant::now();
    let mut took = Vec::new();
    while began.elapsed() < time {
        let call = Instant::now();
        let number = took.len() as u64;
        let answered = neighbour
            .call("it__echo")
            .arg("caller", "good")
            .arg("number", number)
            .await
            .map_err(|error| format!("the neighbour: {error}"))?;
        took.push(call.elapsed());
        if answered.joined_text() != answer("it", "good", number, "") {
            return Err(format!("the neighbour got {:?}", answered.joined_text()));
        }
        tokio::time::sleep(PACE).await;
    }
    took.sort_unstable();
    let p99 = took.get(took.len() * 99 / 100).copied().unwrap_or_default();
    Ok(p99.as_secs_f64() * 1_000.0)
}

/// Processes of hostile peers that we have started.
struct Peers(Vec<Child>);

impl Peers {
    fn start(&mut self, program: &Path, words: &[&str]) -> Result<(), String> {
        let child = Command::new(program)
            .arg("hostile")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        self.0.push(child.map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Stops them where they are, or lets them go on. Some flood without being told to.
    fn pause(&self, is_paused: bool) {
        let signal = match is_paused {
            true => Signal::STOP,
            false => Signal::CONT,
        };
        for child in &self.0 {
            proc::signal(child.id() as i32, signal);
        }
    }

    /// How much all hostile peers have written, in bytes: to pipes by what Linux says, to
    /// sockets by what they say.
    fn written(&self, gateway: i32, flag: &Path) -> u64 {
        let below = proc::descendants(gateway).into_iter();
        let below = below.filter(|found| found.words.iter().any(|word| word == "hostile"));
        let said = fs::read_to_string(flag.with_extension("count"));
        let said: Option<u64> = said.ok().and_then(|said| said.parse().ok());
        let on_pipes: u64 = below.map(|found| proc::written(found.id)).sum();
        on_pipes + said.unwrap_or(0)
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The keys of the neighbour and of whoever floods.
const GOOD: &str = "key-of-the-neighbour-0123456789";
const BAD: &str = "key-of-the-flood-0123456789";

/// Between two calls of the neighbour.
const PACE: Duration = Duration::from_millis(1);

/// Until everybody has seen that the flood is over.
const REST: Duration = Duration::from_millis(500);

pub(crate) const HELP: &str = "\
cargo xtask soak floods: one peer without measure at a time, beside a healthy neighbour

  --rounds N       rounds without and with each flood, in turn (5)
  --for TIME       how long a round takes: 3s
  --message N      how large a message may be, in MiB (4)
  --only NAME      only floods whose names begin so

Counted against us: memory of the gateway that is more than 2 messages and 8 MiB over what it is
without the flood; a p99 of the neighbour's calls that is, in the best round, more than 1.5 times
that of the best round without, and 1 ms.

Where there are several processors the gateway has one for itself.";
