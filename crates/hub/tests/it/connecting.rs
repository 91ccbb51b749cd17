//! Servers that are connected, disconnected, lost and found again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use switchboard_auth::Secret;
use switchboard_client::types::LoggingLevel;
use switchboard_client::{Class, Mode};
use switchboard_hub::{
    Config, Hub, HubError, MemberState, Naming, Origin, Prefix, ServerConfig, Surroundings,
};
use tokio::sync::mpsc;

use crate::child::{faulty, odd, server};
use crate::running::{builder, hub, is_running, pid, soon, state, text, tools_of, until};

#[tokio::test]
async fn a_server_that_dies_is_started_again() {
    let hub = hub([server("one")]).await;
    let before = pid(&hub, "one").await;
    let mut events = hub.events();
    let error = hub.call_on("one", "die").await.unwrap_err();
    assert!(matches!(error, HubError::Call(_)), "{error}");
    until(&mut events, "one", |state| {
        matches!(state, MemberState::BackingOff { .. })
    })
    .await;
    until(&mut events, "one", MemberState::is_ready).await;
    let after = pid(&hub, "one").await;
    assert_ne!(before, after);
    hub.close().await;
    assert!(!is_running(after));
}

#[tokio::test]
async fn bad_servers_hold_up_nobody() {
    let silent = ServerConfig::command("silent", ["sleep", "3600"]);
    let broken = ServerConfig::command("broken", ["false"]);
    let missing = ServerConfig::command("missing", ["no-such-program-anywhere"]);
    let nowhere = ServerConfig::url("nowhere", "http://127.0.0.1:1/mcp");
    let servers = [silent, broken, missing, nowhere, server("good")];
    let mut builder = Hub::builder();
    for server in servers {
        builder = builder.server(server);
    }
    let hub = builder.build();
    let mut events = hub.events();
    let all = hub.clone();
    let connecting = tokio::spawn(async move { all.connect_all().await });
    until(&mut events, "good", MemberState::is_ready).await;
    let good = pid(&hub, "good").await;
    let sum = hub
        .call("mcp__good__add")
        .arg("a", 2)
        .arg("b", 3)
        .await
        .unwrap();
    assert_eq!(sum.joined_text(), "5");
    connecting.abort();
    for name in ["silent", "broken", "missing", "nowhere"] {
        assert!(!state(&hub, name).is_ready(), "{name}");
    }
    soon(hub.close()).await;
    assert!(!is_running(good));
}

#[tokio::test]
async fn new_tools_of_a_server_of_either_era_are_in_the_catalogue() {
    for mode in [Mode::Auto, Mode::Legacy] {
        let mut config = server("one");
        config.mode = mode;
        let hub = hub([config]).await;
        let mut events = hub.events();
        hub.call_on("one", "grow").await.unwrap();
        let waiting = async {
            while hub.catalog().find_tool("mcp__one__grown").is_err() {
                events.next().await.unwrap();
            }
        };
        soon(waiting).await;
        let grown = hub.call("mcp__one__grown").await.unwrap();
        assert_eq!(grown.joined_text(), "new");
        hub.close().await;
    }
}

#[tokio::test]
async fn what_a_server_does_not_declare_it_is_not_asked_for() {
    // It ends when it is.
    let builder = builder([odd("one", "tools-only")]);
    let hub = builder.log_level(LoggingLevel::Debug).build();
    soon(hub.connect("one")).await.unwrap();
    assert!(matches!(state(&hub, "one"), MemberState::Ready(_)));
    assert_eq!(tools_of(&hub, "one"), ["echo"]);
    let catalog = hub.catalog();
    assert_eq!((catalog.resources().len(), catalog.prompts().len()), (0, 0));
    assert_eq!(text(&hub, "one", "echo").await.unwrap(), "here");
    assert_eq!(hub.metrics().snapshot().servers[0].restarts, 0);
    hub.close().await;
}

