//! How much is taken on, what is written down of it, and what models are offered.

use std::future::IntoFuture;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::{Client, Error, Handlers};
use switchboard_gateway::{Audit, Gateway, GatewayLimits, Key};
use switchboard_hub::{Hub, Sharing};
use switchboard_protocol::Era;
use switchboard_server::{Context, Server, tool};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::cell::{connect, in_each, in_flight, soon};
use crate::child::{Name, revisions, server};
use crate::house::House;
use crate::played::{config, hub_of};

fn limits(name: &str, value: usize) -> GatewayLimits {
    let mut limits = GatewayLimits::default();
    limits.set(name, value).unwrap();
    limits
}

/// What was refused names its limit, and was counted under that name.
fn check_counted(gateway: &Gateway, refused: &Error, limit: &str) {
    let data = refused.refusal().and_then(|error| error.data.as_ref());
    let data: Value = data.unwrap().decode().unwrap();
    assert_eq!(data["limit"], limit);
    let counts = gateway.site().refusals().counts();
    assert_eq!(counts.get(limit), Some(&1), "{counts:?}");
}

#[tokio::test]
async fn calls_beyond_the_limit_are_refused_at_once_in_every_cell() {
    in_each(|eras| async move {
        let hub = Hub::builder().server(server("one", eras.server));
        let gateway = Gateway::builder(hub).limits(limits("calls", 1)).build();
        soon(gateway.hub().connect_all()).await;
        let client = connect(&gateway, eras.client, Handlers::new()).await;
        let gate = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = gate.local_addr().unwrap().port();
        let held = client.call("one__hold").arg("port", port);
        let mut held = Box::pin(held.into_future());
        tokio::select! {
            _ = gate.accept() => {}
            never = &mut held => panic!("{never:?}"),
        }
        let refused = soon(client.call("one__pid")).await.unwrap_err();
        check_counted(&gateway, &refused, "calls");
        let refused = refused.to_string();
        assert!(refused.contains("all 1 calls"), "{refused}");
        assert!(refused.contains("try again in 1.0 s"), "{refused}");
        // Lists are answered all the same.
        assert!(!soon(client.tools()).await.unwrap().is_empty());
        drop(held);
        // Its place is free when its end is known here.
        while soon(client.call("one__pid")).await.is_err() {
            tokio::task::yield_now().await;
        }
        soon(client.close()).await;
        soon(gateway.hub().close()).await;
    })
    .await;
}

#[tokio::test]
async fn a_result_that_is_too_large_is_not_passed_on() {
    let house = House::open(|gateway| gateway.limits(limits("result", 10_000))).await;
    let large = house.call("/mcp", None, "one__large").await;
    let error = &large.json()["error"];
    assert_eq!(error["data"]["limit"], "result", "{error}");
    assert!(
        error["message"].as_str().unwrap().contains("10000"),
        "{error}"
    );
    assert_eq!(house.call("/mcp", None, "one__echo").await.said(), "echo");
    house.close().await;
}

#[tokio::test]
async fn a_message_that_is_too_large_is_not_read() {
    let house = House::open(|gateway| gateway.limits(limits("message", 10_000))).await;
    let text = "x".repeat(20_000);
    let refused = house
        .call_with("/mcp", None, "one__echo", &json!({"text": text}))
        .await;
    assert_eq!(refused.status, 413, "{}", refused.text);
    let numbers = house.get("/metrics", None).await.text;
    let counted = "\nswitchboard_gateway_refused_total{limit=\"message\"} 1\n";
    assert!(numbers.contains(counted), "{numbers}");
    house.close().await;
}

