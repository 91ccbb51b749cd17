//! What is tried with each client: a feature is a name, the servers behind that have it, and what has to
//! come of it.
//!
//! `cards`, `notes` and `memos` have the same tools, so that one feature is tried at a server of the
//! handshake era and at two of the stateless one. What is asked and answered has the client's own name in it.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::driven::Driven;

/// Something that works through the gateway.
pub(super) struct Feature {
    pub(super) name: &'static str,
    pub(super) servers: &'static [&'static str],
    /// The era of the clients that are to do it, if it is not for all.
    pub(super) clients: Option<&'static str>,
    pub(super) check: fn(&Driven, server: &str) -> Result<(), String>,
}

pub(super) const FEATURES: &[Feature] = &[
    feature("a call and what it carries", ALIKE, call),
    feature("structured output", ALIKE, structured),
    feature("image, sound, link and resource", ALIKE, content),
    feature("an error of the tool", ALIKE, tool_error),
    feature("elicitation by a form", ALIKE, form),
    feature("elicitation by a page", ALIKE, page),
    feature("sampling", ALIKE, sampling),
    feature("roots", ALIKE, roots),
    feature("progress", ALIKE, progress),
    feature("cancellation, seen by the server", ALIKE, cancel),
    feature("a watched resource", ALIKE, watched),
    feature("completion of a prompt and a template", ALIKE, completion),
    feature("log messages by level", ALIKE, log),
    feature("a prompt with arguments", ALIKE, prompt),
    feature("a resource and one of a template", ALIKE, read),
    feature(
        "everything it offers by itself",
        &["everything"],
        everything,
    ),
    feature("what it asks", &["everything"], everything_asks),
    feature("what it tells", &["everything"], everything_tells),
    feature("a graph that is kept", &["memory"], memory),
    feature("a conversion", &["time"], time),
    feature("a history", &["git"], git),
    feature("a task of 2025-11-25", &["everything"], handshake_task).by("handshake"),
    feature("a task of the extension", &["ours"], stateless_task).by("stateless"),
    feature("a task across eras", &["ours"], stateless_task).by("handshake"),
    feature("a task across eras", &["everything"], handshake_task).by("stateless"),
];

/// Servers with the same tools.
const ALIKE: &[&str] = &["cards", "notes", "memos"];

const fn feature(
    name: &'static str,
    servers: &'static [&'static str],
    check: fn(&Driven, &str) -> Result<(), String>,
) -> Feature {
    Feature {
        name,
        servers,
        clients: None,
        check,
    }
}

impl Feature {
    const fn by(mut self, era: &'static str) -> Self {
        self.clients = Some(era);
        self
    }
}

/// The era of a server behind the gateway, as it is configured or known.
pub(super) fn era_of(server: &str) -> &'static str {
    match server {
        "cards" | "everything" | "memory" => "handshake",
        _ => "stateless",
    }
}

/// How the addresses of a server's resources begin.
fn scheme(server: &str) -> &str {
    server.trim_end_matches('s')
}

fn call(client: &Driven, server: &str) -> Result<(), String> {
    let text = format!("{} żółw 🐢 \"quoted\"\r\nsecond\u{2028}", client.name);
    let text = text + &"x".repeat(100_000);
    let result = client.call(&format!("{server}__echo"), json!({"text": text}))?;
    match text_of(&result) == text {
        true => Ok(()),
        false => Err(format!("the text changed: {:.80}", text_of(&result))),
    }
}

fn structured(client: &Driven, server: &str) -> Result<(), String> {
    let result = client.call(&format!("{server}__weather"), json!({"city": client.name}))?;
    let wanted = json!({"city": client.name, "degrees": 21.5});
    expect(&result["structuredContent"], &wanted)?;
    let text: Value = serde_json::from_str(&text_of(&result)).unwrap_or_default();
    expect(&text, &wanted)
}

fn content(client: &Driven, server: &str) -> Result<(), String> {
    let result = client.call(&format!("{server}__media"), json!({}))?;
    let blocks = &result["content"];
    let kinds: Vec<&Value> = each(blocks).map(|block| &block["type"]).collect();
    let wanted = ["text", "image", "audio", "resource_link", "resource"];
    expect(&json!(kinds), &json!(wanted))?;
    expect(&blocks[1]["mimeType"], &json!("image/png"))?;
    let marks = &blocks[1]["annotations"];
    expect(&marks["audience"], &json!(["user"]))?;
    expect(&marks["priority"], &json!(0.5))?;
    for block in [&blocks[1], &blocks[2]] {
        let data = block["data"].as_str().unwrap_or_default();
        check(data.len() > 50, || format!("hardly any data in {block}"))?;
    }
    expect(&blocks[4]["resource"]["text"], &json!("note of today"))?;
    // A link is of use only if it can be followed.
    let linked = client.order(json!({"do": "read", "uri": blocks[3]["uri"]}))?;
    expect(&linked["contents"][0]["text"], &json!("note of today"))
}

