//! What each scenario of the suite wants of a client.
//!
//! A scenario without a rule of its own is played by listing the tools and calling each.

use serde_json::{Map, Value, json};
use switchboard_client::{Client, Error};

use crate::Failure;

/// Does what the scenario of this name wants.
pub(crate) async fn play(name: &str, client: &Client, context: &Value) -> Result<(), Failure> {
    match name {
        // Their servers declare no tools, so they are not asked for any.
        "initialize" | "request-metadata" => client.ping().await?,
        "json-schema-ref-no-deref" => {
            client.tools().await?;
        }
        "tools_call" => {
            client.tools().await?;
            let sum = client.call("add_numbers").arg("a", 5).arg("b", 3).await?;
            expect(!sum.is_error(), "the sum is an error")?;
        }
        "sse-retry" => {
            client.call("test_reconnection").await?;
        }
        "http-standard-headers" => name_everything(client).await?,
        "http-custom-headers" => call_as_told(client, context).await?,
        "json-schema-2020-12-preservation" => echo_schema(client).await?,
        "sep-2640-client-no-prefetch" => {
            let skills = client.skills().await?;
            expect(!skills.is_empty(), "no skill is listed")?;
        }
        _ if name.starts_with("sep-2640-client-verify-") => load_skill(client).await?,
        _ => call_every_tool(client).await?,
    }
    Ok(())
}

async fn call_every_tool(client: &Client) -> Result<(), Error> {
    let tools = client.tools().await?;
    for tool in &*tools {
        let schema: Value = tool.input_schema.decode().unwrap_or_default();
        client.call(&tool.name).args(&required(&schema)).await?;
    }
    Ok(())
}

/// Everything that has a name which a header repeats.
async fn name_everything(client: &Client) -> Result<(), Error> {
    call_every_tool(client).await?;
    for resource in client.resources().await?.iter() {
        client.read(&resource.uri).await?;
    }
    for prompt in client.prompts().await?.iter() {
        let arguments: [(&str, &str); 0] = [];
        client.prompt(&prompt.name, arguments).await?;
    }
    Ok(())
}

async fn call_as_told(client: &Client, context: &Value) -> Result<(), Failure> {
    let calls = context.get("toolCalls").and_then(Value::as_array);
    for call in calls.ok_or("the context has no toolCalls")? {
        let name = call.get("name").and_then(Value::as_str);
        let name = name.ok_or("a tool call has no name")?;
        client.call(name).args(&call["arguments"]).await?;
    }
    Ok(())
}

/// Sends a schema back as it was received, byte for byte.
async fn echo_schema(client: &Client) -> Result<(), Failure> {
    let tools = client.tools().await?;
    let tool = tools
        .by_name("json_schema_2020_12_tool")
        .ok_or("json_schema_2020_12_tool is not listed")?;
    let echo = client.call("json_schema_echo");
    echo.arg("schema", &tool.input_schema).await?;
    Ok(())
}

/// Loads each skill with all of its files, as far as they can be trusted.
async fn load_skill(client: &Client) -> Result<(), Failure> {
    use switchboard_client::skills::SkillFiles;

    for skill in client.skills().await? {
        client.read_skill(&skill).await?;
        if let SkillFiles::Listed(files) = &skill.files {
            for file in files.iter().filter(|file| file.uri != skill.uri) {
                client.read_skill_file(&skill, &file.uri).await?;
            }
        }
    }
    Ok(())
}

/// Values for the required properties of an object.
fn required(schema: &Value) -> Map<String, Value> {
    let names = schema.get("required").and_then(Value::as_array);
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    names
        .map(|name| (name.to_owned(), example(&schema["properties"][name])))
        .collect()
}

/// A value that fits a simple schema.
pub(crate) fn example(schema: &Value) -> Value {
    let first = |list: &str| schema.get(list)?.as_array()?.first().cloned();
    if let Some(value) = schema.get("default").cloned().or_else(|| first("enum")) {
        return value;
    }
    if let Some(option) = first("oneOf") {
        return option.get("const").cloned().unwrap_or_default();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => json!(true),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("array") => json!([]),
        Some("object") => json!(required(schema)),
        _ => json!("text"),
    }
}

fn expect(holds: bool, otherwise: &str) -> Result<(), Failure> {
    match holds {
        true => Ok(()),
        false => Err(otherwise.into()),
    }
}
