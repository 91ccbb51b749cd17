//! How long lists may be kept and by whom: what the servers said of theirs, taken together.
//!
//! Specification: 2026-07-28 server/utilities/caching.

use serde_json::{Value, json};
use switchboard_client::{Client, Handlers};
use switchboard_gateway::Key;
use switchboard_hub::Sharing;
use switchboard_protocol::{Era, Revision};

use crate::cell::{connect, soon};
use crate::played::{Played, before, before_as, config};

/// The lists, and which member of their results they are.
const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

/// One thing of each kind.
fn thing(kind: &str, name: &str) -> Value {
    match kind {
        "tools" => json!({"name": name, "inputSchema": {"type": "object"}}),
        "prompts" => json!({"name": name}),
        "resources" => json!({"name": name, "uri": format!("demo://{name}")}),
        _ => json!({"name": name, "uriTemplate": format!("{name}://{{id}}")}),
    }
}

/// A stateless server that says this with its tools, prompts, resources and templates.
fn stateless(name: &'static str, hints: [(u64, &'static str); 4]) -> Played {
    let lists = LISTS.into_iter().zip(hints);
    lists.fold(
        Played::new(&[Revision::LATEST]),
        |played, ((method, member), (ttl, scope))| {
            let things = [thing(member, name)];
            let said = json!({member: things, "ttlMs": ttl, "cacheScope": scope});
            played.says(method, said)
        },
    )
}

/// A server of the handshake era that has tools and nothing else.
fn old(name: &'static str) -> Played {
    Played::new(&[Revision::V2025_11_25])
        .capabilities(json!({"tools": {"listChanged": true}}))
        // What it has no words for it cannot mean.
        .says(
            "tools/list",
            json!({"tools": [thing("tools", name)], "ttlMs": 9_000, "cacheScope": "public"}),
        )
}

/// What is said with the four lists.
async fn said(client: &Client) -> Vec<Value> {
    let mut all = Vec::new();
    for (method, _) in LISTS {
        let page = soon(client.raw(method, Some(&json!({})))).await.unwrap();
        let page: Value = page.decode().unwrap();
        all.push(json!([page["ttlMs"], page["cacheScope"]]));
    }
    all
}

const ONE: [(u64, &str); 4] = [
    (60_000, "public"),
    (60_000, "public"),
    (7_000, "public"),
    (0, "public"),
];
const TWO: [(u64, &str); 4] = [
    (5_000, "public"),
    (90_000, "private"),
    (8_000, "public"),
    (8_000, "private"),
];

#[tokio::test]
async fn a_list_is_kept_as_short_and_as_private_as_any_of_its_servers_said() {
    let servers = [
        ("one", stateless("one", ONE)),
        ("two", stateless("two", TWO)),
    ];
    let gateway = before(servers, |gateway| gateway).await;
    let client = connect(&gateway, Era::Stateless, Handlers::new()).await;
    let expected = [
        json!([5_000, "public"]),
        json!([60_000, "private"]),
        json!([7_000, "public"]),
        json!([0, "private"]),
    ];
    assert_eq!(said(&client).await, expected);
    // A client of the handshake era has no words for it.
    let client = connect(&gateway, Era::Handshake, Handlers::new()).await;
    assert_eq!(said(&client).await, vec![json!([null, null]); 4]);
}

#[tokio::test]
async fn beside_a_server_that_has_no_words_for_it_nobody_keeps_what_it_has() {
    let servers = [("one", stateless("one", ONE)), ("two", old("two"))];
    let gateway = before(servers, |gateway| gateway).await;
    let client = connect(&gateway, Era::Stateless, Handlers::new()).await;
    // It has tools alone, so it has no say in what else is listed.
    let expected = [
        json!([0, "private"]),
        json!([60_000, "public"]),
        json!([7_000, "public"]),
        json!([0, "public"]),
    ];
    assert_eq!(said(&client).await, expected);
    // Nor has it any when it is gone.
    soon(gateway.hub().disconnect("two")).await.unwrap();
    assert_eq!(said(&client).await[0], json!([60_000, "public"]));
    // One that is there again says it again.
    soon(gateway.hub().disconnect("one")).await.unwrap();
    assert_eq!(said(&client).await[0], json!([0, "private"]));
    soon(gateway.hub().connect("one")).await.unwrap();
    assert_eq!(said(&client).await[0], json!([60_000, "public"]));
}

