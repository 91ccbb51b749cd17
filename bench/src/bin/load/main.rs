//! Drives one server through one measurement and prints what it found, a figure per line, or
//! one line that says why there is none.
//!
//! ```text
//! load start       [--count N] -- COMMAND …
//! load listing     [--count N] [--era ERA] -- COMMAND …
//! load sequential  [--count N] [--warm-up N] [--era ERA] -- COMMAND …
//! load flight      [--count N] [--warm-up N] [--era ERA] [--window N] -- COMMAND …
//! load large       [--count N] [--warm-up N] [--era ERA] [--bytes N] -- COMMAND …
//! load http        [--count N] [--warm-up N] [--era ERA] [--connections N] -- COMMAND …
//! load sessions    [--count N] -- COMMAND …
//! ```
//!
//! ERA is `2025-11-25`, `2026-07-28`, or `raw` for a program that sends back what it gets.
//! In the command of a server on HTTP `{port}` stands for the port it shall take. Every
//! answer is checked: it has the id and the text of a call that is out. The driver reads no
//! JSON and runs on one thread, so that it leaves the machine to the server.

mod http;
mod server;
mod stdio;

use std::process::ExitCode;
use std::time::Duration;

use switchboard_bench::message::Era;

fn main() -> ExitCode {
    let found = Options::read(std::env::args().skip(1)).and_then(|options| measure(&options));
    match found {
        Ok(figures) => {
            for (name, value) in figures {
                println!("{name} {value}");
            }
            ExitCode::SUCCESS
        }
        Err(reason) => {
            println!("error {}", reason.escape_debug());
            ExitCode::FAILURE
        }
    }
}

fn measure(options: &Options) -> Result<Figures, String> {
    match options.measurement.as_str() {
        "start" => stdio::start(options),
        "listing" => stdio::listing(options),
        "sequential" => stdio::sequential(options),
        "flight" => stdio::flight(options),
        "large" => stdio::large(options),
        "http" => http::calls(options),
        "sessions" => http::sessions(options),
        other => Err(format!("unknown measurement: {other:?}")),
    }
}

/// Names and values; a name ends in its unit.
type Figures = Vec<(&'static str, f64)>;

/// What the command line asks for.
struct Options {
    measurement: String,
    command: Vec<String>,
    era: Era,
    /// How many calls, starts or sessions.
    count: u64,
    /// How many calls come first and are not counted.
    warm_up: u64,
    /// How many calls are out at once.
    window: u64,
    /// The length of a large text.
    bytes: usize,
    connections: usize,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            measurement: words.next().unwrap_or_default(),
            command: Vec::new(),
            era: Era::Handshake,
            count: 1000,
            warm_up: 100,
            window: 64,
            bytes: 1024 * 1024,
            connections: 1,
        };
        while let Some(name) = words.next() {
            if name == "--" {
                options.command.extend(words.by_ref());
                break;
            }
            let value = words.next().ok_or(format!("{name} wants a value"))?;
            let number = || value.parse().map_err(|_| format!("{name} wants a number"));
            match name.as_str() {
                "--era" => options.era = Era::named(&value)?,
                "--count" => options.count = number()?,
                "--warm-up" => options.warm_up = number()?,
                "--window" => options.window = number()?,
                "--bytes" => options.bytes = number()? as usize,
                "--connections" => options.connections = number()? as usize,
                _ => return Err(format!("unknown option: {name}")),
            }
        }
        if options.command.is_empty() {
            return Err("a command must follow --".to_owned());
        }
        Ok(options)
    }
}

/// The figures of calls whose round trips took `times`.
fn round_trips(times: &mut [Duration], cpu: Duration, elapsed: Duration) -> Figures {
    times.sort_unstable();
    let at = |share: f64| {
        let index = (times.len() as f64 * share) as usize;
        let time = times.get(index.min(times.len().saturating_sub(1)));
        time.map_or(0.0, |time| microseconds(*time))
    };
    vec![
        ("p50_us", at(0.5)),
        ("p99_us", at(0.99)),
        ("cpu_us", microseconds(cpu) / times.len() as f64),
        ("per_s", times.len() as f64 / elapsed.as_secs_f64()),
    ]
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
