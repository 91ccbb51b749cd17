//! One connection, and what is done on it: a function for each kind of step.

use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{CallToolRequest, CallToolRequestParams, CallToolResponse, ClientRequest};
use rmcp::service::{PeerRequestOptions, RunningService, ServiceError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::host::Host;

pub(crate) struct Visit<'a> {
    client: &'a RunningService<RoleClient, Host>,
    host: &'a Host,
    revision: &'a str,
    /// The id that a step wanted to be kept.
    kept: Value,
}

impl<'a> Visit<'a> {
    pub(crate) fn new(
        client: &'a RunningService<RoleClient, Host>,
        host: &'a Host,
        revision: &'a str,
    ) -> Self {
        Self {
            client,
            host,
            revision,
            kept: Value::Null,
        }
    }

    /// Takes every step that exists in this revision. The first that fails is named.
    pub(crate) async fn take(mut self, steps: &[Value]) -> Result<(), String> {
        for step in steps {
            // Revisions are dates, so their order is that of their text.
            if step["since"]
                .as_str()
                .is_some_and(|since| self.revision < since)
            {
                continue;
            }
            let outcome = match timeout(STEP_LIMIT, self.step(step)).await {
                Ok(outcome) => outcome,
                Err(_) => Err(format!("no outcome within {STEP_LIMIT:?}")),
            };
            let subject = ["tool", "uri", "name"]
                .iter()
                .find_map(|name| step[name].as_str());
            let kind = step["do"].as_str().unwrap_or_default();
            outcome
                .map_err(|reason| format!("{kind} {}: {reason}", subject.unwrap_or_default()))?;
        }
        Ok(())
    }

    async fn step(&mut self, step: &Value) -> Result<(), String> {
        match step["do"].as_str().unwrap_or_default() {
            "tools" => has(&self.client.list_tools(None).await, "/tools", "name", step),
            "call" => self.call(step).await,
            "task" => self.task(step).await,
            "large" => {
                let size = step["size"].as_u64().unwrap_or(0) as usize;
                self.gives(step, "x".repeat(size)).await
            }
            "together" => {
                let texts = (0..times(step)).map(|index| format!("call {index}"));
                let calls = texts.map(|text| self.gives(step, text));
                futures::future::try_join_all(calls).await.map(drop)
            }
            "cancel" => self.cancel(step).await,
            "refused" => self.refused(step).await,
            "progress" => self.progress(step).await,
            "log" => self.log(step).await,
            "resources" => has(
                &self.client.list_resources(None).await,
                "/resources",
                "uri",
                step,
            ),
            "templates" => {
                let listed = self.client.list_resource_templates(None).await;
                has(&listed, "/resourceTemplates", "uriTemplate", step)
            }
            "read" => self.read(step).await,
            "subscribe" => self.subscribe(step).await,
            "prompts" => has(
                &self.client.list_prompts(None).await,
                "/prompts",
                "name",
                step,
            ),
            "prompt" => self.prompt(step).await,
            "complete" => self.complete(step).await,
            "changed" => self.changed(step).await,
            other => Err(format!("there is no step named {other}")),
        }
    }

    async fn call(&mut self, step: &Value) -> Result<(), String> {
        let asks = step["asks"].as_str().unwrap_or_default();
        let before = self.host.count(asks);
        let result = value(&self.send(step, None).await)?;
        let text = text_of(&result["content"]);
        let is_error = result["isError"] == true;
        expect(
            &is_error,
            &step.get("error").is_some(),
            &format!("is_error of {text}"),
        )?;
        let part = step.get("error").or_else(|| step.get("contains"));
        contains(&text, part)?;
        if let Some(wanted) = step["text"].as_str() {
            expect(&text.as_str(), &wanted, "text")?;
        }
        if let Some(wanted) = step["kinds"].as_array() {
            let blocks = result["content"].as_array().into_iter().flatten();
            let kinds: Vec<Value> = blocks.map(|block| block["type"].clone()).collect();
            expect(&&kinds, &wanted, "kinds")?;
        }
        if !asks.is_empty() {
            let times = step["times"].as_u64().unwrap_or(1);
            expect(
                &((self.host.count(asks) - before) as u64),
                &times,
                "times asked",
            )?;
        }
        if let Some(name) = step["keep"].as_str() {
            let result: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            self.kept = result[name].clone();
        }
        Ok(())
    }

