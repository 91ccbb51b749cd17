//! Logging in on another device: a code to enter there, and the wait until it was.
//!
//! Showing the code is for an [`Interaction`](crate::Interaction).
//!
//! Specification: RFC 8628.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use http::HeaderMap;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use tracing::debug;

use crate::answer::read_answer;
use crate::error::{AuthError, Step};
use crate::form::{DEVICE_CODE, Form};
use crate::interaction::DeviceCode;
use crate::place::Place;
use crate::record::Tokens;
use crate::scope::Scopes;
use crate::secret::Secret;
use crate::token::{TokenAsker, seconds};

/// Asks for a code. With it come the code that stays here, and how often to ask whether it was
/// entered.
///
/// # Errors
/// When there is none, or none that can be shown.
pub(crate) async fn ask_device_code(
    asker: &TokenAsker<'_>,
    resource: Option<&str>,
    scopes: &Scopes,
    server: &Place,
) -> Result<(DeviceCode, Secret, Duration), AuthError> {
    let step = Step::DeviceAuthorization;
    let Some(place) = &asker.issuer.device_authorization_endpoint else {
        let reason = "it names no device_authorization_endpoint";
        return Err(AuthError::metadata(&asker.issuer.issuer, reason));
    };
    let form = Form::new().add_scopes(scopes).add_resource(resource);
    let posted = asker.post(step, place, &form, HeaderMap::new());
    let (reply, sent) = posted.await?;
    let given: Given = read_answer(step, place, &reply, &sent)?;

    let fault = |reason: &str| AuthError::answer(step, place, reason);
    let device_code = given.device_code.filter(|code| !code.is_empty());
    let device_code = device_code.ok_or_else(|| fault("there is no device_code in the answer"))?;
    let user_code = given.user_code.filter(|code| can_be_entered(code));
    let user_code = user_code.ok_or_else(|| fault("there is no user_code that can be entered"))?;
    let page = given.verification_uri.or(given.verification_url);
    let page = page.ok_or_else(|| fault("there is no verification_uri in the answer"))?;
    let page = Place::parse(&page).map_err(AuthError::place("the page for the code"))?;
    let complete_page = given.verification_uri_complete.as_deref();
    let lifetime = given.expires_in.as_ref().and_then(seconds);
    let interval = given.interval.as_ref().and_then(seconds);
    let code = DeviceCode {
        user_code,
        page,
        // Only a convenience: one that cannot be opened is left out.
        complete_page: complete_page.and_then(|page| Place::parse(page).ok()),
        lifetime: lifetime
            .map_or(USUAL_LIFE, Duration::from_secs)
            .min(LONGEST_LIFE),
        server: server.clone(),
    };
    let interval = interval.map_or(USUAL_INTERVAL, Duration::from_secs);
    Ok((
        code,
        device_code,
        interval.clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL),
    ))
}

/// Waits until the code was entered, for as long as it counts.
///
/// # Errors
/// When it was not, or it was refused.
pub(crate) async fn wait_for_device(
    asker: &TokenAsker<'_>,
    device_code: &Secret,
    resource: Option<&str>,
    interval: Duration,
    lifetime: Duration,
    requested: &Scopes,
) -> Result<Tokens, AuthError> {
    let form = Form::of_grant(DEVICE_CODE)
        .add_secret("device_code", device_code)
        .add_resource(resource);
    poll(interval, lifetime, |passed| {
        let form = form.clone();
        Box::pin(async move {
            // Minutes may have passed, which the proofs must not be behind.
            let now = asker.now.saturating_add(passed.as_secs());
            let asker = TokenAsker { now, ..*asker };
            asker.ask(Step::Token, form, requested).await
        })
    })
    .await
}

type Asked<'a> = Pin<Box<dyn Future<Output = Result<Tokens, AuthError>> + Send + 'a>>;

