//! Gateways that are killed while they start, serve calls, and have their file changed.

use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use switchboard_testkit::dice::Dice;
use tokio::runtime::Runtime;

use super::{Kills, Place, connect, entry, served, traces};
use crate::gateway::{Gateway, config};
use crate::{proc, report};

pub(super) fn rounds(
    count: usize,
    place: &Place,
    runtime: &Runtime,
    dice: &mut Dice,
    kills: &mut Kills,
) -> Result<(), String> {
    for round in 0..count {
        report::progress("gateways", round, count);
        let is_stubborn = dice.roll(STUBBORN) == 0;
        write_config(place, round, is_stubborn)?;
        let what = if is_stubborn {
            "gateway, stubborn server"
        } else if dice.roll(3) == 0 {
            "gateway that starts"
        } else {
            "gateway"
        };
        let (known, killed) = match what {
            "gateway that starts" => in_its_start(place, dice)?,
            _ => at_work(place, runtime, round, dice)?,
        };
        let limit = if is_stubborn { KILLED } else { OBEYED };
        match traces::gone(&known, place.path(), limit) {
            Ok(_) => kills.of(what).gone.push(killed.elapsed()),
            Err(words) => kills.fault(what, round, &words),
        }
        kills.check_files(what, round, place);
        let again = Instant::now();
        let mut gateway = match place.start_gateway() {
            Ok(gateway) => gateway,
            Err(words) => {
                kills.fault(what, round, &words);
                continue;
            }
        };
        let back = runtime.block_on(async {
            let client = connect(&gateway, round.is_multiple_of(2)).await?;
            let back = served(&client, "it__echo").await;
            client.close().await;
            back
        });
        match back {
            Ok(_) => kills.of(what).back.push(again.elapsed()),
            Err(words) => kills.fault(what, round, &words),
        }
        // The sockets of those who were killed are in nobody's way.
        if !place
            .command(&["status"])
            .status()
            .is_ok_and(|status| status.success())
        {
            kills.fault(what, round, "the gateway cannot be asked how it stands");
        }
        if let Err(words) = gateway.close(Duration::from_secs(30)) {
            kills.fault(what, round, &words);
        }
        kills.of(what).count += 1;
    }
    Ok(())
}

fn write_config(place: &Place, round: usize, is_stubborn: bool) -> Result<(), String> {
    // Another edition is another server: what it offers is written down anew.
    let edition = ["--edition", &round.to_string()];
    let it = entry(&place.server("it", "stateless", &edition));
    let program = place.program.display().to_string();
    let mut words = [program, "pipe".to_owned(), "7".to_owned(), "--".to_owned()].to_vec();
    words.extend(place.server("behind", "handshake", &edition));
    let mut servers = vec![("it".to_owned(), it), ("behind".to_owned(), entry(&words))];
    if is_stubborn {
        // It hears neither the end of its input nor what it is told.
        let words = place.server("stubborn", "stateless", &["--stays", "yes"]);
        let line = "trap '' TERM HUP INT; exec \"$@\"";
        let arguments: Vec<&str> = ["-c", line, "sh"]
            .into_iter()
            .chain(words.iter().map(String::as_str))
            .collect();
        servers.push((
            "stubborn".to_owned(),
            json!({"command": "/bin/sh", "args": arguments}),
        ));
    }
    place.write_config(&servers)
}

type Killed = (Vec<proc::Found>, Instant);

/// Kills one that is about to start its servers, or does.
fn in_its_start(place: &Place, dice: &mut Dice) -> Result<Killed, String> {
    let audit = place.path().join("audit.jsonl");
    let mut command = crate::gateway::command(&place.binary, place.path());
    command.args(["serve", "--http", "127.0.0.1:0", "--audit"]);
    command.arg(audit).arg("--config").arg(config(place.path()));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    thread::sleep(Duration::from_micros(dice.roll(60_000)));
    Ok(kill(&mut child))
}

fn kill(child: &mut Child) -> Killed {
    let known = proc::descendants(child.id() as i32);
    let killed = Instant::now();
    let _ = child.kill();
    let _ = child.wait();
    (known, killed)
}

/// Kills one that is called and changed.
fn at_work(
    place: &Place,
    runtime: &Runtime,
    round: usize,
    dice: &mut Dice,
) -> Result<Killed, String> {
    let gateway = place.start_gateway()?;
    let stops = Arc::new(AtomicBool::new(false));
    let client = runtime.block_on(connect(&gateway, round.is_multiple_of(2)))?;
    for worker in 0..2 {
        let (client, stops) = (client.clone(), Arc::clone(&stops));
        runtime.spawn(async move {
            let tools = ["it__echo", "behind__echo"];
            while !stops.load(Ordering::Relaxed) {
                let call = client.call(tools[worker]).arg("caller", "work");
                // Whatever comes of it: somebody is about to be killed.
                let _ = call.arg("number", 1).arg("wait", 1).await;
            }
        });
    }
    let killed = thread::scope(|scope| {
        let editing = scope.spawn(|| edit(place, round, &stops));
        thread::sleep(Duration::from_micros(dice.roll(300_000)));
        let killed = kill_gateway(gateway);
        stops.store(true, Ordering::Relaxed);
        let _ = editing.join();
        killed
    });
    runtime.block_on(client.close());
    Ok(killed)
}

fn kill_gateway(gateway: Gateway) -> Killed {
    let known = proc::descendants(gateway.id());
    let killed = Instant::now();
    proc::signal(gateway.id(), Signal::KILL);
    // It is waited for.
    drop(gateway);
    (known, killed)
}

/// Adds and removes servers, and has the file read again.
fn edit(place: &Place, round: usize, stops: &AtomicBool) {
    let config = config(place.path()).display().to_string();
    let mut number = 0;
    while !stops.load(Ordering::Relaxed) {
        number += 1;
        let name = format!("x{round}n{number}");
        let server = place.server(&name, "stateless", &[]);
        let mut words = vec!["add", &*name, "--config", &*config, "--"];
        words.extend(server.iter().map(String::as_str));
        let _ = place.command(&words).status();
        let _ = place.command(&["reload"]).status();
        let _ = place.command(&["remove", &name]).status();
    }
}

/// One round in so many has a server that does not end by itself: it costs seconds.
const STUBBORN: u64 = 8;

/// Whoever ends when its input does.
const OBEYED: Duration = Duration::from_secs(3);

/// Two seconds to obey, two more after SIGTERM, then SIGKILL, by the watcher.
const KILLED: Duration = Duration::from_secs(10);
