//! Kinds that send more than was asked for, or take in less.
//!
//! Fault matrix: 28 to 33, 36, 37.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::server::{Server, complain, idle};
use super::{Defect, Kind};
use crate::faulty::message::{log, notification, tools_changed};

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "notification-flood",
        "sends 200 000 log messages, then answers the call",
        Defect::Call(|server, request| {
            let line = format!("{}\n", log("flood"));
            (0..200).for_each(|_| server.raw(line.repeat(1000)));
            server.serve(request);
        }),
    ),
    Kind::new(
        "endless-notifications",
        "sends log messages for ever and does not answer the call; others it answers",
        Defect::Call(|server, _| {
            server.beside(|send| {
                loop {
                    (0..100).for_each(|_| send(&log("for ever")));
                    // Lets the answers to other calls in between.
                    thread::sleep(Duration::from_millis(1));
                }
            });
        }),
    ),
    Kind::new(
        "list-changed-storm",
        "says 10 000 times that the tools have changed, then answers the call",
        Defect::Call(|server, request| {
            let changed = tools_changed(server.listening.as_ref());
            (0..10_000).for_each(|_| server.send(&changed));
            server.serve(request);
        }),
    ),
    Kind::new(
        "progress-for-ever",
        "tells progress of the call every 5 ms and never answers it",
        Defect::Call(|server, request| {
            let token = token(request);
            server.beside(move |send| {
                for progress in 1.. {
                    send(&progressed(&token, json!(progress)));
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }),
    ),
    Kind::new(
        "nonsense-progress",
        "tells progress that shrinks, is no number, or belongs to no call, then answers the call",
        Defect::Call(|server, request| {
            let token = token(request);
            for progress in [
                json!(5),
                json!(3),
                json!(-1),
                json!("half"),
                json!(null),
                json!(1e300),
            ] {
                server.send(&progressed(&token, progress));
            }
            server.send(&progressed(&json!("nobody"), json!(1)));
            server.notify("notifications/progress", &json!({"progress": 9}));
            server.notify("notifications/progress", &json!([token]));
            server.serve(request);
            server.send(&progressed(&token, json!(99)));
        }),
    ),
    Kind::new(
        "both-writing",
        "writes 16 MiB before it reads on, then answers the call",
        Defect::Call(|server, request| {
            let line = format!("{}\n", log(&"x".repeat(64 * 1024)));
            (0..256).for_each(|_| server.raw(&line));
            server.serve(request);
        }),
    ),
    Kind::new(
        "stops-reading",
        "reads nothing any more after the call, which it does not answer",
        Defect::Call(|_, _| idle()),
    ),
    Kind::new(
        "slow-reader",
        "takes 20 ms for each message before it reads the next",
        Defect::Message(|server, message| {
            thread::sleep(Duration::from_millis(20));
            server.serve(message);
        }),
    ),
    Kind::new(
        "stderr-megabytes",
        "writes 4 MiB of lines to stderr before each answer",
        Defect::Message(|server, message| {
            let line = "a line of the log, and nothing that anybody wants to read\n";
            complain(line.repeat(4 * 1024 * 1024 / line.len()));
            server.serve(message);
        }),
    ),
    Kind::new(
        "stderr-endless-line",
        "writes one line to stderr that never ends, and is right otherwise",
        Defect::Start(|_| {
            thread::spawn(|| {
                loop {
                    complain([b'#'; 4096]);
                    thread::sleep(Duration::from_micros(200));
                }
            });
        }),
    ),
];

impl Server {
    /// Runs this in a thread that may send messages, beside the answers to other calls.
    fn beside(&self, run: impl FnOnce(&dyn Fn(&Value)) + Send + 'static) {
        let out = self.out();
        thread::spawn(move || run(&|message| out.send(message)));
    }
}

fn token(request: &Value) -> Value {
    request["params"]["_meta"]["progressToken"].clone()
}

fn progressed(token: &Value, progress: Value) -> Value {
    let params = json!({"progressToken": token, "progress": progress});
    notification("notifications/progress", params)
}
