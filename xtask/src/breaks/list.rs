//! How the code is broken on purpose.

use super::Suite;

/// One way.
#[derive(Debug)]
pub(super) struct Break {
    pub(super) name: &'static str,
    /// What is wrong then.
    pub(super) what: &'static str,
    pub(super) file: &'static str,
    /// Stands there once.
    find: &'static str,
    replace: &'static str,
    /// The tests that must notice.
    pub(super) suite: Suite,
}

impl Break {
    /// The text of its file with this break.
    pub(super) fn apply(&self, text: &str) -> Result<String, String> {
        match text.matches(self.find).count() {
            1 => Ok(text.replacen(self.find, self.replace, 1)),
            count => Err(format!(
                "{}: what it changes stands {count} times in {}; it should be once",
                self.name, self.file
            )),
        }
    }
}

pub(super) const BREAKS: &[Break] = &[
    Break {
        name: "cancel-not-sent",
        what: "the client does not tell a server that a call is given up",
        file: "crates/protocol/src/machine/client/call.rs",
        find: "        out.push(Output::send(Lane::SHARED, cancellation(id, reason)));",
        replace: "        let _ = cancellation(id, reason);",
        suite: Suite {
            package: "switchboard-client",
            filter: "cancel",
        },
    },
    Break {
        name: "cancel-not-heard",
        what: "a server lets a handler go on whose call was cancelled",
        file: "crates/protocol/src/machine/server/mod.rs",
        find: "        self.stop(key, out);\n        // Its POST waits",
        replace: "        // Its POST waits",
        suite: Suite {
            package: "switchboard-protocol",
            filter: "",
        },
    },
    Break {
        name: "ids-swapped",
        what: "an answer is given to the neighbour of its call",
        file: "crates/protocol/src/machine/pending.rs",
        find: "        self.remove(as_number(id)?)",
        replace: "        self.remove(as_number(id)? ^ 1)",
        suite: Suite {
            package: "switchboard-protocol",
            filter: "",
        },
    },
    Break {
        name: "ids-used-twice",
        what: "every call has the same id",
        file: "crates/protocol/src/machine/pending.rs",
        find: "        self.next_id += 1;",
        replace: "        self.next_id = 1;",
        suite: Suite {
            package: "switchboard-protocol",
            filter: "",
        },
    },
    Break {
        name: "time-never-up",
        what: "calls have no deadline",
        file: "crates/protocol/src/machine/pending.rs",
        find: "        if self.earliest.is_none_or(|earliest| now < earliest) {",
        replace: "        if self.earliest.is_none_or(|earliest| now < earliest) || true {",
        suite: Suite {
            package: "switchboard-protocol",
            filter: "",
        },
    },
    Break {
        name: "not-unsubscribed",
        what: "a resource that nobody wants stays subscribed to",
        file: "crates/protocol/src/machine/client/listening.rs",
        find: "        if !granted && !asked_for {",
        replace: "        if !granted && !asked_for && false {",
        suite: Suite {
            package: "switchboard-protocol",
            filter: "",
        },
    },
    Break {
        name: "subscribed-too-soon",
        what: "a resource is subscribed to again before the server has let go of it",
        file: "crates/protocol/src/machine/client/listening.rs",
        find: "partition(|uri| let_go.contains(uri))",
        replace: "partition(|uri| let_go.contains(uri) && false)",
        suite: Suite {
            package: "switchboard-protocol",
            filter: "",
        },
    },
    Break {
        name: "line-without-end",
        what: "a line is held however long it is",
        file: "crates/protocol/src/framing/line.rs",
        find: "        if !self.skipping && self.buffer.len() > self.limit {",
        replace: "        if !self.skipping && self.buffer.len() > usize::MAX - 1 {",
        suite: Suite {
            package: "switchboard-protocol",
            filter: "",
        },
    },
    Break {
        name: "nesting-without-end",
        what: "values may be nested however deep",
        file: "crates/protocol/src/scan.rs",
        find: "self.depth.checked_sub(1).ok_or(Fault::TooDeep)?",
        replace: "self.depth.checked_sub(1).unwrap_or(MAX_DEPTH)",
        suite: Suite {
            package: "switchboard-protocol",
            filter: "depth",
        },
    },
    Break {
        name: "batch-without-end",
        what: "a batch may have any number of messages",
        file: "crates/protocol/src/jsonrpc/read.rs",
        find: "        if entries.len() >= limits.batch {",
        replace: "        if entries.len() >= usize::MAX {",
        suite: Suite {
            package: "switchboard-protocol",
            filter: "",
        },
    },
    Break {
        name: "large-in-one-step",
        what: "a large message is looked through in one step",
        file: "crates/protocol/src/jsonrpc/large.rs",
        find: "self.survey.step(&self.frame, STEP)",
        replace: "self.survey.step(&self.frame, usize::MAX)",
        suite: Suite {
            package: "switchboard-protocol",
            filter: "",
        },
    },
    Break {
        name: "large-half-seen",
        what: "what begins at the end of a piece is not seen to be UTF-8",
        file: "crates/protocol/src/scan/survey.rs",
        find: "Some(from + error.valid_up_to())",
        replace: "None",
        suite: Suite {
            package: "switchboard-protocol",
            filter: "",
        },
    },
    Break {
        name: "any-origin",
        what: "pages of any origin may call",
        file: "crates/protocol/src/http/origin.rs",
        find: "        if is_own || self.origins.contains(&origin) {",
        replace: "        if is_own || self.origins.contains(&origin) || true {",
        suite: Suite {
            package: "switchboard-protocol",
            filter: "",
        },
    },
    Break {
        name: "any-host",
        what: "a server answers to any name",
        file: "crates/protocol/src/http/origin.rs",
        find: "        if self.hosts.iter().any(|allowed| allowed.covers(&host)) {",
        replace: "        if self.hosts.iter().any(|allowed| allowed.covers(&host)) || true {",
        suite: Suite {
            package: "switchboard-protocol",
            filter: "",
        },
    },
    Break {
        name: "headers-may-lie",
        what: "the header of a method need not agree with the body",
        file: "crates/protocol/src/http/server.rs",
        find: "        mirror::literal(fields.method, &header::METHOD, method.as_str())?;",
        replace: "        let _ = mirror::literal(fields.method, &header::METHOD, method.as_str());",
        suite: Suite {
            package: "switchboard-protocol",
            filter: "",
        },
    },
    Break {
        name: "redirected-for-ever",
        what: "redirects are followed without end",
        file: "crates/protocol/src/http/client/redirect.rs",
        find: "    if followed >= MAX_REDIRECTS {",
        replace: "    if followed >= usize::MAX {",
        suite: Suite {
            package: "switchboard-protocol",
            filter: "",
        },
    },
    Break {
        name: "private-addresses",
        what: "what must be public may be a private address",
        file: "crates/transport/src/http/client/reach.rs",
        find: "            Self::Public => is_public(address),",
        replace: "            Self::Public => is_public(address) || true,",
        suite: Suite {
            package: "switchboard-transport",
            filter: "",
        },
    },
    Break {
        name: "session-of-another",
        what: "a caller can use the session of another",
        file: "crates/transport/src/http/legacy.rs",
        find: "        if !entry.is_of(principal) || entry.lapses",
        replace: "        if entry.lapses",
        suite: Suite {
            package: "switchboard-transport",
            filter: "session",
        },
    },
    Break {
        name: "session-ended-by-another",
        what: "a caller can end the session of another",
        file: "crates/transport/src/http/legacy.rs",
        find: "        if !shard.get(id)?.is_of(principal) {",
        replace: "        if !shard.get(id)?.is_of(principal) && false {",
        suite: Suite {
            package: "switchboard-transport",
            filter: "session",
        },
    },
    Break {
        name: "escapes-are-printed",
        what: "control characters of a server reach the terminal through logs",
        file: "crates/transport/src/escape.rs",
        find: "                    _ if character.is_ascii_control() => {",
        replace: "                    _ if character.is_ascii_control() && false => {",
        suite: Suite {
            package: "switchboard-transport",
            filter: "escape",
        },
    },
    Break {
        name: "group-not-killed",
        what: "only the first process of a server is killed",
        file: "crates/transport/src/process/unix.rs",
        find: "            let _ = system::kill_process_group(self.id, signal);",
        replace: "            let _ = system::kill_process(self.id, signal);",
        suite: Suite {
            package: "switchboard-transport",
            filter: "process",
        },
    },
    Break {
        name: "seal-for-anybody",
        what: "what was sealed for one caller is good for all",
        file: "crates/server/src/seal/binding.rs",
        find: "        self.caller = caller.map(|caller| (caller.issuer.clone(), caller.subject.clone()));",
        replace: "        let _ = caller;",
        suite: Suite {
            package: "switchboard-server",
            filter: "seal",
        },
    },
    Break {
        name: "seal-for-ever",
        what: "what was sealed never expires",
        file: "crates/server/src/seal.rs",
        find: "            if milliseconds(now) >= u64::from_be_bytes(*expires) {",
        replace: "            if milliseconds(now) >= u64::from_be_bytes(*expires) && false {",
        suite: Suite {
            package: "switchboard-server",
            filter: "seal",
        },
    },
    Break {
        name: "token-for-another",
        what: "a token for another server is taken",
        file: "crates/server/src/access/jwt.rs",
        find: "            return Err(Fault::Audience);",
        replace: "            let _ = Fault::Audience;",
        suite: Suite {
            package: "switchboard-server",
            filter: "jwt",
        },
    },
    Break {
        name: "token-that-expired",
        what: "an expired token is taken",
        file: "crates/server/src/access/jwt.rs",
        find: "            return Err(Fault::Expired);",
        replace: "            let _ = Fault::Expired;",
        suite: Suite {
            package: "switchboard-server",
            filter: "jwt",
        },
    },
    Break {
        name: "links-lead-out",
        what: "a link in a folder of skills may lead out of it",
        file: "crates/server/src/skills/walk.rs",
        find: "                .map_err(|_| SkillFault::LeadsOut)?;",
        replace: "                .unwrap_or(&real);",
        suite: Suite {
            package: "switchboard-server",
            filter: "skills",
        },
    },
    Break {
        name: "denied-is-called",
        what: "a tool that is denied can be called",
        file: "crates/hub/src/policy.rs",
        find: "        if let Some(pattern) = self.deny.iter().find(fits) {",
        replace: "        if let Some(pattern) = self.deny.iter().find(fits).filter(|_| false) {",
        suite: Suite {
            package: "switchboard-hub",
            filter: "den",
        },
    },
    Break {
        name: "changed-after-approval",
        what: "a tool that changed since it was locked is used",
        file: "crates/hub/src/lock/pins.rs",
        find: "        (now.sha256() != approved.sha256()).then(",
        replace: "        (now.sha256() != approved.sha256() && false).then(",
        suite: Suite {
            package: "switchboard-hub",
            filter: "lock",
        },
    },
    Break {
        name: "calls-without-end",
        what: "a gateway takes in any number of calls",
        file: "crates/gateway/src/turnstile.rs",
        find: "fetch_add(1, Ordering::Relaxed) >= self.limits.calls {",
        replace: "fetch_add(1, Ordering::Relaxed) == usize::MAX {",
        suite: Suite {
            package: "switchboard-gateway",
            filter: "bounds",
        },
    },
    Break {
        name: "place-not-given-back",
        what: "a call that has ended keeps its place at the gateway",
        file: "crates/gateway/src/turnstile.rs",
        find: "self.turnstile.calls.fetch_sub(1, Ordering::Relaxed);",
        replace: "self.turnstile.calls.fetch_sub(0, Ordering::Relaxed);",
        suite: Suite {
            package: "switchboard-gateway",
            filter: "",
        },
    },
    Break {
        name: "rate-not-counted",
        what: "calls of a caller do not count against his rate",
        file: "crates/gateway/src/turnstile.rs",
        find: "            caller.left -= 1.0;",
        replace: "            caller.left -= 0.0;",
        suite: Suite {
            package: "switchboard-gateway",
            filter: "",
        },
    },
    Break {
        name: "parked-for-ever",
        what: "a call waits for a client that does not come back, without end",
        file: "crates/gateway/src/lot.rs",
        find: "            if timeout(life, keeping).await.is_ok() {",
        replace: "            if timeout(life * 1_000_000, keeping).await.is_ok() {",
        suite: Suite {
            package: "switchboard-gateway",
            filter: "",
        },
    },
    Break {
        name: "parked-without-end",
        what: "any number of calls may wait for clients",
        file: "crates/gateway/src/lot.rs",
        find: "        if places.calls.len() >= self.all.calls {",
        replace: "        if places.calls.len() >= usize::MAX {",
        suite: Suite {
            package: "switchboard-gateway",
            filter: "",
        },
    },
    Break {
        name: "asked-about-anothers-call",
        what: "whoever is there is asked about a call that another gave up",
        file: "crates/gateway/src/desk.rs",
        find: "        !self.is_crowded(asked)\n            && left.all(",
        replace: "        true || !self.is_crowded(asked)\n            && left.all(",
        suite: Suite {
            package: "switchboard-gateway",
            filter: "",
        },
    },
    Break {
        name: "secrets-are-printed",
        what: "a secret prints as it is",
        file: "crates/auth/src/secret.rs",
        find: r#"impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")"#,
        replace: "impl fmt::Display for Secret {\n    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {\n        f.write_str(self.reveal())",
        suite: Suite {
            package: "switchboard-auth",
            filter: "",
        },
    },
    Break {
        name: "written-over",
        what: "a file that somebody else has changed meanwhile is written over",
        file: "crates/cli/src/edit/file.rs",
        find: "        if now != self.before {",
        replace: "        if now != self.before && false {",
        suite: Suite {
            package: "switchboard-cli",
            filter: "edit",
        },
    },
    Break {
        name: "terminal-is-commanded",
        what: "what servers write commands the terminal",
        file: "crates/cli/src/output/clean.rs",
        find: "        _ => character.is_control() || is_invisible(character),",
        replace: "        _ => is_invisible(character),",
        suite: Suite {
            package: "switchboard-cli",
            filter: "output",
        },
    },
];
