//! The honest server over HTTP, in both eras.
//!
//! Specification: basic/transports of 2025-11-25 and 2026-07-28.

use serde_json::Value;

use super::exchange::{Exchange, JSON, event};
use crate::faulty::Eras;
use crate::faulty::honest::{Reply, is_stateless};
use crate::faulty::message::{error, failure};

impl Exchange<'_> {
    /// Does what an honest server does with a request.
    pub(super) fn serve(&mut self) {
        let eras = self.shared.honest.eras;
        match self.request.method.as_str() {
            "POST" if is_stateless(&self.message) && eras.is_stateless() => self.reply(&[]),
            "POST" if self.message["method"] == "initialize" && eras.has_handshake() => {
                let session = self.shared.open_session();
                self.reply(&[(SESSION, &session)]);
            }
            "POST" if eras == Eras::SilentOnProbe && is_stateless(&self.message) => self.hold(),
            "POST" if !eras.has_handshake() => self.reply(&[]),
            "POST" if self.has_session() => self.reply(&[]),
            "GET" if eras.has_handshake() && self.has_session() => {
                self.begin_events();
                self.hold();
            }
            "DELETE" if eras.has_handshake() && self.has_session() => {
                let session = self.session().unwrap_or_default().to_owned();
                self.shared.end_session(&session);
                self.send("204 No Content", &[], "");
            }
            "POST" | "GET" | "DELETE" if eras.has_handshake() && self.session().is_some() => {
                self.refuse("404 Not Found", -32001, "Session not found");
            }
            "POST" => self.refuse("400 Bad Request", -32000, "No valid session ID provided"),
            _ => self.send("405 Method Not Allowed", &[("Allow", "POST")], ""),
        }
    }

    /// The session that the request names.
    pub(super) fn session(&self) -> Option<&str> {
        self.request.header("mcp-session-id")
    }

    /// Does the request name a session that is open?
    pub(super) fn has_session(&self) -> bool {
        let session = self.session();
        session.is_some_and(|session| self.shared.has_session(session))
    }

    /// Answers with a status and a JSON-RPC error that has the id of the request.
    pub(super) fn refuse(&mut self, status: &str, code: i32, text: &str) {
        let id = self.message.get("id").unwrap_or(&Value::Null);
        let body = failure(id, error(code, text));
        self.send(status, &[JSON], body.to_string());
    }

    fn reply(&mut self, headers: &[(&str, &str)]) {
        match self.shared.honest.reply(&self.message) {
            Reply::Now(answer) => self.send_answer(headers, &answer),
            Reply::Later(wait, answer) => {
                if self.shared.pause(wait) {
                    self.send_answer(headers, &answer);
                }
            }
            Reply::Listening(notification) => {
                self.begin_events();
                self.chunk(event(&notification));
                self.hold();
            }
            Reply::Nothing => self.send("202 Accepted", &[], ""),
        }
    }

    fn send_answer(&mut self, headers: &[(&str, &str)], answer: &Value) {
        let status = match answer["error"]["code"].as_i64() {
            Some(-32601) if is_stateless(&self.message) => "404 Not Found",
            Some(-32022) => "400 Bad Request",
            _ => "200 OK",
        };
        let headers = [&[JSON], headers].concat();
        self.send(status, &headers, answer.to_string());
    }
}

/// The header that names a session.
pub(super) const SESSION: &str = "Mcp-Session-Id";
