//! Questions that a handler has, and why one may have no answer.

use std::fmt;

use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::machine::server::AskError as MachineError;
use switchboard_protocol::types::{ClientCapabilities, ElicitRequestParams};
use switchboard_protocol::{Method, Payload};

/// One question to the client.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) method: Method,
    pub(crate) params: Option<Payload>,
    needs: Need,
}

/// What the client must have declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Form,
    Url,
    Sampling { with_tools: bool },
    Roots,
}

impl Question {
    pub(crate) fn elicitation(params: &ElicitRequestParams) -> Result<Self, AskError> {
        let needs = match params {
            ElicitRequestParams::Url(_) => Need::Url,
            _ => Need::Form,
        };
        Ok(Self {
            method: Method::ElicitationCreate,
            params: Some(encode(params)?),
            needs,
        })
    }

    pub(crate) fn sampling(
        params: &switchboard_protocol::types::CreateMessageRequestParams,
    ) -> Result<Self, AskError> {
        Ok(Self {
            method: Method::SamplingCreateMessage,
            params: Some(encode(params)?),
            needs: Need::Sampling {
                with_tools: params.tools.is_some() || params.tool_choice.is_some(),
            },
        })
    }

    pub(crate) const fn roots() -> Self {
        Self {
            method: Method::RootsList,
            params: None,
            needs: Need::Roots,
        }
    }

    /// May this client be asked?
    pub(crate) fn is_within(&self, capabilities: &ClientCapabilities) -> bool {
        match self.needs {
            Need::Form => capabilities.accepts_form(),
            Need::Url => capabilities.accepts_url(),
            Need::Sampling { with_tools } => {
                capabilities.accepts_sampling()
                    && (!with_tools || capabilities.accepts_sampling_tools())
            }
            Need::Roots => capabilities.accepts_roots(),
        }
    }

    /// What a client must declare to be asked, in the form in which it would.
    pub(crate) fn required(&self) -> ClientCapabilities {
        let mut required = ClientCapabilities::default();
        match self.needs {
            Need::Form => {
                required.elicitation.get_or_insert_default();
            }
            Need::Url => {
                let elicitation = required.elicitation.get_or_insert_default();
                elicitation.url.get_or_insert_default();
            }
            Need::Sampling { with_tools } => {
                let sampling = required.sampling.get_or_insert_default();
                if with_tools {
                    sampling.tools.get_or_insert_default();
                }
            }
            Need::Roots => {
                required.roots.get_or_insert_default();
            }
        }
        required
    }
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AskError {
    /// The client did not declare that it can be asked this.
    NotDeclared(Method),
    /// The client refused.
    Refused(ErrorObject),
    /// The client's revision has no form for the question.
    NotRepresentable(String),
    /// The question cannot be written: a bug of the handler.
    BadQuestion(String),
    /// The client's answer is not one.
    BadAnswer(String),
    /// The client did not answer in time.
    TimedOut,
    /// The call has ended.
    Ended,
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDeclared(method) => {
                write!(
                    f,
                    "the client cannot be asked: it does not support {method}"
                )
            }
            Self::Refused(error) => write!(f, "the client refused: {error}"),
            Self::NotRepresentable(what) => write!(f, "the client is too old to be asked: {what}"),
            Self::BadQuestion(why) => write!(f, "the question is not one: {why}"),
            Self::BadAnswer(why) => write!(f, "the client's answer is not one: {why}"),
            Self::TimedOut => f.write_str("the client did not answer in time"),
            Self::Ended => f.write_str("the call has ended"),
        }
    }
}

impl std::error::Error for AskError {}

impl From<MachineError> for AskError {
    fn from(error: MachineError) -> Self {
        match error {
            MachineError::Refused(error) => Self::Refused(error),
            MachineError::NotDeclared(method) => Self::NotDeclared(method),
            MachineError::NotRepresentable(what) => Self::NotRepresentable(what.to_string()),
            MachineError::Malformed(problem) => Self::BadAnswer(problem.to_string()),
            MachineError::TimedOut => Self::TimedOut,
            _ => Self::Ended,
        }
    }
}

fn encode<T: serde::Serialize>(params: &T) -> Result<Payload, AskError> {
    Payload::encode(params).map_err(|error| AskError::BadQuestion(error.to_string()))
}
