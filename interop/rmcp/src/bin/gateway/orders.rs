//! What the client can be told to do: a verb is a method of its.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{CallToolRequest, CallToolRequestParams, CallToolResponse, ClientRequest};
use rmcp::service::{PeerRequestOptions, RequestHandle, RunningService, ServiceError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::host::Host;
use crate::say;

pub(crate) struct Orders {
    client: Arc<RunningService<RoleClient, Host>>,
    is_stateless: bool,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// Calls that may be cancelled, by the order's id.
    calls: HashMap<String, RequestHandle<RoleClient>>,
    listening: HashMap<String, JoinHandle<()>>,
    level: Option<Value>,
}

impl Orders {
    pub(crate) fn new(client: Arc<RunningService<RoleClient, Host>>, is_stateless: bool) -> Self {
        Self {
            client,
            is_stateless,
            kept: Mutex::default(),
        }
    }

    pub(crate) async fn obey(&self, order: &Value) -> Result<Value, String> {
        let client = &self.client;
        match order["do"].as_str().unwrap_or_default() {
            "tools" => listed("tools", client.list_all_tools().await),
            "prompts" => listed("prompts", client.list_all_prompts().await),
            "resources" => listed("resources", client.list_all_resources().await),
            "templates" => listed(
                "resourceTemplates",
                client.list_all_resource_templates().await,
            ),
            "call" => match order["cancellable"] == true {
                true => self.begin(order).await,
                false => value(client.call_tool(self.call(order)?).await),
            },
            "cancel" => self.cancel(order).await,
            "prompt" => {
                let params = json!({"name": order["prompt"], "arguments": order["arguments"]});
                value(client.get_prompt(read(params)?).await)
            }
            "read" => value(
                client
                    .read_resource(read(json!({"uri": order["uri"]}))?)
                    .await,
            ),
            "complete" => {
                let params = json!({"ref": order["ref"], "argument": order["argument"]});
                value(client.complete(read(params)?).await)
            }
            "watch" if self.is_stateless => {
                let uri = &order["uri"];
                self.follow(uri, json!({"resourceSubscriptions": [uri]}))
                    .await
            }
            "unwatch" if self.is_stateless => {
                let uri = order["uri"].to_string();
                if let Some(task) = self.kept().listening.remove(&uri) {
                    task.abort();
                }
                Ok(json!({}))
            }
            "watch" => value(client.subscribe(read(json!({"uri": order["uri"]}))?).await),
            "unwatch" => value(
                client
                    .unsubscribe(read(json!({"uri": order["uri"]}))?)
                    .await,
            ),
            "listen" if self.is_stateless => {
                self.follow(&json!("tools"), json!({"toolsListChanged": true}))
                    .await
            }
            "listen" => Ok(json!({})),
            "level" if self.is_stateless => {
                self.kept().level = Some(order["level"].clone());
                Ok(json!({}))
            }
            "level" => value(
                client
                    .set_level(read(json!({"level": order["level"]}))?)
                    .await,
            ),
            "task" => self.task(order).await,
            other => Err(format!("there is no verb named {other}")),
        }
    }

    /// The connection ends; what is left of it goes with the process.
    pub(crate) fn close(&self) {
        self.client.cancellation_token().cancel();
    }

    fn call(&self, order: &Value) -> Result<CallToolRequestParams, String> {
        let mut params = json!({"name": order["tool"], "arguments": order["arguments"]});
        if let Some(level) = &self.kept().level {
            params["_meta"] = json!({"io.modelcontextprotocol/logLevel": level});
        }
        read(params)
    }

    /// A call that is cancelled before it ends; others are not told by rmcp what they would cancel.
    async fn begin(&self, order: &Value) -> Result<Value, String> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(self.call(order)?));
        let options = PeerRequestOptions::no_options();
        let begun = self.client.send_cancellable_request(request, options).await;
        let begun = begun.map_err(|error| error.to_string())?;
        self.kept().calls.insert(order["id"].to_string(), begun);
        std::future::pending().await
    }

    async fn cancel(&self, order: &Value) -> Result<Value, String> {
        let call = self.kept().calls.remove(&order["of"].to_string());
        let call = call.ok_or("there is no such call")?;
        let cancelled = call.cancel(Some("the user changed their mind".to_owned()));
        cancelled.await.map_err(|error| error.to_string())?;
        say(json!({"id": order["of"], "error": "cancelled"}));
        Ok(json!({}))
    }

    /// Listens until it is aborted, from when the server has agreed.
    async fn follow(&self, name: &Value, filter: Value) -> Result<Value, String> {
        let listening = self.client.listen(read(filter)?).await;
        let mut listening = listening.map_err(|error| error.to_string())?;
        let task = tokio::spawn(async move {
            while let Ok(Some(told)) = listening.next().await {
                let told = serde_json::to_value(told).unwrap_or_default();
                say(json!({"event": "told", "method": told["method"], "params": told["params"]}));
            }
        });
        self.kept().listening.insert(name.to_string(), task);
        Ok(json!({}))
    }

    /// rmcp knows the tasks of the extension only, which is of the stateless era.
    async fn task(&self, order: &Value) -> Result<Value, String> {
        let answer = self.client.call_tool_once(self.call(order)?).await;
        let Ok(CallToolResponse::Task(created)) = answer else {
            return Err(format!("no task: {answer:?}"));
        };
        let id = created.task.task_id;
        loop {
            let task = value(self.client.get_task(read(json!({"taskId": id}))?).await)?;
            if task["status"] != "working" {
                return Ok(json!({"first": "taskCreated", "result": task["result"]}));
            }
            sleep(BETWEEN_LOOKS).await;
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// rmcp's own types have no public fields to fill, but read what the schema allows.
fn read<T: DeserializeOwned>(params: Value) -> Result<T, String> {
    serde_json::from_value(params).map_err(|error| error.to_string())
}

fn listed<T: Serialize>(name: &str, list: Result<Vec<T>, ServiceError>) -> Result<Value, String> {
    Ok(json!({name: value(list)?}))
}

fn value<T: Serialize>(result: Result<T, ServiceError>) -> Result<Value, String> {
    match result {
        Ok(result) => serde_json::to_value(result).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
