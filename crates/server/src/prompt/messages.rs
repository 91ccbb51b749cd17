//! What a prompt becomes.

use std::fmt;

use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{GetPromptResult, PromptMessage};

use crate::failure::Failure;

/// What a filled-in prompt can be: a text, which is a message of the user; messages; or the
/// whole result.
pub trait IntoPrompt {
    /// The result.
    ///
    /// # Errors
    /// It could not be filled in.
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject>;
}

impl IntoPrompt for GetPromptResult {
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject> {
        Ok(self)
    }
}

impl IntoPrompt for Vec<PromptMessage> {
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject> {
        Ok(GetPromptResult::new(self))
    }
}

impl IntoPrompt for PromptMessage {
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject> {
        vec![self].into_prompt()
    }
}

impl IntoPrompt for String {
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject> {
        PromptMessage::user(self).into_prompt()
    }
}

impl IntoPrompt for &'static str {
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject> {
        PromptMessage::user(self).into_prompt()
    }
}

impl<T: IntoPrompt, E: fmt::Display + 'static> IntoPrompt for Result<T, E> {
    fn into_prompt(self) -> Result<GetPromptResult, ErrorObject> {
        match self {
            Ok(prompt) => prompt.into_prompt(),
            Err(error) => Err(match Failure::of(&error) {
                Failure::Refused(error) => error,
                Failure::Failed(reason) => ErrorObject::internal(reason),
            }),
        }
    }
}
