//! What only `server-everything` can do: it asks, tells, completes, and takes its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Map, Value, json};
use switchboard_client::types::{
    CompleteRequestParams, CompletionArgument, CompletionReference, CreateMessageResult,
    ElicitResult, LoggingLevel, OneOrMany, Role, Root, SamplingMessageContentBlock,
    SubscriptionFilter,
};
use switchboard_client::{Change, Client, ErrorKind, Handlers};
use tokio::sync::Notify;

use crate::report::{Report, chain};

/// What the host was asked and told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    logs: AtomicUsize,
    logged: Notify,
}

/// A host that can do everything, and says yes to everything.
pub(crate) fn host(told: &Told) -> Handlers {
    let told = told.clone();
    Handlers::new()
        .on_form(|form, _| async move {
            let schema: Value = form.requested_schema.decode().unwrap_or_default();
            let fields = schema.get("properties").and_then(Value::as_object);
            let fields = fields.into_iter().flatten();
            let filled = fields.map(|(name, field)| (name.clone(), fill(field)));
            Ok(ElicitResult::accept(filled.collect::<Map<_, _>>()))
        })
        .on_sample(|request, _| async move {
            let asked = request
                .messages
                .first()
                .map(|message| message.content.as_slice());
            let asked = asked
                .and_then(|blocks| blocks.first()?.as_text())
                .unwrap_or_default();
            let said = SamplingMessageContentBlock::text(format!("you asked: {asked}"));
            Ok(CreateMessageResult::new(
                Role::Assistant,
                OneOrMany::One(said),
                "a-model",
            ))
        })
        .roots([Root::new("file:///project/of/ours")])
        .on_log(move |_| {
            told.0.logs.fetch_add(1, Ordering::Relaxed);
            told.0.logged.notify_one();
        })
}

/// A value for a field of a form.
fn fill(field: &Value) -> Value {
    if let Some(value) = field.get("default") {
        return value.clone();
    }
    match (
        field.get("type").and_then(Value::as_str),
        field.get("format").and_then(Value::as_str),
    ) {
        (Some("boolean"), _) => json!(true),
        (Some("integer" | "number"), _) => field.get("minimum").cloned().unwrap_or(json!(7)),
        (_, Some("email")) => json!("ada@example.com"),
        (_, Some("uri")) => json!("https://example.com/"),
        (_, Some("date")) => json!("2026-07-28"),
        (_, Some("date-time")) => json!("2026-07-28T00:00:00Z"),
        _ => json!("Ada"),
    }
}

/// Takes all steps.
pub(crate) async fn visit(name: &str, client: &Client, told: &Told, report: &mut Report) {
    let steps = [
        ("sampling", sampling(client).await),
        ("elicitation", elicitation(client).await),
        ("roots", roots(client).await),
        ("structured content", structured(client).await),
        ("an image, a link, a resource", contents(client).await),
        ("resources are read", reading(client).await),
        ("a prompt is filled in", prompting(client).await),
        ("completion", completing(client).await),
        ("progress", progress(client).await),
        ("a long operation is cancelled midway", midway(client).await),
        (
            "a call that becomes a task, and asks",
            as_task(client).await,
        ),
        ("a subscription", subscription(client).await),
        ("logging", logging(client, told).await),
    ];
    for (step, outcome) in steps {
        report.check(format!("{name}: {step}"), outcome);
    }
}

async fn sampling(client: &Client) -> Result<(), String> {
    let call = client
        .call("trigger-sampling-request")
        .arg("prompt", "the weather");
    let result = call.await.map_err(|error| chain(&error))?;
    has(
        &result.joined_text(),
        "you asked: Resource trigger-sampling-request context: the weather",
    )
}

async fn elicitation(client: &Client) -> Result<(), String> {
    let call = client.call("trigger-elicitation-request");
    let result = call.await.map_err(|error| chain(&error))?;
    let found = result.joined_text();
    has(&found, "ada@example.com")?;
    has(&found, "hero-1")
}

async fn roots(client: &Client) -> Result<(), String> {
    let call = client.call("get-roots-list");
    let result = call.await.map_err(|error| chain(&error))?;
    has(&result.joined_text(), "file:///project/of/ours")
}

async fn structured(client: &Client) -> Result<(), String> {
    let call = client
        .call("get-structured-content")
        .arg("location", "Chicago");
    let weather: Value = call.structured().await.map_err(|error| chain(&error))?;
    match weather.get("temperature").is_some_and(Value::is_number) {
        true => Ok(()),
        false => Err(format!("no temperature in {weather}")),
    }
}

async fn contents(client: &Client) -> Result<(), String> {
    use switchboard_client::types::ContentBlock;

    let image = client
        .call("get-tiny-image")
        .await
        .map_err(|error| chain(&error))?;
    let links = client.call("get-resource-links").arg("count", 2);
    let links = links.await.map_err(|error| chain(&error))?;
    let resource = client
        .call("get-resource-reference")
        .arg("resourceType", "Blob");
    let resource = resource
        .arg("resourceId", 1)
        .await
        .map_err(|error| chain(&error))?;
    let all = [image, links, resource];
    let blocks = || all.iter().flat_map(|result| &result.content);
    let count = |is: fn(&&ContentBlock) -> bool| blocks().filter(is).count();
    let images = count(|block| matches!(block, ContentBlock::Image(_)));
    let links = count(|block| matches!(block, ContentBlock::ResourceLink(_)));
    let resources = count(|block| matches!(block, ContentBlock::Resource(_)));
    match (images, links, resources) {
        (1, 2, 1) => Ok(()),
        other => Err(format!("images, links, resources: {other:?}")),
    }
}

