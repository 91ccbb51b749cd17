//! A run: everything is started, called, disturbed, brought to rest and looked at.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use switchboard_testkit::dice::Dice;
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinSet;

use crate::call::{Facts, Run, warm_up, work};
use crate::chaos::Chaos;
use crate::client::{Mark, Seat};
use crate::house::{Behind, House, Kind};
use crate::ledger::{Fault, Ledger};
use crate::options::Options;
use crate::proc::{self, Sample};
use crate::{plot, report};

/// Runs, and says what came of it.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode, String> {
    let options = Options::read(words)?;
    let folder = folder(&options)?;
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let (run, samples) = soak(&options, &folder, &runtime)?;
    let ledger = run.ledger();
    report::line(&report::text(&options, &ledger, &samples));
    if let Some(file) = &options.plot {
        let title = format!(
            "the gateway: {} clients, {} servers, {} calls",
            options.clients,
            options.servers,
            ledger.ended()
        );
        fs::write(file, plot::draw(&samples, &title)).map_err(|error| error.to_string())?;
    }
    let is_well = ledger.faults.is_empty();
    if options.keep.is_none() && is_well {
        // It is only in the way.
        let _ = fs::remove_dir_all(&folder);
    } else {
        report::line(&format!("files: {}", folder.display()));
    }
    Ok(match is_well {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// An empty folder of this run.
fn folder(options: &Options) -> Result<PathBuf, String> {
    let own = format!("soak-{}", std::process::id());
    let folder = options
        .keep
        .clone()
        .unwrap_or_else(|| std::env::temp_dir().join(own));
    // What an earlier run left there.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

fn soak(
    options: &Options,
    folder: &std::path::Path,
    runtime: &Runtime,
) -> Result<(Arc<Run>, Vec<Sample>), String> {
    let house = House::open(options, folder)?;
    let gateway = house.id();
    let before = proc::sample(gateway);
    let run = prepare(options, &house, runtime.handle())?;
    let sampling = {
        let run = Arc::clone(&run);
        thread::spawn(move || samples(gateway, &run))
    };
    runtime.spawn(measure_lag(Arc::clone(&run)));
    run.ledger().start(Instant::now());
    let mut workers = JoinSet::new();
    let mut dice = Dice::new(options.seed);
    runtime.block_on(warm_up(&run, &mut dice));
    for seat in &run.seats {
        for _ in 0..options.workers {
            let dice = Dice::new(dice.roll(u64::MAX));
            let working = work(Arc::clone(&run), Arc::clone(seat), dice);
            workers.spawn_on(working, runtime.handle());
        }
    }
    let chaos = Chaos {
        run: Arc::clone(&run),
        last: vec![None; house.servers.len()],
        house,
        dice: Dice::new(dice.roll(u64::MAX)),
        runtime: runtime.handle().clone(),
    };
    let until = Instant::now() + options.time;
    let chaos = thread::spawn(move || chaos.run());
    let mut overdue = Vec::new();
    while Instant::now() < until {
        thread::sleep(Duration::from_millis(250));
        let mut ledger = run.ledger();
        let now_overdue = ledger.overdue(Instant::now(), RECOVERY);
        for server in &now_overdue {
            if !overdue.contains(server) {
                let words = format!("s{server} is not back after {RECOVERY:?}");
                ledger.fault(Fault::NotRecovered, &words);
            }
        }
        overdue = now_overdue;
    }
    run.stops.store(true, Ordering::Relaxed);
    let mut house = chaos.join().map_err(|_| "the chaos has panicked")?;
    let samples = sampling.join().map_err(|_| "the sampling has panicked")?;
    runtime.block_on(async { while workers.join_next().await.is_some() {} });
    settle(&run, &house, runtime.handle());
    check_runs(&run, &house);
    check_curves(&run, &samples);
    check_rest(&run, &house, before);
    if let Err(reason) = house.gateway.close(DRAIN) {
        run.ledger().fault(Fault::Leaked, &reason);
    }
    Ok((run, samples))
}

fn prepare(options: &Options, house: &House, runtime: &Handle) -> Result<Arc<Run>, String> {
    let ledger = Arc::new(Mutex::new(Ledger::new(options.clients, options.servers)));
    let facts = house.servers.iter().map(|server| Facts {
        name: server.name.clone(),
        knows_whom_it_asks: server.knows_whom_it_asks(),
        is_per_client: server.is_per_client(),
        ban: Mutex::default(),
    });
    let mut run = Run {
        ledger,
        seats: Vec::new(),
        servers: facts.collect(),
        stops: AtomicBool::new(false),
        lag: AtomicU64::new(0),
        abandoned: AtomicU64::new(0),
    };
    for number in 0..options.clients {
        // The last ones have a gateway of their own between.
        let is_chained = number + options.clients / 10 >= options.clients;
        let seat = Arc::new(Seat::new(number, house, options.seed, is_chained)?);
        if is_chained {
            run.ledger().chain(number);
        }
        runtime
            .block_on(seat.connect(&run.ledger))
            .map_err(|reason| format!("c{number} could not connect: {reason}"))?;
        run.seats.push(seat);
    }
    Ok(Arc::new(run))
}

/// Looks at the gateway each second.
fn samples(gateway: i32, run: &Run) -> Vec<Sample> {
    let began = Instant::now();
    let mut samples = Vec::new();
    while !run.is_over() {
        let mut sample = proc::sample(gateway);
        sample.seconds = began.elapsed().as_secs_f64();
        sample.calls = run.ledger().ended();
        samples.push(sample);
        thread::sleep(Duration::from_secs(1));
    }
    samples
}

/// How late this process is to what it wants to do, at worst of late.
async fn measure_lag(run: Arc<Run>) {
    let nap = Duration::from_millis(10);
    let mut worst = [0_u64; 32];
    let mut place = 0;
    loop {
        let mut most = 0;
        for _ in 0..16 {
            let began = Instant::now();
            tokio::time::sleep(nap).await;
            let late = began.elapsed().saturating_sub(nap).as_millis();
            most = most.max(u64::try_from(late).unwrap_or(u64::MAX));
        }
        if let Some(slot) = worst.get_mut(place) {
            *slot = most;
        }
        place = (place + 1) % worst.len();
        let most = worst.iter().copied().max().unwrap_or(0);
        run.lag.store(most, Ordering::Relaxed);
    }
}

/// Brings everything to rest, and looks at what is left.
fn settle(run: &Arc<Run>, house: &House, runtime: &Handle) {
    let until = Instant::now() + REST;
    let mut reason = String::new();
    // Every server has ended what was cancelled, and is back.
    let mut busy: Vec<usize> = (0..run.servers.len()).collect();
    while !busy.is_empty() && Instant::now() < until {
        busy.retain(|server| match runtime.block_on(status(run, *server)) {
            Ok(0) => false,
            Ok(active) => {
                reason = format!("{active} calls still run");
                true
            }
            Err(words) => {
                reason = words;
                true
            }
        });
        thread::sleep(Duration::from_millis(100));
    }
    // A stateless client that is gone may come back for a question: its call waits for it.
    let parked = || house.gateway.number("switchboard_gateway_calls_parked");
    let abandoned = run.abandoned.load(Ordering::Relaxed) as f64;
    if !busy.is_empty() && parked() == 0.0 {
        let words = format!("servers {busy:?} are not at rest: {reason}");
        run.ledger().fault(Fault::Leaked, &words);
    }
    for seat in &run.seats {
        if let Some(client) = seat.leave() {
            runtime.block_on(client.close());
        }
    }
    let gauges = [
        "switchboard_gateway_calls_in_flight",
        "switchboard_gateway_sessions",
    ];
    let left = || -> Vec<String> {
        let mut left = Vec::new();
        for name in gauges {
            let value = house.gateway.number(name);
            if value != 0.0 {
                left.push(format!("{name} {value}"));
            }
        }
        let open = house.gateway.number("switchboard_calls_in_flight");
        if open > parked() || parked() > abandoned {
            left.push(format!("{open} calls in flight, {} parked", parked()));
        }
        left
    };
    let until = Instant::now() + REST;
    while !left().is_empty() && Instant::now() < until {
        thread::sleep(Duration::from_millis(100));
    }
    for words in left() {
        run.ledger().fault(Fault::Leaked, &words);
    }
    check_processes(run, house);
}

/// How many calls a server says that it runs.
async fn status(run: &Run, server: usize) -> Result<u64, String> {
    let client = run.seats.first().and_then(|seat| seat.client());
    let client = client.ok_or("there is no client")?;
    let call = client.call(format!("{}__status", run.servers[server].name));
    let answered = call.deadline(Duration::from_secs(20)).await;
    let answered = answered.map_err(|error| error.to_string())?;
    answered
        .joined_text()
        .parse()
        .map_err(|_| format!("{:?}", answered.joined_text()))
}

/// Are there the servers that are configured, and no others?
fn check_processes(run: &Run, house: &House) {
    let stateless = run.seats.len();
    let most: HashMap<&str, usize> = house
        .servers
        .iter()
        .map(|server| {
            let most = match &server.kind {
                Kind::Http { .. } => 0,
                // Those of clients without a connection are kept for a while.
                Kind::Stdio {
                    per_client: true, ..
                } => stateless + 1,
                Kind::Stdio { pipe: Some(_), .. } => 2,
                Kind::Stdio { .. } => 1,
            };
            (&*server.name, most)
        })
        .collect();
    let until = Instant::now() + REST;
    loop {
        let mut found: HashMap<&str, usize> = HashMap::new();
        let mut others = 0;
        for process in proc::descendants(house.id()) {
            let name = most
                .keys()
                .find(|name| process.words.iter().any(|word| word == *name));
            match name {
                Some(name) => *found.entry(name).or_default() += 1,
                None => others += 1,
            }
        }
        let is_well = found.iter().all(|(name, count)| count <= &most[name]);
        // The one that ends the others should the gateway be killed.
        if is_well && others <= most.len() + run.seats.len() {
            return;
        }
        if Instant::now() > until {
            let words = format!("processes: {found:?} of {most:?}, and {others} others");
            run.ledger().fault(Fault::Leaked, &words);
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// What servers say that they have run, against what clients were told.
fn check_runs(run: &Run, house: &House) {
    let mut runs: HashMap<(String, u64), u32> = HashMap::new();
    for server in &house.servers {
        for key in server.runs() {
            *runs.entry(key).or_default() += 1;
        }
    }
    let mut ledger = run.ledger();
    for ((caller, call), count) in &runs {
        if *count > 1 {
            let words = format!("call {call} of {caller} has run {count} times");
            ledger.fault(Fault::Duplicate, &words);
        }
    }
    for seat in &run.seats {
        for (call, mark) in seat.marks().iter().enumerate() {
            let key = (seat.name.clone(), call as u64);
            let has_run = runs.contains_key(&key);
            match mark {
                Mark::Ran if !has_run => {
                    ledger.fault(Fault::Wrong, &format!("{key:?} was answered and never ran"));
                }
                Mark::NotRun if has_run => {
                    ledger.fault(
                        Fault::Wrong,
                        &format!("{key:?} ran, and its error denies it"),
                    );
                }
                _ => {}
            }
        }
    }
}

fn check_curves(run: &Run, samples: &[Sample]) {
    // Too short to say anything.
    if samples.len() < 60 {
        return;
    }
    for (name, thirds) in report::curves(samples) {
        let (share, amount) = match name {
            "memory, MiB" => (0.15, 4.0),
            // They follow the connections that clients keep: see `check_rest`.
            "descriptors" => continue,
            _ => (0.1, 8.0),
        };
        if !thirds.is_flat(share, amount) {
            let words = format!("{name}: {thirds:?}");
            run.ledger().fault(Fault::Leaked, &words);
        }
    }
}

/// Without clients there are as many descriptors as before the first one came, but for those of
/// processes and connections to servers that are there now and were not then.
fn check_rest(run: &Run, house: &House, before: Sample) {
    let until = Instant::now() + REST;
    loop {
        let now = proc::sample(house.id());
        let connections: usize = house.servers.iter().map(Behind::connections).sum();
        let processes = now.processes.saturating_sub(before.processes);
        let most = before.descriptors + processes * PER_PROCESS + connections + SPARE;
        if now.descriptors <= most {
            return;
        }
        if Instant::now() > until {
            let (now, before) = (now.descriptors, before.descriptors);
            let words = format!("descriptors at rest: {now}, and {before} before; {most} allowed");
            run.ledger().fault(Fault::Leaked, &words);
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// Its three streams, and what tells of its end.
const PER_PROCESS: usize = 4;
/// What looks at the numbers meanwhile.
const SPARE: usize = 4;

/// A server that was disturbed is back by then, on a machine that has much else to do.
const RECOVERY: Duration = Duration::from_secs(45);
const REST: Duration = Duration::from_secs(30);
const DRAIN: Duration = Duration::from_secs(40);
