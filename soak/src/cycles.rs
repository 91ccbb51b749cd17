//! Connecting and closing, again and again: what is left of it, here and at the servers.
//!
//! This process is the client. The servers are processes: one is started for each cycle on
//! standard streams; over HTTP there is one of each era, and a gateway. A cycle connects, calls,
//! and lets go: in an orderly way or by dropping the client, after its call or in the midst of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_client::{Client, Mode, Spec};
use switchboard_testkit::dice::Dice;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::gateway::{Gateway, START, config, free_port, wait_for};
use crate::options::{Said, number, said, unknown};
use crate::proc::{self, Left};
use crate::report::{self, Folder};
use crate::server::answer;

/// Runs, and says what came of it.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode, String> {
    let options = Options::read(words)?;
    let folder = Folder::new("cycles")?;
    // How many threads for blocking work there are is a matter of luck, so that those which have
    // nothing to do go at once.
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_keep_alive(Duration::ZERO)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut against = Vec::new();
    if options.stdio > 0 {
        let targets = on_stdio(&program);
        against.extend(measure(
            "stdio",
            options.stdio,
            targets,
            &[],
            &options,
            &runtime,
        )?);
    }
    if options.http > 0 {
        let mut site = Site::open(&options.gateway, folder.path(), &program)?;
        let targets = site.targets()?;
        let watched = site.processes();
        against.extend(measure(
            "HTTP",
            options.http,
            targets,
            &watched,
            &options,
            &runtime,
        )?);
        for name in [
            "switchboard_gateway_sessions",
            "switchboard_gateway_calls_in_flight",
        ] {
            let number = site.gateway.number(name);
            report::line(&format!("  {name} {number}"));
            if number != 0.0 {
                against.push(format!("{name} is {number}"));
            }
        }
        against.extend(site.gateway.close(START).err());
    }
    Ok(report::verdict(&against))
}

struct Options {
    gateway: PathBuf,
    stdio: usize,
    http: usize,
    together: usize,
    seed: u64,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            gateway: PathBuf::new(),
            stdio: 10_000,
            http: 100_000,
            together: 8,
            seed: 1,
        };
        let count = |name: &str, value: &str| match value {
            "0" => Ok(0),
            _ => number(name, value),
        };
        for Said { name, value } in said(words)? {
            match name {
                "--gateway" => options.gateway = PathBuf::from(value),
                "--stdio" => options.stdio = count(name, value)?,
                "--http" => options.http = count(name, value)?,
                "--together" => options.together = number(name, value)?,
                "--seed" => options.seed = number(name, value)? as u64,
                _ => return Err(unknown(name)),
            }
        }
        Ok(options)
    }
}

/// A server to connect to.
#[derive(Debug)]
struct Target {
    spec: Spec,
    tool: String,
    /// How it calls itself.
    server: String,
}

const ERAS: [(&str, Mode); 2] = [
    ("handshake", Mode::Legacy),
    (
        "stateless",
        Mode::Pinned(switchboard_client::Revision::LATEST),
    ),
];

fn on_stdio(program: &Path) -> Vec<Target> {
    let targets = ERAS.iter().map(|(era, mode)| Target {
        spec: Spec::command(program)
            .args(["serve", "--name", "it", "--era", era, "--runs", "/dev/null"])
            .mode(*mode),
        tool: "echo".to_owned(),
        server: "it".to_owned(),
    });
    targets.collect()
}

/// Servers that stay while clients come and go.
struct Site {
    servers: Vec<(String, u16, Child)>,
    gateway: Gateway,
}

impl Site {
    fn open(binary: &Path, folder: &Path, program: &Path) -> Result<Self, String> {
        let mut servers = Vec::new();
        for (era, _) in &ERAS {
            let port = free_port()?;
            let child = Command::new(program)
                .args(["serve", "--name", era, "--era", era])
                .args(["--runs", "/dev/null", "--http", &port.to_string()])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn();
            let child = child.map_err(|error| format!("{era}: {error}"))?;
            wait_for(era, START, || {
                std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
            })?;
            servers.push(((*era).to_owned(), port, child));
        }
        let entry = json!({
            "command": program.display().to_string(),
            "args": ["serve", "--name", "it", "--era", "stateless", "--runs", "/dev/null"],
        });
        let text = json!({"mcpServers": {"it": entry}}).to_string();
        fs::write(config(folder), text).map_err(|error| error.to_string())?;
        // All clients come from one address, and those that are dropped say so a moment later.
        let more = ["--limit", "sessionsPerCaller=1000"];
        let gateway = Gateway::start(binary, folder, "", &more)?;
        Ok(Self { servers, gateway })
    }

    fn targets(&self) -> Result<Vec<Target>, String> {
        let mut targets = Vec::new();
        for ((server, port, _), (_, mode)) in self.servers.iter().zip(&ERAS) {
            let spec = Spec::url(&format!("http://127.0.0.1:{port}/mcp"));
            targets.push(Target {
                spec: spec.map_err(|error| error.to_string())?.mode(*mode),
                tool: "echo".to_owned(),
                server: server.clone(),
            });
            let spec = Spec::url(&self.gateway.url());
            targets.push(Target {
                spec: spec.map_err(|error| error.to_string())?.mode(*mode),
                tool: "it__echo".to_owned(),
                server: "it".to_owned(),
            });
        }
        Ok(targets)
    }

