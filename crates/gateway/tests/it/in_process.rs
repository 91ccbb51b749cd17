//! Servers that are played by hand, at the other end of a pipe: what may be said at which moment.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_client::memory::{End, pair};
use switchboard_client::types::{ElicitAction, ElicitResult, ListRootsResult, Root};
use switchboard_client::{Change, Client, Handlers};
use switchboard_gateway::Gateway;
use switchboard_hub::{Hub, HubBuilder, ServerConfig, Sharing};
use switchboard_protocol::jsonrpc::{MethodName, Notification};
use switchboard_protocol::{Era, Revision};
use switchboard_server::{Server, tool};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;

use crate::cell::{connect, soon};
use crate::house::House;

/// A server of the handshake era that says what the test has it say.
struct ByHand(BufReader<End>);

impl ByHand {
    async fn say(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.0.get_mut().write_all(line.as_bytes()).await.unwrap();
    }

    /// The next message with this method. All others before it are answered as if there was
    /// nothing to say.
    async fn hear(&mut self, method: &str) -> Value {
        loop {
            let message = self.next().await;
            if message["method"] == method {
                return message;
            }
            let result = match message["method"].as_str() {
                Some("initialize") => json!({"protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}}, "serverInfo": {"name": "hand", "version": "1"}}),
                Some("tools/list") => json!({"tools": [
                    {"name": "work", "inputSchema": {"type": "object"}}]}),
                _ => json!({}),
            };
            if let Some(id) = message.get("id") {
                let answer = match message["method"].as_str() {
                    Some("server/discover") => json!({"jsonrpc": "2.0", "id": id,
                        "error": {"code": -32601, "message": "no such method"}}),
                    _ => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                };
                self.say(answer).await;
            }
        }
    }

    async fn next(&mut self) -> Value {
        let mut line = String::new();
        soon(self.0.read_line(&mut line)).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Asks something, and gives what is answered.
    async fn ask(&mut self) -> Value {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let params = json!({"message": "who?", "requestedSchema": schema});
        let method = "elicitation/create";
        self.say(json!({"jsonrpc": "2.0", "id": "q", "method": method, "params": params}))
            .await;
        loop {
            let message = self.next().await;
            if message["id"] == "q" {
                return message;
            }
        }
    }
}

/// A hub whose servers are all played by hand, and where they come in when they are started.
fn each_by_hand() -> (HubBuilder, UnboundedReceiver<ByHand>) {
    let (start, started) = unbounded_channel();
    let hub = Hub::builder().in_process(move |_| {
        let (ours, theirs) = pair();
        start.send(ByHand(BufReader::new(theirs))).unwrap();
        Some(ours)
    });
    (hub, started)
}

/// A gateway before a server that is played by hand, and whose one tool is known.
async fn by_hand() -> (Gateway, ByHand) {
    let (ours, theirs) = pair();
    let near = Mutex::new(Some(ours));
    let hub = Hub::builder()
        .server(ServerConfig::command("one", ["in-process"]))
        .in_process(move |_| near.lock().unwrap().take());
    let gateway = Gateway::builder(hub).build();
    let mut server = ByHand(BufReader::new(theirs));
    tokio::spawn(gateway.connect_all());
    server.hear("tools/list").await;
    server
        .say(json!({"jsonrpc": "2.0", "id": 3, "result": {"tools": [
            {"name": "work", "inputSchema": {"type": "object"}}]}}))
        .await;
    (gateway, server)
}

/// Somebody who thinks about what he is asked until he is told to answer.
fn thinker() -> (Handlers, UnboundedReceiver<oneshot::Sender<()>>) {
    let (tell, told) = unbounded_channel();
    let user = Handlers::new().on_form(move |_, _| {
        let (answer, answered) = oneshot::channel();
        tell.send(answer).unwrap();
        async move {
            answered.await.unwrap();
            Ok(ElicitResult::new(ElicitAction::Decline))
        }
    });
    (user, told)
}

/// Somebody who notes that he was asked.
fn user(asked: &Arc<Mutex<u32>>) -> Handlers {
    let asked = Arc::clone(asked);
    Handlers::new().on_form(move |_, _| {
        *asked.lock().unwrap() += 1;
        async { Ok(ElicitResult::new(ElicitAction::Decline)) }
    })
}

#[tokio::test]
async fn of_those_who_were_sent_to_pages_the_oldest_is_forgotten() {
    let (gateway, mut server) = by_hand().await;
    let (heard, mut hearing) = tokio::sync::mpsc::unbounded_channel();
    let user = Handlers::new()
        .on_url(|_, _| async { Ok(ElicitResult::new(ElicitAction::Accept)) })
        .on_change(move |change| drop(heard.send(change)));
    let client = connect(&gateway, Era::Handshake, user).await;
    let (waiting, id) = call(&client, &mut server).await;
    for number in 0..=1_024 {
        let question = format!("q{number}");
        let params = json!({"mode": "url", "message": "go", "url": "https://example.com/",
            "elicitationId": format!("v{number}")});
        server
            .say(
                json!({"jsonrpc": "2.0", "id": question, "method": "elicitation/create",
                "params": params}),
            )
            .await;
        let answer = server.next().await;
        assert_eq!(answer["id"], *question, "{answer}");
        assert_eq!(answer["result"]["action"], "accept", "{answer}");
    }
    assert_eq!(gateway.site().refusals().counts()["visits"], 1);
    for number in [0, 1, 1_024] {
        let method = "notifications/elicitation/complete";
        let params = json!({"elicitationId": format!("v{number}")});
        server
            .say(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }
    for visit in ["v1", "v1024"] {
        let change = soon(hearing.recv()).await;
        assert_eq!(change, Some(Change::Visit(visit.to_owned())));
    }
    server
        .say(json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}}))
        .await;
    soon(waiting).await.unwrap();
}

/// Has a client call, and gives the id that the server hears it under.
async fn call(client: &Client, server: &mut ByHand) -> (tokio::task::JoinHandle<()>, Value) {
    let client = client.clone();
    let calling = tokio::spawn(async move { drop(client.call("one__work").await) });
    let heard = server.hear("tools/call").await;
    (calling, heard["id"].clone())
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_about_a_call_that_somebody_else_has_left() {
    for era in [Era::Handshake, Era::Stateless] {
        let (gateway, mut server) = by_hand().await;
        let asked = Arc::new(Mutex::new(0));
        let one = connect(&gateway, era, user(&asked)).await;
        let other = connect(&gateway, era, user(&asked)).await;
        // His question may be on its way when he leaves.
        let (left, _) = call(&one, &mut server).await;
        left.abort();
        server.hear("notifications/cancelled").await;
        let (waiting, id) = call(&other, &mut server).await;
        let answer = server.ask().await;
        assert!(answer["error"].is_object(), "{era:?}: {answer}");
        assert_eq!(*asked.lock().unwrap(), 0, "{era:?}");
        server
            .say(json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}}))
            .await;
        soon(waiting).await.unwrap();

