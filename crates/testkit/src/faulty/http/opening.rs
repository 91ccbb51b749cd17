//! Kinds that cannot be opened, or only in another way.
//!
//! Fault matrix: 7 to 9.

use serde_json::json;

use super::exchange::{Exchange, HTML, JSON};
use super::statuses::PAGE;
use super::{Defect, Kind};
use crate::faulty::message::{error, failure};

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "no-common-version",
        "refuses every request because of its version",
        Defect::Method("POST", |exchange| {
            let data = json!({"supported": ["2999-01-01"], "requested": "2026-07-28"});
            let mut error = error(-32022, "Unsupported protocol version");
            error["data"] = data;
            let body = failure(&exchange.message["id"], error);
            exchange.send("400 Bad Request", &[JSON], body.to_string());
        }),
    ),
    Kind::new(
        "unknown-versions",
        "lists only revisions that nobody knows",
        Defect::Method("POST", |exchange| {
            let mut answer = exchange.answer();
            if answer["result"].get("supportedVersions").is_some() {
                answer["result"]["supportedVersions"] = json!(["2999-01-01"]);
                exchange.send_json(&answer);
            } else if exchange.message["method"] == "initialize" {
                answer["result"]["protocolVersion"] = "1999-01-01".into();
                exchange.send_json(&answer);
            } else {
                exchange.serve();
            }
        }),
    ),
    Kind::new(
        "probe-400-html",
        "answers server/discover with 400 and a page",
        Defect::Method("POST", |exchange| to_probe(exchange, "400 Bad Request")),
    ),
    Kind::new(
        "probe-404-html",
        "answers server/discover with 404 and a page",
        Defect::Method("POST", |exchange| to_probe(exchange, "404 Not Found")),
    ),
    Kind::new(
        "probe-405",
        "answers server/discover with 405 and a page",
        Defect::Method("POST", |exchange| {
            to_probe(exchange, "405 Method Not Allowed")
        }),
    ),
    Kind::new(
        "probe-500",
        "answers server/discover with 500 and a page",
        Defect::Method("POST", |exchange| {
            to_probe(exchange, "500 Internal Server Error")
        }),
    ),
    Kind::new(
        "probe-accepted",
        "answers server/discover with 202",
        Defect::Method("POST", |exchange| {
            if exchange.message["method"] == "server/discover" {
                exchange.send("202 Accepted", &[], "");
            } else {
                exchange.serve();
            }
        }),
    ),
];

fn to_probe(exchange: &mut Exchange<'_>, status: &str) {
    if exchange.message["method"] == "server/discover" {
        exchange.send(status, &[HTML], PAGE);
    } else {
        exchange.serve();
    }
}
