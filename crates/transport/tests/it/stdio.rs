//! The standard streams, with whatever a host may have connected them to.
//!
//! The process on the other side is this test binary again, told by a variable to be the server.

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::{Frame, Limits, Message, Response};
use switchboard_transport::lines::Lines;
use switchboard_transport::stdio;

const REQUEST: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":1}}\n";
const ANSWER: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}\n";

/// What the test harness prints before it starts a test.
const BANNER: &str = "\nrunning 1 test\n";

/// Tells the process what to do: `echo`, `once`, or `chatter` first.
const PART: &str = "SWITCHBOARD_TEST_STDIO";

/// Not a test by itself: what the others start.
#[test]
#[expect(clippy::exit, reason = "the harness would print behind the answers")]
fn the_process() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .unwrap();
    let outcome = runtime.block_on(serve(&part));
    // As at the end of `main`: this would wait for a thread of the pool that blocks.
    drop(runtime);
    std::process::exit(i32::from(outcome.is_err()));
}

/// Answers each request with its own parameters, until the end of input or only once.
async fn serve(part: &str) -> io::Result<()> {
    let limits = Limits::default();
    let mut lines = Lines::new(stdio::stdin()?, stdio::stdout()?, limits);
    if part == "chatter" {
        io::stderr().write_all(&[b'#'; CHATTER])?;
    }
    let (mut is_open, mut is_done) = (true, false);
    while !is_done {
        if let Some(line) = lines.finish_line() {
            if let Ok(Frame::Single(Message::Request(request))) = line.read(&limits) {
                let params = request.params.unwrap_or_else(Payload::empty);
                lines.send(&Response::new(request.id, Ok(params)).into());
                is_done = part == "once";
            }
        } else if is_open {
            // All that came together is answered: one write, then wait for more.
            poll_fn(|cx| lines.poll_flush(cx)).await?;
            is_open = poll_fn(|cx| lines.poll_read(cx)).await?;
        } else {
            is_done = true;
        }
    }
    poll_fn(|cx| lines.poll_flush(cx)).await
}

/// More than a pipe holds.
const CHATTER: usize = 256 * 1024;

fn program(part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    // With two threads the harness prints no name before the test has ended.
    command
        .args([
            "--exact",
            "stdio::the_process",
            "--test-threads=2",
            "--nocapture",
        ])
        .env(PART, part);
    command
}

fn spawn(stdin: impl Into<Stdio>, stdout: impl Into<Stdio>) -> Child {
    let mut command = program("echo");
    command.stdin(stdin).stdout(stdout).spawn().unwrap()
}

/// The first answer on the stream.
fn read_answer(stream: impl Read) -> String {
    let mut lines = BufReader::new(stream);
    let mut all = String::new();
    while all.len() <= BANNER.len() && lines.read_line(&mut all).unwrap() > 0 {}
    answers_of(&all)
}

fn answers_of(all: &str) -> String {
    all.strip_prefix(BANNER).unwrap().to_owned()
}

fn check_success(status: ExitStatus) {
    assert!(status.success(), "{status}");
}

fn temporary(name: &str) -> PathBuf {
    let name = format!("switchboard-{}-{name}", std::process::id());
    std::env::temp_dir().join(name)
}

#[test]
fn on_pipes_a_request_is_answered_and_the_end_of_input_ends_the_process() {
    let mut child = spawn(Stdio::piped(), Stdio::piped());
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdin.write_all(REQUEST).unwrap();
    assert_eq!(read_answer(&mut stdout), ANSWER);
    for _ in 0..3 {
        stdin.write_all(REQUEST).unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, ANSWER);
    }
    drop(stdin);
    check_success(child.wait().unwrap());
}

#[test]
fn a_last_request_without_a_line_feed_is_not_lost() {
    let (request, _) = REQUEST.split_at(REQUEST.len() - 1);
    let mut child = spawn(Stdio::piped(), Stdio::piped());
    child.stdin.take().unwrap().write_all(request).unwrap();
    assert_eq!(read_answer(child.stdout.take().unwrap()), ANSWER);
    check_success(child.wait().unwrap());
}