        // Not for ever: the server has answered a later call, and had time enough.
        tokio::time::sleep(std::time::Duration::from_secs(61)).await;
        let (waiting, _) = call(&other, &mut server).await;
        if era == Era::Handshake {
            let answer = server.ask().await;
            assert_eq!(answer["result"]["action"], "decline", "{answer}");
            assert_eq!(*asked.lock().unwrap(), 1);
        }
        waiting.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_outlives_another_call_of_its_client() {
    let (gateway, mut server) = by_hand().await;
    let (user, mut told) = thinker();
    let client = connect(&gateway, Era::Handshake, user).await;
    let (_asking, _) = call(&client, &mut server).await;
    let (other, id) = call(&client, &mut server).await;
    let schema = json!({"type": "object", "properties": {}});
    server
        .say(
            json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
            "params": {"message": "who?", "requestedSchema": schema}}),
        )
        .await;
    let _first = soon(told.recv()).await.unwrap();
    // It may have been asked by this one, which knows nothing of it.
    server
        .say(json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}}))
        .await;
    soon(other).await.unwrap();
    soon(told.recv()).await.unwrap().send(()).unwrap();
    let answer = server.next().await;
    assert_eq!(answer["result"]["action"], "decline", "{answer}");
}

#[tokio::test(start_paused = true)]
async fn who_is_asked_in_the_place_of_another_call_of_his_has_both_results() {
    let (gateway, mut server) = by_hand().await;
    let (user, mut told) = thinker();
    let client = connect(&gateway, Era::Stateless, user).await;
    let work = |client: Client| {
        tokio::spawn(async move { client.call("one__work").await.map(|it| it.joined_text()) })
    };
    let asking = work(client.clone());
    let asking_id = server.hear("tools/call").await["id"].clone();
    let other = work(client.clone());
    let other_id = server.hear("tools/call").await["id"].clone();
    let schema = json!({"type": "object", "properties": {}});
    server
        .say(
            json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
            "params": {"message": "who?", "requestedSchema": schema}}),
        )
        .await;
    // The newest call is taken for the one that asks. It ends while its user thinks.
    let first = soon(told.recv()).await.unwrap();
    let result = |id: &Value, text: &str| {
        let content = json!([{"type": "text", "text": text}]);
        json!({"jsonrpc": "2.0", "id": id, "result": {"content": content}})
    };
    server.say(result(&other_id, "other")).await;
    // Now it is asked by the other one.
    let second = soon(told.recv()).await.unwrap();
    second.send(()).unwrap();
    let answer = server.next().await;
    assert_eq!(answer["result"]["action"], "decline", "{answer}");
    server.say(result(&asking_id, "asking")).await;
    assert_eq!(soon(asking).await.unwrap().unwrap(), "asking");
    // What he says to the first question is nobody's any more; his call has its result.
    first.send(()).unwrap();
    assert_eq!(soon(other).await.unwrap().unwrap(), "other");
}

