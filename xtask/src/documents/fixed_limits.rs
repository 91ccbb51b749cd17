//! Limits that are fixed: each constant that bounds something is in a row of the page of limits, or is
//! known to be none.
//!
//! A constant that bounds something has a name that begins with one of a few words. Below, each of
//! them is named, with the row of the page that says what it bounds.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/limits.md";

/// How the name of a constant begins that bounds something.
const WORDS: &[&str] = &["MOST", "MAX", "LONGEST", "LARGEST", "DEEPEST"];

/// Nothing of these is shipped.
const NOT_SHIPPED: &[&str] = &["demo", "simulation", "testkit"];

/// The rows of the page, by the name that each begins with, and the constants of each.
const ROWS: &[(&str, &[&str])] = &[
    ("`depth`", &["protocol/src/scan.rs::MAX_DEPTH"]),
    (
        "unknown members",
        &["protocol/src/jsonrpc/read.rs::MAX_EXTRA"],
    ),
    (
        "event id, session id",
        &[
            "protocol/src/framing/event_stream/mod.rs::LONGEST",
            "protocol/src/http/session.rs::MAX_LENGTH",
        ],
    ),
    (
        "URI template",
        &[
            "protocol/src/uri_template/mod.rs::LONGEST",
            "protocol/src/uri_template/mod.rs::MOST_EXPRESSIONS",
            "protocol/src/uri_template/mod.rs::MOST_VARIABLES",
        ],
    ),
    (
        "`x-mcp-header`",
        &[
            "protocol/src/http/parameter.rs::MAX_DEPTH",
            "protocol/src/http/parameter.rs::MAX_NODES",
        ],
    ),
    (
        "completion",
        &["protocol/src/types/completion.rs::MAX_VALUES"],
    ),
    ("news on a pipe", &["server/src/pipe.rs::MOST_SAID"]),
    (
        "news of a session without a stream",
        &["server/src/http/lane.rs::MOST_UNSENT"],
    ),
    (
        "sealed state",
        &[
            "server/src/seal.rs::MAX_SEALED",
            "server/src/seal.rs::MAX_CONTENT",
        ],
    ),
    ("life of a sealed state", &["server/src/seal.rs::MAX_LIFE"]),
    (
        "status message",
        &["server/src/tasks/record.rs::LONGEST_MESSAGE"],
    ),
    ("token", &["server/src/access/jwt.rs::MAX_TOKEN"]),
    ("leeway", &["server/src/access/jwt.rs::MAX_LEEWAY"]),
    (
        "key set",
        &[
            "server/src/access/jwks.rs::MAX_DOCUMENT",
            "server/src/access/jwks.rs::MAX_KEYS",
        ],
    ),
    (
        "keys that are tried",
        &["server/src/access/jwks.rs::MAX_TRIED"],
    ),
    (
        "age of keys",
        &[
            "server/src/access/key_source.rs::MAX_AGE",
            "server/src/access/key_source.rs::MAX_STALE",
        ],
    ),
    (
        "`page_size`, files of a page",
        &["server/src/skills.rs::MAX_FILES_PER_PAGE"],
    ),
    (
        "frontmatter",
        &[
            "skills/src/frontmatter.rs::MAX_NAME",
            "skills/src/frontmatter.rs::MAX_DESCRIPTION",
            "skills/src/frontmatter.rs::MAX_COMPATIBILITY",
            "skills/src/frontmatter.rs::MAX_BYTES",
        ],
    ),
    (
        "its YAML",
        &[
            "skills/src/yaml.rs::MAX_DEPTH",
            "skills/src/yaml.rs::MAX_COST",
        ],
    ),
    (
        "unread rest of a refused body",
        &["transport/src/http/connection/wire.rs::MOST_UNREAD"],
    ),
    ("progress", &["client/src/slot.rs::MOST_PROGRESS"]),
    ("changes", &["client/src/subscription.rs::MOST_CHANGES"]),
    ("lines in a row", &["transport/src/lines.rs::MOST"]),
    (
        "lines that are no messages",
        &["client/src/driver/noise.rs::LONGEST"],
    ),
    ("life of a list", &["client/src/lists.rs::LONGEST_LIFE"]),
    (
        "opening a stream anew",
        &[
            "client/src/driver/http/exchange.rs::MOST_ATTEMPTS",
            "client/src/driver/http/exchange.rs::LONGEST_DELAY",
            "client/src/driver/http/stream.rs::MOST_ATTEMPTS",
        ],
    ),
    ("tasks", &["client/src/task.rs::LONGEST_POLL"]),
    (
        "notifications over HTTP",
        &["client/src/driver/http/exchange.rs::LONGEST_TELLING"],
    ),
    (
        "`max_header_bytes`, headers",
        &["transport/src/http/client/connection/head.rs::MOST_HEADERS"],
    ),
    (
        "chunks",
        &[
            "transport/src/http/chunks.rs::LONGEST_LINE",
            "transport/src/http/chunks.rs::LONGEST_TRAILERS",
        ],
    ),
    (
        "redirects",
        &["protocol/src/http/client/redirect.rs::MAX_REDIRECTS"],
    ),
    (
        "addresses",
        &["transport/src/http/client/connect.rs::MOST_ADDRESSES"],
    ),
    (
        "proxy",
        &["transport/src/http/client/connect/tunnel.rs::LARGEST_HEAD"],
    ),
    (
        "restarts",
        &[
            "hub/src/backoff.rs::LONGEST",
            "hub/src/backoff.rs::MOST_IN_A_MINUTE",
            "hub/src/backoff.rs::MOST_IN_A_ROW",
        ],
    ),
    ("pings", &["hub/src/member/health.rs::MOST_MISSED"]),
    ("calls in vain", &["hub/src/member/uses.rs::MOST_IN_VAIN"]),
    (
        "agreeing",
        &[
            "hub/src/member/listening.rs::LONGEST_WAIT",
            "hub/src/resource_watch.rs::LONGEST_WAIT",
        ],
    ),
    ("orders", &["hub/src/member.rs::MOST_ORDERS"]),
    (
        "rows of metrics",
        &[
            "hub/src/metrics.rs::MOST_ROWS",
            "hub/src/metrics.rs::MOST_KINDS",
            "hub/src/metrics.rs::LONGEST_NAME",
        ],
    ),
    (
        "names of tools",
        &[
            "hub/src/exposed_name.rs::LONGEST",
            "hub/src/exposed_name.rs::LONGEST_LIMIT",
        ],
    ),
    (
        "names of servers",
        &["hub/src/config/server.rs::LONGEST_NAME"],
    ),
    (
        "headers",
        &["hub/src/config/transport/parts.rs::MOST_HEADERS"],
    ),
    (
        "notes",
        &[
            "hub/src/registry/note.rs::MOST_NOTES",
            "hub/src/registry/note.rs::LONGEST_IN_NOTE",
        ],
    ),
    (
        "search",
        &[
            "hub/src/search.rs::MOST_WORDS",
            "hub/src/search/index.rs::MOST_WORDS",
        ],
    ),
    ("cache", &["hub/src/cache.rs::LARGEST"]),
    ("configuration", &["hub/src/config.rs::LARGEST"]),
    ("quantities", &["hub/src/config/quantity.rs::LONGEST"]),
    (
        "words of errors",
        &[
            "hub/src/near.rs::MOST",
            "hub/src/near.rs::MOST_LOOKED_AT",
            "hub/src/near.rs::LONGEST",
            "hub/src/registry/not_found.rs::MOST_OFFERED",
        ],
    ),
    ("misspelt keys", &["hub/src/config/members.rs::MOST_HINTS"]),
    (
        "variables",
        &[
            "hub/src/variables/fill.rs::LONGEST_VALUE",
            "hub/src/variables/parse.rs::DEEPEST",
            "hub/src/variables/parse.rs::LONGEST_BRACES",
            "hub/src/variables/system.rs::LARGEST",
        ],
    ),
    (
        "`mcp.lock`",
        &[
            "hub/src/lock.rs::LARGEST",
            "hub/src/lock.rs::DEEPEST",
            "hub/src/lock/canonical.rs::DEEPEST",
        ],
    ),
    (
        "differences to a lock",
        &["hub/src/lock/difference.rs::MOST"],
    ),
    ("refusals of a lock", &["hub/src/hub/shared.rs::MOST_TOLD"]),
    (
        "trace headers",
        &[
            "hub/src/trace/context.rs::LONGEST",
            "hub/src/trace/context/baggage.rs::LONGEST",
            "hub/src/trace/context/baggage.rs::MOST",
            "hub/src/trace/context/state.rs::MOST",
            "hub/src/trace/context/state.rs::LONGEST",
            "hub/src/trace/context/state.rs::LONGEST_READ",
        ],
    ),
    ("callers", &["gateway/src/turnstile.rs::MOST_CALLERS"]),
    ("who left a call", &["gateway/src/desk.rs::MOST_LEFT"]),
    ("guesses", &["gateway/src/server_host.rs::MOST_GUESSES"]),
    (
        "pages that people were sent to",
        &["gateway/src/visits.rs::MOST"],
    ),
    (
        "ended tasks",
        &[
            "gateway/src/relay/tasks/ended.rs::MOST",
            "gateway/src/relay/tasks/ended.rs::MOST_BYTES",
        ],
    ),
    (
        "tasks that are listened to",
        &[
            "gateway/src/relay/tasks/news.rs::MOST_HEARD",
            "gateway/src/relay/tasks/news.rs::MOST_LISTENERS",
        ],
    ),
    (
        "tasks of servers",
        &["gateway/src/relay/tasks/older.rs::LONGEST_POLL"],
    ),
    ("found tools", &["gateway/src/finder.rs::MOST"]),
    ("audit log", &["gateway/src/audit.rs::MOST_LINES"]),
    (
        "keys of an issuer",
        &["gateway/src/access/issuer_keys.rs::LARGEST"],
    ),
    (
        "documents",
        &[
            "auth/src/fetch.rs::LARGEST",
            "auth/src/fetch.rs::MOST_REDIRECTS",
        ],
    ),
    (
        "challenge",
        &[
            "auth/src/challenge.rs::LONGEST_VALUE",
            "auth/src/challenge.rs::LONGEST_LINE",
        ],
    ),
    ("URL", &["auth/src/place.rs::LONGEST"]),
    (
        "issuers; scopes",
        &[
            "auth/src/resource.rs::MOST_ISSUERS",
            "auth/src/scope.rs::MOST",
        ],
    ),
    ("client id", &["auth/src/registration.rs::LONGEST_ID"]),
    (
        "token; life",
        &[
            "auth/src/token.rs::LONGEST_TOKEN",
            "auth/src/token.rs::LONGEST_LIFE",
        ],
    ),
    (
        "logins",
        &[
            "auth/src/oauth/attempts.rs::MOST_TIMES",
            "auth/src/oauth/attempts.rs::MOST_IN_ALL",
        ],
    ),
    (
        "device code",
        &[
            "auth/src/device.rs::LONGEST_CODE",
            "auth/src/device.rs::LONGEST_LIFE",
            "auth/src/device.rs::LONGEST_INTERVAL",
            "auth/src/device.rs::LONGEST_PAUSE",
        ],
    ),
    (
        "callback",
        &[
            "auth/src/interaction/head.rs::LONGEST_LINE",
            "auth/src/interaction/head.rs::LONGEST_HOST",
            "auth/src/interaction/head.rs::LARGEST",
            "auth/src/interaction/loopback.rs::MOST_GUESTS",
            "auth/src/interaction/loopback.rs::MOST_AT_ONCE",
        ],
    ),
    (
        "pasted lines",
        &[
            "auth/src/interaction/visit.rs::MOST_LINES",
            "auth/src/interaction/answer.rs::LONGEST_LINE",
        ],
    ),
    (
        "nonces",
        &[
            "auth/src/dpop.rs::MOST_NONCES",
            "auth/src/dpop.rs::LONGEST_NONCE",
        ],
    ),
    (
        "records; file",
        &[
            "auth/src/record.rs::MOST_RECORDS",
            "auth/src/store/entry_file.rs::LARGEST",
        ],
    ),
    (
        "lock of the store",
        &[
            "auth/src/store/file_lock.rs::LONGEST_WAIT",
            "auth/src/oauth/keeping.rs::LONGEST_LOGIN",
        ],
    ),
    (
        "token from a file, a program",
        &[
            "auth/src/source.rs::LARGEST",
            "auth/src/source.rs::LARGEST_REST",
        ],
    ),
    (
        "keyring",
        &[
            "keyring/src/keyring.rs::LONGEST_WAIT",
            "keyring/src/pieces.rs::MOST_PIECES",
        ],
    ),
    (
        "schema",
        &[
            "schema/src/survey.rs::MAX_BYTES",
            "schema/src/survey.rs::MAX_NODES",
            "schema/src/survey.rs::MAX_DEPTH",
        ],
    ),
    ("`$ref`", &["schema/src/survey.rs::MAX_STEPS"]),
    ("ways", &["schema/src/survey.rs::MAX_WAYS"]),
    (
        "patterns",
        &[
            "schema/src/survey.rs::MAX_PATTERNS",
            "schema/src/schema.rs::MAX_PATTERN",
            "schema/src/schema.rs::MAX_ALL_PATTERNS",
        ],
    ),
    ("check", &["schema/src/schema.rs::MAX_FRAMES"]),
    (
        "findings",
        &[
            "schema/src/schema.rs::MAX_FINDINGS",
            "schema/src/words.rs::MOST_PATH",
            "schema/src/words.rs::MOST_REASON",
        ],
    ),
    ("answer", &["telemetry/src/settings.rs::LARGEST_ANSWER"]),
    ("texts", &["telemetry/src/draft.rs::LONGEST"]),
    (
        "numbers; times",
        &[
            "telemetry/src/settings/variables.rs::MOST",
            "telemetry/src/settings/variables.rs::LONGEST",
        ],
    ),
    (
        "arguments from standard input",
        &["cli/src/arguments.rs::LARGEST_INPUT"],
    ),
    (
        "`add-json` from standard input",
        &["cli/src/command/add_json.rs::LARGEST"],
    ),
    (
        "`import`",
        &[
            "cli/src/import.rs::LARGEST",
            "cli/src/import/yaml.rs::MAX_DEPTH",
            "cli/src/import/yaml.rs::MAX_COST",
        ],
    ),
    ("files of results", &["cli/src/parts.rs::MOST_FILES"]),
    (
        "socket of a gateway",
        &[
            "cli/src/control/desk.rs::MOST_VISITS",
            "cli/src/control/desk.rs::LONGEST_REQUEST",
        ],
    ),
    (
        "journal of a gateway",
        &[
            "cli/src/journal.rs::MOST_ENTRIES",
            "cli/src/journal.rs::MOST_BYTES",
            "cli/src/journal.rs::LONGEST",
        ],
    ),
    (
        "`lint`",
        &[
            "cli/src/lint.rs::MOST",
            "cli/src/lint/reference.rs::MOST",
            "cli/src/lint/shadow.rs::MOST",
            "cli/src/lint/shadow.rs::MOST_TEXTS",
            "cli/src/lint/text.rs::MOST",
            "cli/src/lint/walk.rs::MOST",
            "server/src/schema/lint.rs::MOST",
        ],
    ),
    (
        "`codegen`",
        &[
            "cli/src/codegen/read.rs::MOST",
            "cli/src/codegen/read.rs::MOST_DEFINITIONS",
            "cli/src/codegen/rust/types.rs::MOST_STEPS",
        ],
    ),
    ("differences", &["cli/src/edit/diff.rs::LARGEST_TABLE"]),
    (
        "signatures",
        &[
            "cli/src/signature.rs::DEEPEST",
            "cli/src/signature.rs::MOST_REFERENCES",
        ],
    ),
    ("a hidden line", &["cli/src/host/hidden.rs::LONGEST"]),
    ("completion", &["cli/src/completion.rs::MOST"]),
    ("`doctor`", &["cli/src/doctor/network.rs::MOST_ADDRESSES"]),
];

