//! Elicitation: a server asks the client's user.
//!
//! By a form that the client shows, or by sending the user to a URL. The typed
//! reading of a form's schema is in `elicitation_schema`.
//!
//! Specification: client/elicitation.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::RawJson;
use crate::method::Method;
use crate::types::tagged;
use crate::types::{ElicitSchema, Extra, Meta, Notification, Request, ResultType, TaskMetadata};

/// `elicitation/create`
#[derive(Clone, Copy, Debug)]
pub struct Elicit;

impl Request for Elicit {
    const METHOD: Method = Method::ElicitationCreate;
    type Params = ElicitRequestParams;
    type Result = ElicitResult;
}

/// `notifications/elicitation/complete`
#[derive(Clone, Copy, Debug)]
pub struct ElicitationCompleteNotification;

impl Notification for ElicitationCompleteNotification {
    const METHOD: Method = Method::ElicitationComplete;
    type Params = ElicitationCompleteNotificationParams;
}

/// What to ask the user, and how.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ElicitRequestParams {
    /// By a form; also when `mode` is absent.
    Form(ElicitRequestFormParams),
    /// By a URL (since 2025-11-25).
    Url(ElicitRequestUrlParams),
}

impl ElicitRequestParams {
    /// What the user is told.
    pub fn message(&self) -> &str {
        match self {
            Self::Form(form) => &form.message,
            Self::Url(url) => &url.message,
        }
    }

    /// What the sender attached beside the data.
    pub fn meta(&self) -> Option<&Meta> {
        match self {
            Self::Form(form) => form.meta.as_ref(),
            Self::Url(url) => url.meta.as_ref(),
        }
    }
}

impl Serialize for ElicitRequestParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Form(form) => form.serialize(serializer),
            Self::Url(url) => url.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ElicitRequestParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Head {
            mode: Option<String>,
        }
        let raw = tagged::object(deserializer)?;
        let head: Head = raw.decode().map_err(D::Error::custom)?;
        match head.mode.as_deref() {
            None | Some("form") => tagged::decode(&raw).map(Self::Form),
            Some("url") => tagged::decode(&raw).map(Self::Url),
            Some(other) => Err(D::Error::unknown_variant(other, &["form", "url"])),
        }
    }
}

/// A form for the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitRequestFormParams {
    /// Absent before 2025-11-25, and then a form too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<FormMode>,
    /// What the user is told.
    pub message: String,
    /// The schema of the form, byte for byte; read it with [`Self::schema`].
    pub requested_schema: RawJson,
    /// Asks that the request run as a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ElicitRequestFormParams {
    /// Asks by a form of this schema.
    pub fn new(message: impl Into<String>, requested_schema: RawJson) -> Self {
        Self {
            mode: None,
            message: message.into(),
            requested_schema,
            task: None,
            meta: None,
            extra: Extra::default(),
        }
    }

    /// The fields of the form.
    ///
    /// # Errors
    /// When the schema is not a flat object of the kinds that a form may have.
    pub fn schema(&self) -> Result<ElicitSchema, serde_json::Error> {
        self.requested_schema.decode()
    }
}

/// The mode of a form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FormMode {
    /// `form`
    #[default]
    Form,
}

/// A URL for the user (since 2025-11-25).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitRequestUrlParams {
    mode: UrlMode,
    /// What the user is told.
    pub message: String,
    /// Names this request in later messages (2025-11-25 only, required there).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
    /// Where the user goes.
    pub url: String,
    /// Asks that the request run as a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ElicitRequestUrlParams {
    /// Asks by sending the user to a URL.
    pub fn new(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            mode: UrlMode::default(),
            message: message.into(),
            elicitation_id: None,
            url: url.into(),
            task: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// What the user answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitResult {
    /// What the user did.
    pub action: ElicitAction,
    /// The fields of the form, if it was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
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

impl ElicitResult {
    /// The user filled the form.
    pub fn accept(content: Map<String, Value>) -> Self {
        Self {
            content: Some(content),
            ..Self::new(ElicitAction::Accept)
        }
    }

    /// The user did this and gave no fields.
    pub fn new(action: ElicitAction) -> Self {
        Self {
            action,
            content: None,
            result_type: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// What the user did when asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// Answered, or agreed to go to the URL.
    Accept,
    /// Said no.
    Decline,
    /// Went away without an answer.
    Cancel,
}

/// What the user was sent away for is done (2025-11-25 only).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitationCompleteNotificationParams {
    /// The request that is done.
    pub elicitation_id: String,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ElicitationCompleteNotificationParams {
    /// This request is done.
    pub fn new(elicitation_id: impl Into<String>) -> Self {
        Self {
            elicitation_id: elicitation_id.into(),
            meta: None,
            extra: Extra::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum UrlMode {
    #[default]
    #[serde(rename = "url")]
    Url,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_mode_is_a_form() {
        let read = |text: &str| serde_json::from_str::<ElicitRequestParams>(text);
        let schema = r#"{"type":"object","properties":{}}"#;
        for mode in ["", r#""mode":"form","#] {
            let text = format!(r#"{{{mode}"message":"m","requestedSchema":{schema}}}"#);
            let params = read(&text).unwrap();
            assert!(matches!(params, ElicitRequestParams::Form(_)));
            assert_eq!(serde_json::to_string(&params).unwrap(), text);
        }
        let url = read(r#"{"mode":"url","message":"m","url":"https://a"}"#).unwrap();
        assert!(matches!(url, ElicitRequestParams::Url(_)));
        assert!(read(r#"{"mode":"voice","message":"m"}"#).is_err());
    }

    #[test]
    fn both_modes_say_what_the_user_is_told_and_what_was_attached() {
        let check = |text: &str| {
            let params: ElicitRequestParams = serde_json::from_str(text).unwrap();
            assert_eq!(params.message(), "m", "{text}");
            let attached = params.meta().and_then(|meta| meta.member("a"));
            assert_eq!(attached, Some(&1.into()), "{text}");
        };
        check(r#"{"message":"m","requestedSchema":{},"_meta":{"a":1}}"#);
        check(r#"{"mode":"url","message":"m","url":"https://a","_meta":{"a":1}}"#);
    }

    #[test]
    fn only_a_form_that_was_filled_has_fields() {
        let check = |result: &ElicitResult, expected: &str| {
            assert_eq!(serde_json::to_string(result).unwrap(), expected);
        };
        let fields = Map::from_iter([("a".to_owned(), 1.into())]);
        check(
            &ElicitResult::accept(fields),
            r#"{"action":"accept","content":{"a":1}}"#,
        );
        check(
            &ElicitResult::new(ElicitAction::Decline),
            r#"{"action":"decline"}"#,
        );
    }
}
