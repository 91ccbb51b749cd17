//! rmcp's echo in its best modes: the handler is written by hand, without its macros.
//!
//! `rmcp-echo [--http PORT [--sessions]] [--runtime current|multi]`: stdio goes through
//! `stdio_pipes`; HTTP answers JSON without sessions, or with `--sessions` as rmcp does by
//! default.

use std::error::Error;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::stdio_pipes;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Value, json};
use switchboard_bench::{Arguments, rmcp_http};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read();
    let runtime = arguments.runtime()?;
    match arguments.port {
        Some(port) => runtime.block_on(rmcp_http::serve(port, arguments.sessions, Echo::new())),
        None => runtime.block_on(serve_stdio()),
    }
}

async fn serve_stdio() -> Result<(), Box<dyn Error>> {
    let running = Echo::new().serve(stdio_pipes()).await?;
    running.waiting().await?;
    Ok(())
}

/// Cheap to clone: rmcp makes a handler for every request.
#[derive(Clone)]
struct Echo {
    tools: Arc<[Tool]>,
}

impl Echo {
    fn new() -> Self {
        let echo = json!({"text": {"type": "string"}});
        let add = json!({"a": {"type": "integer"}, "b": {"type": "integer"}});
        let tools = [
            Tool::new("echo", "Answers with the text.", schema(echo, &["text"])),
            Tool::new("add", "Adds two integers.", schema(add, &["a", "b"])),
        ];
        Self {
            tools: Arc::new(tools),
        }
    }
}

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("echo", "1.0.0"))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut arguments = request.arguments.unwrap_or_default();
        let text = match request.name.as_ref() {
            "echo" => match arguments.remove("text") {
                Some(Value::String(text)) => text,
                _ => return Err(ErrorData::invalid_params("text must be a string", None)),
            },
            "add" => {
                let number = |name| arguments.get(name).and_then(Value::as_i64);
                let sum = number("a")
                    .zip(number("b"))
                    .and_then(|(a, b)| a.checked_add(b));
                match sum {
                    Some(sum) => sum.to_string(),
                    None => {
                        return Err(ErrorData::invalid_params("a and b must be integers", None));
                    }
                }
            }
            _ => return Err(ErrorData::invalid_params("unknown tool", None)),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

fn schema(properties: Value, required: &[&str]) -> JsonObject {
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties);
    schema.insert("required".to_owned(), json!(required));
    schema
}
