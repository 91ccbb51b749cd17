//! Kinds that refuse, or accept and say nothing.
//!
//! Fault matrix: 64, 65.

use super::exchange::{HTML, JSON};
use super::{Defect, Kind};

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "bad-request",
        "answers with 400 and a JSON-RPC error",
        Defect::Call(|exchange| exchange.refuse("400 Bad Request", -32602, "no such thing")),
    ),
    Kind::new(
        "bad-request-html",
        "answers with 400 and a page",
        Defect::Call(|exchange| exchange.send("400 Bad Request", &[HTML], PAGE)),
    ),
    Kind::new(
        "unauthorized",
        "answers with 401 and a challenge",
        Defect::Call(|exchange| {
            let place = exchange.shared.address;
            let metadata = format!("http://{place}/.well-known/oauth-protected-resource");
            let challenge = format!("Bearer scope=\"tools\", resource_metadata=\"{metadata}\"");
            exchange.send("401 Unauthorized", &[("WWW-Authenticate", &challenge)], "");
        }),
    ),
    Kind::new(
        "unauthorized-bare",
        "answers with 401 without a challenge",
        Defect::Call(|exchange| exchange.send("401 Unauthorized", &[HTML], PAGE)),
    ),
    Kind::new(
        "forbidden",
        "answers with 403",
        Defect::Call(|exchange| exchange.send("403 Forbidden", &[HTML], PAGE)),
    ),
    Kind::new(
        "insufficient-scope",
        "answers with 403 and wants a larger scope",
        Defect::Call(|exchange| {
            let challenge = "Bearer error=\"insufficient_scope\", scope=\"tools:write\"";
            exchange.send("403 Forbidden", &[("WWW-Authenticate", challenge)], "");
        }),
    ),
    Kind::new(
        "not-found",
        "answers with 404 and a page",
        Defect::Call(|exchange| exchange.send("404 Not Found", &[HTML], PAGE)),
    ),
    Kind::new(
        "not-allowed",
        "answers with 405",
        Defect::Call(|exchange| {
            exchange.send("405 Method Not Allowed", &[("Allow", "GET")], "");
        }),
    ),
    Kind::new(
        "too-many-requests",
        "answers with 429 and Retry-After in seconds",
        Defect::Call(|exchange| {
            exchange.send("429 Too Many Requests", &[("Retry-After", "7")], "");
        }),
    ),
    Kind::new(
        "internal-error",
        "answers with 500 and a page",
        Defect::Call(|exchange| exchange.send("500 Internal Server Error", &[HTML], PAGE)),
    ),
    Kind::new(
        "bad-gateway",
        "answers with 502 and a page",
        Defect::Call(|exchange| exchange.send("502 Bad Gateway", &[HTML], PAGE)),
    ),
    Kind::new(
        "unavailable",
        "answers with 503 and Retry-After as a date",
        Defect::Call(|exchange| {
            let when = ("Retry-After", "Wed, 21 Oct 2065 07:28:00 GMT");
            exchange.send("503 Service Unavailable", &[when], "");
        }),
    ),
    Kind::new(
        "unavailable-once",
        "answers with 503 and Retry-After 0 the first time",
        Defect::Call(|exchange| match exchange.shared.count() {
            1 => exchange.send("503 Service Unavailable", &[("Retry-After", "0")], ""),
            _ => exchange.serve(),
        }),
    ),
    Kind::new(
        "accepted",
        "answers a request with 202",
        Defect::Call(|exchange| exchange.send("202 Accepted", &[], "")),
    ),
    Kind::new(
        "no-content",
        "answers a request with 204",
        Defect::Call(|exchange| exchange.send("204 No Content", &[], "")),
    ),
    Kind::new(
        "empty-ok",
        "answers a request with 200 and an empty body",
        Defect::Call(|exchange| exchange.send("200 OK", &[JSON], "")),
    ),
    Kind::new(
        "teapot",
        "answers with a status that nobody expects",
        Defect::Call(|exchange| exchange.send("418 I'm a teapot", &[HTML], PAGE)),
    ),
];

/// What a proxy or a web server says.
pub(super) const PAGE: &str =
    "<!doctype html><html><head><title>Oops</title></head><body>\u{1b}[31mOops</body></html>";