/// Asks again and again, and says how much time has passed.
async fn poll<'a>(
    mut interval: Duration,
    lifetime: Duration,
    mut ask: impl FnMut(Duration) -> Asked<'a>,
) -> Result<Tokens, AuthError> {
    let began = Instant::now();
    loop {
        if began.elapsed().saturating_add(interval) >= lifetime {
            return Err(AuthError::LoginTimedOut { after: lifetime });
        }
        sleep(interval).await;
        let error = match ask(began.elapsed()).await {
            Ok(tokens) => return Ok(tokens),
            Err(error) => error,
        };
        match error.code() {
            Some("authorization_pending") => {}
            Some("slow_down") => interval = interval.saturating_add(SLOWER),
            Some("expired_token") => {
                return Err(AuthError::LoginTimedOut { after: lifetime });
            }
            Some("access_denied") => {
                return Err(AuthError::LoginAborted {
                    reason: "it was denied on the other device".to_owned(),
                });
            }
            // RFC 8628, section 3.5: longer and longer, until it passes.
            _ if error.is_passing() => {
                debug!(%error, "asking for the token once more, later");
                let longer = interval.saturating_mul(2).max(SHORTEST_INTERVAL);
                interval = longer.min(interval.max(LONGEST_PAUSE));
            }
            _ => return Err(error),
        }
    }
}

/// What an issuer answers, as far as it is used.
#[derive(Deserialize)]
struct Given {
    device_code: Option<Secret>,
    user_code: Option<String>,
    verification_uri: Option<String>,
    /// Google's, from before the RFC.
    verification_url: Option<String>,
    verification_uri_complete: Option<String>,
    expires_in: Option<Value>,
    interval: Option<Value>,
}

/// A person reads it and types it.
fn can_be_entered(code: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    (1..=LONGEST_CODE).contains(&code.len()) && code.bytes().all(is_allowed)
}

