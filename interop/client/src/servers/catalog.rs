//! Which servers, how they are started, and what is asked of each.
//!
//! A revision is what the pinned version of a server speaks; a new pin may change it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::page;
use crate::places::Places;

/// One server, and what is asked of it.
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) start: Start,
    /// The revision that must be found.
    pub(crate) revision: &'static str,
    /// Tools that must be listed.
    pub(crate) tools: Vec<&'static str>,
    /// What has an answer; absent where all answers come from the network.
    pub(crate) answer: Option<Ask>,
    /// What is an error.
    pub(crate) error: Ask,
    /// What takes long enough to be cancelled.
    pub(crate) slow: Option<Slow>,
    /// What asks the user before it answers.
    pub(crate) asking: Option<Ask>,
    /// Can it do all that `everything.rs` asks for?
    pub(crate) is_everything: bool,
}

/// How a server is started.
pub(crate) enum Start {
    /// By the client.
    Stdio(Command),
    /// By us; the client finds it behind a URL.
    Http(Vec<String>, Listens),
}

/// What the client runs.
pub(crate) struct Command {
    pub(crate) words: Vec<String>,
    pub(crate) variables: Vec<(&'static str, String)>,
    pub(crate) folder: PathBuf,
}

/// How a server behind a URL tells where it is.
#[derive(Clone, Copy)]
pub(crate) enum Listens {
    /// It says so on stderr.
    Says,
    /// It takes the port from the environment, and has this path.
    OnPort(&'static str),
}

/// A call of a tool, and what its text must contain.
pub(crate) struct Ask {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) contains: &'static str,
}

/// A call that takes a minute.
pub(crate) struct Slow {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    /// The tool that says how many such calls were stopped, if there is one.
    pub(crate) stopped: Option<&'static str>,
}

/// All of them. `page` is a page on the loopback.
pub(crate) fn servers(places: &Places, page: &str) -> Vec<Server> {
    let mut servers = from_npm(places, page);
    servers.extend(from_pypi(places, page));
    servers.extend(from_sdks(places));
    servers.extend(everything_over_http(places));
    servers
}

fn from_npm(places: &Places, page: &str) -> Vec<Server> {
    let npm = |program: &str, arguments: &[&str]| {
        let words = std::iter::once(word(&places.npm(program)));
        let words = words.chain(arguments.iter().map(|&word| word.to_owned()));
        Command {
            words: words.collect(),
            variables: Vec::new(),
            folder: places.scratch.clone(),
        }
    };
    let book = word(&places.scripts.join("book.xlsx"));
    let mut memory = npm("mcp-server-memory", &[]);
    let file = ("MEMORY_FILE_PATH", places.in_scratch("memory.jsonl"));
    memory.variables.push(file);
    let mut context = npm("context7-mcp", &[]);
    context
        .variables
        .push(("CONTEXT7_API_URL", page.to_owned()));
    // It would measure itself, for somebody on the network.
    context
        .variables
        .push(("OTEL_SDK_DISABLED", "true".to_owned()));
    vec![
        Server {
            is_everything: true,
            slow: Some(long_operation()),
            ..server(
                "server-everything",
                npm("mcp-server-everything", &["stdio"]),
                "2025-11-25",
                &[
                    "echo",
                    "get-sum",
                    "get-tiny-image",
                    "get-structured-content",
                ],
                Some(ask("get-sum", json!({"a": 2, "b": 3}), "5")),
                ask("get-sum", json!({"a": "two", "b": 3}), "expected number"),
            )
        },
        server(
            "server-filesystem",
            npm("mcp-server-filesystem", &[&places.in_scratch("")]),
            "2025-11-25",
            &["read_text_file", "write_file", "list_directory"],
            Some(ask(
                "write_file",
                json!({"path": places.in_scratch("note.txt"), "content": "hello"}),
                "note.txt",
            )),
            ask(
                "read_text_file",
                json!({"path": "/etc/hostname"}),
                "outside allowed directories",
            ),
        ),
        server(
            "server-memory",
            memory,
            "2025-11-25",
            &["create_entities", "read_graph", "search_nodes"],
            Some(ask(
                "create_entities",
                json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}]}),
                "wrote the first program",
            )),
            ask("open_nodes", json!({"names": 1}), "expected array"),
        ),
        server(
            "server-sequential-thinking",
            npm("mcp-server-sequential-thinking", &[]),
            "2025-11-25",
            &["sequentialthinking"],
            Some(ask(
                "sequentialthinking",
                json!({"thought": "one", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}),
                "\"thoughtHistoryLength\": 1",
            )),
            ask(
                "sequentialthinking",
                json!({"thought": "one"}),
                "thoughtNumber",
            ),
        ),
        server(
            "server-github",
            npm("mcp-server-github", &[]),
            "2024-11-05",
            &["create_issue", "search_code", "get_pull_request"],
            None,
            ask("get_issue", json!({}), "owner"),
        ),
        server(
            "server-postgres",
            npm(
                "mcp-server-postgres",
                &["postgresql://nobody@127.0.0.1:1/none"],
            ),
            "2024-11-05",
            &["query"],
            None,
            ask("query", json!({"sql": "select 1"}), "ECONNREFUSED"),
        ),
        server(
            "excel-mcp-server",
            npm("excel-mcp-server", &[]),
            "2025-03-26",
            &["excel_describe_sheets", "excel_write_to_sheet"],
            Some(ask(
                "excel_describe_sheets",
                json!({"fileAbsolutePath": book}),
                "Planets",
            )),
            ask(
                "excel_describe_sheets",
                json!({"fileAbsolutePath": "/nowhere.xlsx"}),
                "no such file",
            ),
        ),
        server(
            "context7-mcp",
            context,
            "2026-07-28",
            &["resolve-library-id", "query-docs"],
            Some(ask(
                "query-docs",
                json!({"libraryId": "/nobody/nothing", "query": "what does the page say?"}),
                page::TEXT,
            )),
            ask("query-docs", json!({"query": 1}), "libraryId"),
        ),
    ]
}

