//! Reads what authorization servers answer: JSON, a form, or a refusal.
//!
//! Reading is liberal, because many answer what OAuth does not say. What is kept of a refusal is
//! its code and a bounded description, without the secrets that were sent.
//!
//! Specification: RFC 6749, section 5; RFC 7591, section 3.2.2; RFC 8628, section 3.5.

use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{AuthError, Step};
use crate::fetch::Reply;
use crate::form::Form;
use crate::place::Place;

/// Reads an answer. `sent` is what was sent: its secrets do not come back in an error.
///
/// # Errors
/// When it is a refusal, or not what OAuth says.
pub(crate) fn read_answer<T: DeserializeOwned>(
    step: Step,
    place: &Place,
    reply: &Reply,
    sent: &Form,
) -> Result<T, AuthError> {
    // Some refuse with status 200.
    if let Some(complaint) = read::<Complaint>(reply)
        && let Some((code, description)) = complaint.words(sent)
    {
        return Err(AuthError::Refused {
            step,
            place: place.to_string(),
            code,
            description,
        });
    }
    if !reply.status.is_success() {
        return Err(status_error(step, place, reply.status));
    }
    // The reason of serde may quote the answer, which may be a token.
    let fault = || AuthError::answer(step, place, "the answer is not what OAuth says it is");
    read(reply).ok_or_else(fault)
}

/// A code and a description as they may stand in an error: bounded, and not empty.
pub(crate) fn said(code: &str, description: Option<&str>) -> (String, Option<String>) {
    let bounded = |text: &str, most| text.trim().chars().take(most).collect::<String>();
    let description = description.map(|text| bounded(text, LONGEST_DESCRIPTION));
    (
        bounded(code, LONGEST_CODE),
        description.filter(|text| !text.is_empty()),
    )
}

fn read<T: DeserializeOwned>(reply: &Reply) -> Option<T> {
    // An array is none of it, although serde would take one for a struct.
    if reply.body.trim_ascii_start().first() == Some(&b'{') {
        return serde_json::from_slice(&reply.body).ok();
    }
    let content_type = reply.headers.get(CONTENT_TYPE)?.as_bytes();
    // GitHub, unless it is asked for JSON, and those who copied it.
    let is_form = content_type
        .get(..FORM.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(FORM));
    if !is_form {
        return None;
    }
    let mut members = Map::new();
    for (name, value) in form_urlencoded::parse(&reply.body) {
        let value = Value::String(value.into_owned());
        if members.insert(name.into_owned(), value).is_some() {
            return None;
        }
    }
    serde_json::from_value(Value::Object(members)).ok()
}

/// No word of OAuth, only a status.
fn status_error(step: Step, place: &Place, status: StatusCode) -> AuthError {
    let number = status.as_u16();
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        // What OAuth calls it where there is no status to say it with.
        return AuthError::Refused {
            step,
            place: place.to_string(),
            code: "temporarily_unavailable".to_owned(),
            description: Some(format!("status {number}")),
        };
    }
    AuthError::answer(step, place, format!("status {number} without a reason"))
}

/// A refusal, in the form that OAuth gives it and in those that others do.
#[derive(Deserialize)]
struct Complaint {
    #[serde(default)]
    error: Value,
    #[serde(default)]
    error_description: Value,
    #[serde(default)]
    message: Value,
}

impl Complaint {
    /// None if nothing is refused.
    fn words(&self, sent: &Form) -> Option<(String, Option<String>)> {
        let code = match &self.error {
            Value::Null | Value::Bool(false) => return None,
            Value::String(code) if code.trim().is_empty() => return None,
            Value::String(code) => code.clone(),
            Value::Object(members) => match members.get("code").or_else(|| members.get("type")) {
                Some(Value::String(code)) => code.clone(),
                Some(Value::Number(code)) => code.to_string(),
                _ => UNNAMED.to_owned(),
            },
            Value::Number(code) => code.to_string(),
            _ => UNNAMED.to_owned(),
        };
        let description = self
            .error_description
            .as_str()
            .or_else(|| self.error.get("message").and_then(Value::as_str))
            .or_else(|| self.message.as_str());
        let description = description.map(|text| sent.cut_out_of(text));
        let code = sent.cut_out_of(&code);
        Some(said(&code, description.as_deref()))
    }
}