#[tokio::test]
async fn a_required_server_is_waited_for_and_another_only_so_long() {
    let (silent, _launch) = faulty("silent", "no-handshake");
    let mut required = server("required");
    required.is_required = true;
    let hub = builder([silent, required])
        .optional_patience(Duration::ZERO)
        .build();
    let servers = soon(hub.connect_all()).await;
    let state_of = |name: &str| {
        &servers
            .iter()
            .find(|server| *server.name == *name)
            .unwrap()
            .state
    };
    assert!(state_of("required").is_ready());
    assert!(!state_of("silent").is_ready());
    soon(hub.close()).await;
}

#[tokio::test]
async fn a_server_that_was_disconnected_stays_so_until_it_is_connected() {
    let hub = hub([server("one")]).await;
    let before = pid(&hub, "one").await;
    hub.disconnect("one").await.unwrap();
    assert!(!is_running(before));
    assert!(matches!(state(&hub, "one"), MemberState::Stopped));
    assert_eq!(hub.catalog().tools().count(), 0);
    hub.connect("one").await.unwrap();
    assert_ne!(pid(&hub, "one").await, before);
    hub.close().await;
}

#[tokio::test]
async fn what_a_file_says_is_what_runs() {
    let folder = std::env::temp_dir().join(format!("switchboard-hub-file-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("mcp.json");
    let program = std::env::current_exe().unwrap();
    let text = format!(
        r#"{{ // comments are fine
          "mcpServers": {{
            "one": {{ "command": {program:?}, "args": ["--exact", "child::serves", "--nocapture"],
                      "env": {{ "SWITCHBOARD_HUB_CHILD": "good" }}, "disabledTools": ["die"] }},
            "lost": {{ "command": "x", "env": {{ "KEY": "${{SWITCHBOARD_NO_SUCH_VARIABLE}}" }} }},
            "locked": {{ "command": "x", "env": {{ "KEY": "${{keyring:github/me}}" }} }},
            "asks": {{ "command": "x", "args": ["${{input:tok}}"] }},
            "off": {{ "command": "x", "disabled": true }},
          }}
        }}"#
    );
    std::fs::write(&file, text).unwrap();
    let hub = Hub::from_file(&file).await.unwrap();
    hub.connect_all().await;
    assert_eq!(
        hub.call_on("one", "add")
            .arg("a", 2)
            .arg("b", 3)
            .await
            .unwrap()
            .joined_text(),
        "5"
    );
    assert!(hub.catalog().find_tool("mcp__one__die").is_err());
    assert!(matches!(state(&hub, "off"), MemberState::Disabled));
    for (server, words) in [
        (
            "lost",
            r#"server "lost": "env.KEY": the environment variable "SWITCHBOARD_NO_SUCH_VARIABLE""#,
        ),
        (
            "locked",
            r#""env.KEY": the keyring cannot be asked for "github/me": this program has no keyring"#,
        ),
        (
            "asks",
            r#"server "asks": "args[0]": nobody can be asked for the input "tok" here"#,
        ),
    ] {
        let MemberState::Failed { reason, class } = state(&hub, server) else {
            panic!("{}", state(&hub, server));
        };
        assert!(reason.contains(words), "{reason}");
        assert_eq!(class, Class::Caller);
    }
    hub.close().await;
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_prefix_of_ones_own_leaves_the_length_that_a_file_gives() {
    let text = r#"{"mcpServers": {}, "x-switchboard": {"prefix": "mcp__server__tool", "maxToolName": 40}}"#;
    let config = Config::read(text, &Origin::text("mcp.json")).unwrap();
    assert!(config.problems.is_empty(), "{:?}", config.problems);
    let build = |config| builder([server("one")]).config(config);
    let hub = build(config.clone()).build();
    let as_said = Naming::new(Prefix::Mcp).with_longest(40);
    assert_eq!(*hub.catalog().naming(), as_said);
    let hub = build(config).prefix(Prefix::Server).build();
    let with_prefix = Naming::new(Prefix::Server).with_longest(40);
    assert_eq!(*hub.catalog().naming(), with_prefix);
    hub.connect_all().await;
    hub.call("one__pid").await.unwrap();
    hub.close().await;
}

#[tokio::test]
async fn an_unknown_server_is_named_with_those_that_there_are() {
    let hub = hub([server("one")]).await;
    let error = hub.connect("won").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no server \"won\"; there are one"
    );
    assert!(hub.add_server(server("one")).is_err());
    hub.close().await;
}