fn from_pypi(places: &Places, page: &str) -> Vec<Server> {
    let pypi = |program: &str, arguments: &[&str]| {
        let words = std::iter::once(word(&places.python.join(program)));
        let words = words.chain(arguments.iter().map(|&word| word.to_owned()));
        Command {
            words: words.collect(),
            variables: Vec::new(),
            folder: places.scratch.clone(),
        }
    };
    let repository = places.in_scratch("repository");
    vec![
        server(
            "mcp-server-time",
            pypi("mcp-server-time", &["--local-timezone", "UTC"]),
            "2026-07-28",
            &["convert_time", "get_current_time"],
            Some(ask(
                "convert_time",
                json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
                "T21:00:00+09:00",
            )),
            ask(
                "convert_time",
                json!({"source_timezone": "Nowhere", "time": "12:00", "target_timezone": "UTC"}),
                "Nowhere",
            ),
        ),
        server(
            "mcp-server-fetch",
            pypi(
                "mcp-server-fetch",
                &["--allow-private-ips", "--ignore-robots-txt"],
            ),
            "2026-07-28",
            &["fetch"],
            Some(ask("fetch", json!({"url": page}), page::TEXT)),
            ask(
                "fetch",
                json!({"url": "http://127.0.0.1:1/"}),
                "127.0.0.1:1",
            ),
        ),
        server(
            "mcp-server-git",
            pypi("mcp-server-git", &[]),
            "2026-07-28",
            &["git_status", "git_log"],
            Some(ask(
                "git_status",
                json!({"repo_path": repository}),
                "No commits yet",
            )),
            ask("git_status", json!({"repo_path": "/nowhere"}), "/nowhere"),
        ),
    ]
}