    /// rmcp knows the tasks of the extension only, which is of the stateless era.
    async fn task(&mut self, step: &Value) -> Result<(), String> {
        if self.is_handshake() {
            return self.call(step).await;
        }
        let answer = self.client.call_tool_once(self.params(step, None)?).await;
        let Ok(CallToolResponse::Task(created)) = answer else {
            return Err(format!("no task: {answer:?}"));
        };
        let id = created.task.task_id;
        loop {
            let params = read(json!({"taskId": id}))?;
            let task = value(&self.client.get_task(params).await)?;
            if task["status"] != "working" {
                return contains(&text_of(&task["result"]["content"]), step.get("contains"));
            }
            sleep(POLL).await;
        }
    }

    async fn gives(&self, step: &Value, text: String) -> Result<(), String> {
        let name = step["argument"].as_str().unwrap_or_default();
        let call = json!({"tool": step["tool"], "arguments": {name: &text}});
        let result = value(&self.send(&call, None).await)?;
        let came = text_of(&result["content"]);
        match came == text {
            true => Ok(()),
            false => Err(format!("the text changed: {came:.80}")),
        }
    }

    /// A call that is answered while the slow one runs shows that the slow one is under way.
    async fn cancel(&mut self, step: &Value) -> Result<(), String> {
        let request =
            ClientRequest::CallToolRequest(CallToolRequest::new(self.params(step, None)?));
        let options = PeerRequestOptions::no_options();
        let slow = self.client.send_cancellable_request(request, options).await;
        let slow = slow.map_err(|error| error.to_string())?;
        self.call(&step["meanwhile"]).await?;
        let cancelled = slow
            .cancel(Some("the user changed their mind".to_owned()))
            .await;
        cancelled.map_err(|error| error.to_string())
    }