#[tokio::test]
async fn whoever_connects_is_told_of_this_try_and_not_of_one_before() {
    let (crashing, launch) = faulty("one", "exits-with-words");
    let hub = builder([crashing]).build();
    for _ in 0..3 {
        // It backs off from the last one when it is tried again.
        let error = soon(hub.connect("one")).await.unwrap_err();
        assert!(
            matches!(&error, HubError::NotReady { state, .. } if state.starts_with("ended 1 times")),
            "{error}"
        );
    }
    soon(hub.close()).await;
    assert!(launch.survivors().is_empty());
}

#[tokio::test]
async fn a_server_that_is_disabled_is_not_started_by_anybody() {
    let mut config = server("one");
    config.is_enabled = false;
    let hub = hub([config]).await;
    let error = soon(hub.connect("one")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server \"one\" cannot be called: disabled"
    );
    let error = soon(hub.call_on("one", "pid")).await.unwrap_err();
    assert!(error.to_string().contains("disabled"), "{error}");
    assert!(matches!(state(&hub, "one"), MemberState::Disabled));
    hub.disconnect("one").await.unwrap();
    assert!(matches!(state(&hub, "one"), MemberState::Disabled));
    hub.close().await;
}

#[tokio::test]
async fn a_server_that_was_never_connected_is_started_by_the_first_call() {
    let hub = builder([server("one"), server("two")]).build();
    assert!(soon(hub.call("mcp__one__pid")).await.is_ok());
    assert!(matches!(state(&hub, "two"), MemberState::Configured));
    hub.close().await;
}

/// Runs one program, which takes as long as it is told to.
#[derive(Debug)]
struct Slow {
    began: mpsc::UnboundedSender<()>,
    goes_on: Mutex<std::sync::mpsc::Receiver<()>>,
    has_ended: Arc<AtomicBool>,
}

impl Surroundings for Slow {
    fn variable(&self, _: &str) -> Option<Secret> {
        None
    }

    fn variable_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn file(&self, _: &std::path::Path) -> std::io::Result<Secret> {
        Err(std::io::Error::other("there are none"))
    }

    fn command(&self, _: &[String]) -> std::io::Result<Secret> {
        self.began.send(()).unwrap();
        let _ = self.goes_on.lock().unwrap().recv();
        self.has_ended.store(true, Ordering::SeqCst);
        Ok(Secret::new(String::new()))
    }

    fn keyring(&self, _: &str) -> std::io::Result<Option<Secret>> {
        Ok(None)
    }

    fn home(&self) -> Option<std::path::PathBuf> {
        None
    }
}

#[tokio::test]
async fn programs_that_give_values_do_not_outlive_the_hub() {
    let text = r#"{"mcpServers":{"one":{"command":"true","env":{"K":"${cmd:slow}"}}}}"#;
    let config = Config::read(text, &Origin::text("mcp.json")).unwrap();
    let (began, mut beginning) = mpsc::unbounded_channel();
    let (go_on, goes_on) = std::sync::mpsc::channel();
    let has_ended = Arc::new(AtomicBool::new(false));
    let slow = Slow {
        began,
        goes_on: Mutex::new(goes_on),
        has_ended: Arc::clone(&has_ended),
    };
    let hub = Hub::builder()
        .config(config)
        .surroundings(Arc::new(slow))
        .build();
    let connecting = hub.clone();
    let connecting = tokio::spawn(async move { connecting.connect("one").await });
    soon(beginning.recv()).await.unwrap();
    let closing = tokio::spawn(async move { hub.close().await });
    go_on.send(()).unwrap();
    soon(closing).await.unwrap();
    assert!(has_ended.load(Ordering::SeqCst));
    assert!(soon(connecting).await.unwrap().is_err());
}

