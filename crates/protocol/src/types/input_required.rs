//! A request that needs several round trips: the server's questions inside a
//! result, the client's answers inside the next request.
//!
//! Keeping the rounds together is the machines' affair.
//!
//! Specification: 2026-07-28 basic/patterns/mrtr.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::RawJson;
use crate::method::Method;
use crate::types::{
    CreateMessageRequestParams, ElicitRequestParams, Extra, Meta, RequestParams, ResultType,
};

/// Questions by their key.
pub type InputRequests = BTreeMap<String, InputRequest>;

/// Answers by the key of their question: bare results, still text.
pub type InputResponses = BTreeMap<String, RawJson>;

/// The server needs something before it can go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InputRequiredResult {
    /// What it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// What to send back with the answers, byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// What kind of result this is; absent before 2026-07-28 and then complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl InputRequiredResult {
    /// Asks these questions.
    pub fn new(input_requests: InputRequests) -> Self {
        Self {
            input_requests: Some(input_requests),
            request_state: None,
            result_type: Some(ResultType::InputRequired),
            meta: None,
            extra: Extra::default(),
        }
    }

    /// Asks nothing but to come again with this state.
    pub fn later(request_state: impl Into<String>) -> Self {
        Self {
            input_requests: None,
            request_state: Some(request_state.into()),
            result_type: Some(ResultType::InputRequired),
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// One question of a server: a request without envelope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InputRequest {
    /// Its method.
    pub method: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<RawJson>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl InputRequest {
    /// Asks the user.
    ///
    /// # Errors
    /// When the parameters have no JSON form.
    pub fn elicitation(params: &ElicitRequestParams) -> Result<Self, serde_json::Error> {
        Self::new(Method::ElicitationCreate, params)
    }

    /// Asks the model.
    ///
    /// # Errors
    /// When the parameters have no JSON form.
    pub fn sampling(params: &CreateMessageRequestParams) -> Result<Self, serde_json::Error> {
        Self::new(Method::SamplingCreateMessage, params)
    }

    /// Asks for the roots.
    pub fn roots() -> Self {
        Self {
            method: Method::RootsList.name().to_owned(),
            params: None,
            extra: Extra::default(),
        }
    }

    /// What is asked.
    ///
    /// # Errors
    /// When the method may not be asked here or the parameters do not have its shape.
    pub fn question(&self) -> Result<Question, BadInputRequest> {
        let text = self.params.as_ref().map_or("{}", RawJson::as_str);
        match Method::from_name(&self.method) {
            Some(Method::ElicitationCreate) => {
                serde_json::from_str(text).map(|params| Question::Elicitation(Box::new(params)))
            }
            Some(Method::SamplingCreateMessage) => {
                serde_json::from_str(text).map(|params| Question::Sampling(Box::new(params)))
            }
            Some(Method::RootsList) => serde_json::from_str(text).map(Question::Roots),
            _ => return Err(BadInputRequest::Method(self.method.clone())),
        }
        .map_err(BadInputRequest::Params)
    }

    fn new<T: Serialize>(method: Method, params: &T) -> Result<Self, serde_json::Error> {
        Ok(Self {
            method: method.name().to_owned(),
            params: Some(RawJson::encode(params)?),
            extra: Extra::default(),
        })
    }
}

/// What a server may ask a client.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Question {
    /// Ask the user.
    Elicitation(Box<ElicitRequestParams>),
    /// Ask the model.
    Sampling(Box<CreateMessageRequestParams>),
    /// Say the roots.
    Roots(RequestParams),
}

/// Why a question cannot be asked.
#[derive(Debug)]
#[non_exhaustive]
pub enum BadInputRequest {
    /// The method is none of the three that may be asked.
    Method(String),
    /// The parameters do not have the shape of the method.
    Params(serde_json::Error),
}

impl fmt::Display for BadInputRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method(method) => write!(f, "method {method:?} may not be asked inside a result"),
            Self::Params(_) => f.write_str("malformed params of an input request"),
        }
    }
}

impl std::error::Error for BadInputRequest {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Method(_) => None,
            Self::Params(error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;
    use crate::types::{ElicitRequestUrlParams, SamplingMessage};

    #[test]
    fn what_is_asked_is_what_was_meant() {
        let url = ElicitRequestParams::Url(ElicitRequestUrlParams::new("m", "https://a"));
        let asked = InputRequest::elicitation(&url).unwrap();
        assert_eq!(
            asked.question().unwrap(),
            Question::Elicitation(Box::new(url))
        );
        let sampling = CreateMessageRequestParams::new(vec![SamplingMessage::user("hi")], 5);
        let asked = InputRequest::sampling(&sampling).unwrap();
        assert_eq!(
            asked.question().unwrap(),
            Question::Sampling(Box::new(sampling))
        );
        assert!(matches!(
            InputRequest::roots().question(),
            Ok(Question::Roots(_))
        ));
    }

    #[test]
    fn other_methods_may_not_be_asked() {
        let read = |text| {
            let request: InputRequest = serde_json::from_str(text).unwrap();
            let error = request.question().unwrap_err();
            (error.to_string(), error)
        };
        let (text, error) = read(r#"{"method":"tools/call","params":{"name":"x"}}"#);
        assert_eq!(
            text,
            r#"method "tools/call" may not be asked inside a result"#
        );
        assert!(matches!(&error, BadInputRequest::Method(method) if method == "tools/call"));
        assert!(error.source().is_none());
        let (text, error) = read(r#"{"method":"elicitation/create","params":{}}"#);
        assert_eq!(text, "malformed params of an input request");
        assert!(matches!(error, BadInputRequest::Params(_)));
        assert!(error.source().is_some());
    }
}