#[tokio::test(start_paused = true)]
async fn who_came_before_there_were_servers_sees_those_that_come() {
    for era in [Era::Handshake, Era::Stateless] {
        let server = Server::new("one", "1").tool(tool("work", async || "done"));
        let gateway = Gateway::builder(served(server, || ())).build();
        let client = connect(&gateway, era, Handlers::new()).await;
        gateway
            .hub()
            .set_servers(vec![ServerConfig::command("one", ["in-process"])])
            .await;
        soon(gateway.hub().connect("one")).await.unwrap();
        let tools = soon(client.refresh_tools()).await.unwrap();
        assert_eq!(tools.len(), 1, "{era:?}");
        let said = soon(client.call("one__work")).await.unwrap();
        assert_eq!(said.joined_text(), "done", "{era:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn two_clients_on_pipes_that_say_nothing_of_themselves_are_two() {
    for era in [Era::Handshake, Era::Stateless] {
        let started = Arc::new(Mutex::new(0));
        let counting = Arc::clone(&started);
        let mut config = ServerConfig::command("one", ["in-process"]);
        config.sharing = Sharing::PerClient;
        let server = Server::new("one", "1").tool(tool("work", async || "done"));
        let hub = served(server, move || *counting.lock().unwrap() += 1).server(config);
        let gateway = Gateway::builder(hub).build();
        soon(gateway.connect_all()).await;
        for _ in 0..2 {
            let client = connect(&gateway, era, Handlers::new()).await;
            soon(client.call("one__work")).await.unwrap();
            // It is gone, but it might come again.
            drop(client);
        }
        // One that says what there is, and one for each of them.
        assert_eq!(*started.lock().unwrap(), 3, "{era:?}");
    }
}

#[tokio::test]
async fn a_long_list_comes_in_pages_by_cursors_that_nobody_can_make_up() {
    for era in [Era::Handshake, Era::Stateless] {
        let tools = (0..501).map(|number| tool(format!("t{number:03}"), async || "done"));
        let server = tools.fold(Server::new("one", "1"), Server::tool);
        let handle = server.handle();
        let config = ServerConfig::command("one", ["in-process"]);
        let gateway = Gateway::builder(served(server, || ()).server(config)).build();
        soon(gateway.connect_all()).await;
        let client = connect(&gateway, era, Handlers::new()).await;
        let page = async |params: Value| {
            let page = soon(client.raw("tools/list", Some(&params))).await;
            page.map(|page| page.decode::<Value>().unwrap())
        };
        let first = page(json!({})).await.unwrap();
        assert_eq!(first["tools"].as_array().unwrap().len(), 500, "{era:?}");
        let cursor = first["nextCursor"].as_str().unwrap().to_owned();
        let second = page(json!({"cursor": cursor})).await.unwrap();
        assert_eq!(second["tools"][0]["name"], "one__t500", "{era:?}");
        assert_eq!(second["tools"].as_array().unwrap().len(), 1);
        assert!(second.get("nextCursor").is_none(), "{era:?}");
        let mut other = cursor.clone();
        let last = other.pop().unwrap();
        other.push(if last == 'A' { 'B' } else { 'A' });
        for made_up in ["", "[1,500]", &other] {
            let refused = page(json!({"cursor": made_up})).await.unwrap_err();
            let code = refused.refusal().unwrap().code;
            assert_eq!(code.0, -32602, "{era:?} {made_up:?}");
        }
        // A list that is another by now is read from its beginning.
        handle.enable_tool("t000", false);
        soon(async {
            while page(json!({"cursor": cursor})).await.is_ok() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert_eq!(soon(client.tools()).await.unwrap().len(), 500);
        soon(client.close()).await;
        soon(gateway.hub().close()).await;
    }
}

/// Somebody who works in this folder, until it is another.
fn at_home(folder: &Arc<Mutex<&'static str>>) -> Handlers {
    let folder = Arc::clone(folder);
    Handlers::new().on_roots(move |_| {
        let root = Root::new(*folder.lock().unwrap());
        async { Ok(ListRootsResult::new(vec![root])) }
    })
}

const FOLDERS_CHANGED: &str = "notifications/roots/list_changed";

impl ByHand {
    /// Begins, and gives what is declared to it.
    async fn begin(&mut self) -> Value {
        let opening = self.hear("initialize").await;
        let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "hand", "version": "1"}});
        self.say(json!({"jsonrpc": "2.0", "id": opening["id"], "result": result}))
            .await;
        opening["params"]["capabilities"].clone()
    }

    /// Answers the next call.
    async fn work(&mut self) {
        let id = self.hear("tools/call").await["id"].clone();
        self.say(json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}}))
            .await;
    }

    /// Asks which folders there are.
    async fn folders(&mut self) -> Value {
        self.say(json!({"jsonrpc": "2.0", "id": "r", "method": "roots/list"}))
            .await;
        let answer = self.next().await;
        assert_eq!(answer["id"], "r", "{answer}");
        answer
    }
}

