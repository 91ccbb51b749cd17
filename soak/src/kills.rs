//! `kill -9` at moments that chance decides: who lives on, what is torn, does it go on?
//!
//! - [`upstream`]: a server in the midst of calls
//! - [`gateway`]: the gateway, while it starts, serves calls and has its file changed
//! - [`command`]: a command in the midst of writing
//! - [`traces`]: what is looked at afterwards, processes and files

mod command;
mod gateway;
mod traces;
mod upstream;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_client::{Client, Mode, Revision, Spec};
use switchboard_testkit::dice::Dice;
use tokio::runtime::Runtime;

use crate::gateway::{Gateway, config};
use crate::options::{Said, number, said, unknown};
use crate::report::{self, Folder};

pub(crate) use command::keep;

/// Runs, and says what came of it.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode, String> {
    let options = Options::read(words)?;
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let began = Instant::now();
    let mut dice = Dice::new(options.seed);
    let mut kills = Kills::default();
    let [upstream, gateway, command] = ["upstream", "gateway", "command"]
        .map(|part| options.only.as_deref().is_none_or(|only| only == part));
    // Gateways start slowly and have the most to lose, commands are many.
    let parts = usize::from(upstream) + usize::from(gateway) + usize::from(command);
    let share = options.count / parts.max(1);
    if upstream {
        let place = Place::new(&options, "upstream")?;
        upstream::rounds(share, &place, &runtime, &mut dice, &mut kills)?;
    }
    if gateway {
        let place = Place::new(&options, "gateway")?;
        gateway::rounds(share, &place, &runtime, &mut dice, &mut kills)?;
    }
    if command {
        let place = Place::new(&options, "command")?;
        let rest = options.count - share * (parts - 1);
        command::rounds(rest, &place, &mut dice, &mut kills)?;
    }
    report::line(&format!(
        "{} kills in {:.0} s, seed {}",
        kills.done.values().map(|kind| kind.count).sum::<usize>(),
        began.elapsed().as_secs_f64(),
        options.seed
    ));
    report::line(&format!(
        "  {:<26}{:>8}{:>26}{:>26}",
        "killed", "times", "all gone after, ms", "serves again after, ms"
    ));
    for (what, kind) in &kills.done {
        report::line(&format!(
            "  {what:<26}{:>8}{:>26}{:>26}",
            kind.count,
            shown(&kind.gone),
            shown(&kind.back),
        ));
    }
    report::line(&format!("  files looked at: {}", kills.files));
    Ok(report::verdict(&kills.against))
}

/// The middle and the longest.
fn shown(times: &[Duration]) -> String {
    let mut times = times.to_vec();
    times.sort_unstable();
    match (times.get(times.len() / 2), times.last()) {
        (Some(middle), Some(longest)) => {
            format!("{} (to {})", middle.as_millis(), longest.as_millis())
        }
        _ => "–".to_owned(),
    }
}

struct Options {
    gateway: PathBuf,
    count: usize,
    seed: u64,
    only: Option<String>,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            gateway: PathBuf::new(),
            count: 500,
            seed: 1,
            only: None,
        };
        for Said { name, value } in said(words)? {
            match name {
                "--gateway" => options.gateway = PathBuf::from(value),
                "--count" => options.count = number(name, value)?,
                "--seed" => options.seed = number(name, value)? as u64,
                "--only" => options.only = Some(value.to_owned()),
                _ => return Err(unknown(name)),
            }
        }
        Ok(options)
    }
}

/// What came of all kills.
#[derive(Debug, Default)]
struct Kills {
    done: BTreeMap<String, Kind>,
    against: Vec<String>,
    files: usize,
}

/// What came of the kills of one kind.
#[derive(Debug, Default)]
struct Kind {
    count: usize,
    gone: Vec<Duration>,
    back: Vec<Duration>,
}

impl Kills {
    fn of(&mut self, what: &str) -> &mut Kind {
        self.done.entry(what.to_owned()).or_default()
    }

    /// Something is counted against us.
    fn fault(&mut self, what: &str, round: usize, words: &str) {
        let words = format!("{what}, round {round}: {words}");
        report::line(&format!("  {words}"));
        self.against.push(words);
    }

