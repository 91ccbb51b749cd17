//! One target on several threads, until it was run enough or something was found.
//!
//! Each thread has a stream of inputs of its own. One of them that takes too long for its input
//! is a finding too.

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io, process, thread};

use switchboard_fuzz::{Mutator, Target, seeds};

use crate::options::{Most, Options};

/// A target that is run.
pub(crate) struct TargetRun<'a> {
    target: &'static Target,
    options: &'a Options,
    seeds: Vec<Vec<u8>>,
    began: Instant,
    lanes: Vec<Lane>,
    is_over: AtomicBool,
    found: Mutex<Option<Vec<u8>>>,
}

/// What one thread does.
#[derive(Default)]
struct Lane {
    executions: AtomicU64,
    /// What it is at.
    input: Mutex<Vec<u8>>,
    is_done: AtomicBool,
}

impl<'a> TargetRun<'a> {
    pub(crate) fn new(target: &'static Target, options: &'a Options) -> io::Result<Self> {
        Ok(Self {
            target,
            options,
            seeds: seeds(target)?,
            began: Instant::now(),
            lanes: (0..options.threads).map(|_| Lane::default()).collect(),
            is_over: AtomicBool::new(false),
            found: Mutex::new(None),
        })
    }

    /// Runs it, and says whether something was found.
    pub(crate) fn run(self) -> io::Result<bool> {
        thread::scope(|scope| {
            for (at, lane) in self.lanes.iter().enumerate() {
                let run = &self;
                scope.spawn(move || run.work(at, lane));
            }
            self.watch();
        });
        let found = locked(&self.found).take();
        let findings = usize::from(found.is_some());
        let seconds = self.began.elapsed().as_secs_f64();
        println!(
            "{}: {} executions, {seconds:.0} s, {findings} findings",
            self.target.name,
            self.executions(),
        );
        if let Some(input) = &found {
            self.tell(input)?;
        }
        Ok(found.is_some())
    }

    fn work(&self, at: usize, lane: &Lane) {
        let mut mutator = Mutator::new(self.seeds.clone(), stream(self.options.seed, at));
        let share = match self.options.most {
            Most::Executions(most) => {
                let (threads, at) = (self.options.threads as u64, at as u64);
                most / threads + u64::from(at < most % threads)
            }
            Most::Time(_) => u64::MAX,
        };
        for run in 0..share {
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            let input = mutator.next_input();
            input.clone_into(&mut locked(&lane.input));
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| (self.target.check)(input)));
            lane.executions.store(run + 1, Ordering::Relaxed);
            if outcome.is_err() {
                locked(&self.found).get_or_insert_with(|| input.to_vec());
                self.is_over.store(true, Ordering::Relaxed);
            }
        }
        lane.is_done.store(true, Ordering::Relaxed);
    }

    /// Ends a run whose time has come, tells how it goes, and finds who does not come back.
    fn watch(&self) {
        let mut last_word = Instant::now();
        let mut seen: Vec<(u64, Instant)> = vec![(0, self.began); self.lanes.len()];
        while !self.lanes.iter().all(|lane| is_set(&lane.is_done)) {
            thread::sleep(LOOK);
            if matches!(self.options.most, Most::Time(time) if self.began.elapsed() >= time) {
                self.is_over.store(true, Ordering::Relaxed);
            }
            if last_word.elapsed() >= TELL {
                last_word = Instant::now();
                let executions = self.executions();
                let speed = executions as f64 / self.began.elapsed().as_secs_f64();
                eprintln!(
                    "{}: {executions} so far, {speed:.0} a second",
                    self.target.name
                );
            }
            for (lane, (executions, since)) in self.lanes.iter().zip(&mut seen) {
                let now = lane.executions.load(Ordering::Relaxed);
                if now != *executions || is_set(&lane.is_done) {
                    (*executions, *since) = (now, Instant::now());
                } else if since.elapsed() >= LONGEST {
                    self.give_up(&locked(&lane.input));
                }
            }
        }
    }

    /// A thread cannot be ended from outside, so everything is.
    fn give_up(&self, input: &[u8]) -> ! {
        println!(
            "{}: {} executions, 1 findings: no end within {LONGEST:?}",
            self.target.name,
            self.executions()
        );
        if let Err(error) = self.tell(input) {
            eprintln!("error: {error}");
        }
        process::exit(1)
    }

    fn tell(&self, input: &[u8]) -> io::Result<()> {
        let file = self.store(input)?;
        println!("  b\"{}\"", input.escape_ascii());
        println!(
            "  again: cargo xtask fuzz {} --input {}",
            self.target.name,
            file.display()
        );
        Ok(())
    }

    fn store(&self, input: &[u8]) -> io::Result<PathBuf> {
        let folder = Path::new("fuzz/artifacts").join(self.target.name);
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        fs::create_dir_all(root.join(&folder))?;
        let file = folder.join(format!("{:016x}", digest(input)));
        fs::write(root.join(&file), input)?;
        Ok(file)
    }

    fn executions(&self) -> u64 {
        let executions = self.lanes.iter().map(|lane| &lane.executions);
        executions
            .map(|executions| executions.load(Ordering::Relaxed))
            .sum()
    }
}

/// Where the inputs of a thread begin.
fn stream(seed: u64, at: usize) -> u64 {
    let mixed = seed.wrapping_add((at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ (mixed >> 27)
}

/// FNV-1a: only names a file.
fn digest(input: &[u8]) -> u64 {
    input.iter().fold(0xCBF2_9CE4_8422_2325, |digest, byte| {
        (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

/// Whoever panicked while he held it has left it whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}

const LOOK: Duration = Duration::from_millis(50);
const TELL: Duration = Duration::from_secs(10);
/// Far beyond what any input takes, also where others are busy.
const LONGEST: Duration = Duration::from_secs(60);
