//! Types for the tools of servers, for programs that call them.
//!
//! Pure: definitions in, text out, and the same text for the same definitions. A schema becomes a
//! [`Shape`](shape::Shape), which both languages are written from; what it says beyond that stands
//! in comments.
//!
//! Specification: server/tools (input and output schema).

mod comment;
mod cycles;
mod name;
mod node;
mod read;
mod rust;
mod shape;
#[cfg(test)]
mod tests;
mod typescript;

use switchboard_protocol::RawJson;
use switchboard_protocol::types::Tool;

pub(crate) use rust::write as rust;
pub(crate) use typescript::write as typescript;

use shape::Schema;

/// A server and its tools.
#[derive(Clone, Debug)]
pub(crate) struct ServerTools<'a> {
    /// Its name.
    pub(crate) server: &'a str,
    /// Its tools, in any order.
    pub(crate) tools: Vec<&'a Tool>,
}

/// What is written about one tool.
struct Definition<'a> {
    tool: &'a Tool,
    input: Schema,
    output: Option<Schema>,
}

/// The tools of a server by name, so that the order of its list changes nothing; of two of a name
/// the first.
fn definitions<'a>(server: &ServerTools<'a>) -> Vec<Definition<'a>> {
    let mut tools = server.tools.clone();
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    tools.dedup_by(|one, other| one.name == other.name);
    let schema = |raw: &RawJson| read::read(raw.as_str());
    let definition = |tool: &'a Tool| Definition {
        tool,
        input: schema(&tool.input_schema),
        output: tool.output_schema.as_ref().map(schema),
    };
    tools.into_iter().map(definition).collect()
}

/// Servers by name.
fn sorted<'a, 'b>(servers: &'b [ServerTools<'a>]) -> Vec<&'b ServerTools<'a>> {
    let mut servers: Vec<&ServerTools<'a>> = servers.iter().collect();
    servers.sort_by(|one, other| one.server.cmp(other.server));
    servers
}
