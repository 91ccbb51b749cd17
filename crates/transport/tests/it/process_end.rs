//! How servers end, and that nobody is left.

use std::time::{Duration, Instant};

use switchboard_transport::process::{Manner, Patience, Process, ProcessSpec, Stopped};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::process::{LONG, line, number, shell, start, state, wait_until, wait_until_gone};

/// Ignores the end of input and what it is asked; prints its number.
const STUBBORN: &str = "trap '' TERM; echo $$; while :; do sleep 1000; done";

/// Starts something stubborn in its group and obeys by itself.
const LEAVES_SOMEBODY: &str =
    "(trap '' TERM; while :; do sleep 1000; done) & echo $!; read line; exit 0";

/// No time for those who will not use it, and all the time for those who should.
fn patience(obey: Duration, terminate: Duration) -> Patience {
    Patience::default()
        .obey(obey)
        .terminate(terminate)
        .reap(LONG)
}

const SHORT: Duration = Duration::from_millis(50);

async fn stop(process: Process, patience: Patience) -> Stopped {
    let id = process.id();
    let stopped = timeout(LONG * 2, process.stop(patience)).await.unwrap();
    assert_eq!(state(id), None, "not even a zombie is left");
    stopped
}

fn check(stopped: Stopped, manner: Manner, exit: &str) {
    assert_eq!(stopped.manner, manner);
    assert_eq!(stopped.exit.unwrap().to_string(), exit);
    assert_eq!(stopped.is_forced(), manner == Manner::Killed);
}

#[tokio::test]
async fn a_server_that_obeys_is_not_signalled() {
    let (process, input, _output) = start(&ProcessSpec::new("cat"));
    drop(input);
    let begin = Instant::now();
    // In a task of its own: the future can be sent.
    let stopped = tokio::spawn(stop(process, patience(LONG, LONG)))
        .await
        .unwrap();
    check(stopped, Manner::Obeyed, "exited with status 0");
    assert!(begin.elapsed() < LONG / 2);
}

#[tokio::test]
async fn an_exit_with_an_error_is_an_end_like_any_other() {
    let (process, input, _output) = start(&shell("read line; exit 7"));
    drop(input);
    let stopped = stop(process, patience(LONG, LONG)).await;
    check(stopped, Manner::Obeyed, "exited with status 7");
}

#[tokio::test]
async fn a_server_that_needs_its_time_is_given_it() {
    let script = "trap 'exit 9' TERM; echo ready; read line; sleep 0.5; exit 4";
    let (process, input, mut output) = start(&shell(script));
    assert_eq!(line(&mut output).await, "ready");
    drop(input);
    let stopped = stop(process, patience(LONG, SHORT)).await;
    check(stopped, Manner::Obeyed, "exited with status 4");
}

#[tokio::test]
async fn a_server_that_ignores_the_end_of_input_is_told() {
    let (process, input, _output) = start(&ProcessSpec::new("sleep").argument("1000"));
    drop(input);
    let stopped = stop(process, patience(SHORT, LONG)).await;
    check(
        stopped,
        Manner::Terminated,
        "was ended by signal 15 (SIGTERM)",
    );
}

#[tokio::test]
async fn a_server_that_ignores_that_too_is_killed_in_time() {
    let (process, input, mut output) = start(&shell(STUBBORN));
    number(&mut output).await;
    drop(input);
    let begin = Instant::now();
    let stopped = stop(process, patience(SHORT, SHORT)).await;
    check(stopped, Manner::Killed, "was ended by signal 9 (SIGKILL)");
    assert!(begin.elapsed() < LONG / 2);
}

#[tokio::test]
async fn a_server_that_is_suspended_can_end_when_it_is_told() {
    let (process, input, mut output) = start(&shell("echo $$; kill -s STOP $$; read line"));
    let id = number(&mut output).await;
    wait_until("it is suspended", || state(id) == Some('T'));
    drop(input);
    let stopped = stop(process, patience(SHORT, LONG)).await;
    check(
        stopped,
        Manner::Terminated,
        "was ended by signal 15 (SIGTERM)",
    );
}

#[tokio::test]
async fn what_a_server_started_ends_with_it() {
    let (process, input, mut output) = start(&shell("sleep 1000 & echo $!; read line; exit 0"));
    let helper = number(&mut output).await;
    drop(input);
    let stopped = stop(process, patience(LONG, LONG)).await;
    check(stopped, Manner::Terminated, "exited with status 0");
    wait_until_gone(&[helper]);
}

#[tokio::test]
async fn what_a_server_started_is_killed_if_it_ignores_what_it_is_told() {
    let (process, input, mut output) = start(&shell(LEAVES_SOMEBODY));
    let helper = number(&mut output).await;
    drop(input);
    let stopped = stop(process, patience(LONG, SHORT)).await;
    check(stopped, Manner::Killed, "exited with status 0");
    wait_until_gone(&[helper]);
}

