//! Two clients of different eras at the same time: each gets its own answers, questions and
//! notifications, and nothing of the other's.

use std::thread;

use serde_json::{Value, json};

use super::driven::Driven;
use super::features::{check, expect, text_of, touch_until_heard};

/// Both do everything at once, several times over.
pub(super) fn check_apart(one: &Driven, other: &Driven) -> Result<(), String> {
    let before = [one.now(), other.now()];
    thread::scope(|scope| {
        let busy = [one, other].map(|client| scope.spawn(|| work(client)));
        busy.into_iter().try_for_each(|worker| {
            let worked = worker.join();
            worked.unwrap_or_else(|_| Err("a panic, see above".to_owned()))
        })
    })?;
    for (client, other, since) in [(one, other, before[0]), (other, one, before[1])] {
        let heard = client.heard(since);
        let foreign = heard
            .iter()
            .find(|event| event.to_string().contains(&other.name));
        check(foreign.is_none(), || {
            format!(
                "{} heard what is of {}: {foreign:?}",
                client.name, other.name
            )
        })?;
    }
    Ok(())
}

fn work(client: &Driven) -> Result<(), String> {
    let name = &client.name;
    for server in SERVERS {
        let uri = format!("{}://{name}", server.trim_end_matches('s'));
        client.order(json!({"do": "watch", "uri": uri}))?;
    }
    client.order(json!({"do": "level", "level": "info"}))?;
    let since = client.now();
    for round in 0..ROUNDS {
        let mut calls = Vec::new();
        for server in SERVERS {
            let begin = |tool: &str, arguments: Value| {
                let tool = format!("{server}__{tool}");
                client.begin(json!({"do": "call", "tool": tool, "arguments": arguments}))
            };
            let words = format!("{name} in round {round}");
            calls.push((begin("echo", json!({"text": words}))?, words.clone()));
            calls.push((
                begin("ask", json!({"message": words}))?,
                format!("accept: {name}"),
            ));
            calls.push((
                begin("sample", json!({"prompt": words}))?,
                format!("{name} heard {words}"),
            ));
            calls.push((begin("roots", json!({}))?, format!("file:///{name}")));
            calls.push((begin("count", json!({"to": 3}))?, "counted".to_owned()));
            calls.push((begin("touch", json!({"name": name}))?, "touched".to_owned()));
            calls.push((begin("tell", json!({"text": words}))?, "told".to_owned()));
        }
        for (call, wanted) in calls {
            expect(&json!(text_of(&client.answer(call)?)), &json!(wanted))?;
        }
    }
    for server in SERVERS {
        let uri = format!("{}://{name}", server.trim_end_matches('s'));
        touch_until_heard(client, server, &uri, since)?;
        client.order(json!({"do": "unwatch", "uri": uri}))?;
    }
    Ok(())
}

const ROUNDS: usize = 5;
/// Of both eras; on a pipe and over HTTP.
const SERVERS: [&str; 3] = ["cards", "notes", "memos"];