#[tokio::test]
async fn nobody_waits_for_a_server_that_is_gone() {
    let (silent, launch) = faulty("one", "no-handshake");
    let hub = builder([silent]).build();
    let mut events = hub.events();
    let waiting: Vec<_> = (0..4)
        .map(|number| {
            let hub = hub.clone();
            tokio::spawn(async move {
                match number % 2 {
                    0 => hub.connect("one").await,
                    _ => hub.call_on("one", "echo").await.map(drop),
                }
            })
        })
        .collect();
    until(&mut events, "one", |state| {
        matches!(state, MemberState::Starting)
    })
    .await;
    soon(hub.close()).await;
    for waiting in waiting {
        assert!(soon(waiting).await.unwrap().is_err());
    }
    assert!(hub.servers().is_empty());
    assert!(launch.survivors().is_empty());
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_its_server_starts_ends_at_once() {
    let (silent, _launch) = faulty("one", "no-handshake");
    let hub = builder([silent]).build();
    let mut events = hub.events();
    let connecting = hub.clone();
    let connecting = tokio::spawn(async move { drop(connecting.connect("one").await) });
    until(&mut events, "one", |state| {
        matches!(state, MemberState::Starting)
    })
    .await;
    for call in [hub.call_on("one", "echo"), hub.call("mcp__one__echo")] {
        let error = soon(call.cancel_on(std::future::ready(()))).await;
        assert_eq!(
            error.unwrap_err().to_string(),
            "cancelled while the server was waited for"
        );
    }
    let late = hub
        .call_on("one", "echo")
        .deadline(Duration::from_millis(20));
    assert_eq!(
        soon(late).await.unwrap_err().to_string(),
        "the deadline passed while the server was waited for"
    );
    connecting.abort();
    soon(hub.close()).await;
}

#[tokio::test]
async fn a_deadline_counts_what_was_waited_for_and_is_named_as_it_was_set() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Started for the call, which never ends.
    let hub = builder([server("one")]).build();
    let limit = Duration::from_secs(3);
    let call = hub.call_on("one", "hold").arg("port", port).deadline(limit);
    let error = soon(call).await.unwrap_err().to_string();
    assert!(error.contains("no answer within 3s"), "{error}");
    soon(hub.close()).await;
}

#[tokio::test]
async fn what_a_server_offers_stays_while_it_is_started_again() {
    let hub = hub([server("one")]).await;
    let before = tools_of(&hub, "one");
    let mut events = hub.events();
    hub.call_on("one", "die").await.unwrap_err();
    until(&mut events, "one", |state| {
        matches!(state, MemberState::BackingOff { .. })
    })
    .await;
    assert_eq!(tools_of(&hub, "one"), before);
    // A call waits for it.
    pid(&hub, "one").await;
    hub.close().await;
    assert_eq!(hub.catalog().tools().len(), 0);
}

#[tokio::test]
async fn a_hub_whose_builder_is_impatient_gives_up_waiting() {
    let (silent, _launch) = faulty("one", "no-handshake");
    let hub = builder([silent])
        .wait_for_server(Duration::from_millis(50))
        .optional_patience(Duration::from_millis(50))
        .build();
    let servers = soon(hub.connect_all()).await;
    assert!(matches!(servers[0].state, MemberState::Starting));
    let error = soon(hub.call_on("one", "echo")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server \"one\" cannot be called: starting"
    );
    soon(hub.close()).await;
}