/// What is no limit of what somebody may do, though it is called like one, and why.
const OTHERS: &[(&str, &[&str])] = &[
    (
        "how much is shown of a text that is longer",
        &[
            "auth/src/answer.rs::LONGEST_CODE",
            "auth/src/answer.rs::LONGEST_DESCRIPTION",
            "auth/src/document.rs::LONGEST_EXCERPT",
            "auth/src/store/file_name.rs::LONGEST_READABLE",
            "cli/src/command/call.rs::LONGEST_MESSAGE",
            "cli/src/lint/text.rs::LONGEST_SHOWN",
            "cli/src/output/table.rs::MOST_BELOW",
            "cli/src/parts.rs::LONGEST_NAME",
            "cli/src/signature.rs::MOST_VALUES",
            "cli/src/signature.rs::MOST_MEMBERS",
            "cli/src/signature.rs::LONGEST_DEFAULT",
            "cli/src/signature.rs::LONGEST_RESULT",
            "cli/src/source.rs::LONGEST_NAME",
            "hub/src/config/problem.rs::LONGEST_QUOTE",
            "hub/src/trace/endpoint.rs::LONGEST",
            "server/src/arguments.rs::MOST_PATH",
            "server/src/arguments/words.rs::MOST_FOUND",
            "server/src/arguments/words.rs::MOST_REASON",
            "telemetry/src/otlp.rs::LONGEST_WORDS",
            "transport/src/http/client.rs::LONGEST_PLACE",
            "transport/src/http/client/error.rs::LONGEST_SHOWN",
            "transport/src/http/client/incoming.rs::LONGEST_NAME",
        ],
    ),
    (
        "how much is copied, read, written or done at once, or kept ready: more only takes longer",
        &[
            "client/src/slots.rs::MOST_PLACES",
            "protocol/src/http/server/body.rs::MOST_KEPT",
            "protocol/src/machine/counted.rs::MOST_PLACES",
            "protocol/src/payload/known_result.rs::MOST_KNOWN",
            "protocol/src/payload/noted.rs::MOST_KNOWN",
            "schema/src/survey.rs::MAX_COPIED",
            "schema/src/survey.rs::MAX_SCAN",
            "schema/src/survey.rs::MAX_SEARCH",
            "server/src/http.rs::MOST_IDLE",
            "transport/src/http/chunks.rs::LARGEST_COPY",
            "transport/src/http/client/connection.rs::LARGEST_COPY",
            "transport/src/http/client/connection.rs::LARGEST_KEPT",
            "transport/src/http/client/connection/body.rs::LARGEST_READ",
            "transport/src/http/connection/head.rs::LARGEST_REMEMBERED",
            "transport/src/http/connection/head.rs::MOST_REMEMBERED",
            "transport/src/http/connection/outgoing.rs::LARGEST_COPY",
            "transport/src/http/connection/outgoing.rs::LARGEST_KEPT",
            "transport/src/http/connection/wire.rs::LARGEST_READ",
            "transport/src/http/connection/wire.rs::LARGEST_WRITE",
            "transport/src/lines/outgoing.rs::MOST_SLICES",
            "transport/src/turn.rs::LONGEST",
        ],
    ),
    (
        "a pause between two looks or tries of our own",
        &[
            "auth/src/store/file_lock.rs::LONGEST_PAUSE",
            "telemetry/src/sender.rs::LONGEST_SILENCE",
            "transport/src/http/listen.rs::LONGEST_PAUSE",
            "transport/src/stdio/thread.rs::LONGEST_PAUSE",
        ],
    ),
    (
        "what a type or a format holds",
        &[
            "hub/src/search/index.rs::MOST_AMOUNT",
            "hub/src/search/index.rs::MOST_TOOLS",
            "keyring/src/pieces.rs::LONGEST_NUMBER",
            "protocol/src/http/negotiate.rs::MOST",
            "protocol/src/http/parameter/argument.rs::MAX_SAFE",
            "protocol/src/machine/client/meta_text.rs::LONGEST_NUMBER",
            "server/src/pipe.rs::LONGEST_DRAIN",
            "transport/src/turn.rs::MOST",
        ],
    ),
    (
        "as deep as a message may be",
        &["server/src/seal/binding.rs::MAX_DEPTH"],
    ),
    (
        "how many of a few are looked at, where what decides is the first of them",
        &[
            "auth/src/interaction/loopback.rs::MOST_KNOWN",
            "auth/src/interaction/opener.rs::MOST_ENTRIES",
            "auth/src/interaction/site.rs::MOST_TRIES",
            "cli/src/codegen/rust/types.rs::MOST_PLACES",
            "cli/src/command/demo.rs::MOST_TRIES",
            "cli/src/command/login.rs::MOST_WORDS",
            "client/src/driver/noise.rs::MOST_TRIES",
            "hub/src/search/words.rs::LONGEST",
        ],
    ),
    (
        "what a finding of `lint` is about",
        &[
            "cli/src/lint/name.rs::LONGEST",
            "cli/src/lint/names.rs::LONGEST",
            "cli/src/lint/text.rs::LONGEST",
        ],
    ),
];

