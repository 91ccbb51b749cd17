//! Fills in a form as a user does who agrees to whatever is proposed.

use serde_json::{Map, Value};
use switchboard_client::types::{ElicitRequestFormParams, ElicitResult};

use crate::scenario::example;

/// Every field has its default, or else some value that fits.
pub(crate) fn accept(form: &ElicitRequestFormParams) -> ElicitResult {
    let schema: Value = form.requested_schema.decode().unwrap_or_default();
    let fields = schema.get("properties").and_then(Value::as_object);
    let filled = fields.into_iter().flatten().map(|(name, field)| {
        let value = field.get("default").cloned();
        (name.clone(), value.unwrap_or_else(|| example(field)))
    });
    ElicitResult::accept(filled.collect::<Map<_, _>>())
}
