//! Measurements on stdio.

use std::io::{Read as _, Write as _};
use std::ops::Range;
use std::process::{ChildStdin, ChildStdout};
use std::time::Instant;

use memchr::memchr;
use switchboard_bench::message::{self, Calls, Era};

use crate::server::Server;
use crate::{Figures, Options, microseconds, round_trips};

/// From the start of the process to its list of tools.
pub fn start(options: &Options) -> Result<Figures, String> {
    let mut times = Vec::new();
    for _ in 0..options.count {
        let begun = Instant::now();
        let mut wire = Wire::open(options)?;
        wire.send(message::request(options.era, 1, "tools/list").as_bytes())?;
        let list = wire.line()?;
        let took = begun.elapsed();
        if memchr::memmem::find(&wire.buffer[list], b"\"echo\"").is_none() {
            return Err("the server lists no tool named echo".to_owned());
        }
        times.push(took);
        wire.end()?;
    }
    times.sort_unstable();
    let middle = times.get(times.len() / 2).copied().unwrap_or_default();
    Ok(vec![("start_ms", microseconds(middle) / 1e3)])
}

/// The list of tools, again and again, and what is held for it.
pub fn listing(options: &Options) -> Result<Figures, String> {
    let mut wire = Wire::open(options)?;
    let mut times = Vec::new();
    for id in 1..=options.count {
        let begun = Instant::now();
        wire.send(message::request(options.era, id, "tools/list").as_bytes())?;
        let list = wire.line()?;
        times.push(begun.elapsed());
        if memchr::memmem::find(&wire.buffer[list], b"echo\"").is_none() {
            return Err("the server lists no tool named echo".to_owned());
        }
    }
    let resident = wire.server.resident_bytes()?;
    wire.end()?;
    let first = times.first().copied().unwrap_or_default();
    times.sort_unstable();
    let middle = times.get(times.len() / 2).copied().unwrap_or_default();
    Ok(vec![
        ("first_ms", microseconds(first) / 1e3),
        ("list_ms", microseconds(middle) / 1e3),
        ("loaded_kib", resident / 1024.0),
    ])
}

/// One call after the other.
pub fn sequential(options: &Options) -> Result<Figures, String> {
    one_by_one(options, &Calls::small(options.era))
}

/// Texts of a mebibyte, one after the other.
pub fn large(options: &Options) -> Result<Figures, String> {
    let calls = Calls::large(options.era, options.bytes);
    let figures = one_by_one(options, &calls)?;
    let of = |wanted| {
        figures
            .iter()
            .find(|(name, _)| *name == wanted)
            .map_or(0.0, |found| found.1)
    };
    let megabytes = calls.text_len() as f64 / 1e6;
    Ok(vec![
        ("mb_per_s", of("per_s") * megabytes),
        ("cpu_ms_per_mb", of("cpu_us") / 1e3 / megabytes),
    ])
}

fn one_by_one(options: &Options, calls: &Calls) -> Result<Figures, String> {
    let warm_up = options.warm_up;
    let mut wire = Wire::open(options)?;
    let mut request = Vec::new();
    let mut times = Vec::with_capacity(options.count as usize);
    let mut from = (Instant::now(), wire.server.cpu()?);
    for id in 1..=warm_up + options.count {
        if id == warm_up + 1 {
            from = (Instant::now(), wire.server.cpu()?);
        }
        request.clear();
        calls.write(id, &mut request);
        request.push(b'\n');
        let sent = Instant::now();
        wire.write(&request)?;
        let answer = wire.line()?;
        if id > warm_up {
            times.push(sent.elapsed());
        }
        if calls.check(&wire.buffer[answer])? != id {
            return Err(format!("call {id} was answered under another id"));
        }
    }
    let (elapsed, cpu) = (from.0.elapsed(), wire.server.cpu()?.saturating_sub(from.1));
    wire.end()?;
    Ok(round_trips(&mut times, cpu, elapsed))
}

/// As many calls at once as the window is wide; every answer makes room for the next call.
pub fn flight(options: &Options) -> Result<Figures, String> {
    let calls = Calls::small(options.era);
    let mut wire = Wire::open(options)?;
    let idle = wire.server.resident_bytes()?;
    let warm_up = options.warm_up;
    window(&mut wire, &calls, 1..1 + warm_up, options.window)?;
    let (begun, before) = (Instant::now(), wire.server.cpu()?);
    let ids = 1 + warm_up..1 + warm_up + options.count;
    window(&mut wire, &calls, ids, options.window)?;
    let (elapsed, after) = (begun.elapsed(), wire.server.cpu()?);
    let loaded = wire.server.resident_bytes()?;
    wire.end()?;
    Ok(vec![
        ("per_s", options.count as f64 / elapsed.as_secs_f64()),
        (
            "cpu_us",
            microseconds(after.saturating_sub(before)) / options.count as f64,
        ),
        ("idle_kib", idle / 1024.0),
        ("loaded_kib", loaded / 1024.0),
    ])
}

