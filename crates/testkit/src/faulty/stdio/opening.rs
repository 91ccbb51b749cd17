//! Kinds that cannot be opened, or only in another way.
//!
//! Fault matrix: 4 to 9.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::lines::half;
use super::server::{Server, complain, end};
use super::{Defect, Kind};
use crate::faulty::message::{error, failure, success};

pub(super) const KINDS: &[Kind] = &[
    Kind::new("honest", "does nothing wrong", Defect::None),
    Kind::new(
        "no-handshake",
        "reads and never answers anything",
        Defect::Message(|_, _| {}),
    ),
    Kind::new(
        "slow-start",
        "needs 700 ms before it reads, as a package runner does",
        Defect::Start(|_| thread::sleep(Duration::from_millis(700))),
    ),
    Kind::new(
        "exits-at-probe",
        "exits with status 1 when it is sent server/discover",
        Defect::Method("server/discover", |_, _| {
            complain("unknown method server/discover\n");
            end(1)
        }),
    ),
    Kind::new(
        "dies-in-handshake",
        "writes half of its answer to initialize or server/discover and exits with status 6",
        Defect::Opening(|server, request| {
            complain("cannot go on\n");
            server.raw(half(&server.answer(request)));
            end(6)
        }),
    ),
    Kind::new(
        "unsupported-version",
        "offers only revisions that nobody knows",
        Defect::Opening(|server, request| {
            let mut answer = server.answer(request);
            if request["method"] == "initialize" {
                answer["result"]["protocolVersion"] = "1999-01-01".into();
            } else if answer.get("result").is_some() {
                answer["result"]["supportedVersions"] = json!(["2999-01-01", "2999-02-02"]);
            }
            server.send(&answer);
        }),
    ),
    Kind::new(
        "wrong-handshake",
        "answers the handshake with members of the wrong type",
        Defect::Opening(|server, request| {
            let mut answer = server.answer(request);
            if let Some(result) = answer["result"].as_object_mut() {
                for name in ["protocolVersion", "supportedVersions", "capabilities"] {
                    result.entry(name).and_modify(|value| *value = 7.into());
                }
            }
            server.send(&answer);
        }),
    ),
    Kind::new(
        "empty-handshake",
        "answers the handshake with an empty result",
        Defect::Opening(|server, request| {
            server.send(&success(&request["id"], json!({})));
        }),
    ),
    Kind::new(
        "refuses-handshake",
        "answers the handshake with an error",
        Defect::Opening(|server, request| {
            refuse(
                server,
                &request["id"],
                error(-32603, "no licence for this machine"),
            );
        }),
    ),
    Kind::new(
        "probe-invalid-request",
        "answers server/discover with -32600",
        Defect::Method("server/discover", |server, request| {
            refuse(server, &request["id"], error(-32600, "Invalid Request"));
        }),
    ),
    Kind::new(
        "probe-invalid-params",
        "answers server/discover with -32602",
        Defect::Method("server/discover", |server, request| {
            refuse(
                server,
                &request["id"],
                error(-32602, "Invalid request parameters"),
            );
        }),
    ),
    Kind::new(
        "probe-server-error",
        "answers server/discover with -32000 and 6 KiB on stderr",
        Defect::Method("server/discover", |server, request| {
            complain("Traceback (most recent call last):\n".repeat(160));
            refuse(
                server,
                &request["id"],
                error(-32000, "Server not initialized"),
            );
        }),
    ),
    Kind::new(
        "probe-null-id",
        "answers server/discover with an error whose id is null",
        Defect::Method("server/discover", |server, _| {
            refuse(server, &Value::Null, error(-32601, "Method not found"));
        }),
    ),
    Kind::new(
        "probe-lost-id",
        "answers server/discover with an error without an id",
        Defect::Method("server/discover", |server, _| {
            server.send(&json!({"jsonrpc": "2.0", "error": error(-32700, "Parse error")}));
        }),
    ),
    Kind::new(
        "probe-empty-result",
        "answers server/discover with an empty result",
        Defect::Method("server/discover", |server, request| {
            server.send(&success(&request["id"], json!({})));
        }),
    ),
];

fn refuse(server: &Server, id: &Value, error: Value) {
    server.send(&failure(id, error));
}
