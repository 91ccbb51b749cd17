//! Calls that end with a question, and go on when their client comes again.
//!
//! Specification: 2026-07-28 basic/patterns/mrtr.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_client::Handlers;
use switchboard_client::types::{ElicitAction, ElicitResult};
use switchboard_gateway::{GatewayBuilder, Key};
use switchboard_hub::ServerConfig;
use switchboard_protocol::jsonrpc::ErrorCode;
use switchboard_protocol::types::Implementation;
use switchboard_protocol::{Era, Revision};
use switchboard_server::{Context, Elicited, Failure, Server, tool};

use crate::cell::{ask, connect, question, soon};
use crate::child::{behind, revisions, server};
use crate::house::{Answered, House, over_http};
use crate::played::{Played, before, config, hub_of};

/// What a stateless server asks, with a state that is nobody else's to read.
fn asks(state: &str) -> Value {
    let form = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    json!({"resultType": "input_required", "requestState": state, "inputRequests": {
        "who \"é\"": {"method": "elicitation/create",
            "params": {"mode": "form", "message": "Who?", "requestedSchema": form}}}})
}

const STATE: &str = "the server's own, {\"é\": 1.0} and nobody else's";

#[tokio::test]
async fn between_stateless_peers_nothing_is_kept_and_any_instance_goes_on() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hearing = Arc::clone(&heard);
    let played = Played::new(&[Revision::LATEST])
        .capabilities(json!({"tools": {}}))
        .says(
            "tools/list",
            json!({"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]}),
        )
        .answers("tools/call", move |_, params| {
            let answered = params.get("requestState").is_some();
            hearing.lock().unwrap().push(params);
            Ok(match answered {
                true => json!({"content": [{"type": "text", "text": "Hello!"}]}),
                false => asks(STATE),
            })
        });
    let first = before([("one", played.clone())], |gateway| gateway).await;
    let client = connect(&first, Era::Stateless, Handlers::new()).await;
    let params = json!({"name": "one__greet", "arguments": {"loud": 1.50}});
    let asked = ask(&client, params).await.unwrap();
    let (name, state) = question(&asked);
    assert_eq!((&*name, &*state), ("who \"é\"", STATE));
    let load = first.load();
    assert_eq!(
        (load.parked, load.asking, load.calls, load.rooms),
        (0, 0, 0, 0)
    );
    soon(client.close()).await;
    soon(first.hub().close()).await;
    drop(first);

    // A gateway that has never heard of the call.
    let second = before([("one", played)], |gateway| gateway).await;
    let client = connect(&second, Era::Stateless, Handlers::new()).await;
    let answers = json!({"who \"é\"": {"action": "accept", "content": {"name": "Ada"}}});
    let params = json!({"name": "one__greet", "arguments": {"loud": 1.50},
        "requestState": state, "inputResponses": answers});
    let answered = ask(&client, params).await.unwrap();
    assert_eq!(answered["content"][0]["text"], "Hello!", "{answered}");
    assert_eq!(second.load().parked, 0);
    let heard = heard.lock().unwrap();
    let arguments = json!({"loud": 1.50});
    assert_eq!(heard[0], json!({"name": "greet", "arguments": arguments}));
    let retried = json!({"name": "greet", "arguments": arguments, "requestState": STATE,
        "inputResponses": answers});
    assert_eq!(heard[1..], [retried]);
}

/// How often tools were begun: the one that asks, and all others.
#[derive(Default)]
struct Runs {
    asking: AtomicUsize,
    others: AtomicUsize,
}

impl Runs {
    fn now(&self) -> (usize, usize) {
        let asking = self.asking.load(Ordering::SeqCst);
        (asking, self.others.load(Ordering::SeqCst))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Loud {
    loud: Option<bool>,
}

/// A server whose tool asks, and whose other one does not.
fn counted(runs: &Arc<Runs>) -> Server {
    let (asking, others) = (Arc::clone(runs), Arc::clone(runs));
    Server::new("counted", "1")
        .tool(tool("greet", move |loud: Loud, context: Context| {
            let asking = Arc::clone(&asking);
            async move {
                asking.asking.fetch_add(1, Ordering::SeqCst);
                let answer = context.elicit::<Name>("name", "Who?").await?;
                let mark = if loud.loud == Some(true) { "!" } else { "." };
                Ok::<_, Failure>(match answer {
                    Elicited::Accepted(name) => format!("Hello, {}{mark}", name.name),
                    _ => "Bye.".to_owned(),
                })
            }
        }))
        .tool(tool("other", move || {
            others.others.fetch_add(1, Ordering::SeqCst);
            std::future::ready("done")
        }))
}

#[tokio::test]
async fn what_a_parked_call_is_known_by_is_of_no_use_for_anything_else() {
    let runs = Arc::new(Runs::default());
    let sites = [("one", Era::Handshake), ("two", Era::Stateless)];
    let sites = sites.map(|(name, era)| {
        let site = counted(&runs).site().unwrap();
        (name, site.revisions(revisions(era)))
    });
    let hub = hub_of(sites, vec![config("one"), config("two")]);
    let keys = [Key::new("ada", "secret-ada"), Key::new("bob", "secret-bob")];
    let house = House::open_to(hub, |gateway| gateway.access(&keys, None).unwrap()).await;
    let call = async |key: &str, tool: &str, arguments: Value, more: Value| -> Answered {
        let mut params = json!({"name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}});
        let more = more.as_object().unwrap().clone();
        params.as_object_mut().unwrap().extend(more);
        house
            .request("/mcp", Some(key), "tools/call", Some(tool), params)
            .await
    };
    let loud = || json!({"loud": true});
    let asked = call("secret-ada", "one__greet", loud(), json!({})).await;
    let asked = &asked.json()["result"];
    let (name, state) = question(asked);
    assert_eq!(house.gateway.load().parked, 1);
    assert_eq!(runs.now(), (1, 0));

    let answers = json!({name: {"action": "accept", "content": {"name": "Ada"}}});
    let with = |state: &str| json!({"requestState": state, "inputResponses": answers});
    let mut changed = state.clone();
    let last = changed.pop().unwrap();
    changed.push(if last == 'A' { 'B' } else { 'A' });
    for (key, tool, arguments, state) in [
        // Somebody else's.
        ("secret-bob", "one__greet", loud(), &state),
        // For another tool, of this server and of one that keeps no calls.
        ("secret-ada", "one__other", loud(), &state),
        ("secret-ada", "two__other", loud(), &state),
        ("secret-ada", "two__greet", loud(), &state),
        // With other arguments, or none.
        ("secret-ada", "one__greet", json!({"loud": false}), &state),
        ("secret-ada", "one__greet", json!({}), &state),
        // Not as it was given.
        ("secret-ada", "one__greet", loud(), &changed),
    ] {
        let refused = call(key, tool, arguments, with(state)).await.json();
        let error = &refused["error"];
        assert_eq!(
            error["code"],
            ErrorCode::INVALID_PARAMS.0,
            "{key} {tool}: {refused}"
        );
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("requestState"), "{message}");
        assert_eq!(runs.now(), (1, 0), "{key} {tool}");
    }
    // Another method altogether.
    let read = house
        .request(
            "/mcp",
            Some("secret-ada"),
            "prompts/get",
            Some("one__greet"),
            json!({"name": "one__greet", "arguments": {}, "requestState": state}),
        )
        .await;
    let message = read.json()["error"]["message"].to_string();
    assert!(message.contains("requestState"), "{message}");

    // It waits all the while, and goes on for the one whose it is.
    assert_eq!(house.gateway.load().parked, 1);
    let ended = call("secret-ada", "one__greet", loud(), with(&state)).await;
    assert_eq!(ended.said(), "Hello, Ada!", "{ended:?}");
    assert_eq!(runs.now(), (1, 0));
    assert_eq!(house.gateway.load().parked, 0);
    house.close().await;
}

/// More than a server may ask about one call.
const AWAY: usize = 70;

#[tokio::test]
async fn who_does_not_come_again_takes_no_place_from_others() {
    let site = behind().site().unwrap();
    let (url, serving) = over_http(site.revisions(revisions(Era::Handshake))).await;
    // On a pipe nothing tells about whom a server asks, if there are several.
    for (config, next) in [
        (ServerConfig::url("one", &url), "secret-bob"),
        (server("one", Era::Handshake), "secret-ada"),
    ] {
        let keys = [Key::new("ada", "secret-ada"), Key::new("bob", "secret-bob")];
        let describe = |gateway: GatewayBuilder| gateway.access(&keys, None).unwrap();
        let house = House::open_before(vec![config], describe).await;
        for _ in 0..AWAY {
            let asked = house.ask("secret-ada", "one__greet").await.json();
            assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        }
        assert_eq!(house.gateway.load().parked, AWAY);
        let asked = house.ask(next, "one__greet").await.json();
        let (name, state) = question(&asked["result"]);
        let answers = json!({name: {"action": "accept", "content": {"name": "Ada"}}});
        let params =
            json!({"name": "one__greet", "requestState": state, "inputResponses": answers});
        let tool = Some("one__greet");
        let greeted = house
            .request("/mcp", Some(next), "tools/call", tool, params)
            .await;
        assert_eq!(greeted.said(), "Hello, Ada!", "{greeted:?}");
        house.close().await;
    }
    serving.abort();
}

#[tokio::test]
async fn a_stateless_server_that_asks_for_ever_is_asked_ten_times_for_a_client_that_waits() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&calls);
    let played = Played::new(&[Revision::LATEST])
        .capabilities(json!({"tools": {}}))
        .says(
            "tools/list",
            json!({"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]}),
        )
        .answers("tools/call", move |_, _| {
            let number = counting.fetch_add(1, Ordering::SeqCst);
            Ok(asks(&format!("round {number}")))
        });
    let gateway = before([("one", played)], |gateway| {
        gateway.info(Implementation::new("gateway", "1"))
    })
    .await;
    let asked = Arc::new(AtomicUsize::new(0));
    let asking = Arc::clone(&asked);
    let user = Handlers::new().on_form(move |_, _| {
        asking.fetch_add(1, Ordering::SeqCst);
        async { Ok(ElicitResult::new(ElicitAction::Decline)) }
    });
    let client = connect(&gateway, Era::Handshake, user).await;
    let outcome = soon(client.call("one__greet")).await;
    let error = outcome.unwrap_err();
    let error = error.refusal().unwrap();
    assert_eq!(error.code, ErrorCode::INTERNAL_ERROR, "{error}");
    assert!(error.message.contains("again and again"), "{error}");
    assert_eq!(gateway.site().refusals().counts()["rounds"], 1);
    assert_eq!(asked.load(Ordering::SeqCst), 10);
    assert_eq!(calls.load(Ordering::SeqCst), 11);
    let load = gateway.load();
    assert_eq!((load.calls, load.parked, load.asking), (0, 0, 0));
}