#[tokio::test]
async fn what_each_client_has_alone_is_shared_with_nobody() {
    let mut alone = config("two");
    alone.sharing = Sharing::PerClient;
    let servers = [
        ("one", stateless("one", ONE)),
        ("two", stateless("two", ONE)),
    ];
    let gateway = before_as(servers, vec![config("one"), alone], |gateway| gateway).await;
    let client = connect(&gateway, Era::Stateless, Handlers::new()).await;
    let private = ONE.map(|(ttl, _)| json!([ttl, "private"]));
    assert_eq!(said(&client).await[..3], private[..3]);
}

#[tokio::test]
async fn where_a_key_decides_what_is_seen_lists_are_shared_with_nobody() {
    let gateway = before([("one", stateless("one", ONE))], |gateway| {
        gateway.access(&[Key::new("ada", "secret")], None).unwrap()
    })
    .await;
    let client = connect(&gateway, Era::Stateless, Handlers::new()).await;
    assert_eq!(said(&client).await[0], json!([60_000, "private"]));
}

#[tokio::test]
async fn every_page_of_a_list_says_the_same() {
    let many: Vec<_> = (0..600)
        .map(|number| thing("tools", &format!("t{number}")))
        .collect();
    let pages = move |_: &switchboard_server::Call<'_>, params: Value| {
        // The second page of the server's own list says less than the first.
        Ok(match params["cursor"].as_str() {
            None => json!({"tools": many[..300], "nextCursor": "300",
                "ttlMs": 60_000, "cacheScope": "public"}),
            Some(_) => json!({"tools": many[300..], "ttlMs": 4_000, "cacheScope": "public"}),
        })
    };
    let played = Played::new(&[Revision::LATEST])
        .capabilities(json!({"tools": {}}))
        .answers("tools/list", pages);
    let gateway = before([("one", played)], |gateway| gateway).await;
    let client = connect(&gateway, Era::Stateless, Handlers::new()).await;
    let mut params = json!({});
    for length in [500, 100] {
        let page = soon(client.raw("tools/list", Some(&params))).await.unwrap();
        let page: Value = page.decode().unwrap();
        assert_eq!(page["tools"].as_array().unwrap().len(), length);
        assert_eq!(page["ttlMs"], 4_000);
        assert_eq!(page["cacheScope"], "public");
        params = json!({"cursor": page["nextCursor"]});
    }
}

#[tokio::test]
async fn what_is_read_passes_with_what_its_server_said_of_it() {
    let contents = json!([{"uri": "demo://one", "text": "fine"}]);
    let read = json!({"contents": contents, "ttlMs": 3_000, "cacheScope": "public"});
    let servers = [
        ("one", stateless("one", ONE).says("resources/read", read)),
        (
            "two",
            Played::new(&[Revision::V2025_11_25])
                .says("tools/list", json!({"tools": []}))
                .says("prompts/list", json!({"prompts": []}))
                .says(
                    "resources/list",
                    json!({"resources": [thing("resources", "two")]}),
                )
                .says("resources/templates/list", json!({"resourceTemplates": []}))
                .says(
                    "resources/read",
                    json!({"contents": [{"uri": "demo://two", "text": "old"}]}),
                ),
        ),
    ];
    let gateway = before(servers, |gateway| gateway).await;
    let client = connect(&gateway, Era::Stateless, Handlers::new()).await;
    for (uri, hint) in [
        ("demo://one", json!([3_000, "public"])),
        ("demo://two", json!([0, "private"])),
    ] {
        let params = json!({"uri": uri});
        let read = soon(client.raw("resources/read", Some(&params)))
            .await
            .unwrap();
        let read: Value = read.decode().unwrap();
        assert_eq!(json!([read["ttlMs"], read["cacheScope"]]), hint, "{read}");
    }
    // What there is may be another thing the next moment, and nobody is told.
    let about = soon(client.raw("server/discover", Some(&json!({}))))
        .await
        .unwrap();
    let about: Value = about.decode().unwrap();
    assert_eq!(
        json!([about["ttlMs"], about["cacheScope"]]),
        json!([0, "private"])
    );
}
