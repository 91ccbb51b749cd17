//! Serving a folder of skills.
//!
//! Its files are resources; lists of skills and of folders are methods of the extension.
//!
//! Specification: extension `io.modelcontextprotocol/skills` (SEP-2640).

use serde::Serialize;
use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::machine::server::Answer;
use switchboard_protocol::types::{PaginatedRequestParams, ResourceRequestParams};

use super::Router;
use super::reading::decode;
use crate::service::Call;
use crate::skills::ReadResourceDirectoryRequestParams;

impl Router {
    /// The answer to a call of the extension; none if it is not one.
    pub(super) fn skills(&self, call: &Call<'_>) -> Option<Answer> {
        let skills = self.catalog().skills.clone()?;
        let answer = match call.method.as_str() {
            "skills/list" => {
                let cursor = match call.params() {
                    Some(_) => decode::<PaginatedRequestParams>(call).map(|params| params.cursor),
                    None => Ok(None),
                };
                written(cursor.and_then(|cursor| skills.list(cursor.as_deref())))
            }
            "skills/get" => {
                let params = decode::<ResourceRequestParams>(call);
                written(params.and_then(|params| skills.skill(&params.uri)))
            }
            "resources/directory/read" => {
                let params = decode::<ReadResourceDirectoryRequestParams>(call);
                written(params.and_then(|p| skills.directory(&p.uri, p.cursor.as_deref())))
            }
            _ => return None,
        };
        Some(answer)
    }
}

/// Extensions have one form in every revision.
fn written<T: Serialize>(result: Result<T, ErrorObject>) -> Answer {
    let written = result.and_then(|result| {
        Payload::encode(&result).map_err(|error| ErrorObject::internal(error.to_string()))
    });
    match written {
        Ok(result) => Answer::Result(result),
        Err(error) => Answer::Error(error),
    }
}
