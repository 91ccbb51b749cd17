//! The Inspector's command line at the gateway, as somebody uses it who follows the README.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::features::check;
use crate::interop::script::{answer_of, record};
use crate::report::Outcome;

/// It makes one request each time it is started.
pub(super) fn look(inspector: &Path, url: &str, outcome: &mut Outcome) {
    for era in ["legacy", "modern"] {
        for request in REQUESTS {
            let mut command = Command::new("node");
            command.arg(inspector);
            command.args(["--cli", "--protocol-era", era, "--quiet"]);
            command.args(request.words).args(["--", url]);
            let verdict = answer_of(&mut command).and_then(|answer| {
                let found = answer.pointer(request.pointer).and_then(Value::as_str);
                check(
                    found.is_some_and(|found| found.contains(request.contains)),
                    || format!("answered {answer}"),
                )
            });
            let [_, method, ..] = request.words else {
                continue;
            };
            record(outcome, &format!("inspector, {era}: {method}"), verdict);
        }
    }
}

/// What is asked for, and what is to be found where in the answer.
struct Request {
    words: &'static [&'static str],
    pointer: &'static str,
    contains: &'static str,
}

const REQUESTS: &[Request] = &[
    Request {
        words: &["--method", "tools/list"],
        pointer: "/tools/0/name",
        contains: "__",
    },
    Request {
        words: &[
            "--method",
            "tools/call",
            "--tool-name",
            "everything__get-sum",
            "--tool-arg",
            "a=2",
            "--tool-arg",
            "b=40",
        ],
        pointer: "/content/0/text",
        contains: "42",
    },
    Request {
        words: &["--method", "resources/read", "--uri", "note://today"],
        pointer: "/contents/0/text",
        contains: "note of today",
    },
    Request {
        words: &[
            "--method",
            "prompts/get",
            "--prompt-name",
            "cards__greet",
            "--prompt-args",
            "name=Ada",
        ],
        pointer: "/messages/0/content/text",
        contains: "Please greet Ada",
    },
];