#[test]
fn on_sockets_as_node_gives_them() {
    let (mut to_child, stdin) = UnixStream::pair().unwrap();
    let (from_child, stdout) = UnixStream::pair().unwrap();
    let mut child = spawn(OwnedFd::from(stdin), OwnedFd::from(stdout));
    to_child.write_all(REQUEST).unwrap();
    assert_eq!(read_answer(from_child), ANSWER);
    drop(to_child);
    check_success(child.wait().unwrap());
}

#[test]
fn on_one_socket_for_both_directions() {
    let (mut near, far) = UnixStream::pair().unwrap();
    let stdin = OwnedFd::from(far.try_clone().unwrap());
    let mut child = spawn(stdin, OwnedFd::from(far));
    near.write_all(REQUEST).unwrap();
    near.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(read_answer(near), ANSWER);
    check_success(child.wait().unwrap());
}

#[test]
fn on_files() {
    let (input, output) = (temporary("input"), temporary("output"));
    std::fs::write(&input, REQUEST.repeat(5_000)).unwrap();
    let stdin = File::open(&input).unwrap();
    let mut child = spawn(stdin, File::create(&output).unwrap());
    check_success(child.wait().unwrap());
    let written = std::fs::read_to_string(&output).unwrap();
    std::fs::remove_file(&input).unwrap();
    std::fs::remove_file(&output).unwrap();
    assert!(answers_of(&written) == ANSWER.repeat(5_000));
}

#[test]
fn without_input_and_output() {
    let mut child = spawn(Stdio::null(), Stdio::null());
    check_success(child.wait().unwrap());
}

#[test]
fn a_slow_reader_gets_every_answer() {
    let mut child = spawn(Stdio::piped(), Stdio::piped());
    let mut stdin = child.stdin.take().unwrap();
    // Far more than the pipes hold, so that the process must wait to write.
    let writer = std::thread::spawn(move || stdin.write_all(&REQUEST.repeat(20_000)).unwrap());
    let mut written = String::new();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_to_string(&mut written).unwrap();
    writer.join().unwrap();
    assert!(answers_of(&written) == ANSWER.repeat(20_000));
    check_success(child.wait().unwrap());
}

#[test]
fn stderr_still_blocks_when_it_is_the_same_pipe_as_stdout() {
    let (mut reader, writer) = io::pipe().unwrap();
    let mut command = program("chatter");
    command
        .stdin(Stdio::piped())
        .stdout(writer.try_clone().unwrap())
        .stderr(writer);
    let mut child = command.spawn().unwrap();
    // The command holds the writer too, and the reader waits for every one of them.
    drop(command);
    child.stdin.take().unwrap().write_all(REQUEST).unwrap();
    // A few bytes at a time, so that the process finds the pipe full again and again.
    let (mut all, mut piece) = (String::new(), [0; 16]);
    loop {
        let count = reader.read(&mut piece).unwrap();
        if count == 0 {
            break;
        }
        all.push_str(str::from_utf8(&piece[..count]).unwrap());
    }
    check_success(child.wait().unwrap());
    assert!(answers_of(&all) == "#".repeat(CHATTER) + ANSWER);
}

/// The process must end by itself, or this waits for ever.
fn check_that_it_ends_with_stdin_open(mut command: Command, mut keep_open: impl Write) {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    keep_open.write_all(REQUEST).unwrap();
    assert_eq!(read_answer(child.stdout.take().unwrap()), ANSWER);
    check_success(child.wait().unwrap());
}

#[test]
fn an_open_pipe_does_not_delay_the_end_of_the_process() {
    let (reader, writer) = io::pipe().unwrap();
    let mut command = program("once");
    command.stdin(reader);
    check_that_it_ends_with_stdin_open(command, writer);
}

#[test]
fn an_open_socket_does_not_delay_the_end_of_the_process() {
    let (near, far) = UnixStream::pair().unwrap();
    let mut command = program("once");
    command.stdin(OwnedFd::from(far));
    check_that_it_ends_with_stdin_open(command, near);
}

#[test]
fn a_thread_that_reads_does_not_delay_the_end_of_the_process() {
    let (near, far) = UnixStream::pair().unwrap();
    let mut command = program("once");
    // The same stream as stderr, so it is left blocking and a thread reads it.
    command
        .stdin(OwnedFd::from(far.try_clone().unwrap()))
        .stderr(OwnedFd::from(far));
    check_that_it_ends_with_stdin_open(command, near);
}
