//! Definitions that somebody approved, and such that nobody did.

use switchboard_client::memory::pair;
use switchboard_hub::{
    Absence, Event, Hub, HubError, Lock, MemberState, Mismatch, PinnedServer, Reason, ServerConfig,
};
use switchboard_server::{Server, tool};

use crate::child::server;
use crate::running::{hub, soon, state, sum, tools_of, until};

/// All that these servers say now.
fn lock_of(hub: &Hub, servers: &[ServerConfig]) -> Lock {
    let mut lock = Lock::new();
    for server in servers {
        let listed = hub.catalog().listed_by(&server.name);
        lock.set(&server.name, PinnedServer::new(server, &listed, None));
    }
    lock
}

async fn locked(servers: &[ServerConfig], lock: Lock) -> Hub {
    let mut builder = Hub::builder().lock(lock);
    for server in servers {
        builder = builder.server(server.clone());
    }
    let hub = builder.build();
    soon(hub.connect_all()).await;
    hub
}

#[tokio::test]
async fn a_tool_that_comes_after_approval_is_neither_listed_nor_called() {
    let servers = [server("one"), server("two")];
    let free = hub(servers.clone()).await;
    let lock = lock_of(&free, &servers);
    let all = tools_of(&free, "one");
    free.close().await;
    let hub = locked(&servers, lock).await;
    assert_eq!(tools_of(&hub, "one"), all);
    let mut events = hub.events().without_progress();
    hub.call_on("one", "grow").await.unwrap();
    let refused = async {
        loop {
            if let Some(Event::Refused { denials, count, .. }) = events.next().await {
                return (denials, count);
            }
        }
    };
    let (denials, count) = soon(refused).await;
    assert_eq!((count, denials[0].name.as_str()), (1, "grown"));
    assert_eq!(
        denials[0].reason,
        Reason::NotApproved(Box::new(Mismatch::Unknown))
    );
    assert_eq!(tools_of(&hub, "one"), all);
    let error = hub.call_on("one", "grown").await.unwrap_err();
    assert!(matches!(&error, HubError::NotFound(missing)
        if matches!(missing.absence, Absence::Denied(_))));
    assert_eq!(
        error.to_string(),
        "the tool \"grown\" of server \"one\" may not be used: it is not in the lock; \
         `switchboard lock --check` shows it, `switchboard lock` approves it"
    );
    // Nothing else is concerned.
    assert_eq!(sum(&hub, "one", 1).await, sum(&hub, "two", 1).await);
    assert_eq!(hub.catalog().refused_of("one").len(), 1);
    let counted = hub.metrics().snapshot();
    let counted = counted.servers.iter().map(|server| server.refused);
    assert_eq!(counted.collect::<Vec<_>>(), [1, 0]);
    // Somebody looks at it, and approves it while it runs.
    hub.set_lock(Some(lock_of(&hub, &servers)));
    hub.call_on("one", "grown").await.unwrap();
    assert!(hub.catalog().refused_of("one").is_empty());
    hub.close().await;
}

#[tokio::test]
async fn of_many_refusals_some_are_told_and_all_are_counted() {
    let tools = (0..20).map(|number| tool(format!("t{number}"), async || "done"));
    let site = tools
        .fold(Server::new("many", "1"), Server::tool)
        .site()
        .unwrap();
    let servers = [ServerConfig::command("many", ["in-process"])];
    // Nothing is listed by one that was never started, so nothing is approved but the server.
    let lock = lock_of(&Hub::builder().build(), &servers);
    let builder = Hub::builder().lock(lock).server(servers[0].clone());
    let hub = builder.in_process(move |_| {
        let (ours, theirs) = pair();
        let site = site.clone();
        tokio::spawn(async move {
            let (read, write) = tokio::io::split(theirs);
            let _ = site.serve(read, write).await;
        });
        Some(ours)
    });
    let hub = hub.build();
    let mut events = hub.events();
    soon(hub.connect_all()).await;
    let refused = async {
        loop {
            if let Some(Event::Refused { denials, count, .. }) = events.next().await {
                return (denials.len(), count);
            }
        }
    };
    assert_eq!(soon(refused).await, (16, 20));
    assert!(tools_of(&hub, "many").is_empty());
    assert_eq!(hub.metrics().snapshot().servers[0].refused, 20);
    hub.close().await;
}