/// The server that one client has alone, and that begins with his first call.
async fn own_server(
    client: &Client,
    started: &mut UnboundedReceiver<ByHand>,
    changes: Option<bool>,
) -> ByHand {
    let calling = client.clone();
    let calling = tokio::spawn(async move { calling.call("one__work").await });
    let mut server = soon(started.recv()).await.unwrap();
    let declared = server.begin().await;
    assert!(declared["roots"].is_object(), "{declared}");
    assert_eq!(declared["roots"]["listChanged"].as_bool(), changes);
    server.work().await;
    soon(calling).await.unwrap().unwrap();
    server
}

#[tokio::test]
async fn a_server_that_a_client_has_alone_hears_that_its_folders_are_others_and_asks_for_them() {
    for over_http in [false, true] {
        let (hub, mut started) = each_by_hand();
        let mut alone = ServerConfig::command("one", ["in-process"]);
        alone.sharing = Sharing::PerClient;
        let hub = hub
            .server(alone)
            .server(ServerConfig::command("two", ["in-process"]));
        let opening = tokio::spawn(House::open_to(hub, |gateway| gateway));
        // The one that says what there is, and the one for all: folders are nobody's there.
        let mut shared = Vec::new();
        for _ in 0..2 {
            let mut server = soon(started.recv()).await.unwrap();
            let declared = server.begin().await;
            assert!(declared["roots"]["listChanged"].is_null(), "{declared}");
            let id = server.hear("tools/list").await["id"].clone();
            let tools = json!([{"name": "work", "inputSchema": {"type": "object"}}]);
            server
                .say(json!({"jsonrpc": "2.0", "id": id, "result": {"tools": tools}}))
                .await;
            shared.push(server);
        }
        let house = soon(opening).await.unwrap();
        let folder = Arc::new(Mutex::new("file:///old"));
        let other_folder = Arc::new(Mutex::new("file:///other"));
        let come = async |folder| match over_http {
            true => {
                let user = at_home(folder);
                house.client_of(Era::Handshake, "/mcp", "", user).await
            }
            false => connect(&house.gateway, Era::Handshake, at_home(folder)).await,
        };
        let (client, other) = (come(&folder).await, come(&other_folder).await);
        let mut own = own_server(&client, &mut started, Some(true)).await;
        let mut of_other = own_server(&other, &mut started, Some(true)).await;
        assert_eq!(
            own.folders().await["result"]["roots"][0]["uri"],
            "file:///old"
        );

        *folder.lock().unwrap() = "file:///new";
        client.roots_changed();
        own.hear(FOLDERS_CHANGED).await;
        assert_eq!(
            own.folders().await["result"]["roots"][0]["uri"],
            "file:///new"
        );
        // It is the first that each of the others hears.
        other.roots_changed();
        assert_eq!(of_other.next().await["method"], FOLDERS_CHANGED);
        let theirs = of_other.folders().await;
        assert_eq!(theirs["result"]["roots"][0]["uri"], "file:///other");
        // The first that the others hear is what is said to show it.
        for name in ["one", "two"] {
            let word = Notification::new(MethodName::new("notifications/word"), None);
            let telling = house.gateway.hub().notify_on(name, word);
            soon(telling).await.unwrap();
        }
        for server in &mut shared {
            assert_eq!(server.next().await["method"], "notifications/word");
        }
        house.close().await;
    }
}