fn window(wire: &mut Wire, calls: &Calls, ids: Range<u64>, width: u64) -> Result<(), String> {
    let first = ids.start;
    let mut answered = vec![false; (ids.end - first) as usize];
    let mut missing = answered.len();
    let mut unsent = ids;
    let mut room = width;
    let mut requests = Vec::new();
    while missing > 0 {
        requests.clear();
        for id in unsent.by_ref().take(room as usize) {
            calls.write(id, &mut requests);
            requests.push(b'\n');
        }
        if !requests.is_empty() {
            wire.write(&requests)?;
        }
        room = 0;
        wire.fill()?;
        while let Some(answer) = wire.taken() {
            let id = calls.check(&wire.buffer[answer])?;
            let seen = id
                .checked_sub(first)
                .and_then(|index| answered.get_mut(index as usize));
            match seen {
                Some(seen) if !*seen && id < unsent.start => *seen = true,
                _ => return Err(format!("an answer to {id}, which is not out")),
            }
            missing -= 1;
            room += 1;
        }
    }
    Ok(())
}

/// The two pipes of a server.
struct Wire {
    server: Server,
    input: ChildStdin,
    output: ChildStdout,
    /// What was read: lines taken, lines not taken, a part of a line, room.
    buffer: Vec<u8>,
    taken: usize,
    /// There is no end of a line between `taken` and here.
    scanned: usize,
    filled: usize,
}

impl Wire {
    /// Starts the server and greets it.
    fn open(options: &Options) -> Result<Self, String> {
        let (server, input, output) = Server::on_stdio(&options.command)?;
        let mut wire = Self {
            server,
            input,
            output,
            buffer: vec![0; 64 * 1024],
            taken: 0,
            scanned: 0,
            filled: 0,
        };
        match options.era {
            Era::Raw => {}
            Era::Handshake => {
                wire.send(message::request(options.era, 0, "initialize").as_bytes())?;
                wire.line()?;
                wire.send(message::INITIALIZED.as_bytes())?;
            }
            Era::Stateless => {
                wire.send(message::request(options.era, 0, "server/discover").as_bytes())?;
                wire.line()?;
            }
        }
        Ok(wire)
    }

    fn send(&mut self, message: &[u8]) -> Result<(), String> {
        self.write(&[message, b"\n"].concat())
    }

    fn write(&mut self, lines: &[u8]) -> Result<(), String> {
        let written = self.input.write_all(lines);
        written.map_err(|error| format!("the server reads no more: {error}"))
    }

    /// Reads until there is one more line.
    fn line(&mut self) -> Result<Range<usize>, String> {
        loop {
            if let Some(line) = self.taken() {
                return Ok(line);
            }
            self.fill()?;
        }
    }

    /// Takes an answer that was read whole. What a server tells unasked is passed over.
    fn taken(&mut self) -> Option<Range<usize>> {
        loop {
            let Some(end) = memchr(b'\n', &self.buffer[self.scanned..self.filled]) else {
                self.scanned = self.filled;
                return None;
            };
            let line = self.taken..self.scanned + end;
            self.taken = line.end + 1;
            self.scanned = self.taken;
            if !self.buffer[line.clone()].starts_with(NOTIFICATION) {
                return Some(line);
            }
        }
    }

    /// One read.
    fn fill(&mut self) -> Result<(), String> {
        if self.taken > 0 {
            self.buffer.copy_within(self.taken..self.filled, 0);
            self.filled -= self.taken;
            self.scanned -= self.taken;
            self.taken = 0;
        }
        if self.filled == self.buffer.len() {
            self.buffer.resize(2 * self.filled, 0);
        }
        let read = self.output.read(&mut self.buffer[self.filled..]);
        match read.map_err(|error| format!("the server's stdout: {error}"))? {
            0 => Err("the server ended".to_owned()),
            count => {
                self.filled += count;
                Ok(())
            }
        }
    }

    /// Ends the server's input and waits for its end.
    fn end(self) -> Result<(), String> {
        drop(self.input);
        self.server.wait()
    }
}

const NOTIFICATION: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/"#;
