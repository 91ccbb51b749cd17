//! What is done to servers, connections and the configuration, one thing after the other.
//!
//! Each is told to the ledger before it is done, and once it is done: that is all that decides
//! which calls may fail.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use switchboard_testkit::dice::Dice;
use switchboard_testkit::fault_proxy::Cut;
use tokio::runtime::Handle;

use crate::call::Run;
use crate::house::{House, Kind};
use crate::ledger::Fault;
use crate::proc;

/// Does things until it is over.
pub(crate) struct Chaos {
    pub(crate) run: Arc<Run>,
    pub(crate) house: House,
    pub(crate) dice: Dice,
    pub(crate) runtime: Handle,
    /// When something was last done to each server after which it must be left alone for a while.
    pub(crate) last: Vec<Option<Instant>>,
}

impl Chaos {
    /// On a thread of its own: much of it blocks.
    pub(crate) fn run(mut self) -> House {
        while !self.run.is_over() {
            thread::sleep(Duration::from_millis(200 + self.dice.roll(800)));
            let server = self.dice.roll(self.house.servers.len() as u64) as usize;
            let client = self.dice.roll(self.run.seats.len() as u64) as usize;
            match self.dice.roll(20) {
                0..4 => self.kill(server),
                4..8 => self.cut_client(client),
                8..10 => self.cut_server(server),
                10..13 => self.reconnect(client),
                13..15 => self.remove(server),
                15 => self.next_edition(server),
                16 => self.restart(server),
                17..19 => self.ban(server),
                _ => self.spoil(),
            }
        }
        self.house
    }

    /// Was this server left alone for long enough? A server that ends again and again is not
    /// started at once, by intention.
    fn is_rested(&mut self, server: usize, rest: Duration) -> bool {
        let last = self.last[server];
        let is_rested = last.is_none_or(|last| last.elapsed() > rest);
        if is_rested {
            self.last[server] = Some(Instant::now());
        }
        is_rested
    }

    fn kill(&mut self, server: usize) {
        if !self.is_rested(server, STEADY) {
            return;
        }
        let behind = &mut self.house.servers[server];
        if matches!(behind.kind, Kind::Http { .. }) {
            self.run.ledger().touch_server(server, "kill -9 over HTTP");
            behind.kill();
            let program = self.house.program().to_owned();
            let started = self.house.servers[server].start(&program);
            if let Err(reason) = started {
                self.run.ledger().fault(Fault::NotRecovered, &reason);
            }
        } else {
            let name = behind.name.clone();
            let found: Vec<_> = proc::descendants(self.house.id())
                .into_iter()
                .filter(|found| found.words.contains(&name))
                .collect();
            if found.is_empty() {
                return;
            }
            let victim = &found[self.dice.roll(found.len() as u64) as usize];
            self.run.ledger().touch_server(server, "kill -9 on a pipe");
            proc::signal(victim.id, Signal::KILL);
            // Whoever looks after it hears of it by itself.
            while proc::is_alive(victim.id) {
                thread::sleep(Duration::from_millis(1));
            }
        }
        self.run.ledger().server_touched(server, Instant::now());
    }

    fn cut_client(&mut self, client: usize) {
        let seat = Arc::clone(&self.run.seats[client]);
        let Some(proxy) = &seat.proxy else { return };
        let (how, what) = self.roll_cut();
        self.run.ledger().touch_client(client, what);
        proxy.cut(how);
        self.run.ledger().client_touched(client, Instant::now());
    }

    fn cut_server(&mut self, server: usize) {
        let (how, _) = self.roll_cut();
        if !matches!(self.house.servers[server].kind, Kind::Http { .. })
            || !self.is_rested(server, STEADY / 4)
        {
            return;
        }
        if let Kind::Http { proxy, .. } = &self.house.servers[server].kind {
            self.run.ledger().touch_server(server, "cut to a server");
            proxy.cut(how);
            self.run.ledger().server_touched(server, Instant::now());
        }
    }

    fn roll_cut(&mut self) -> (Cut, &'static str) {
        match self.dice.roll(3) {
            0 => (Cut::Half, "half-close"),
            _ => (Cut::Both, "cut"),
        }
    }