fn tool_error(client: &Driven, server: &str) -> Result<(), String> {
    let result = client.call(&format!("{server}__fails"), json!({}))?;
    expect(&result["isError"], &json!(true))?;
    expect(&json!(text_of(&result)), &json!("it is broken"))
}

fn form(client: &Driven, server: &str) -> Result<(), String> {
    let before = client.now();
    let message = format!("Who is there, {}?", client.name);
    let result = client.call(&format!("{server}__ask"), json!({"message": message}))?;
    let asked = client.hears(before, "question", is_asked("elicitation/create"))?;
    expect(&asked["params"]["message"], &json!(message))?;
    let field = &asked["params"]["requestedSchema"]["properties"]["name"];
    expect(&field["title"], &json!("Name"))?;
    expect(
        &json!(text_of(&result)),
        &json!(format!("accept: {}", client.name)),
    )
}

fn page(client: &Driven, server: &str) -> Result<(), String> {
    let before = client.now();
    let url = format!("https://example.com/{}", client.name);
    let result = client.call(&format!("{server}__visit"), json!({"url": url}))?;
    let asked = client.hears(before, "question", is_asked("elicitation/create"))?;
    expect(&asked["params"]["mode"], &json!("url"))?;
    expect(&asked["params"]["url"], &json!(url))?;
    expect(&json!(text_of(&result)), &json!("accept"))
}

fn sampling(client: &Driven, server: &str) -> Result<(), String> {
    let prompt = format!("a word for {}", client.name);
    let result = client.call(&format!("{server}__sample"), json!({"prompt": prompt}))?;
    let wanted = format!("{} heard {prompt}", client.name);
    expect(&json!(text_of(&result)), &json!(wanted))
}

fn roots(client: &Driven, server: &str) -> Result<(), String> {
    let result = client.call(&format!("{server}__roots"), json!({}))?;
    let wanted = format!("file:///{}", client.name);
    expect(&json!(text_of(&result)), &json!(wanted))
}

fn progress(client: &Driven, server: &str) -> Result<(), String> {
    let before = client.now();
    client.call(&format!("{server}__count"), json!({"to": 3}))?;
    client.hears(before, "end of it", |event| is_step(event, 3.0))?;
    let heard = client.heard(before);
    let steps = heard.iter().filter(|event| event["event"] == "progress");
    let steps: Vec<f64> = steps
        .filter_map(|event| event["params"]["progress"].as_f64())
        .collect();
    expect(&json!(steps), &json!([1.0, 2.0, 3.0]))
}

fn is_step(event: &Value, step: f64) -> bool {
    let params = &event["params"];
    let (progress, total) = (params["progress"].as_f64(), params["total"].as_f64());
    event["event"] == "progress"
        && (progress, total) == (Some(step), Some(3.0))
        && params["message"] == format!("step {step}")
}

/// Cancelled once the server has begun, and over once the server has stopped.
fn cancel(client: &Driven, server: &str) -> Result<(), String> {
    let key = json!({"key": client.name});
    let order = json!({"do": "call", "tool": format!("{server}__wait"), "arguments": key, "cancellable": true});
    let call = client.begin(order)?;
    let is = |what: &str| until(client, &format!("{server}__{what}"), &key, "true");
    is("waiting")?;
    client.order(json!({"do": "cancel", "of": call}))?;
    is("stopped")?;
    let outcome = client.answer(call);
    check(outcome.is_err(), || format!("it was answered: {outcome:?}"))
}

fn watched(client: &Driven, server: &str) -> Result<(), String> {
    let uri = format!("{}://{}", scheme(server), client.name);
    let before = client.now();
    client.order(json!({"do": "watch", "uri": uri}))?;
    touch_until_heard(client, server, &uri, before)?;
    client.order(json!({"do": "unwatch", "uri": uri})).map(drop)
}