#[tokio::test]
async fn an_exit_is_noticed_at_once_while_a_grandchild_holds_the_streams() {
    let script = "sleep 1000 & echo $!; echo last words >&2; exit 4";
    let (mut process, _input, mut output) = start(&shell(script));
    let helper = number(&mut output).await;
    let exit = timeout(LONG, process.exited()).await.unwrap();
    assert_eq!(exit.code, Some(4));
    assert_eq!(process.stderr().tail(), "last words");
    let mut byte = [0];
    let read = timeout(SHORT, output.read(&mut byte)).await;
    assert!(read.is_err(), "the stream is still open");
    stop(process, patience(LONG, LONG)).await;
    wait_until_gone(&[helper]);
}

#[tokio::test]
async fn a_server_that_does_not_read_can_be_stopped() {
    let (process, mut input, _output) = start(&ProcessSpec::new("sleep").argument("1000"));
    let write = timeout(SHORT, input.write_all(&[b'x'; 1024 * 1024])).await;
    assert!(write.is_err(), "it is more than a pipe holds");
    drop(input);
    let stopped = stop(process, patience(SHORT, LONG)).await;
    assert_eq!(stopped.manner, Manner::Terminated);
}

#[tokio::test]
async fn a_server_that_closes_its_streams_and_lives_is_seen_by_the_streams() {
    let script = "exec <&- >&-; echo closed >&2; while :; do sleep 1000; done";
    let (mut process, mut input, mut output) = start(&shell(script));
    let mut rest = String::new();
    let read = timeout(LONG, output.read_to_string(&mut rest)).await;
    assert_eq!(read.unwrap().unwrap(), 0);
    let write = async {
        while input.write_all(b"x\n").await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, write).await.unwrap();
    assert!(timeout(SHORT, process.exited()).await.is_err());
    stop(process, patience(SHORT, LONG)).await;
}

#[tokio::test]
async fn a_flood_on_stderr_does_not_hold_up_the_end() {
    let (process, input, mut output) = start(&shell("echo $$; exec yes >&2"));
    number(&mut output).await;
    drop(input);
    let stopped = stop(process, patience(SHORT, LONG)).await;
    assert_eq!(stopped.manner, Manner::Terminated);
}

#[tokio::test]
async fn a_drop_kills_everybody() {
    let script = format!("({STUBBORN}) & {LEAVES_SOMEBODY}");
    let (process, _input, mut output) = start(&shell(&script));
    let id = process.id();
    number(&mut output).await;
    let helper = number(&mut output).await;
    drop(process);
    assert_eq!(state(id), None, "not even a zombie is left");
    wait_until_gone(&[helper]);
}

#[tokio::test]
async fn a_drop_after_the_exit_kills_who_was_left() {
    let (mut process, _input, mut output) = start(&shell("sleep 1000 & echo $!; exit 0"));
    let (id, helper) = (process.id(), number(&mut output).await);
    timeout(LONG, process.exited()).await.unwrap();
    // Its number is ours until everybody was signalled.
    assert_eq!(state(id), Some('Z'));
    drop(process);
    assert_eq!(state(id), None);
    wait_until_gone(&[helper]);
}

#[tokio::test]
async fn a_stop_that_is_given_up_kills() {
    let (process, _input, mut output) = start(&shell(STUBBORN));
    let id = number(&mut output).await;
    let stop = timeout(SHORT, process.stop(patience(LONG, LONG))).await;
    assert!(stop.is_err());
    assert_eq!(state(id), None);
}

#[test]
fn a_drop_needs_no_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.unwrap();
    let (process, streams, id) = runtime.block_on(async {
        let (process, input, mut output) = start(&shell(STUBBORN));
        let id = number(&mut output).await;
        (process, (input, output), id)
    });
    drop(runtime);
    drop(process);
    assert_eq!(state(id), None);
    drop(streams);
}

#[test]
fn a_panic_leaves_nobody() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        runtime.block_on(async move {
            let (_process, _input, mut output) = start(&shell(STUBBORN));
            sender.send(number(&mut output).await).unwrap();
            std::panic::resume_unwind(Box::new("a test"));
        });
    });
    assert!(thread.join().is_err());
    assert_eq!(state(receiver.recv().unwrap()), None);
}

#[test]
fn a_server_is_stopped_in_a_second_runtime_when_the_first_has_ended() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
    };
    let (process, id) = runtime().unwrap().block_on(async {
        let (process, _input, mut output) = start(&shell(STUBBORN));
        let id = number(&mut output).await;
        (process, id)
    });
    let stopped = runtime()
        .unwrap()
        .block_on(process.stop(patience(SHORT, SHORT).reap(SHORT)));
    assert_eq!(stopped.manner, Manner::Killed);
    assert_eq!(state(id), None);
}
