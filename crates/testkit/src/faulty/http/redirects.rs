//! Kinds that send their client elsewhere.
//!
//! Fault matrix: 72.

use super::exchange::Exchange;
use super::{Defect, Kind};

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "redirect-same-origin",
        "sends the client to another path with 307",
        Defect::Call(|exchange| {
            if exchange.request.path == "/moved" {
                exchange.serve();
            } else {
                redirect(exchange, "307 Temporary Redirect", "/moved");
            }
        }),
    ),
    Kind::new(
        "redirect-other-origin",
        "sends the client to another port with 307",
        Defect::Call(|exchange| {
            let to = format!("http://{}/mcp", exchange.shared.elsewhere);
            redirect(exchange, "307 Temporary Redirect", &to);
        }),
    ),
    Kind::new(
        "redirect-scheme-relative",
        "sends the client to another port without naming the scheme",
        Defect::Call(|exchange| {
            let to = format!("//{}/mcp", exchange.shared.elsewhere);
            redirect(exchange, "308 Permanent Redirect", &to);
        }),
    ),
    Kind::new(
        "redirect-found",
        "sends the client to another path with 302, which would make it a GET",
        Defect::Call(|exchange| redirect(exchange, "302 Found", "/moved")),
    ),
    Kind::new(
        "redirect-see-other",
        "sends the client to another path with 303, which makes it a GET",
        Defect::Call(|exchange| redirect(exchange, "303 See Other", "/moved")),
    ),
    Kind::new(
        "redirect-loop",
        "sends the client on and on",
        Defect::Call(|exchange| {
            let to = format!("/loop/{}", exchange.shared.count());
            redirect(exchange, "307 Temporary Redirect", &to);
        }),
    ),
    Kind::new(
        "redirect-file",
        "sends the client to a file",
        Defect::Call(|exchange| {
            redirect(exchange, "307 Temporary Redirect", "file:///etc/passwd");
        }),
    ),
    Kind::new(
        "redirect-nowhere",
        "answers with 307 and does not say where to",
        Defect::Call(|exchange| exchange.send("307 Temporary Redirect", &[], "")),
    ),
];

fn redirect(exchange: &mut Exchange<'_>, status: &str, to: &str) {
    exchange.send(status, &[("Location", to)], "");
}