    /// Refused either way counts: as a JSON-RPC error, or as a result that says so.
    async fn refused(&self, step: &Value) -> Result<(), String> {
        match self.send(step, None).await {
            Err(ServiceError::McpError(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
            Ok(result) => expect(&result.is_error, &Some(true), "is_error"),
        }
    }

    async fn progress(&self, step: &Value) -> Result<(), String> {
        let before = self.host.progress().len();
        value(&self.send(step, None).await)?;
        until("progress", || {
            self.host.progress().len() - before >= times(step)
        })
        .await?;
        let seen = self.host.progress().split_off(before);
        expect(&seen.is_sorted(), &true, &format!("order of {seen:?}"))
    }

    async fn log(&self, step: &Value) -> Result<(), String> {
        let before = self.host.count("log");
        let mut meta = None;
        if self.is_handshake() {
            value(
                &self
                    .client
                    .set_level(read(json!({"level": "debug"}))?)
                    .await,
            )?;
        } else {
            meta = Some(json!({"io.modelcontextprotocol/logLevel": "debug"}));
        }
        value(&self.send(step, meta).await)?;
        until("log messages", || {
            self.host.count("log") - before >= times(step)
        })
        .await
    }

    async fn read(&self, step: &Value) -> Result<(), String> {
        let params = read(json!({"uri": step["uri"]}))?;
        let result = value(&self.client.read_resource(params).await)?;
        let content = &result["contents"][0];
        expect(&content["uri"], &step["uri"], "uri")?;
        let is_binary = content.get("blob").is_some();
        expect(&is_binary, &(step["blob"] == true), "is binary")?;
        contains(
            content["text"].as_str().unwrap_or_default(),
            step.get("contains"),
        )
    }

    async fn subscribe(&self, step: &Value) -> Result<(), String> {
        let uri = &step["uri"];
        if self.is_handshake() {
            value(&self.client.subscribe(read(json!({"uri": uri}))?).await)?;
            self.hears("updated", step).await?;
            value(&self.client.unsubscribe(read(json!({"uri": uri}))?).await)?;
            return Ok(());
        }
        let filter = json!({"resourceSubscriptions": [uri]});
        let listening = self.client.listen(read(filter.clone())?).await;
        let mut listening = listening.map_err(|error| error.to_string())?;
        let agreed = serde_json::to_value(listening.acknowledged()).unwrap_or_default();
        expect(&agreed, &filter, "agreed to")?;
        value(&self.send(step, None).await)?;
        let told = listening.next().await.map_err(|error| error.to_string())?;
        expect(&told.is_some(), &true, "word of the change")?;
        listening.cancel().await.map_err(|error| error.to_string())
    }

    async fn prompt(&self, step: &Value) -> Result<(), String> {
        let params = read(json!({"name": step["name"], "arguments": step["arguments"]}))?;
        let asks = step["asks"].as_str().unwrap_or_default();
        let before = self.host.count(asks);
        let result = value(&self.client.get_prompt(params).await)?;
        if !asks.is_empty() {
            expect(&(self.host.count(asks) - before), &1, "times asked")?;
        }
        let messages = result["messages"].as_array().into_iter().flatten();
        let content = messages.map(|message| message["content"].clone()).collect();
        contains(&text_of(&Value::Array(content)), step.get("contains"))
    }

    async fn complete(&self, step: &Value) -> Result<(), String> {
        let params = read(json!({
            "ref": {"type": "ref/prompt", "name": step["prompt"]},
            "argument": {"name": step["argument"], "value": step["value"]},
        }))?;
        let result = value(&self.client.complete(params).await)?;
        let values = result["completion"]["values"].as_array();
        includes(&values.into_iter().flatten().collect::<Vec<_>>(), step)
    }

    async fn changed(&self, step: &Value) -> Result<(), String> {
        if self.is_handshake() {
            return self.hears("tools", step).await;
        }
        let listening = self
            .client
            .listen(read(json!({"toolsListChanged": true}))?)
            .await;
        let mut listening = listening.map_err(|error| error.to_string())?;
        value(&self.send(step, None).await)?;
        let told = listening.next().await.map_err(|error| error.to_string())?;
        expect(&told.is_some(), &true, "word of the change")?;
        listening.cancel().await.map_err(|error| error.to_string())
    }

    async fn hears(&self, what: &str, step: &Value) -> Result<(), String> {
        let before = self.host.count(what);
        value(&self.send(step, None).await)?;
        until("word of the change", || self.host.count(what) > before).await
    }

    async fn send(
        &self,
        step: &Value,
        meta: Option<Value>,
    ) -> Result<rmcp::model::CallToolResult, ServiceError> {
        match self.params(step, meta) {
            Ok(params) => self.client.call_tool(params).await,
            Err(_) => Err(ServiceError::UnexpectedResponse),
        }
    }

    fn params(&self, step: &Value, meta: Option<Value>) -> Result<CallToolRequestParams, String> {
        let mut arguments = step["arguments"].clone();
        for (_, argument) in arguments.as_object_mut().into_iter().flatten() {
            if argument == "$id" {
                *argument = self.kept.clone();
            }
        }
        let mut params = json!({"name": step["tool"], "arguments": arguments});
        if let Some(meta) = meta {
            params["_meta"] = meta;
        }
        read(params)
    }

    fn is_handshake(&self) -> bool {
        self.revision < "2026-07-28"
    }
}

/// rmcp's own types have no public fields to fill, but read what the schema allows.
fn read<T: DeserializeOwned>(params: Value) -> Result<T, String> {
    serde_json::from_value(params).map_err(|error| error.to_string())
}

fn value<T: Serialize>(result: &Result<T, ServiceError>) -> Result<Value, String> {
    match result {
        Ok(result) => serde_json::to_value(result).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether a list has an entry for everything that the step names.
fn has<T: Serialize>(
    listed: &Result<T, ServiceError>,
    list: &str,
    member: &str,
    step: &Value,
) -> Result<(), String> {
    let listed = value(listed)?;
    let entries = listed.pointer(list).and_then(Value::as_array);
    let names: Vec<&Value> = entries
        .into_iter()
        .flatten()
        .map(|entry| &entry[member])
        .collect();
    includes(&names, step)
}

fn includes(names: &[&Value], step: &Value) -> Result<(), String> {
    let wanted = step["has"].as_array().into_iter().flatten();
    let missing: Vec<&Value> = wanted.filter(|name| !names.contains(name)).collect();
    expect(&missing, &Vec::new(), &format!("missing among {names:?}"))
}

fn text_of(content: &Value) -> String {
    let blocks = content.as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect()
}

fn contains(text: &str, part: Option<&Value>) -> Result<(), String> {
    let part = part.and_then(Value::as_str).unwrap_or_default();
    match text.contains(part) {
        true => Ok(()),
        false => Err(format!("no {part:?} in {text:?}")),
    }
}

fn times(step: &Value) -> usize {
    step["times"].as_u64().unwrap_or(1) as usize
}

fn expect<T: PartialEq + std::fmt::Debug>(
    actual: &T,
    wanted: &T,
    what: &str,
) -> Result<(), String> {
    match actual == wanted {
        true => Ok(()),
        false => Err(format!("{what}: wanted {wanted:?}, came {actual:?}")),
    }
}

/// Notifications may come a little later than the result.
async fn until(what: &str, condition: impl Fn() -> bool) -> Result<(), String> {
    let ends = Instant::now() + PATIENCE;
    while !condition() {
        if Instant::now() > ends {
            return Err(format!("no {what} within {PATIENCE:?}"));
        }
        sleep(POLL).await;
    }
    Ok(())
}

pub(crate) const STEP_LIMIT: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);
