//! Kinds that die, or do not.
//!
//! Fault matrix: 2, 3, 34, 41, 42, 44 to 50.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::server::{become_script, complain, end, idle};
use super::{Defect, Kind, Start};

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "exits-with-words",
        "writes why to stderr and exits with status 3 before it reads anything",
        Defect::Start(|_| {
            complain("error: the variable API_KEY is not set\n");
            end(3)
        }),
    ),
    Kind::new(
        "exits-silently",
        "exits with status 0 before it reads anything",
        Defect::Start(|_| end(0)),
    ),
    Kind::new(
        "killed-at-start",
        "dies by SIGKILL before it reads anything",
        Defect::Start(|_| become_script("kill -KILL $$")),
    ),
    Kind::new(
        "killed-in-call",
        "dies by SIGKILL when `after` calls are in flight",
        Defect::Call(|server, request| {
            if !server.hold(request).is_empty() {
                become_script("kill -KILL $$");
            }
        }),
    ),
    Kind::new(
        "dies-in-call",
        "writes why to stderr and exits with status 7 when `after` calls are in flight",
        Defect::Call(|server, request| {
            if !server.hold(request).is_empty() {
                complain("fatal: the disk is full\n");
                end(7)
            }
        }),
    ),
    Kind::new(
        "dies-after-answer",
        "answers the call and exits with status 8",
        Defect::Call(|server, request| {
            server.serve(request);
            end(8)
        }),
    ),
    Kind::new(
        "escapes-then-death",
        "writes escape sequences and broken UTF-8 to stderr and exits with status 4 on the call",
        Defect::Call(|_, _| {
            complain(b"\x1b[2J\x1b]0;owned\x07\x9b31m\xff\xfe\x00 the end\r\n");
            end(4)
        }),
    ),
    Kind::new(
        "closes-stdout",
        "closes its stdout on the call and lives until its input ends",
        Defect::Call(|_, _| become_script("exec 3>&-; exec cat >/dev/null")),
    ),
    Kind::new(
        "closes-stdin",
        "closes its stdin on the call and lives on",
        Defect::Call(|_, _| become_script("exec 0<&-; exec sleep 60")),
    ),
    Kind::new(
        "ignores-stdin-close",
        "does not end when its input does",
        Defect::End(|_| idle()),
    ),
    Kind::new(
        "ignores-term",
        "ends neither when its input does nor by SIGTERM",
        Defect::End(|_| idle()),
    )
    .started(Start::WithoutTerm),
    Kind::new(
        "slow-to-stop",
        "needs 500 ms to end after its input, and exits with status 0",
        Defect::End(|_| thread::sleep(Duration::from_millis(500))),
    ),
    Kind::new(
        "fails-on-close",
        "exits with status 9 when its input ends",
        Defect::End(|_| end(9)),
    ),
    Kind::new(
        "grandchild-holds-pipes",
        "exits with status 5 on the call and leaves a process that holds its streams",
        Defect::Call(|_, _| {
            start("exec sleep 60", Stdio::inherit());
            end(5)
        }),
    ),
    Kind::new(
        "grandchildren",
        "starts two processes of its own that go on when it ends",
        Defect::Start(|_| start("exec 3>&-; sleep 60 & exec sleep 60", Stdio::null())),
    ),
    Kind::new(
        "stubborn-grandchildren",
        "starts two processes of its own that go on when it ends and ignore SIGTERM",
        Defect::Start(|_| {
            start(
                "trap '' TERM; exec 3>&-; sleep 60 & exec sleep 60",
                Stdio::null(),
            );
        }),
    ),
    Kind::new(
        "below-a-shell",
        "is right, and a shell stands between, as with a package runner",
        Defect::None,
    )
    .started(Start::BelowShell),
    Kind::new(
        "stays-below-a-shell",
        "does not end when its input does, and a shell stands between",
        Defect::End(|_| idle()),
    )
    .started(Start::BelowShell),
];

/// Starts a shell that nobody waits for.
fn start(script: &str, stdin: Stdio) {
    let mut command = Command::new("sh");
    let started = command.args(["-c", script]).stdin(stdin).spawn();
    drop(started.expect("there is a shell"));
}