/// In the stateless era it is watched for at the server while the client is answered already.
pub(super) fn touch_until_heard(
    client: &Driven,
    server: &str,
    uri: &str,
    since: usize,
) -> Result<(), String> {
    let ends = Instant::now() + PATIENCE;
    let is_heard = || {
        let heard = client.heard(since);
        heard.iter().any(|event| is_update(event, uri))
    };
    while !is_heard() {
        check(Instant::now() < ends, || format!("no change of {uri}"))?;
        client.call(&format!("{server}__touch"), json!({"name": client.name}))?;
        thread::sleep(BETWEEN_LOOKS);
    }
    Ok(())
}

fn is_update(event: &Value, uri: &str) -> bool {
    event["method"] == "notifications/resources/updated" && event["params"]["uri"] == uri
}

fn completion(client: &Driven, server: &str) -> Result<(), String> {
    let references = [
        json!({"type": "ref/prompt", "name": format!("{server}__greet")}),
        json!({"type": "ref/resource", "uri": format!("{}://{{name}}", scheme(server))}),
    ];
    for reference in references {
        let argument = json!({"name": "name", "value": "a"});
        let order = json!({"do": "complete", "ref": reference, "argument": argument});
        let result = client.order(order)?;
        expect(&result["completion"]["values"], &json!(["Ada", "Alan"]))?;
    }
    Ok(())
}

fn log(client: &Driven, server: &str) -> Result<(), String> {
    let text = format!("{} logs", client.name);
    for (level, wanted) in [("debug", 2), ("warning", 1)] {
        client.order(json!({"do": "level", "level": level}))?;
        let before = client.now();
        client.call(&format!("{server}__tell"), json!({"text": text}))?;
        let is_log = |event: &Value| event["method"] == "notifications/message";
        let last = client.hears(before, "log message", |event| {
            is_log(event) && event["params"]["data"] == text
        })?;
        expect(&last["params"]["level"], &json!("warning"))?;
        expect(&last["params"]["logger"], &json!("teller"))?;
        let heard = client
            .heard(before)
            .into_iter()
            .filter(is_log)
            .filter(|event| event["params"]["logger"] == "teller");
        expect(&json!(heard.count()), &json!(wanted))?;
    }
    Ok(())
}

fn prompt(client: &Driven, server: &str) -> Result<(), String> {
    let name = format!("{server}__greet");
    let order = json!({"do": "prompt", "prompt": name, "arguments": {"name": client.name}});
    let result = client.order(order)?;
    let wanted = format!("Please greet {}", client.name);
    expect(&result["messages"][0]["content"]["text"], &json!(wanted))
}

fn read(client: &Driven, server: &str) -> Result<(), String> {
    for name in ["today", &client.name] {
        let uri = format!("{}://{name}", scheme(server));
        let result = client.order(json!({"do": "read", "uri": uri}))?;
        let [content] = each(&result["contents"]).collect::<Vec<_>>()[..] else {
            return Err(format!("not one content but {result}"));
        };
        expect(&content["uri"], &json!(uri))?;
        expect(&content["text"], &json!(format!("note of {name}")))?;
    }
    Ok(())
}

fn everything(client: &Driven, _server: &str) -> Result<(), String> {
    let sum = client.call("everything__get-sum", json!({"a": 2, "b": 40}))?;
    contains(&text_of(&sum), "42")?;
    let weather = client.call(
        "everything__get-structured-content",
        json!({"location": "Chicago"}),
    )?;
    check(
        weather["structuredContent"]["temperature"].is_number(),
        || format!("no structured content in {weather}"),
    )?;
    let image = client.call("everything__get-tiny-image", json!({}))?;
    let kinds = each(&image["content"]).map(|block| block["type"].clone());
    expect(
        &json!(kinds.collect::<Vec<_>>()),
        &json!(["text", "image", "text"]),
    )?;
    let links = client.call("everything__get-resource-links", json!({"count": 2}))?;
    let mut found = each(&links["content"]).filter(|block| block["type"] == "resource_link");
    let uri = found.next().map_or(&Value::Null, |block| &block["uri"]);
    let linked = client.order(json!({"do": "read", "uri": uri}))?;
    expect(&linked["contents"][0]["uri"], uri)?;
    let order = json!({"do": "prompt", "prompt": "everything__args-prompt", "arguments": {"city": client.name}});
    let prompt = client.order(order)?;
    let words = prompt["messages"][0]["content"]["text"].to_string();
    contains(&words, &client.name)?;
    let reference = json!({"type": "ref/prompt", "name": "everything__completable-prompt"});
    let argument = json!({"name": "department", "value": "S"});
    let result = client.order(json!({"do": "complete", "ref": reference, "argument": argument}))?;
    expect(
        &result["completion"]["values"],
        &json!(["Sales", "Support"]),
    )
}