#[tokio::test]
async fn what_is_not_in_the_lock_is_not_started() {
    let servers = [server("one"), server("two")];
    let free = hub(servers.clone()).await;
    let whole = lock_of(&free, &servers);
    free.close().await;
    let mut lock = whole.clone();
    lock.remove("two");
    let hub = locked(&servers, lock).await;
    let MemberState::Failed { reason, .. } = state(&hub, "two") else {
        panic!("{}", state(&hub, "two"));
    };
    let expected = "it is not started: the server is not in the lock; ";
    assert!(reason.starts_with(expected), "{reason}");
    let mut events = hub.events();
    hub.set_lock(Some(whole));
    until(&mut events, "two", MemberState::is_ready).await;
    sum(&hub, "two", 1).await;
    hub.close().await;
}

#[tokio::test]
async fn another_program_behind_a_name_is_not_started() {
    let approved = server("one");
    let free = hub([approved.clone()]).await;
    let lock = lock_of(&free, &[approved]);
    free.close().await;
    let other = ServerConfig::command("one", ["another-program"]);
    let hub = locked(&[other], lock).await;
    let shown = state(&hub, "one").to_string();
    let expected = "the server runs something else than the lock has (command, args, env)";
    assert!(shown.contains(expected), "{shown}");
    hub.close().await;
}

#[tokio::test]
async fn prompts_and_resources_are_held_against_the_lock_too() {
    let servers = [server("one")];
    let free = hub(servers.clone()).await;
    let mut listed = free.catalog().listed_by("one");
    free.close().await;
    let whole = listed.clone();
    listed.prompts = Some(Vec::new());
    listed.templates = Some(Vec::new());
    listed.resources.as_mut().unwrap()[0].description = Some("Something else.".to_owned());
    let pinned = PinnedServer::new(&servers[0], &listed, None);
    let lock = |pinned: PinnedServer| {
        let mut lock = Lock::new();
        lock.set("one", pinned);
        lock
    };
    let hub = locked(&servers, lock(pinned.clone())).await;
    let catalog = hub.catalog();
    assert_eq!((catalog.prompts().len(), catalog.templates().len()), (0, 0));
    let uris: Vec<&str> = catalog.resources().map(|entry| &*entry.uri).collect();
    assert_eq!(uris, ["demo://shared"]);
    let error = catalog.find_prompt_on("one", "review").unwrap_err();
    assert!(matches!(error.absence, Absence::Denied(_)), "{error}");
    let kinds: Vec<&str> = catalog.refused_of("one").iter().map(|it| it.kind).collect();
    assert_eq!(kinds, ["prompt", "resource template", "resource"]);
    // What is in a resource was never approved, and can be read.
    assert!(catalog.find_resource("demo://state").is_ok());
    // Those that come and go are not pinned at all.
    hub.set_lock(Some(lock(pinned.without_resources())));
    assert_eq!(hub.catalog().resources().len(), 2);
    hub.set_lock(Some(lock(PinnedServer::new(&servers[0], &whole, None))));
    let catalog = hub.catalog();
    assert!(catalog.refused_of("one").is_empty());
    assert_eq!((catalog.prompts().len(), catalog.templates().len()), (1, 1));
    hub.set_lock(None);
    assert_eq!(hub.catalog().prompts().len(), 1);
    hub.close().await;
}

#[tokio::test]
async fn a_file_that_requires_a_lock_is_not_used_without_it() {
    let name = format!("switchboard-hub-lock-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("mcp.json");
    let text = r#"{"mcpServers": {"one": {"command": "x"}}, "x-switchboard": {"lock": true}}"#;
    std::fs::write(&file, text).unwrap();
    let error = Hub::from_file(&file).await.unwrap_err();
    assert!(
        matches!(&error, HubError::Lock(error) if error.is_missing()),
        "{error}"
    );
    std::fs::write(folder.join("mcp.lock"), Lock::new().to_text()).unwrap();
    let hub = Hub::from_file(&file).await.unwrap();
    soon(hub.connect_all()).await;
    let shown = state(&hub, "one").to_string();
    assert!(shown.contains("the server is not in the lock"), "{shown}");
    hub.close().await;
    let _ = std::fs::remove_dir_all(folder);
}