    /// Who is looked at besides ourselves.
    fn processes(&self) -> Vec<(String, i32)> {
        let servers = self.servers.iter();
        let servers = servers.map(|(era, _, child)| (format!("{era} server"), child.id() as i32));
        let gateway = ("gateway".to_owned(), self.gateway.id());
        servers.chain([gateway]).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for (_, _, child) in &mut self.servers {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Does so many cycles, looks before and after, and says what is counted against us.
fn measure(
    name: &str,
    count: usize,
    targets: Vec<Target>,
    others: &[(String, i32)],
    options: &Options,
    runtime: &Runtime,
) -> Result<Vec<String>, String> {
    let mut watched = vec![("client".to_owned(), std::process::id() as i32)];
    watched.extend_from_slice(others);
    let targets: Arc<[Target]> = targets.into();
    let mut dice = Dice::new(options.seed);
    // What is made once and kept is made by the first ones.
    let first = (count / 20).clamp(20, 2_000);
    let nothing = watched.iter().map(|_| Left::default()).collect::<Vec<_>>();
    runtime.block_on(cycles(name, first, &targets, options.together, &mut dice))?;
    let before = at_rest(runtime, &watched, &nothing, Duration::from_secs(2));
    let began = Instant::now();
    runtime.block_on(cycles(name, count, &targets, options.together, &mut dice))?;
    let took = began.elapsed();
    let after = at_rest(runtime, &watched, &before, REST);
    let tasks = runtime.metrics().num_alive_tasks();
    let rate = count as f64 / took.as_secs_f64();
    report::line(&format!(
        "{name}: {count} cycles after {first}, {rate:.0} a second, {} together, seed {}",
        options.together, options.seed
    ));
    report::line(&format!(
        "  {:<18}{:>14}{:>12}{:>12}{:>12}{:>18}",
        "", "descriptors", "threads", "children", "zombies", "memory, MiB"
    ));
    let mut against = Vec::new();
    for (((who, _), before), after) in watched.iter().zip(&before).zip(&after) {
        let pair = |one: usize, other: usize| format!("{one} → {other}");
        report::line(&format!(
            "  {who:<18}{:>14}{:>12}{:>12}{:>12}{:>18}",
            pair(before.descriptors, after.descriptors),
            pair(before.threads, after.threads),
            pair(before.children, after.children),
            pair(before.zombies, after.zombies),
            format!("{:.1} → {:.1}", before.memory, after.memory),
        ));
        against.extend(
            after
                .beyond(before)
                .map(|what| format!("{name}, {who}: {what}")),
        );
    }
    if tasks > 0 {
        against.push(format!("{name}: {tasks} tasks of the client are left"));
    }
    Ok(against)
}

/// What there is when everybody who was told to end had the time for it.
fn at_rest(
    runtime: &Runtime,
    watched: &[(String, i32)],
    before: &[Left],
    patience: Duration,
) -> Vec<Left> {
    let until = Instant::now() + patience;
    loop {
        let now: Vec<Left> = watched.iter().map(|(_, id)| proc::left(*id)).collect();
        let is_busy = runtime.metrics().num_alive_tasks() > 0;
        let more = now.iter().zip(before).any(|(now, before)| {
            now.descriptors > before.descriptors
                || now.threads > before.threads
                || now.children > before.children
                || now.zombies > before.zombies
        });
        if (!is_busy && !more) || Instant::now() > until {
            return now;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

async fn cycles(
    name: &str,
    count: usize,
    targets: &Arc<[Target]>,
    together: usize,
    dice: &mut Dice,
) -> Result<(), String> {
    let mut running: JoinSet<Result<(), String>> = JoinSet::new();
    let began = Instant::now();
    let mut told = began;
    for number in 0..count {
        if running.len() == together
            && let Some(ended) = running.join_next().await
        {
            ended.map_err(|error| error.to_string())??;
        }
        let (targets, dice) = (Arc::clone(targets), Dice::new(dice.roll(u64::MAX)));
        running.spawn(async move { cycle(&targets[number % targets.len()], dice).await });
        if told.elapsed() > TELL {
            told = Instant::now();
            let left = proc::left(std::process::id() as i32);
            report::line(&format!(
                "  {name}: {number} of {count} after {:.0} s, {} descriptors, {} threads, {:.1} MiB",
                began.elapsed().as_secs_f64(),
                left.descriptors,
                left.threads,
                left.memory
            ));
        }
    }
    while let Some(ended) = running.join_next().await {
        ended.map_err(|error| error.to_string())??;
    }
    Ok(())
}

async fn cycle(target: &Target, mut dice: Dice) -> Result<(), String> {
    let client = Client::connect(target.spec.clone()).await;
    let client = client.map_err(|error| error.to_string())?;
    let number = dice.roll(1_000_000);
    let call = client
        .call(&target.tool)
        .arg("caller", "cycles")
        .arg("number", number);
    if dice.roll(4) == 0 {
        // Whoever goes in the midst of a call.
        let patience = Duration::from_micros(dice.roll(2_000));
        let _ = timeout(patience, call.arg("wait", 60_000).into_future()).await;
    } else {
        let answered = call.await.map_err(|error| error.to_string())?;
        let expected = answer(&target.server, "cycles", number, "");
        if answered.joined_text() != expected {
            return Err(format!("{:?}, not {expected:?}", answered.joined_text()));
        }
    }
    if dice.roll(3) > 0 {
        client.close().await;
    }
    Ok(())
}

const REST: Duration = Duration::from_secs(30);
const TELL: Duration = Duration::from_secs(10);

pub(crate) const HELP: &str = "\
cargo xtask soak cycles: connects and closes, again and again; nothing may be left of it

  --stdio N        so many servers that are started, called and ended (10000)
  --http N         so many connections to servers and a gateway that stay (100000)
  --together N     how many at once (8)
  --seed N         when and how each is let go of (1)

Looked at before and after: descriptors, threads, children, zombies and memory of the client and
of the servers that stay. Each one more is counted against us; of memory, what is over a tenth
and 4 MiB.";
