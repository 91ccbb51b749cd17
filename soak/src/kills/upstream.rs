//! Servers that are killed in the midst of calls.
//!
//! Each round has a server of its own: one that ends again and again is not started at once, by
//! intention.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use switchboard_testkit::dice::Dice;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::{Kills, Place, connect, entry, served, traces};
use crate::proc;

pub(super) fn rounds(
    count: usize,
    place: &Place,
    runtime: &Runtime,
    dice: &mut Dice,
    kills: &mut Kills,
) -> Result<(), String> {
    place.write_config(&[])?;
    let mut gateway = place.start_gateway()?;
    let clients = [
        runtime.block_on(connect(&gateway, true))?,
        runtime.block_on(connect(&gateway, false))?,
    ];
    for round in 0..count {
        crate::report::progress("servers", round, count);
        let name = format!("u{round}");
        let (what, server) = server(place, &name, dice);
        place.write_config(&[(name.clone(), server)])?;
        if !place
            .command(&["reload"])
            .status()
            .is_ok_and(|status| status.success())
        {
            return Err("the gateway does not take its file over".to_owned());
        }
        let tool = format!("{name}__echo");
        let client = &clients[round % 2];
        runtime.block_on(served(client, &tool))?;
        let mut calls = JoinSet::new();
        for number in 0..CALLS {
            let call = client
                .call(&tool)
                .arg("caller", "midst")
                .arg("number", number)
                .arg("wait", WAIT);
            calls.spawn_on(call.into_future(), runtime.handle());
        }
        thread::sleep(Duration::from_micros(dice.roll(20_000)));
        let below: Vec<_> = proc::descendants(gateway.id())
            .into_iter()
            .filter(|found| found.words.contains(&name))
            .collect();
        let Some(victim) = below.first() else {
            kills.fault(what, round, "the server does not run");
            continue;
        };
        let killed = Instant::now();
        proc::signal(victim.id, Signal::KILL);
        match traces::gone(&below, &place.path().join("none"), GONE) {
            Ok(took) => kills.of(what).gone.push(took),
            Err(words) => kills.fault(what, round, &words),
        }
        let ended = runtime.block_on(async {
            let all = async { while calls.join_next().await.is_some() {} };
            tokio::time::timeout(TOLD, all).await
        });
        if ended.is_err() {
            kills.fault(what, round, "calls in flight were not told");
        }
        match runtime.block_on(served(client, &tool)) {
            Ok(_) => kills.of(what).back.push(killed.elapsed()),
            Err(words) => kills.fault(what, round, &words),
        }
        kills.of(what).count += 1;
        kills.check_files(what, round, place);
    }
    for client in clients {
        runtime.block_on(client.close());
    }
    if let Err(words) = gateway.close(Duration::from_secs(30)) {
        kills.fault("gateway", count, &words);
    }
    Ok(())
}

/// A server of either era, behind another process or not.
fn server(place: &Place, name: &str, dice: &mut Dice) -> (&'static str, Value) {
    let era = ["handshake", "stateless"][dice.roll(2) as usize];
    let mut words = place.server(name, era, &[]);
    match dice.roll(3) {
        0 => {
            let program = place.program.display().to_string();
            let seed = dice.roll(1_000).to_string();
            let before = [program, "pipe".to_owned(), seed, "--".to_owned()];
            words.splice(0..0, before);
            ("server behind a process", entry(&words))
        }
        _ => ("server", entry(&words)),
    }
}

const CALLS: u64 = 4;
/// Longer than it takes until the server is killed. Who calls after that has the next one.
const WAIT: u64 = 2_000;
/// For those below a server that is killed: their input ends.
const GONE: Duration = Duration::from_secs(10);
/// For calls in flight.
const TOLD: Duration = Duration::from_secs(10);