/// A place that lines are written to.
#[derive(Clone, Default)]
pub(crate) struct Lines(pub(crate) Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    pub(crate) fn read(&self) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

#[tokio::test]
async fn every_call_is_written_down_without_what_was_said() {
    let lines = Lines::default();
    let audit = Audit::to(lines.clone()).unwrap();
    let book = audit.clone();
    let house = House::open(|gateway| {
        let keys = [Key::new("ada", "secret-ada")];
        let mut limits = GatewayLimits::default();
        limits.set("callsPerMinute", 18).unwrap();
        gateway
            .access(&keys, None)
            .unwrap()
            .audit(audit)
            .limits(limits)
    })
    .await;
    let key = Some("secret-ada");
    let said = json!({"text": "whisper"});
    house.call_with("/mcp", key, "one__echo", &said).await;
    house.call("/mcp", key, "two__fail").await;
    house.call("/mcp", key, "one__nothing").await;
    house.call("/mcp", key, "one__echo").await;
    house.list("/mcp", key).await;
    book.flush();
    let entries = lines.read();
    let check = |place: usize, expected: Value| {
        let entry = &entries[place];
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&entry[name], value, "{name} of {entry}");
        }
        assert_eq!(entry["caller"], "ada");
        assert!(entry["time"].as_str().unwrap().ends_with('Z'));
        assert!(entry["durationMs"].as_f64().unwrap() >= 0.0);
    };
    check(
        0,
        json!({"method": "tools/call", "server": "one", "name": "echo", "outcome": "ok"}),
    );
    assert!(entries[0]["requestBytes"].as_u64() > Some(7));
    assert!(entries[0]["resultBytes"].as_u64() > Some(4));
    check(
        1,
        json!({"server": "two", "name": "fail", "outcome": "toolError"}),
    );
    check(
        2,
        json!({"server": null, "name": "one__nothing", "outcome": "error", "code": -32602}),
    );
    check(
        3,
        json!({"server": "one", "outcome": "refused", "code": -31002}),
    );
    assert_eq!(entries.len(), 4);
    let all = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(!all.contains("whisper") && !all.contains("secret"), "{all}");
    house.close().await;
}

#[tokio::test]
async fn sessions_beyond_the_limits_are_refused() {
    let open = |limit: &'static str| {
        House::open(move |gateway| {
            let keys = [Key::new("ada", "secret-ada"), Key::new("bob", "secret-bob")];
            let gateway = gateway.limits(limits(limit, 1));
            gateway.access(&keys, None).unwrap()
        })
    };
    for (limit, status, others) in [("sessions", 503, 503), ("sessionsPerCaller", 429, 200)] {
        let house = open(limit).await;
        let client = house.client(Era::Handshake, "/mcp", "secret-ada").await;
        let refused = house.initialize("secret-ada").await;
        assert_eq!(refused.status, status, "{limit}: {refused:?}");
        assert!(refused.headers.contains_key("retry-after"), "{limit}");
        let error = &refused.json()["error"];
        assert_eq!(error["data"]["limit"], limit, "{error}");
        let numbers = house.get("/metrics", Some("secret-ada")).await.text;
        let counted = format!("\nswitchboard_gateway_refused_total{{limit=\"{limit}\"}} 1\n");
        assert!(numbers.contains(&counted), "{numbers}");
        assert_eq!(
            house.initialize("secret-bob").await.status,
            others,
            "{limit}"
        );
        // Clients of the stateless era have none.
        let echo = house.call("/mcp", Some("secret-ada"), "one__echo").await;
        assert_eq!(echo.said(), "echo");
        soon(client.close()).await;
        house.close().await;
    }
}

/// A gateway that allows one of what this limit is of, before a server of this era, and a client.
async fn with_one_of(limit: &str, era: Era) -> (Gateway, Client) {
    let hub = Hub::builder().server(server("one", era));
    let gateway = Gateway::builder(hub).limits(limits(limit, 1)).build();
    soon(gateway.hub().connect_all()).await;
    let client = connect(&gateway, Era::Handshake, Handlers::new()).await;
    (gateway, client)
}