    /// Looks at all files of a folder, and at what was left beside them.
    fn check_files(&mut self, what: &str, round: usize, place: &Place) {
        let (count, torn) = traces::torn(place.folder.path());
        self.files += count;
        for words in torn {
            self.fault(what, round, &words);
        }
        let left = traces::unfinished(place.folder.path());
        if left.len() > MOST_UNFINISHED {
            self.fault(what, round, &format!("left behind: {left:?}"));
        }
    }
}

/// Where a part has its files, and what it runs.
struct Place {
    folder: Folder,
    /// The gateway's own program.
    binary: PathBuf,
    /// This one.
    program: PathBuf,
}

impl Place {
    fn new(options: &Options, part: &str) -> Result<Self, String> {
        Ok(Self {
            folder: Folder::new(&format!("kills-{part}"))?,
            binary: options.gateway.clone(),
            program: std::env::current_exe().map_err(|error| error.to_string())?,
        })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// How a server is started, as a configuration has it. It names the folder, so that its
    /// process is found again.
    fn server(&self, name: &str, era: &str, more: &[&str]) -> Vec<String> {
        let runs = self.path().join(format!("{name}.runs"));
        let words = ["serve", "--name", name, "--era", era, "--runs"];
        let program = [self.program.display().to_string()];
        let words = program.into_iter().chain(words.map(str::to_owned));
        let words = words.chain([runs.display().to_string()]);
        words
            .chain(more.iter().map(|word| (*word).to_owned()))
            .collect()
    }

    fn write_config(&self, servers: &[(String, Value)]) -> Result<(), String> {
        let servers: serde_json::Map<String, Value> = servers.iter().cloned().collect();
        let text = format!("{:#}\n", json!({"mcpServers": servers}));
        let beside = self.path().join("new");
        let written = std::fs::write(&beside, text);
        let written = written.and_then(|()| std::fs::rename(&beside, config(self.path())));
        written.map_err(|error| error.to_string())
    }

    /// A command of the gateway's own program, on this configuration.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = crate::gateway::command(&self.binary, self.path());
        command.args(words);
        // What follows `--` is none of its own.
        let at = words.iter().position(|word| *word == "--");
        if at.is_none() {
            command.arg("--config").arg(config(self.path()));
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn start_gateway(&self) -> Result<Gateway, String> {
        let audit = self.path().join("audit.jsonl").display().to_string();
        Gateway::start(&self.binary, self.path(), "", &["--audit", &audit])
    }
}

/// An entry of a configuration.
fn entry(words: &[String]) -> Value {
    let (program, arguments) = words
        .split_first()
        .map_or(("", &[][..]), |(first, rest)| (&**first, rest));
    json!({"command": program, "args": arguments})
}

/// A client of a gateway, of one era or the other.
async fn connect(gateway: &Gateway, is_stateless: bool) -> Result<Client, String> {
    let spec = Spec::url(&gateway.url()).map_err(|error| error.to_string())?;
    let mode = match is_stateless {
        true => Mode::Pinned(Revision::LATEST),
        false => Mode::Legacy,
    };
    let client = Client::connect(spec.mode(mode)).await;
    client.map_err(|error| error.to_string())
}

/// Calls until it is answered: how long that took.
async fn served(client: &Client, tool: &str) -> Result<Duration, String> {
    let began = Instant::now();
    loop {
        let call = client.call(tool).arg("caller", "kills").arg("number", 1);
        match call.deadline(BACK).await {
            Ok(answered) if answered.joined_text().contains("kills|1") => {
                return Ok(began.elapsed());
            }
            Ok(answered) => return Err(format!("answered {:?}", answered.joined_text())),
            Err(error) if began.elapsed() > BACK => return Err(error.to_string()),
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// How long whoever was killed may take to serve again.
const BACK: Duration = Duration::from_secs(20);

/// How many files that were being written may lie about, however many kills there were.
const MOST_UNFINISHED: usize = 4;

pub(crate) const HELP: &str = "\
cargo xtask soak kills: kill -9 at random moments; nobody lives on, nothing is torn

  --count N        so many kills (500), a third each: of servers in the midst of calls, of
                   gateways, and of commands that write files
  --only PART      only upstream, gateway or command
  --seed N         what is killed, and when (1)

Counted against us: processes that live on, files that are neither the old nor the new one, files
that were being written and pile up, a call or a command that does not work afterwards.";
