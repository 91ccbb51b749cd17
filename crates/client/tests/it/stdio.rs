//! The table of faults on standard streams: one test for each part of it.
//!
//! Fault matrix: 1 to 50.

use std::io::Write;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use switchboard_client::types::CallToolResult;
use switchboard_client::{Class, Client, Mode, Patience, Spec, State};
use switchboard_testkit::faulty::Eras;

use crate::case::{
    after, alive, all_words, answers, check, check_error, check_over, fails, refuses, times_out,
};
use crate::server::{MOMENT, On, Server, timeouts};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_be_opened_says_why() {
    const PLACE: &[&str] = &["sh -c"];
    check(
        On::Stdio,
        &[
            // 2, 3
            refuses(
                "exits-with-words",
                Class::Connection,
                &["exited with status 3", "before the handshake", "API_KEY"],
            ),
            refuses(
                "exits-silently",
                Class::Connection,
                &["exited with status 0", "before the handshake"],
            ),
            refuses("killed-at-start", Class::Connection, &["SIGKILL"]),
            refuses(
                "dies-in-handshake",
                Class::Connection,
                &["exited with status 6", "cannot go on"],
            ),
            // 8, 9
            refuses(
                "unsupported-version",
                Class::Peer,
                &["2999-01-01", "2999-02-02", "2026-07-28", "2024-11-05"],
            )
            .modern(),
            refuses("unsupported-version", Class::Peer, &["1999-01-01"]).legacy(),
            refuses("wrong-handshake", Class::Peer, PLACE),
            refuses("empty-handshake", Class::Peer, PLACE),
            refuses("refuses-handshake", Class::Refused, &["no licence"]),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_opens_in_an_odd_way_is_opened() {
    const ALL: &[Eras] = &[Eras::Legacy];
    check(
        On::Stdio,
        &[
            // 5, 7
            answers("honest").in_eras(&[Eras::Legacy, Eras::Modern, Eras::Both]),
            answers("slow-start"),
            answers("exits-at-probe").in_eras(ALL),
            answers("probe-invalid-request").in_eras(ALL),
            answers("probe-invalid-params").in_eras(ALL),
            answers("probe-server-error").in_eras(ALL),
            answers("probe-null-id").in_eras(ALL),
            answers("probe-lost-id").in_eras(ALL),
            answers("probe-empty-result").in_eras(ALL),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_on_the_lines_beside_messages_is_passed_over() {
    check(
        On::Stdio,
        &[
            // 10 to 13
            answers("noise-before"),
            answers("noise-between"),
            answers("noise-after"),
            answers("noise-at-end"),
            answers("glued"),
            answers("glued-behind"),
            answers("crlf"),
            answers("bom"),
            answers("bom-on-each-line"),
            answers("blank-lines"),
            answers("line-separators").with("a\u{2028}b\u{2029}c\u{85}d\u{c}e"),
            answers("byte-by-byte"),
            answers("one-write"),
            // 15
            answers("complete-half-line").over(),
            fails(
                "truncated-half-line",
                Class::Connection,
                &["exited with status 0", "while it was in use"],
            )
            .over(),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_none_is_the_error_of_its_call_alone() {
    check(
        On::Stdio,
        &[
            // 14
            fails("invalid-utf8", Class::Peer, &["UTF-8"]),
            fails("lone-surrogate", Class::Peer, &["shape"]),
            fails("huge-numbers", Class::Peer, &["number out of range"]),
            // 18, 19
            fails("deep-nesting", Class::Peer, &["nested too deeply"]),
            fails("duplicate-names", Class::Peer, &["name is repeated"]),
            times_out("folded-names"),
            // 22, 23
            fails("both", Class::Peer, &["result", "error"]),
            fails("neither", Class::Peer, &["result", "error"]),
            fails("malformed-error", Class::Peer, &["error"]),
            fails("error-without-code", Class::Peer, &["error"]),
            fails("wrong-result", Class::Peer, &["content"]),
            fails("result-is-text", Class::Peer, &["string", "done"]),
            answers("unknown-result-type").legacy(),
            fails("unknown-result-type", Class::Peer, &["riddle"]).modern(),
            answers("unknown-content").with(""),
            // 24
            fails("batch", Class::Peer, &["batch"]),
            fails("wrong-jsonrpc", Class::Peer, &["jsonrpc"]),
            fails("no-jsonrpc", Class::Peer, &["jsonrpc"]),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_over_the_limit_is_an_error_that_names_the_limit() {
    check(
        On::Stdio,
        &[
            // 16, 17
            fails("huge-line", Class::Limit, &["16777216 bytes"]),
            times_out("huge-line-id-last"),
        ],
    )
    .await;
    let server = Server::stdio("endless-line", Eras::Modern);
    let client = server.connect().await.expect("it opens as it should");
    let error = client.call("defect").await.expect_err("over the limit");
    check_error(&error, Class::Limit, &["16777216 bytes"], true).unwrap();
    // The line never ends: nothing else comes through, and closing works.
    let waiting = client.call("echo").idle_timeout(Duration::from_millis(100));
    let error = waiting.await.expect_err("nothing else is read");
    assert!(error.is_timeout(), "{error}");
    client.close().await;
    server.check_gone().unwrap();
}

/// A process of its own: in this one other tests need memory too.
#[test]
fn a_line_that_never_ends_takes_no_more_memory_than_the_limit() {
    if std::env::var_os(ALONE).is_some() {
        return take_endless_line();
    }
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program)
        .args([
            "--exact",
            "stdio::a_line_that_never_ends_takes_no_more_memory_than_the_limit",
        ])
        .args(["--nocapture", "--test-threads", "1"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{words}");
    let most = words
        .lines()
        .find_map(|line| line.split_once("KiB at most: "))
        .and_then(|(_, number)| number.trim().parse::<u64>().ok())
        .expect("it says how much it took");
    // The limit of 16 MiB twice, and what the program itself takes.
    assert!(most < 96 * 1024, "took {most} KiB of memory");
}

fn take_endless_line() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be had");
    runtime.block_on(async {
        let server = Server::stdio("endless-line", Eras::Modern);
        let client = server.connect().await.expect("it opens as it should");
        let error = client.call("defect").await.expect_err("over the limit");
        let checked = check_error(&error, Class::Limit, &["16777216 bytes"], true);
        checked.expect("it names the limit");
        client.close().await;
        server.check_gone().expect("nothing is left");
    });
    let mut stdout = std::io::stdout();
    writeln!(stdout, "\nKiB at most: {}", most_memory()).expect("the other process reads it");
}

const ALONE: &str = "SWITCHBOARD_TEST_ALONE";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_call_has_its_own_answer_or_none() {
    check(
        On::Stdio,
        &[
            // 20, 21
            answers("answers-twice"),
            times_out("wrong-id"),
            answers("old-id"),
            answers("id-as-string"),
            times_out("id-as-float"),
            times_out("id-null"),
            times_out("id-missing"),
            // 25, 26
            answers("pending-id"),
            answers("unsolicited"),
            // 35
            times_out("never-answers"),
            // 40
            answers("reverse-order"),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_writes_too_much_or_reads_too_little_holds_up_nobody_else() {
    check(
        On::Stdio,
        &[
            // 28 to 33
            answers("notification-flood").modern(),
            times_out("endless-notifications"),
            answers("list-changed-storm"),
            answers("both-writing").modern(),
            answers("slow-reader"),
            answers("stderr-megabytes").modern(),
            answers("stderr-endless-line"),
            // 37
            answers("nonsense-progress"),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_in_the_middle_of_a_call_is_said_at_once() {
    check(
        On::Stdio,
        &[
            // 34, 41, 42, 44, 49
            fails(
                "killed-in-call",
                Class::Connection,
                &["SIGKILL", "while it was in use"],
            )
            .over(),
            fails(
                "dies-in-call",
                Class::Connection,
                &["exited with status 7", "the disk is full"],
            )
            .over(),
            answers("dies-after-answer").over(),
            fails(
                "escapes-then-death",
                Class::Connection,
                &["exited with status 4", "the end"],
            )
            .over(),
            fails("closes-stdout", Class::Connection, &["output ended"]).over(),
            fails(
                "grandchild-holds-pipes",
                Class::Connection,
                &["exited with status 5"],
            )
            .over(),
            // Nobody sees that an input is closed until something is written to it.
            times_out("closes-stdin").over(),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_server_started_is_gone_after_close_and_after_drop() {
    // 45 to 50
    let kinds = [
        ("ignores-stdin-close", false),
        ("ignores-term", true),
        ("slow-to-stop", false),
        ("fails-on-close", false),
        ("grandchildren", false),
        ("stubborn-grandchildren", true),
        ("below-a-shell", false),
        ("stays-below-a-shell", false),
    ];
    for (kind, is_stubborn) in kinds {
        for is_dropped in [false, true] {
            let server = Server::stdio(kind, Eras::Modern);
            let obey = match kind {
                "slow-to-stop" => MOMENT,
                _ => Duration::from_millis(100),
            };
            let stop = Patience::default()
                .obey(obey)
                .terminate(Duration::from_millis(if is_stubborn { 100 } else { 5000 }));
            let spec = server.spec();
            let spec = spec.timeouts(timeouts(|timeouts| timeouts.stop = stop));
            let client = Client::connect(spec).await.expect("it opens as it should");
            alive(&client).await.unwrap();
            let start = Instant::now();
            if is_dropped {
                drop(client);
                server.check_goes()
            } else {
                client.close().await;
                assert!(matches!(client.state(), State::Closed));
                server.check_gone()
            }
            .unwrap_or_else(|left| panic!("{kind}: {left}"));
            assert!(start.elapsed() < MOMENT, "{kind}: {:?}", start.elapsed());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_not_there_is_named_with_where_it_was_looked_for() {
    // 1
    let spec = Spec::command("no-such-program-here").name("faulty");
    let error = Client::connect(spec).await.expect_err("there is none");
    let words = ["no-such-program-here", "PATH"];
    check_error(&error, Class::Connection, &words, false).unwrap();
    let spec = Spec::command("/etc/passwd").name("faulty");
    let error = Client::connect(spec).await.expect_err("it is no program");
    check_error(&error, Class::Connection, &["/etc/passwd"], false).unwrap();
    let error = Client::connect("'unfinished").await.expect_err("no words");
    assert_eq!(error.class(), Class::Caller);
    assert!(error.to_string().contains("quotes"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_never_answers_the_handshake_is_given_up_in_time() {
    // 4
    for mode in [Mode::Auto, Mode::Legacy] {
        let server = Server::stdio("no-handshake", Eras::Both);
        let limits = timeouts(|timeouts| {
            timeouts.connect = Duration::from_millis(600);
            timeouts.probe = Duration::from_millis(200);
        });
        let start = Instant::now();
        let spec = server.spec().mode(mode).timeouts(limits);
        let error = Client::connect(spec).await.expect_err("never answered");
        check_error(&error, Class::Timeout, &["600ms"], false).unwrap();
        assert!(error.is_timeout());
        assert!(start.elapsed() >= Duration::from_millis(600));
        assert!(start.elapsed() < MOMENT);
        server.check_goes().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_silent_on_the_probe_is_shaken_hands_with() {
    // 6
    let server = Server::stdio("honest", Eras::SilentOnProbe);
    let limits = timeouts(|timeouts| timeouts.probe = Duration::from_millis(200));
    let client = Client::connect(server.spec().timeouts(limits)).await;
    let client = client.expect("it opens by handshake");
    let ready = client.ready().await.unwrap();
    assert_eq!(ready.revision.as_str(), "2025-11-25");
    alive(&client).await.unwrap();
    client.close().await;
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noise_is_told_when_the_connection_fails() {
    // 10
    let server = Server::stdio("noise-before", Eras::SilentOnProbe);
    let limits = timeouts(|timeouts| timeouts.connect = Duration::from_millis(1500));
    let spec = server
        .spec()
        .mode(Mode::Pinned(switchboard_client::Revision::LATEST))
        .timeouts(limits);
    let error = Client::connect(spec).await.expect_err("it is not modern");
    let words = [
        "2 lines on its standard output",
        "the first \"Welcome!",
        "the last \"",
    ];
    check_error(&error, Class::Timeout, &words, false).unwrap();
    server.check_goes().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noise_is_heard_by_the_host_when_the_connection_works() {
    let server = Server::stdio("noise-before", Eras::Modern);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hear = Arc::clone(&heard);
    let host = switchboard_client::Handlers::new()
        .on_noise(move |line| hear.lock().unwrap().push(line.to_owned()));
    let client = Client::connect_with(server.spec(), host).await.unwrap();
    alive(&client).await.unwrap();
    client.close().await;
    server.check_gone().unwrap();
    let heard = heard.lock().unwrap();
    assert!(
        heard.iter().any(|line| line.contains("Welcome!")),
        "{heard:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_answers_in_one_write_or_in_reverse_order_find_their_calls() {
    // 13, 40
    for kind in ["one-write", "reverse-order"] {
        let server = Server::stdio(kind, Eras::Modern);
        let client = server.connect().await.unwrap();
        let calls: Vec<_> = (0..50)
            .map(|number| {
                let mut arguments = after(50);
                arguments.insert("text".to_owned(), number.to_string().into());
                tokio::spawn(client.call("defect").args(&arguments).into_future())
            })
            .collect();
        for (number, call) in calls.into_iter().enumerate() {
            let result: CallToolResult = call.await.unwrap().unwrap();
            assert_eq!(result.joined_text(), number.to_string(), "{kind}");
        }
        client.close().await;
        server.check_gone().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_answer_is_dropped_and_the_next_call_has_its_own() {
    // 20, 38
    for kind in ["answers-late", "answers-after-cancel"] {
        for eras in [Eras::Legacy, Eras::Modern] {
            let server = Server::stdio(kind, eras);
            let client = server.connect().await.unwrap();
            let call = client
                .call("defect")
                .idle_timeout(Duration::from_millis(100));
            let error = call.await.expect_err("it is answered too late");
            assert!(error.is_timeout() && error.may_have_run(), "{error}");
            alive(&client).await.unwrap();
            alive(&client).await.unwrap();
            client.close().await;
            server.check_gone().unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_does_not_put_the_total_limit_off() {
    // 36
    let server = Server::stdio("progress-for-ever", Eras::Modern);
    let client = server.connect().await.unwrap();
    let (heard, told) = std::sync::mpsc::channel();
    let start = Instant::now();
    let error = client
        .call("defect")
        .idle_timeout(Duration::from_millis(400))
        .deadline(Duration::from_secs(1))
        .on_progress(move |progress| heard.send(progress.progress).unwrap())
        .await
        .expect_err("it is never answered");
    check_error(&error, Class::Timeout, &["no answer within 1s"], true).unwrap();
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert!(told.try_iter().count() > 3);
    alive(&client).await.unwrap();
    client.close().await;
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_reading_costs_each_call_its_time_and_no_more() {
    // 31, 32
    let server = Server::stdio("stops-reading", Eras::Modern);
    let mut limits = switchboard_client::Limits::default();
    limits.queued = 64 * 1024;
    let stop = Patience::default().obey(Duration::from_millis(100));
    let spec = server.spec().limits(limits);
    let spec = spec.timeouts(timeouts(|timeouts| timeouts.stop = stop));
    let client = Client::connect(spec).await.unwrap();
    let short = Duration::from_millis(300);
    let error = client.call("defect").idle_timeout(short).await;
    assert!(error.expect_err("it is not answered").is_timeout());
    let start = Instant::now();
    let large = "x".repeat(100 * 1024);
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let call = client.call("echo").arg("text", &large).idle_timeout(short);
            tokio::spawn(call.into_future())
        })
        .collect();
    for call in calls {
        let error = call.await.unwrap().expect_err("nobody reads it");
        assert!(error.is_timeout(), "{error}");
    }
    assert!(start.elapsed() < MOMENT, "{:?}", start.elapsed());
    let start = Instant::now();
    client.close().await;
    assert!(start.elapsed() < MOMENT, "{:?}", start.elapsed());
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_calls_in_flight_hear_of_the_death_of_the_server() {
    // 41
    let server = Server::stdio("dies-in-call", Eras::Modern);
    let client = server.connect().await.unwrap();
    let start = Instant::now();
    let calls: Vec<_> = (0..100)
        .map(|_| tokio::spawn(client.call("defect").args(&after(100)).into_future()))
        .collect();
    for call in calls {
        let error = call.await.unwrap().expect_err("it died");
        let words = ["exited with status 7", "the disk is full"];
        check_error(&error, Class::Connection, &words, true).unwrap();
    }
    assert!(start.elapsed() < MOMENT, "{:?}", start.elapsed());
    check_over(&client).await.unwrap();
    client.close().await;
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_after_the_end_says_how_it_ended_and_was_not_sent() {
    // 42
    let server = Server::stdio("dies-after-answer", Eras::Modern);
    let client = server.connect().await.unwrap();
    client.call("defect").await.unwrap();
    check_over(&client).await.unwrap();
    let error = client.call("echo").await.expect_err("it is over");
    check_error(&error, Class::Connection, &["exited with status 8"], false).unwrap();
    let error = client.tools().await.expect_err("it is over");
    assert!(
        all_words(&error).contains("exited with status 8"),
        "{error}"
    );
    let error = client.ready().await.expect_err("it is over");
    assert!(
        all_words(&error).contains("exited with status 8"),
        "{error}"
    );
    server.check_goes().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_answer_with_which_a_server_ends_is_read_to_its_end() {
    // 42: what has come is moved to where there is more room, and meanwhile the process ends.
    let text: String = ('a'..='z').cycle().take(9 << 20).collect();
    for _ in 0..5 {
        let server = Server::stdio("dies-after-answer", Eras::Modern);
        let client = server.connect().await.unwrap();
        let result = client.call("defect").arg("text", &text).await.unwrap();
        assert!(result.joined_text() == text);
        check_over(&client).await.unwrap();
        server.check_gone().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_is_listed_is_inherited() {
    // 53: the server's own environment, as it is seen from outside.
    let server = Server::stdio("honest", Eras::Modern);
    let spec = server.spec().env("GIVEN", "yes");
    let client = Client::connect(spec).await.unwrap();
    let Server::Stdio(launch, _) = &server else {
        unreachable!()
    };
    let id = launch.survivors()[0];
    let environment = std::fs::read_to_string(format!("/proc/{id}/environ")).unwrap();
    let names: Vec<_> = environment
        .split('\0')
        .filter_map(|variable| variable.split_once('='))
        .map(|(name, _)| name)
        .collect();
    assert!(names.contains(&"GIVEN"), "{names:?}");
    assert!(names.contains(&"PATH"), "{names:?}");
    assert!(
        !names.iter().any(|name| name.starts_with("CARGO")),
        "{names:?}"
    );
    let open = std::fs::read_dir(format!("/proc/{id}/fd")).unwrap();
    // Its three streams, the one that the shell moved, and what its own runtime opens.
    let pipes = open
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter(|target| target.to_string_lossy().starts_with("socket:"))
        .count();
    assert_eq!(pipes, 0);
    client.close().await;
    server.check_gone().unwrap();
}

/// The most memory this process had, in KiB.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let words = line.and_then(|line| line.split_whitespace().next());
    words.and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// All messages that the server has received.
pub(crate) async fn received(client: &Client) -> Vec<Value> {
    let result = client
        .call("received")
        .await
        .expect("it is always answered");
    serde_json::from_str(&result.joined_text()).expect("it is written as JSON")
}
