//! The schema that a tool's structured result must fit.

use switchboard_protocol::RawJson;
use switchboard_schema::Schema;

/// A tool's output schema, ready to be used.
#[derive(Debug)]
pub(crate) struct OutputSchema(Schema);

impl OutputSchema {
    /// `None` if the schema itself cannot be used: that is no fault of the result.
    pub(crate) fn new(text: &RawJson) -> Option<Self> {
        Schema::compile(text.as_str()).ok().map(Self)
    }

    /// Checks a structured result. The error says which part does not fit, and why.
    pub(crate) fn check(&self, text: &[u8]) -> Result<(), String> {
        self.0
            .check(text)
            .map_err(|error| error.describe("structuredContent"))
    }
}