// Of an error that has no name.
const UNNAMED: &str = "error";
const FORM: &[u8] = b"application/x-www-form-urlencoded";
const LONGEST_CODE: usize = 100;
const LONGEST_DESCRIPTION: usize = 300;

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue};

    use super::*;
    use crate::secret::Secret;

    #[derive(Debug, Deserialize)]
    struct Answer {
        token: String,
    }

    fn answer(status: u16, content_type: &'static str, body: &str) -> Result<Answer, AuthError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        let reply = Reply {
            status: StatusCode::from_u16(status).unwrap(),
            headers,
            body: Bytes::copy_from_slice(body.as_bytes()),
        };
        let place = Place::parse("https://as.example/token?key=hidden").unwrap();
        let sent = Form::new().add_secret("code", &Secret::new("s3cret"));
        read_answer(Step::Token, &place, &reply, &sent)
    }

    fn refused(status: u16, body: &str) -> (String, Option<String>) {
        match answer(status, "application/json", body).unwrap_err() {
            AuthError::Refused {
                code, description, ..
            } => (code, description),
            error => panic!("{body}: {error}"),
        }
    }

    #[test]
    fn an_answer_is_json_or_a_form_whatever_its_content_type_says() {
        for (content_type, body) in [
            ("application/json", r#"{"token":"a b"}"#),
            ("text/html; charset=utf-8", r#" {"token":"a b","error":""}"#),
            (
                "application/x-www-form-urlencoded",
                r#"{"token":"a b","error":null}"#,
            ),
            (
                "application/x-www-form-urlencoded; charset=utf-8",
                "token=a+b&scope=",
            ),
            (
                "Application/X-WWW-Form-Urlencoded",
                "token=a%20b&error=&x=1",
            ),
        ] {
            assert_eq!(answer(200, content_type, body).unwrap().token, "a b");
        }
        assert_eq!(answer(201, "", r#"{"token":"a b"}"#).unwrap().token, "a b");
    }

    #[test]
    fn a_refusal_is_read_in_every_shape() {
        let words = |code: &str, text: &str| (code.to_owned(), Some(text.to_owned()));
        let rfc = r#"{"error":"invalid_grant","error_description":"too late"}"#;
        for status in [200, 400, 401, 403, 404, 500] {
            assert_eq!(refused(status, rfc), words("invalid_grant", "too late"));
        }
        assert_eq!(
            refused(400, r#"{"error":"invalid_client"}"#),
            ("invalid_client".to_owned(), None)
        );
        assert_eq!(
            refused(400, r#"{"error":{"code":"bad","message":"why"}}"#),
            words("bad", "why")
        );
        assert_eq!(
            refused(400, r#"{"error":{"type":"bad","code":null},"message":"m"}"#),
            words("error", "m")
        );
        assert_eq!(
            refused(
                400,
                r#"{"statusCode":400,"error":"Bad Request","message":"why"}"#
            ),
            words("Bad Request", "why")
        );
        assert_eq!(refused(400, r#"{"error":17}"#), ("17".to_owned(), None));
        assert_eq!(refused(400, r#"{"error":[]}"#), ("error".to_owned(), None));
        let form = "error=bad_verification_code&error_description=wrong+or+old";
        let error = answer(200, "application/x-www-form-urlencoded", form).unwrap_err();
        assert_eq!(error.code(), Some("bad_verification_code"));
        assert!(error.to_string().ends_with("(wrong or old)"));
    }

    #[test]
    fn a_status_alone_is_told_apart_from_a_refusal() {
        for body in ["", "<html>s3cret</html>", "{}", "null", r#""s3cret""#] {
            let error = answer(400, "text/html", body).unwrap_err();
            assert!(matches!(error, AuthError::Answer { .. }), "{body}");
            assert!(error.to_string().contains("status 400"));
            for status in [429, 500, 502, 503] {
                let error = answer(status, "text/html", body).unwrap_err();
                assert!(error.is_passing(), "{status}");
                assert!(error.to_string().contains(&format!("status {status}")));
            }
        }
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_not_shown() {
        for body in [
            "",
            "token=s3cret",
            "<p>s3cret</p>",
            r#"{"token":{"s3cret":"s3cret"}}"#,
            r#"{"token":"s3cret","token":"s3cret"}"#,
            r#"["s3cret"]"#,
        ] {
            let error = answer(200, "application/json", body).unwrap_err();
            assert!(matches!(error, AuthError::Answer { .. }), "{body}");
            assert!(!format!("{error} {error:?}").contains("s3cret"));
        }
        let form = "application/x-www-form-urlencoded";
        assert!(answer(200, form, "token=a&token=b").is_err());
        assert!(answer(200, form, "\u{fffd}&&==&%").is_err());
    }

    #[test]
    fn an_error_is_bounded_and_has_no_secret_in_it() {
        let long = "ä".repeat(5000);
        let body = format!(r#"{{"error":"{long}","error_description":"{long}"}}"#);
        let (code, description) = refused(400, &body);
        assert_eq!(code.chars().count(), 100);
        assert_eq!(description.unwrap().chars().count(), 300);
        let body = r#"{"error":"s3cret","error_description":"code s3cret is \u001b[31m old"}"#;
        let error = answer(400, "", body).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("s3cret"));
        assert!(error.to_string().contains(r"code *** is \x1b[31m old"));
        assert!(!error.to_string().contains("hidden"));
    }
}
