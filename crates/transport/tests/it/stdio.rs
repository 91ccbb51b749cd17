//! The standard streams, with whatever a host may have connected them to.
//!
//! The process is the example `stdio_echo`, which `cargo test` builds beside this test.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

const REQUEST: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":1}}\n";
const ANSWER: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}\n";

fn program() -> Command {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.set_file_name("examples");
    path.push("stdio_echo");
    assert!(
        path.exists(),
        "build it with `cargo build -p switchboard-transport --examples`"
    );
    Command::new(path)
}

fn spawn(arguments: &[&str], stdin: impl Into<Stdio>, stdout: impl Into<Stdio>) -> Child {
    program()
        .args(arguments)
        .stdin(stdin)
        .stdout(stdout)
        .spawn()
        .unwrap()
}

fn read_line(stream: impl Read) -> String {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line
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
    let mut child = spawn(&[], Stdio::piped(), Stdio::piped());
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
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
    let mut child = spawn(&[], Stdio::piped(), Stdio::piped());
    child.stdin.take().unwrap().write_all(request).unwrap();
    assert_eq!(read_line(child.stdout.take().unwrap()), ANSWER);
    check_success(child.wait().unwrap());
}

#[test]
fn on_sockets_as_node_gives_them() {
    let (mut to_child, stdin) = UnixStream::pair().unwrap();
    let (from_child, stdout) = UnixStream::pair().unwrap();
    let mut child = spawn(&[], OwnedFd::from(stdin), OwnedFd::from(stdout));
    to_child.write_all(REQUEST).unwrap();
    assert_eq!(read_line(from_child), ANSWER);
    drop(to_child);
    check_success(child.wait().unwrap());
}

#[test]
fn on_one_socket_for_both_directions() {
    let (mut near, far) = UnixStream::pair().unwrap();
    let stdin = OwnedFd::from(far.try_clone().unwrap());
    let mut child = spawn(&[], stdin, OwnedFd::from(far));
    near.write_all(REQUEST).unwrap();
    near.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(read_line(near), ANSWER);
    check_success(child.wait().unwrap());
}

#[test]
fn on_files() {
    let (input, output) = (temporary("input"), temporary("output"));
    std::fs::write(&input, REQUEST.repeat(5_000)).unwrap();
    let stdin = File::open(&input).unwrap();
    let mut child = spawn(&[], stdin, File::create(&output).unwrap());
    check_success(child.wait().unwrap());
    let written = std::fs::read_to_string(&output).unwrap();
    std::fs::remove_file(&input).unwrap();
    std::fs::remove_file(&output).unwrap();
    assert!(written == ANSWER.repeat(5_000));
}

#[test]
fn without_input_and_output() {
    let mut child = spawn(&[], Stdio::null(), Stdio::null());
    check_success(child.wait().unwrap());
}

#[test]
fn a_slow_reader_gets_every_answer() {
    let mut child = spawn(&[], Stdio::piped(), Stdio::piped());
    let mut stdin = child.stdin.take().unwrap();
    // Far more than the pipes hold, so that the process must wait to write.
    let writer = std::thread::spawn(move || stdin.write_all(&REQUEST.repeat(20_000)).unwrap());
    let mut written = String::new();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_to_string(&mut written).unwrap();
    writer.join().unwrap();
    assert!(written == ANSWER.repeat(20_000));
    check_success(child.wait().unwrap());
}

#[test]
fn stderr_still_blocks_when_it_is_the_same_pipe_as_stdout() {
    let (mut reader, writer) = io::pipe().unwrap();
    let mut command = program();
    command
        .arg("--chatter")
        .stdin(Stdio::piped())
        .stdout(writer.try_clone().unwrap())
        .stderr(writer);
    let mut child = command.spawn().unwrap();
    // The command holds the writer too, and the reader waits for every one of them.
    drop(command);
    child.stdin.take().unwrap().write_all(REQUEST).unwrap();
    let mut all = String::new();
    reader.read_to_string(&mut all).unwrap();
    check_success(child.wait().unwrap());
    let (chatter, answer) = all.split_at(all.len() - ANSWER.len());
    assert_eq!(chatter.len(), 256 * 1024 + 1);
    assert_eq!(answer, ANSWER);
}

/// The process must end by itself, or this waits for ever.
fn check_that_it_ends_with_stdin_open(mut command: Command, mut keep_open: impl Write) {
    let mut child = command.arg("1").stdout(Stdio::piped()).spawn().unwrap();
    keep_open.write_all(REQUEST).unwrap();
    assert_eq!(read_line(child.stdout.take().unwrap()), ANSWER);
    check_success(child.wait().unwrap());
}

#[test]
fn an_open_pipe_does_not_delay_the_end_of_the_process() {
    let (reader, writer) = io::pipe().unwrap();
    let mut command = program();
    command.stdin(reader);
    check_that_it_ends_with_stdin_open(command, writer);
}

#[test]
fn an_open_socket_does_not_delay_the_end_of_the_process() {
    let (near, far) = UnixStream::pair().unwrap();
    let mut command = program();
    command.stdin(OwnedFd::from(far));
    check_that_it_ends_with_stdin_open(command, near);
}

#[test]
fn a_thread_that_reads_does_not_delay_the_end_of_the_process() {
    let (near, far) = UnixStream::pair().unwrap();
    let mut command = program();
    // The same stream as stderr, so it is left blocking and a thread reads it.
    command
        .stdin(OwnedFd::from(far.try_clone().unwrap()))
        .stderr(OwnedFd::from(far));
    check_that_it_ends_with_stdin_open(command, near);
}
