//! What the clients share: their command line, how they are driven, what they print.
//!
//! ```text
//! CLIENT (--cmd 'SERVER' | --url URL) --n N --conc C --payload BYTES [--era legacy|modern]
//! ```
//!
//! As many tasks as calls are wanted in flight make one call after the other, on a runtime of
//! one thread. CPU is that of the client's own process, after a warm-up; what it started does
//! not count.

use std::future::Future;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::time::ClockId;

/// Makes calls of the tool `echo`. Clones use the same connection.
pub trait Caller: Clone + Send + 'static {
    /// Makes one call and checks that the text comes back.
    fn call(&self, text: &str) -> impl Future<Output = Result<(), String>> + Send;
}

/// What the command line asks for.
#[derive(Debug)]
pub struct Work {
    pub target: Target,
    /// How many calls are measured.
    pub count: u64,
    /// How many of them are out at once.
    pub in_flight: u64,
    /// The length of the texts; the number of the call is the least.
    pub bytes: usize,
    /// What the client does by itself, without.
    pub era: Option<Era>,
    /// Other words: settings of one client.
    pub options: Vec<String>,
}

/// Where the server is.
#[derive(Debug)]
pub enum Target {
    /// A program and its arguments.
    Command(Vec<String>),
    Url(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// 2025-11-25.
    Legacy,
    /// 2026-07-28.
    Modern,
}

/// Reads the command line, runs the client, prints its line.
pub fn main<F: Future<Output = Result<Figures, String>>>(
    client: impl FnOnce(Work) -> F,
) -> ExitCode {
    let figures = Work::read(std::env::args().skip(1)).and_then(|work| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        runtime.block_on(client(work))
    });
    match figures {
        Ok(figures) => {
            println!("{}", figures.json());
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

impl Work {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut target, mut era, mut options) = (None, None, Vec::new());
        let (mut count, mut in_flight, mut bytes) = (10_000, 1, 32);
        while let Some(name) = words.next() {
            let mut value = || words.next().ok_or(format!("{name} wants a value"));
            let number = |text: String| {
                let number = text.parse().ok().filter(|&number: &u64| number > 0);
                number.ok_or(format!("{text:?} is no number above 0"))
            };
            match name.as_str() {
                "--cmd" => {
                    let command = value()?;
                    let words = command.split_whitespace().map(str::to_owned);
                    target = Some(Target::Command(words.collect()));
                }
                "--url" => target = Some(Target::Url(value()?)),
                "--n" => count = number(value()?)?,
                "--conc" => in_flight = number(value()?)?,
                "--payload" => bytes = number(value()?)?,
                "--era" => {
                    era = Some(match value()?.as_str() {
                        "legacy" => Era::Legacy,
                        "modern" => Era::Modern,
                        other => return Err(format!("unknown era: {other:?}")),
                    });
                }
                _ => options.push(name),
            }
        }
        Ok(Self {
            target: target.ok_or("--cmd 'SERVER' or --url URL is wanted")?,
            count,
            in_flight,
            bytes: usize::try_from(bytes).map_err(|error| error.to_string())?,
            era,
            options,
        })
    }

    /// Was this word given?
    pub fn has(&self, option: &str) -> bool {
        self.options.iter().any(|given| given == option)
    }

    /// How many calls come first and are not counted.
    pub fn warm_up(&self) -> u64 {
        (self.count / 10).max(self.in_flight)
    }

    /// Drives a client that is connected.
    pub async fn measure(&self, caller: &impl Caller) -> Result<Figures, String> {
        let warm_up = self.warm_up();
        self.drive(caller, 0, warm_up).await?;
        let meter = Meter::start()?;
        let times = self.drive(caller, warm_up, self.count).await?;
        meter.figures(self, times)
    }

    async fn drive(
        &self,
        caller: &impl Caller,
        first: u64,
        count: u64,
    ) -> Result<Vec<Duration>, String> {
        let (end, in_flight) = (first + count, self.in_flight);
        let workers: Vec<_> = (first..end.min(first + in_flight))
            .map(|first| {
                let caller = caller.clone();
                let bytes = self.bytes;
                tokio::spawn(async move {
                    let mut times = Vec::new();
                    let mut text = vec![b'x'; bytes];
                    // Each call begins when the one before it has ended.
                    let mut begun = Instant::now();
                    let mut number = first;
                    while number < end {
                        write_number(number, &mut text);
                        let text = std::str::from_utf8(&text).map_err(|e| e.to_string())?;
                        caller.call(text).await?;
                        let ended = Instant::now();
                        times.push(ended - begun);
                        begun = ended;
                        number += in_flight;
                    }
                    Ok::<_, String>(times)
                })
            })
            .collect();
        let mut times = Vec::new();
        for worker in workers {
            times.extend(worker.await.map_err(|error| error.to_string())??);
        }
        Ok(times)
    }
}

/// The clocks of a measurement.
#[derive(Debug)]
pub struct Meter {
    begun: Instant,
    cpu: Duration,
}

impl Meter {
    pub fn start() -> Result<Self, String> {
        let cpu = cpu()?;
        Ok(Self {
            begun: Instant::now(),
            cpu,
        })
    }