fn everything_asks(client: &Driven, _server: &str) -> Result<(), String> {
    let result = client.call("everything__trigger-elicitation-request", json!({}))?;
    contains(&text_of(&result), &client.name)?;
    let prompt = json!({"prompt": "one word", "maxTokens": 10});
    let result = client.call("everything__trigger-sampling-request", prompt)?;
    contains(&text_of(&result), &format!("{} heard", client.name))?;
    let result = client.call("everything__get-roots-list", json!({}))?;
    contains(&text_of(&result), &format!("file:///{}", client.name))
}

fn everything_tells(client: &Driven, _server: &str) -> Result<(), String> {
    let before = client.now();
    // The last step comes together with the answer, and some libraries drop it then.
    let arguments = json!({"duration": 1, "steps": 2});
    client.call("everything__trigger-long-running-operation", arguments)?;
    client.hears(before, "progress", |event| {
        event["event"] == "progress" && event["params"]["progress"].as_f64() == Some(1.0)
    })?;
    let uri = "demo://resource/dynamic/text/1";
    client.order(json!({"do": "watch", "uri": uri}))?;
    client.call("everything__toggle-subscriber-updates", json!({}))?;
    client.hears(before, "word of the change", |event| is_update(event, uri))?;
    client.order(json!({"do": "unwatch", "uri": uri}))?;
    client
        .call("everything__toggle-subscriber-updates", json!({}))
        .map(drop)
}

/// It forgets what two write at the same time.
static REMEMBERING: Mutex<()> = Mutex::new(());

fn memory(client: &Driven, _server: &str) -> Result<(), String> {
    let _alone = REMEMBERING.lock();
    let entity = json!({"name": client.name, "entityType": "client", "observations": ["is here"]});
    client.call("memory__create_entities", json!({"entities": [entity]}))?;
    let found = client.call("memory__open_nodes", json!({"names": [client.name]}))?;
    expect(&found["structuredContent"]["entities"], &json!([entity]))
}

fn time(client: &Driven, _server: &str) -> Result<(), String> {
    let arguments =
        json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Kolkata"});
    let result = client.call("time__convert_time", arguments)?;
    contains(&text_of(&result), "17:30:00+05:30")
}

fn git(client: &Driven, _server: &str) -> Result<(), String> {
    let result = client.call("git__git_log", json!({"repo_path": ".", "max_count": 1}))?;
    contains(&text_of(&result), "first words")
}

fn handshake_task(client: &Driven, _server: &str) -> Result<(), String> {
    let tool = "everything__simulate-research-query";
    let order = json!({"do": "task", "tool": tool, "arguments": {"topic": client.name}});
    let task = client.order(order)?;
    expect(&task["first"], &json!("taskCreated"))?;
    contains(&text_of(&task["result"]), &client.name)
}

fn stateless_task(client: &Driven, _server: &str) -> Result<(), String> {
    let order = json!({"do": "task", "tool": "ours__slow_compute", "arguments": {"seconds": 0.05}});
    let task = client.order(order)?;
    expect(&task["first"], &json!("taskCreated"))?;
    contains(&text_of(&task["result"]), "Computed")
}

/// Calls until the text is this.
fn until(client: &Driven, tool: &str, arguments: &Value, wanted: &str) -> Result<(), String> {
    let ends = Instant::now() + PATIENCE;
    while text_of(&client.call(tool, arguments.clone())?) != wanted {
        check(Instant::now() < ends, || format!("{tool} is not {wanted}"))?;
        thread::sleep(BETWEEN_LOOKS);
    }
    Ok(())
}

fn is_asked(method: &'static str) -> impl Fn(&Value) -> bool {
    move |event| event["event"] == "asked" && event["method"] == method
}

pub(super) fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The text of all blocks.
pub(super) fn text_of(result: &Value) -> String {
    let texts = each(&result["content"]).filter_map(|block| block["text"].as_str());
    texts.collect()
}

pub(super) fn expect(came: &Value, wanted: &Value) -> Result<(), String> {
    check(came == wanted, || format!("wanted {wanted}, came {came}"))
}

fn contains(text: &str, part: &str) -> Result<(), String> {
    check(text.contains(part), || format!("no {part:?} in {text:?}"))
}

pub(super) fn check(holds: bool, reason: impl FnOnce() -> String) -> Result<(), String> {
    match holds {
        true => Ok(()),
        false => Err(reason()),
    }
}

const PATIENCE: Duration = Duration::from_secs(20);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