#[tokio::test]
async fn calls_of_one_connection_are_bounded() {
    let (gateway, client) = with_one_of("callsPerConnection", Era::Stateless).await;
    let gate = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = gate.local_addr().unwrap().port();
    let held = client.call("one__hold").arg("port", port);
    let mut held = Box::pin(held.into_future());
    tokio::select! {
        _ = gate.accept() => {}
        never = &mut held => panic!("{never:?}"),
    }
    let refused = soon(client.call("one__pid")).await.unwrap_err();
    check_counted(&gateway, &refused, "callsPerConnection");
    assert!(
        refused.to_string().contains("too many requests"),
        "{refused}"
    );
    // Another connection is not concerned.
    let other = connect(&gateway, Era::Handshake, Handlers::new()).await;
    assert!(soon(other.call("one__pid")).await.is_ok());
    drop(held);
    for client in [client, other] {
        soon(client.close()).await;
    }
    soon(gateway.hub().close()).await;
}

#[tokio::test]
async fn clients_with_servers_of_their_own_are_bounded() {
    let mut alone = server("one", Era::Stateless);
    alone.sharing = Sharing::PerClient;
    let hub = Hub::builder().server(alone);
    let gateway = Gateway::builder(hub).limits(limits("rooms", 1)).build();
    soon(gateway.hub().connect_all()).await;
    let first = connect(&gateway, Era::Handshake, Handlers::new()).await;
    soon(first.call("one__pid")).await.unwrap();
    let second = connect(&gateway, Era::Handshake, Handlers::new()).await;
    let refused = soon(second.call("one__pid")).await.unwrap_err();
    check_counted(&gateway, &refused, "rooms");
    // Whoever goes makes room, as soon as that is known.
    soon(first.close()).await;
    while soon(second.call("one__pid")).await.is_err() {
        tokio::task::yield_now().await;
    }
    soon(second.close()).await;
    soon(gateway.hub().close()).await;
}

#[tokio::test]
async fn calls_that_wait_for_answers_are_bounded() {
    for (limit, status) in [
        ("parked", 503),
        ("parkedPerCaller", 429),
        ("parkedBytes", 503),
        ("parkedBytesPerCaller", 429),
    ] {
        let house = House::open_before(vec![server("asks", Era::Handshake)], |gateway| {
            let keys = [Key::new("ada", "secret-ada")];
            let gateway = gateway.limits(limits(limit, 1));
            gateway.access(&keys, None).unwrap()
        })
        .await;
        let asked = house.ask("secret-ada", "asks__greet").await;
        assert_eq!(
            asked.json()["result"]["resultType"],
            "input_required",
            "{asked:?}"
        );
        let refused = house.ask("secret-ada", "asks__greet").await;
        assert_eq!(refused.status, status, "{limit}: {refused:?}");
        assert!(refused.headers.contains_key("retry-after"), "{limit}");
        assert_eq!(refused.json()["error"]["data"]["limit"], limit);
        let numbers = house.get("/metrics", Some("secret-ada")).await.text;
        let refused = format!("switchboard_gateway_refused_total{{limit=\"{limit}\"}}");
        assert!(numbers.contains(&refused), "{numbers}");
        assert!(
            numbers.contains("switchboard_gateway_calls_parked "),
            "{numbers}"
        );
        house.close().await;
    }
}