const LONGEST_CODE: usize = 64;
const USUAL_LIFE: Duration = Duration::from_secs(10 * 60);
const LONGEST_LIFE: Duration = Duration::from_secs(60 * 60);
// RFC 8628, section 3.2: where nothing is said.
const USUAL_INTERVAL: Duration = Duration::from_secs(5);
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);
const LONGEST_INTERVAL: Duration = Duration::from_secs(5 * 60);
// RFC 8628, section 3.5.
const SLOWER: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::record::{ClientIdentity, ClientOrigin};
    use crate::test_server::{Answer, TestServer, fetcher};

    const NOW: u64 = 1_800_000_000;

    fn refused(code: &str) -> AuthError {
        AuthError::Refused {
            step: Step::Token,
            place: "https://as.example/token".to_owned(),
            code: code.to_owned(),
            description: None,
        }
    }

    /// Polls with these answers, the last one for ever; the seconds at which it was asked.
    async fn polled(
        interval: u64,
        lifetime: u64,
        codes: &'static [&'static str],
    ) -> (Vec<u64>, Result<Tokens, AuthError>) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let times = Arc::clone(&asked);
        let seconds = Duration::from_secs;
        let outcome = poll(seconds(interval), seconds(lifetime), move |passed| {
            let mut times = times.lock().unwrap();
            let code = codes.get(times.len()).or(codes.last()).unwrap();
            times.push(passed.as_secs());
            Box::pin(async move {
                match *code {
                    "" => Ok(Tokens::new("t", 0)),
                    code => Err(refused(code)),
                }
            })
        })
        .await;
        let asked = asked.lock().unwrap().clone();
        (asked, outcome)
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_asked_in_intervals_until_the_code_was_entered() {
        let codes = &["authorization_pending", "authorization_pending", ""];
        let (asked, outcome) = polled(5, 600, codes).await;
        assert_eq!(asked, [5, 10, 15]);
        assert_eq!(outcome.unwrap().access.reveal(), "t");
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_asked_less_often_when_that_is_wanted() {
        let codes = &["slow_down", "authorization_pending", "slow_down", ""];
        let (asked, outcome) = polled(5, 600, codes).await;
        assert_eq!(asked, [5, 15, 25, 40]);
        outcome.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_that_counts_no_longer_is_not_asked_for() {
        let (asked, outcome) = polled(5, 16, &["authorization_pending"]).await;
        assert_eq!(asked, [5, 10, 15]);
        assert!(
            matches!(outcome, Err(AuthError::LoginTimedOut { after }) if after.as_secs() == 16)
        );
        let (asked, outcome) = polled(5, 600, &["expired_token"]).await;
        assert_eq!(asked, [5]);
        assert!(matches!(outcome, Err(AuthError::LoginTimedOut { .. })));
        let (asked, _) = polled(600, 600, &[""]).await;
        assert!(asked.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_ends_the_wait() {
        let (_, outcome) = polled(5, 600, &["access_denied"]).await;
        assert!(matches!(outcome, Err(AuthError::LoginAborted { .. })));
        let (asked, outcome) = polled(5, 600, &["authorization_pending", "invalid_grant"]).await;
        assert_eq!(asked, [5, 10]);
        assert_eq!(outcome.unwrap_err().code(), Some("invalid_grant"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_passes_is_waited_out_longer_and_longer() {
        let (asked, outcome) = polled(5, 300, &["temporarily_unavailable"]).await;
        assert_eq!(asked, [5, 15, 35, 75, 135, 195, 255]);
        assert!(matches!(outcome, Err(AuthError::LoginTimedOut { .. })));
        let (asked, outcome) = polled(90, 600, &["server_error", ""]).await;
        assert_eq!(asked, [90, 180]);
        outcome.unwrap();
    }

    async fn coded(
        answer: Answer,
    ) -> (
        TestServer,
        Result<(DeviceCode, Secret, Duration), AuthError>,
    ) {
        let server = TestServer::playing(vec![answer]).await;
        let (issuer, fetcher) = (server.issuer(), fetcher());
        let client = ClientIdentity::new("client", ClientOrigin::Configured);
        let asker = asker(&fetcher, &issuer, &client);
        let mcp = Place::parse("https://mcp.example/mcp").unwrap();
        let scopes = Scopes::parse("a b");
        let code = ask_device_code(&asker, Some(mcp.as_str()), &scopes, &mcp).await;
        (server, code)
    }

    fn asker<'a>(
        fetcher: &'a crate::fetch::Fetcher,
        issuer: &'a crate::issuer::Issuer,
        client: &'a ClientIdentity,
    ) -> TokenAsker<'a> {
        TokenAsker {
            fetcher,
            issuer,
            client,
            key: None,
            prover: None,
            now: NOW,
        }
    }

    #[tokio::test]
    async fn a_code_is_asked_for_this_server_and_shown_with_its_page() {
        let body = r#"{"device_code":"d3vice","user_code":"WDJB-MJHT","expires_in":900,
            "verification_uri":"https://as.example/device","interval":7,
            "verification_uri_complete":"https://as.example/device?code=WDJB-MJHT"}"#;
        let (server, answer) = coded(Answer::json(200, body)).await;
        let (code, device_code, interval) = answer.unwrap();
        assert_eq!(code.user_code, "WDJB-MJHT");
        assert_eq!(code.page.as_str(), "https://as.example/device");
        let complete = code.complete_page.unwrap();
        assert_eq!(
            complete.as_str(),
            "https://as.example/device?code=WDJB-MJHT"
        );
        assert_eq!((code.lifetime.as_secs(), interval.as_secs()), (900, 7));
        assert_eq!(code.server.as_str(), "https://mcp.example/mcp");
        assert_eq!(device_code.reveal(), "d3vice");
        let seen = &server.seen()[0];
        assert_eq!(seen.line, "POST /device HTTP/1.1");
        assert_eq!(
            seen.body,
            "scope=a+b&resource=https%3A%2F%2Fmcp.example%2Fmcp&client_id=client"
        );
    }

    #[tokio::test]
    async fn what_is_not_said_of_a_code_is_as_usual_and_what_is_absurd_is_bounded() {
        let body = r#"{"device_code":"d","user_code":"A B","expires_in":1e9,"interval":0,
            "verification_url":"https://as.example/d","verification_uri_complete":"file:///x"}"#;
        let (_, answer) = coded(Answer::json(200, body)).await;
        let (code, _, interval) = answer.unwrap();
        assert_eq!(code.complete_page, None);
        assert_eq!((code.lifetime.as_secs(), interval.as_secs()), (3600, 1));
        let body = r#"{"device_code":"d","user_code":"A","verification_uri":"https://a/"}"#;
        let (_, answer) = coded(Answer::json(200, body)).await;
        let (code, _, interval) = answer.unwrap();
        assert_eq!((code.lifetime.as_secs(), interval.as_secs()), (600, 5));
    }

    #[tokio::test]
    async fn a_code_that_cannot_be_shown_is_refused() {
        let whole = r#"{"device_code":"d3vice","user_code":"A","verification_uri":"https://a/"}"#;
        for (part, other, reason) in [
            ("d3vice", "", "no device_code"),
            ("\"A\"", "\"\"", "no user_code"),
            ("\"A\"", r#""\u001b[31m""#, "no user_code"),
            ("\"A\"", "\"\u{202e}A\"", "no user_code"),
            ("verification_uri", "x", "no verification_uri"),
            ("https://a/", "javascript:alert(1)", "page for the code"),
            ("https://a/", "file:///etc/passwd", "page for the code"),
            ("https://a/", "http://a/", "page for the code"),
        ] {
            let body = whole.replace(part, other);
            let (_, answer) = coded(Answer::json(200, &body)).await;
            let error = answer.unwrap_err();
            assert!(error.to_string().contains(reason), "{body}: {error}");
            assert!(!format!("{error:?}").contains("d3vice"));
        }
        let (_, answer) = coded(Answer::json(400, r#"{"error":"unauthorized_client"}"#)).await;
        assert_eq!(answer.unwrap_err().code(), Some("unauthorized_client"));
    }

    #[tokio::test]
    async fn a_code_that_was_entered_is_turned_into_a_token() {
        let pending = Answer::json(400, r#"{"error":"authorization_pending"}"#);
        let given = Answer::json(200, r#"{"access_token":"t","token_type":"Bearer"}"#);
        let server = TestServer::playing(vec![pending.clone(), pending, given]).await;
        let (issuer, fetcher) = (server.issuer(), fetcher());
        let client = ClientIdentity::new("client", ClientOrigin::Configured);
        let asker = asker(&fetcher, &issuer, &client);
        let tokens = wait_for_device(
            &asker,
            &Secret::new("d3vice"),
            Some("https://mcp.example/mcp"),
            Duration::ZERO,
            Duration::from_secs(60),
            &Scopes::parse("a"),
        )
        .await;
        let tokens = tokens.unwrap();
        assert_eq!(tokens.access.reveal(), "t");
        assert_eq!(tokens.requested, Scopes::parse("a"));
        let seen = server.seen();
        assert_eq!(seen.len(), 3);
        for seen in seen {
            assert_eq!(seen.line, "POST /token HTTP/1.1");
            let grant = "urn:ietf:params:oauth:grant-type:device_code";
            assert_eq!(seen.field("grant_type").unwrap(), grant);
            assert_eq!(seen.field("device_code").unwrap(), "d3vice");
            assert_eq!(seen.field("client_id").unwrap(), "client");
            let resource = seen.field("resource").unwrap();
            assert_eq!(resource, "https://mcp.example/mcp");
        }
    }

    #[tokio::test]
    async fn an_issuer_without_codes_is_named() {
        let (fetcher, mut issuer) = (fetcher(), crate::test_server::issuer("https://as.example"));
        issuer.device_authorization_endpoint = None;
        let client = ClientIdentity::new("client", ClientOrigin::Configured);
        let asker = asker(&fetcher, &issuer, &client);
        let mcp = Place::parse("https://mcp.example/mcp").unwrap();
        let code = ask_device_code(&asker, None, &Scopes::default(), &mcp).await;
        let error = code.unwrap_err().to_string();
        assert!(error.contains("https://as.example") && error.contains("device_authorization"));
    }

    fn is_send(_: impl Send) {}

    #[test]
    fn a_wait_may_move_between_threads() {
        let (fetcher, issuer) = (fetcher(), crate::test_server::issuer("https://as.example"));
        let client = ClientIdentity::new("client", ClientOrigin::Configured);
        let asker = asker(&fetcher, &issuer, &client);
        let (code, scopes) = (Secret::new("d"), Scopes::default());
        let second = Duration::from_secs(1);
        is_send(wait_for_device(
            &asker, &code, None, second, second, &scopes,
        ));
        is_send(asker.ask(Step::Token, Form::new(), &scopes));
    }
}
