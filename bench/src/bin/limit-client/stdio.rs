//! On stdio: one write for all calls that there is room for, one read for what has come.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use memchr::{memchr_iter, memrchr};
use switchboard_bench::calling::{Figures, Meter, Work};
use switchboard_bench::message::{self, Calls, Era};

pub fn run(work: &Work, words: &[String], era: Era) -> Result<Figures, String> {
    let (program, arguments) = words.split_first().ok_or("no command")?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    let outcome = measure(work, &mut child, era);
    // The server ends when its input does, which is gone by now.
    let _ = child.wait();
    outcome
}

fn measure(work: &Work, child: &mut Child, era: Era) -> Result<Figures, String> {
    let (input, output) = child
        .stdin
        .take()
        .zip(child.stdout.take())
        .ok_or("no pipes")?;
    let mut wire = Wire {
        input,
        output,
        buffer: vec![0; 64 * 1024],
        filled: 0,
    };
    let greeting = match era {
        Era::Stateless => "server/discover",
        Era::Handshake | Era::Raw => "initialize",
    };
    wire.send(message::request(era, 0, greeting).as_bytes())?;
    wire.lines(|_| Ok(()))?;
    if era == Era::Handshake {
        wire.send(message::INITIALIZED.as_bytes())?;
    }
    let calls = Calls::of_length(era, work.bytes);
    let warm_up = work.warm_up();
    flight(&mut wire, &calls, 1, warm_up, work.in_flight)?;
    let meter = Meter::start()?;
    let times = flight(&mut wire, &calls, 1 + warm_up, work.count, work.in_flight)?;
    meter.figures(work, times)
}

fn flight(
    wire: &mut Wire,
    calls: &Calls,
    first: u64,
    count: u64,
    in_flight: u64,
) -> Result<Vec<Duration>, String> {
    let mut sent = Vec::with_capacity(count as usize);
    let mut times = Vec::with_capacity(count as usize);
    let mut requests = Vec::new();
    while (times.len() as u64) < count {
        requests.clear();
        let now = Instant::now();
        while (sent.len() as u64) < count && ((sent.len() - times.len()) as u64) < in_flight {
            calls.write(first + sent.len() as u64, &mut requests);
            requests.push(b'\n');
            sent.push(now);
        }
        wire.write(&requests)?;
        wire.lines(|line| {
            let id = calls.check(line)?;
            let call = sent.get((id - first) as usize);
            times.push(call.ok_or("an answer to nothing")?.elapsed());
            Ok(())
        })?;
    }
    Ok(times)
}

struct Wire {
    input: ChildStdin,
    output: ChildStdout,
    buffer: Vec<u8>,
    filled: usize,
}

impl Wire {
    fn send(&mut self, message: &[u8]) -> Result<(), String> {
        self.write(&[message, b"\n"].concat())
    }

    fn write(&mut self, lines: &[u8]) -> Result<(), String> {
        let written = self.input.write_all(lines);
        written.map_err(|error| format!("the server reads no more: {error}"))
    }

    /// Reads until there are whole lines, and takes them.
    fn lines(&mut self, mut take: impl FnMut(&[u8]) -> Result<(), String>) -> Result<(), String> {
        loop {
            if self.filled == self.buffer.len() {
                self.buffer.resize(2 * self.filled, 0);
            }
            let read = self.output.read(&mut self.buffer[self.filled..]);
            let count = read.map_err(|error| format!("the server's output: {error}"))?;
            if count == 0 {
                return Err("the server ended".to_owned());
            }
            let before = self.filled;
            self.filled += count;
            // Only what is new can hold the end of a line.
            let Some(end) = memrchr(b'\n', &self.buffer[before..self.filled]) else {
                continue;
            };
            let whole = before + end + 1;
            let mut start = 0;
            for end in memchr_iter(b'\n', &self.buffer[..whole]) {
                take(&self.buffer[start..end])?;
                start = end + 1;
            }
            self.buffer.copy_within(whole..self.filled, 0);
            self.filled -= whole;
            return Ok(());
        }
    }
}