#[tokio::test]
async fn what_is_kept_of_calls_that_end_while_their_clients_are_away_is_bounded() {
    let impatience = Arc::new(Notify::new());
    let waiting = Arc::clone(&impatience);
    let server = Server::new("impatient", "1").tool(tool("greet", move |context: Context| {
        let waiting = Arc::clone(&waiting);
        async move {
            tokio::select! {
                _ = context.elicit::<Name>("name", "Who?") => "Hello.".to_owned(),
                () = waiting.notified() => "x".repeat(10_000),
            }
        }
    }));
    let site = server.site().unwrap().revisions(revisions(Era::Handshake));
    let house = House::open_to(hub_of([("one", site)], vec![config("one")]), |gateway| {
        let keys = [Key::new("ada", "secret-ada")];
        let gateway = gateway.limits(limits("parkedBytesPerCaller", 5_000));
        gateway.access(&keys, None).unwrap()
    })
    .await;
    let [first, second] = [
        house.ask("secret-ada", "one__greet").await.json(),
        house.ask("secret-ada", "one__greet").await.json(),
    ];
    let come_for = |asked: &Value| {
        let state = &asked["result"]["requestState"];
        assert!(state.is_string(), "{asked}");
        let params = json!({"name": "one__greet", "requestState": state, "inputResponses": {}});
        house.request(
            "/mcp",
            Some("secret-ada"),
            "tools/call",
            Some("one__greet"),
            params,
        )
    };
    let counts = || house.gateway.site().refusals().counts();
    // The first ends beside the other.
    impatience.notify_one();
    soon(async {
        while !counts().contains_key("parkedBytesPerCaller") {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let error = &come_for(&first).await.json()["error"];
    assert_eq!(
        error["data"],
        json!({"limit": "parkedBytesPerCaller"}),
        "{error}"
    );
    let reason = error["message"].as_str().unwrap();
    assert!(reason.contains("has ended"), "{reason}");
    // One may always wait.
    impatience.notify_one();
    soon(async {
        while in_flight(&house.gateway) > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let ended = come_for(&second).await;
    assert_eq!(ended.said().len(), 10_000, "{ended:?}");
    assert_eq!(counts()["parkedBytesPerCaller"], 1);
    assert_eq!(house.gateway.load().parked, 0);
    house.close().await;
}

#[tokio::test]
async fn a_call_whose_client_does_not_come_again_ends() {
    let house = House::open_before(vec![server("asks", Era::Handshake)], |gateway| {
        let keys = [Key::new("ada", "secret-ada")];
        let mut limits = GatewayLimits::default();
        limits.parked_life = Duration::from_millis(50);
        gateway.access(&keys, None).unwrap().limits(limits)
    })
    .await;
    let asked = house.ask("secret-ada", "asks__greet").await.json();
    let state = &asked["result"]["requestState"];
    assert!(state.is_string(), "{asked}");
    soon(async {
        while house.gateway.load().parked > 0 || in_flight(&house.gateway) > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let again = json!({"name": "asks__greet", "requestState": state, "inputResponses": {}});
    let name = Some("asks__greet");
    let too_late = house.request("/mcp", Some("secret-ada"), "tools/call", name, again);
    let error = too_late.await.json()["error"].clone();
    assert_eq!(error["code"], -32602, "{error}");
    let reason = error["message"].as_str().unwrap();
    assert!(reason.contains("requestState"), "{reason}");
    let counts = house.gateway.site().refusals().counts();
    assert_eq!(counts.get("parkedSeconds"), Some(&1), "{counts:?}");
    house.close().await;
}

#[tokio::test]
async fn what_a_server_says_of_its_own_limits_is_not_counted() {
    let house = House::open_before(vec![server("one", Era::Handshake)], |gateway| {
        let keys = [Key::new("ada", "secret-ada")];
        gateway.access(&keys, None).unwrap()
    })
    .await;
    let refused = house.ask("secret-ada", "one__full").await;
    assert_eq!(refused.json()["error"]["data"]["limit"], "its own");
    let numbers = house.get("/metrics", Some("secret-ada")).await.text;
    assert!(numbers.contains("switchboard_gateway_refused_total"));
    assert!(!numbers.contains("its own"), "{numbers}");
    house.close().await;
}

#[tokio::test]
async fn a_client_can_subscribe_to_so_many_resources_only() {
    let (gateway, client) = with_one_of("subscriptions", Era::Handshake).await;
    let subscribe = |uri: &str| {
        let params = json!({"uri": uri});
        client.raw("resources/subscribe", Some(&params))
    };
    soon(subscribe("demo://state")).await.unwrap();
    let refused = soon(subscribe("rows://1")).await.unwrap_err();
    check_counted(&gateway, &refused, "subscriptions");
    assert!(
        refused.to_string().contains("too many resources"),
        "{refused}"
    );
    soon(client.close()).await;
    soon(gateway.hub().close()).await;
}