#[tokio::test]
async fn a_stateless_client_is_not_asked_for_its_folders_outside_of_a_call() {
    let (hub, mut started) = each_by_hand();
    let mut alone = ServerConfig::command("one", ["in-process"]);
    alone.sharing = Sharing::PerClient;
    let gateway = Gateway::builder(hub.server(alone)).build();
    let connecting = tokio::spawn(gateway.connect_all());
    let mut listed = soon(started.recv()).await.unwrap();
    let id = listed.hear("tools/list").await["id"].clone();
    let tools = json!([{"name": "work", "inputSchema": {"type": "object"}}]);
    listed
        .say(json!({"jsonrpc": "2.0", "id": id, "result": {"tools": tools}}))
        .await;
    soon(connecting).await.unwrap();
    let folder = Arc::new(Mutex::new("file:///srv"));
    let client = connect(&gateway, Era::Stateless, at_home(&folder)).await;
    let mut own = own_server(&client, &mut started, None).await;
    assert!(own.folders().await["error"].is_object());
}

/// A hub whose servers are all this one, in this very process.
fn served(server: Server, starts: impl Fn() + Send + Sync + 'static) -> HubBuilder {
    let site = server.site().unwrap().revisions(Revision::ALL.to_vec());
    Hub::builder().in_process(move |_| {
        starts();
        let (ours, theirs) = pair();
        let site = site.clone();
        tokio::spawn(async move {
            let (read, write) = tokio::io::split(theirs);
            let _ = site.serve(read, write).await;
        });
        Some(ours)
    })
}