async fn reading(client: &Client) -> Result<(), String> {
    let templates = client
        .resource_templates()
        .await
        .map_err(|error| chain(&error))?;
    if templates.len() < 2 {
        return Err(format!("{} templates", templates.len()));
    }
    let read = client.read("demo://resource/dynamic/text/7");
    let read = read.await.map_err(|error| chain(&error))?;
    match read.contents.first() {
        Some(switchboard_client::types::ResourceContents::Text(contents)) => {
            has(&contents.text, "Resource 7")
        }
        other => Err(format!("came {other:?}")),
    }
}

async fn prompting(client: &Client) -> Result<(), String> {
    let prompts = client.prompts().await.map_err(|error| chain(&error))?;
    if !prompts
        .iter()
        .any(|prompt| prompt.name == "completable-prompt")
    {
        return Err("completable-prompt is not listed".to_owned());
    }
    let arguments = [("department", "Sales"), ("name", "Eve")];
    let filled = client.prompt("completable-prompt", arguments);
    let filled = filled.await.map_err(|error| chain(&error))?;
    let said = filled
        .messages
        .first()
        .and_then(|message| message.content.as_text());
    has(
        said.unwrap_or_default(),
        "promote Eve to the head of the Sales team",
    )
}

async fn completing(client: &Client) -> Result<(), String> {
    let params = CompleteRequestParams::new(
        CompletionReference::prompt("completable-prompt"),
        CompletionArgument::new("department", "S"),
    );
    let result = client
        .complete(&params)
        .await
        .map_err(|error| chain(&error))?;
    match result.completion.values == ["Sales", "Support"] {
        true => Ok(()),
        false => Err(format!("came {:?}", result.completion.values)),
    }
}

async fn progress(client: &Client) -> Result<(), String> {
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    let call = client
        .call("trigger-long-running-operation")
        .args(&json!({"duration": 1, "steps": 4}))
        .on_progress(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
    let result = call.await.map_err(|error| chain(&error))?;
    has(&result.joined_text(), "Steps: 4")?;
    match heard.load(Ordering::Relaxed) {
        4 => Ok(()),
        other => Err(format!("progress came {other} times, not 4")),
    }
}

/// The operation has begun, as its progress shows, and is then given up.
async fn midway(client: &Client) -> Result<(), String> {
    let begun = Arc::new(Notify::new());
    let (told, heard) = (Arc::clone(&begun), begun);
    let call = client
        .call("trigger-long-running-operation")
        .args(&json!({"duration": 60, "steps": 120}))
        .on_progress(move |_| told.notify_one())
        .cancel_on(async move { heard.notified().await });
    match tokio::time::timeout(PATIENCE, call.into_future()).await {
        Ok(Err(error)) if matches!(error.kind(), ErrorKind::Cancelled) => {}
        other => return Err(format!("not cancelled: {other:?}")),
    }
    client.ping().await.map_err(|error| chain(&error))
}

async fn as_task(client: &Client) -> Result<(), String> {
    let call = client
        .call("simulate-research-query")
        .args(&json!({"topic": "python", "ambiguous": true}));
    let result = call.await.map_err(|error| chain(&error))?;
    has(&result.joined_text(), "python")
}

async fn subscription(client: &Client) -> Result<(), String> {
    let uri = "demo://resource/dynamic/text/1";
    let mut filter = SubscriptionFilter::default();
    filter.resource_subscriptions = Some(vec![uri.to_owned()]);
    let mut subscription = client.listen(filter).await.map_err(|error| chain(&error))?;
    let toggle = || async {
        let call = client.call("toggle-subscriber-updates");
        call.await.map(drop).map_err(|error| chain(&error))
    };
    toggle().await?;
    let next = tokio::time::timeout(PATIENCE, subscription.next()).await;
    toggle().await?;
    match next {
        Ok(Ok(Some(Change::Resource(found)))) if found == uri => Ok(()),
        other => Err(format!("came {other:?}")),
    }
}

async fn logging(client: &Client, told: &Told) -> Result<(), String> {
    let set = client.set_log_level(LoggingLevel::Debug).await;
    set.map_err(|error| chain(&error))?;
    let before = told.0.logs.load(Ordering::Relaxed);
    let toggle = || async {
        let call = client.call("toggle-simulated-logging");
        call.await.map(drop).map_err(|error| chain(&error))
    };
    toggle().await?;
    let heard = async {
        while told.0.logs.load(Ordering::Relaxed) == before {
            told.0.logged.notified().await;
        }
    };
    let came = tokio::time::timeout(PATIENCE, heard).await;
    toggle().await?;
    came.map_err(|_| format!("no log message within {PATIENCE:?}"))
}

fn has(found: &str, wanted: &str) -> Result<(), String> {
    match found.contains(wanted) {
        true => Ok(()),
        false => Err(format!("wanted {wanted:?}, came {found:?}")),
    }
}

// It logs and tells of updates every five seconds.
const PATIENCE: Duration = Duration::from_secs(20);
