//! Commands that are killed in the midst of writing: the configuration, the lock, the logins.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_auth::{ClientIdentity, ClientOrigin, Entry, FileStore, Record, Store};
use switchboard_testkit::dice::Dice;

use super::{Kills, Place, entry, traces};
use crate::gateway::config;
use crate::{proc, report};

pub(super) fn rounds(
    count: usize,
    place: &Place,
    dice: &mut Dice,
    kills: &mut Kills,
) -> Result<(), String> {
    let it = entry(&place.server("it", "stateless", &[]));
    place.write_config(&[("it".to_owned(), it)])?;
    let others = json!({"mcpServers": {"brought": {"command": "true"}}});
    let other = place.path().join("others.json");
    fs::write(&other, others.to_string()).map_err(|error| error.to_string())?;
    // How long each takes when it is left alone.
    let mut times: BTreeMap<&str, Duration> = BTreeMap::new();
    for round in 0..count {
        report::progress("commands", round, count);
        let what = KINDS[dice.roll(KINDS.len() as u64) as usize];
        let before = servers(place)?;
        let mut child = start(place, what, round)?;
        let most = times.get(what).copied().unwrap_or(FIRST);
        let most = u64::try_from(most.as_micros()).unwrap_or(u64::MAX);
        thread::sleep(Duration::from_micros(dice.roll(most + most / 10)));
        let known = proc::descendants(child.id() as i32);
        let _ = child.kill();
        let _ = child.wait();
        match traces::gone(&known, place.path(), GONE) {
            Ok(took) => kills.of(what).gone.push(took),
            Err(words) => kills.fault(what, round, &words),
        }
        kills.check_files(what, round, place);
        if let Err(words) = check_change(what, round, &before, &servers(place)?) {
            kills.fault(what, round, &words);
        }
        // The same again, and nobody kills it. What is there already is added by nobody.
        let began = Instant::now();
        let changed = servers(place)? != before;
        let mut again = match (what, changed) {
            ("remove", true) => start(place, "lock", round)?,
            _ => start(place, what, round)?,
        };
        match finish(&mut again, what) {
            Ok(true) => {
                kills.of(what).back.push(began.elapsed());
                if !changed {
                    times.insert(what, began.elapsed());
                }
            }
            Ok(false) => kills.fault(what, round, "it does not work any more"),
            Err(words) => kills.fault(what, round, &words),
        }
        kills.check_files(what, round, place);
        if let Err(words) = check_login(place) {
            kills.fault(what, round, &words);
        }
        kills.of(what).count += 1;
    }
    Ok(())
}

const KINDS: [&str; 5] = ["add", "remove", "import", "lock", "login kept"];

fn start(place: &Place, what: &str, round: usize) -> Result<Child, String> {
    let config = config(place.path()).display().to_string();
    let name = format!("n{round}");
    let other = place.path().join("others.json").display().to_string();
    let mut command = match what {
        "add" => place.command(&["add", &name, "--force", "--config", &config, "--", "true"]),
        "remove" => {
            // Only what is there can be removed.
            let some = servers(place)?.into_iter().find(|server| server != "it");
            match some {
                Some(some) => place.command(&["remove", &some]),
                None => {
                    place.command(&["add", &name, "--force", "--config", &config, "--", "true"])
                }
            }
        }
        "import" => place.command(&["import", &other, "--force"]),
        "lock" => place.command(&["lock", "it"]),
        _ => {
            let mut command = Command::new(&place.program);
            command.arg("keep").arg(place.path().join("logins"));
            command.args([&*round.to_string(), "200"]);
            command.stdin(Stdio::null()).stdout(Stdio::null());
            command
        }
    };
    command.spawn().map_err(|error| format!("{what}: {error}"))
}

/// Did it end well?
fn finish(child: &mut Child, what: &str) -> Result<bool, String> {
    let status = child.wait().map_err(|error| format!("{what}: {error}"))?;
    Ok(status.success())
}

/// The names in the configuration.
fn servers(place: &Place) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(config(place.path())).map_err(|error| error.to_string())?;
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    let servers = value["mcpServers"].as_object();
    Ok(servers
        .map(|servers| servers.keys().cloned().collect())
        .unwrap_or_default())
}

/// It is as before, or as it was to be.
fn check_change(
    what: &str,
    round: usize,
    before: &[String],
    after: &[String],
) -> Result<(), String> {
    let more: Vec<&String> = after.iter().filter(|name| !before.contains(name)).collect();
    let less: Vec<&String> = before.iter().filter(|name| !after.contains(name)).collect();
    let name = format!("n{round}");
    let is_well = match what {
        "add" => less.is_empty() && more.iter().all(|more| **more == name),
        // One, or the one that is added where there is none.
        "remove" => less.len() + more.len() <= 1,
        "import" => less.is_empty() && more.iter().all(|more| *more == "brought"),
        _ => less.is_empty() && more.is_empty(),
    };
    match is_well {
        true => Ok(()),
        false => Err(format!("the file has {more:?} more and {less:?} less")),
    }
}

/// Saves logins, one after the other: what `login` does at its end, and every renewal.
pub(crate) fn keep(folder: &str, round: &str, count: &str) -> Result<ExitCode, String> {
    let count: usize = count.parse().map_err(|_| "no number")?;
    let store = FileStore::new(folder);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    for number in 0..count {
        let mark = format!("{round}-{number}-{}", "z".repeat(20_000 + number * 7));
        let mut entry = Entry::new(LOGIN);
        let client = ClientIdentity::new(mark.clone(), ClientOrigin::Configured);
        entry.put(Record::new("https://issuer.example", LOGIN, client));
        let client = ClientIdentity::new(mark, ClientOrigin::Registered);
        entry.add(Record::new("https://other.example", LOGIN, client));
        runtime
            .block_on(store.save(&entry))
            .map_err(|error| error.to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What is kept is one of the entries that were saved.
fn check_login(place: &Place) -> Result<(), String> {
    let folder = place.path().join("logins");
    if !Path::new(&folder).exists() {
        return Ok(());
    }
    let store = FileStore::new(folder);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let entry = runtime
        .block_on(store.load(LOGIN))
        .map_err(|error| error.to_string())?;
    match entry {
        None => Ok(()),
        Some(entry) => match entry.records.as_slice() {
            [one, other] if one.client.id == other.client.id => Ok(()),
            records => Err(format!("{} records of two saves", records.len())),
        },
    }
}

const LOGIN: &str = "https://mcp.example/mcp";
const FIRST: Duration = Duration::from_millis(50);
/// For servers that a command has started.
const GONE: Duration = Duration::from_secs(3);