    /// What calls whose round trips took `times` have cost since.
    pub fn figures(self, work: &Work, mut times: Vec<Duration>) -> Result<Figures, String> {
        let elapsed = self.begun.elapsed();
        let cpu = cpu()?.saturating_sub(self.cpu);
        times.sort_unstable();
        let at = |share: f64| {
            let index = (times.len() as f64 * share) as usize;
            let time = times.get(index.min(times.len().saturating_sub(1)));
            time.map_or(0.0, |time| microseconds(*time))
        };
        Ok(Figures {
            count: work.count,
            in_flight: work.in_flight,
            bytes: work.bytes,
            elapsed,
            p50_us: at(0.5),
            p99_us: at(0.99),
            cpu_us_per_call: microseconds(cpu) / work.count as f64,
        })
    }
}

/// What a measurement found.
#[derive(Debug)]
pub struct Figures {
    count: u64,
    in_flight: u64,
    bytes: usize,
    elapsed: Duration,
    p50_us: f64,
    p99_us: f64,
    cpu_us_per_call: f64,
}

impl Figures {
    fn json(&self) -> String {
        let Self {
            count,
            in_flight,
            bytes,
            p50_us,
            p99_us,
            cpu_us_per_call,
            ..
        } = self;
        let elapsed = self.elapsed.as_secs_f64();
        let per_s = *count as f64 / elapsed;
        format!(
            "{{\"n\":{count},\"conc\":{in_flight},\"payload\":{bytes},\"elapsed_s\":{elapsed:.6},\
             \"per_s\":{per_s:.1},\"p50_us\":{p50_us:.2},\"p99_us\":{p99_us:.2},\
             \"cpu_us_per_call\":{cpu_us_per_call:.4}}}"
        )
    }
}

/// The time that all threads of this process have run.
fn cpu() -> Result<Duration, String> {
    let now = ClockId::CLOCK_PROCESS_CPUTIME_ID.now();
    now.map(Duration::from)
        .map_err(|error| format!("the CPU clock: {error}"))
}

/// Writes the last digits of a number over the beginning of a text: sixteen letters are digits,
/// which are made and written all at once.
fn write_number(number: u64, text: &mut [u8]) {
    let spread = |number: u64, by: u32, mask: u64| (number | number << by) & mask;
    let digits = spread(number & 0xffff_ffff, 16, 0x0000_ffff_0000_ffff);
    let digits = spread(digits, 8, 0x00ff_00ff_00ff_00ff);
    let digits = spread(digits, 4, 0x0f0f_0f0f_0f0f_0f0f);
    let letters = (digits + u64::from_ne_bytes([b'a'; DIGITS])).to_be_bytes();
    match text.first_chunk_mut() {
        Some(start) => *start = letters,
        None => text.copy_from_slice(&letters[DIGITS - text.len()..]),
    }
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// The number of a call, at the beginning of its text.
const DIGITS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_its_number() {
        let mut text = *b"xxxxxxxxxx";
        write_number(0x1234, &mut text);
        assert_eq!(&text, b"aaaabcdexx");
        write_number(0x1234, &mut text[..2]);
        assert_eq!(&text, b"deaabcdexx");
    }

    #[test]
    fn a_server_is_wanted() {
        let read = |text: &str| Work::read(text.split(' ').map(str::to_owned));
        assert!(read("--n 5").is_err());
        assert!(read("--url http://h/ --n 0").is_err());
        let work = read("--url http://h/ --n 5 --conc 2 --payload 9 --era modern --raw").unwrap();
        assert_eq!((work.count, work.in_flight, work.bytes), (5, 2, 9));
        assert_eq!(work.era, Some(Era::Modern));
        assert!(work.has("--raw"));
    }
}