#[test]
fn every_constant_that_bounds_something_is_on_the_page_or_known_to_be_no_limit() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let there: BTreeSet<String> = constants(&root.join("crates"));
    let tables = [ROWS, OTHERS].concat();
    let named = tables.iter().flat_map(|(_, constants)| *constants);
    let named: Vec<String> = named.map(|constant| (*constant).to_owned()).collect();
    let once: BTreeSet<String> = named.iter().cloned().collect();
    assert_eq!(once.len(), named.len(), "one is named twice");
    let unnamed: Vec<&String> = there.difference(&once).collect();
    assert!(unnamed.is_empty(), "not said what it bounds: {unnamed:#?}");
    let gone: Vec<&String> = once.difference(&there).collect();
    assert!(gone.is_empty(), "not there any more: {gone:#?}");
}

#[test]
fn every_row_that_constants_are_said_to_be_in_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join(PAGE)).unwrap();
    for (row, _) in ROWS {
        let beginning = format!("| {row} |");
        let is_there = page.lines().any(|line| line.starts_with(&beginning));
        assert!(is_there, "{PAGE} has no row {row}");
    }
}

/// The constants of a folder of crates that are called like limits, as `file::NAME`.
fn constants(crates: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders: Vec<PathBuf> = fs::read_dir(crates)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| !NOT_SHIPPED.iter().any(|name| entry.file_name() == *name))
        .map(|entry| entry.path().join("src"))
        .collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap_or_default();
            if path.is_dir() {
                if name != "tests" {
                    folders.push(path);
                }
            } else if name != "tests.rs" && path.extension().is_some_and(|kind| kind == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let shipped = text.split("#[cfg(test)]\nmod tests {").next();
                let names = shipped.unwrap_or_default().lines().filter_map(limit_in);
                let place = path.strip_prefix(crates).unwrap().to_str().unwrap();
                found.extend(names.map(|name| format!("{place}::{name}")));
            }
        }
    }
    found
}

/// The name of a constant that is called like a limit, if a line defines one.
fn limit_in(line: &str) -> Option<&str> {
    let (_, constant) = line.split_once("const ")?;
    let (name, kind) = constant.split_once(": ")?;
    let (kind, _) = kind.split_once(" = ")?;
    let is_amount = matches!(kind, "usize" | "u16" | "u32" | "u64" | "i64" | "Duration");
    let is_called_so = WORDS.iter().any(|word| {
        name.strip_prefix(word)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    });
    (is_amount && is_called_so).then_some(name)
}

#[test]
fn limits_are_amounts_with_a_name_that_says_so() {
    let check = |line: &str, limit| assert_eq!(limit_in(line), limit, "{line}");
    check("const MOST: usize = 3;", Some("MOST"));
    check(
        "pub(super) const LONGEST_WAIT: Duration = SOON;",
        Some("LONGEST_WAIT"),
    );
    check("    pub const LARGEST: u64 = 1 << 20;", Some("LARGEST"));
    check("const MOSTLY: usize = 3;", None);
    check("const MAX_NAME: &str = \"x\";", None);
    check("const USUAL: usize = 3;", None);
}