/// The same two tools, written with every library, on stdio and over HTTP.
fn from_sdks(places: &Places) -> Vec<Server> {
    let script = |name: &str| vec!["node".to_owned(), word(&places.node.join(name))];
    let python = |programs: &Path| {
        let script = places.scripts.join("echo_server.py");
        vec![word(&programs.join("python")), word(&script)]
    };
    let rust = |name: &str| vec![word(&places.rust.join(name))];
    let libraries = [
        (
            "typescript sdk 1.x",
            script("echo_server_v1.mjs"),
            "2025-11-25",
        ),
        (
            "typescript sdk 2.x",
            script("echo_server.mjs"),
            "2026-07-28",
        ),
        ("python sdk 1.x", python(&places.python_v1), "2025-11-25"),
        ("python sdk 2.x", python(&places.python), "2026-07-28"),
        ("rmcp", rust("interop-server-rmcp"), "2026-07-28"),
        ("turbomcp", rust("interop-server-turbomcp"), "2026-07-28"),
        ("tower-mcp", rust("interop-server-tower-mcp"), "2026-07-28"),
    ];
    let mut servers = Vec::new();
    for (name, words, revision) in libraries {
        let stdio = Command {
            words: words.clone(),
            variables: Vec::new(),
            folder: places.scratch.clone(),
        };
        servers.push(echo(
            format!("{name}, stdio"),
            Start::Stdio(stdio),
            revision,
        ));
        let mut words = words;
        words.push("--http".to_owned());
        let http = Start::Http(words, Listens::Says);
        servers.push(echo(format!("{name}, http"), http, revision));
    }
    let mut legacy = script("echo_server.mjs");
    legacy.push("--legacy".to_owned());
    let legacy = Start::Stdio(Command {
        words: legacy,
        variables: Vec::new(),
        folder: places.scratch.clone(),
    });
    servers.push(echo(
        "typescript sdk 2.x, legacy".to_owned(),
        legacy,
        "2025-11-25",
    ));
    let mut old = script("echo_server_v1.mjs");
    old.push("--sse".to_owned());
    let old = Start::Http(old, Listens::Says);
    servers.push(echo(
        "typescript sdk 1.x, http+sse".to_owned(),
        old,
        "2025-11-25",
    ));
    servers
}

fn everything_over_http(places: &Places) -> Vec<Server> {
    let serve = |transport: &str, path| {
        let words = vec![
            word(&places.npm("mcp-server-everything")),
            transport.to_owned(),
        ];
        Server {
            name: format!("server-everything, {transport}"),
            start: Start::Http(words, Listens::OnPort(path)),
            revision: "2025-11-25",
            tools: vec!["echo", "get-sum"],
            answer: Some(ask("echo", json!({"message": "hello"}), "hello")),
            error: ask("get-sum", json!({"a": "two", "b": 3}), "expected number"),
            slow: Some(long_operation()),
            asking: None,
            is_everything: true,
        }
    };
    vec![serve("streamableHttp", "/mcp"), serve("sse", "/sse")]
}

fn echo(name: String, start: Start, revision: &'static str) -> Server {
    // Asked in the middle of a call, or by a result that needs input: the host is asked the same.
    let asks = name.starts_with("typescript");
    Server {
        name,
        start,
        revision,
        tools: vec!["echo", "pause"],
        answer: Some(ask(
            "echo",
            json!({"text": "żółw 🐢 \"quoted\"\nsecond line"}),
            "żółw 🐢 \"quoted\"\nsecond line",
        )),
        error: ask("echo", json!({"text": 1}), ""),
        slow: Some(Slow {
            tool: "pause",
            arguments: json!({"milliseconds": 60_000}),
            stopped: Some("stopped"),
        }),
        asking: asks.then(|| ask("ask", json!({}), "Hello, Ada")),
        is_everything: false,
    }
}

fn server(
    name: &str,
    command: Command,
    revision: &'static str,
    tools: &[&'static str],
    answer: Option<Ask>,
    error: Ask,
) -> Server {
    Server {
        name: name.to_owned(),
        start: Start::Stdio(command),
        revision,
        tools: tools.to_vec(),
        answer,
        error,
        slow: None,
        asking: None,
        is_everything: false,
    }
}

fn long_operation() -> Slow {
    Slow {
        tool: "trigger-long-running-operation",
        arguments: json!({"duration": 60, "steps": 6}),
        stopped: None,
    }
}

fn ask(tool: &'static str, arguments: Value, contains: &'static str) -> Ask {
    Ask {
        tool,
        arguments,
        contains,
    }
}

fn word(path: &Path) -> String {
    path.display().to_string()
}