    /// A client leaves in the midst of its calls, and another takes its place.
    fn reconnect(&mut self, client: usize) {
        let seat = Arc::clone(&self.run.seats[client]);
        self.run.ledger().touch_client(client, "disconnect");
        let connecting = seat.connect(&self.run.ledger);
        match self.runtime.block_on(connecting) {
            Ok(Some(old)) => self.runtime.block_on(old.close()),
            Ok(None) => {}
            Err(reason) => {
                let words = format!("c{client} could not connect: {reason}");
                self.run.ledger().fault(Fault::Lost, &words);
            }
        }
        self.run.ledger().client_touched(client, Instant::now());
    }

    fn remove(&mut self, server: usize) {
        self.run.ledger().touch_server(server, "remove and add");
        self.house.servers[server].is_listed = false;
        self.take_over();
        thread::sleep(Duration::from_millis(self.dice.roll(1_500)));
        self.house.servers[server].is_listed = true;
        self.take_over();
        self.run.ledger().server_touched(server, Instant::now());
    }

    fn next_edition(&mut self, server: usize) {
        self.run
            .ledger()
            .touch_server(server, "restart by the file");
        self.house.next_edition(server);
        self.take_over();
        self.run.ledger().server_touched(server, Instant::now());
    }

    fn restart(&mut self, server: usize) {
        let name = self.house.servers[server].name.clone();
        self.run.ledger().touch_server(server, "restart by command");
        self.order(&["restart", &name]);
        self.run.ledger().server_touched(server, Instant::now());
    }

    /// Which tools may be used changes, and nothing else does: no call may notice.
    fn ban(&mut self, server: usize) {
        let is_banned = !self.house.servers[server].is_banned;
        *self.run.ledger().done.entry("deny changed").or_default() += 1;
        self.run.servers[server].ban().is_changing = true;
        self.house.servers[server].is_banned = is_banned;
        self.take_over();
        let mut ban = self.run.servers[server].ban();
        ban.is_banned = is_banned;
        ban.changes += 1;
        ban.is_changing = false;
    }

    /// The file makes no sense for a while: nothing changes, and no call may notice.
    fn spoil(&mut self) {
        *self.run.ledger().done.entry("broken file").or_default() += 1;
        let text = self.house.text();
        let half = text.get(..text.len() / 2).unwrap_or_default();
        let broken = [half, "", "{", "no"][self.dice.roll(4) as usize];
        self.write(broken.as_bytes());
        proc::signal(self.house.id(), Signal::HUP);
        thread::sleep(Duration::from_millis(self.dice.roll(1_500)));
        self.write(text.as_bytes());
        self.order(&["reload"]);
    }

    /// Has the gateway take over the file as it is to be now. When it returns, it has.
    fn take_over(&mut self) {
        let text = self.house.text();
        match self.dice.roll(3) {
            // In place, with a moment at which half of it is there.
            0 => self.write(text.as_bytes()),
            _ => {
                let new = self.house.folder.join("mcp.json.new");
                let moved =
                    fs::write(&new, text).and_then(|()| fs::rename(&new, self.house.config()));
                self.check("the file cannot be written", moved.is_ok());
            }
        }
        match self.dice.roll(3) {
            0 => {
                proc::signal(self.house.id(), Signal::HUP);
            }
            1 => thread::sleep(Duration::from_millis(self.dice.roll(600))),
            _ => {}
        }
        // Whoever was first, after this it is done.
        self.order(&["reload"]);
    }

    fn write(&mut self, text: &[u8]) {
        let written = fs::write(self.house.config(), text);
        self.check("the file cannot be written", written.is_ok());
    }

    /// Says something to the gateway, as people do.
    fn order(&mut self, words: &[&str]) {
        let mut command: Command = self.house.command(words);
        let done = command.status();
        let words = format!("switchboard {}: {done:?}", words.join(" "));
        self.check(&words, done.is_ok_and(|status| status.success()));
    }

    fn check(&self, words: &str, is_well: bool) {
        if !is_well {
            self.run.ledger().fault(Fault::Lost, words);
        }
    }
}

/// A server that has run for this long is started at once when it ends: `hub/src/backoff.rs`.
const STEADY: Duration = Duration::from_secs(65);
