//! What a browser brings back.

use std::fmt;
use std::sync::Arc;

use switchboard_auth::{Asking, Interaction, LoginPage, Secret, Visit};

use super::Stage;
use crate::authority::{Authority, BACK, Client, Conduct, Fields, Iss, ScriptedPerson};

/// Brings back what somebody else has made of it.
#[derive(Clone)]
struct Forger(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl Forger {
    /// `STATE` is the right one.
    fn bringing(answer: String) -> Self {
        Self(Arc::new(move |state| answer.replace("STATE", state)))
    }
}

impl Interaction for Forger {
    fn prepare<'a>(&'a self, _known: &'a [String]) -> Asking<'a, Box<dyn Visit>> {
        let visit = self.clone();
        Box::pin(async { Ok(Box::new(visit) as Box<dyn Visit>) })
    }
}

impl Visit for Forger {
    fn redirect_uri(&self) -> &str {
        BACK
    }

    fn go<'a>(&'a mut self, page: &'a LoginPage) -> Asking<'a, Secret> {
        let (_, query) = page.url.as_str().split_once('?').unwrap();
        let answer = (self.0)(Fields::parse(query).find("state").unwrap());
        Box::pin(async { Ok(Secret::new(answer)) })
    }
}

impl fmt::Debug for Forger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Forger")
    }
}

#[tokio::test]
async fn an_answer_that_is_not_ours_is_worth_nothing() {
    for (answer, says) in [
        ("", NO_STATE),
        ("c0de", NO_STATE),
        ("?code=c0de&iss=http://issuer", NO_STATE),
        ("?code=c0de&iss=http://issuer&state=", OTHER_STATE),
        ("?code=c0de&iss=http://issuer&state=other", OTHER_STATE),
        ("?code=c0de&iss=http://issuer&state=STATEx", OTHER_STATE),
        (
            "?code=c0de&iss=http://issuer&state=STATE&state=STATE",
            TWICE,
        ),
        (
            "?code=c0de&iss=http://issuer&state=other&state=STATE",
            TWICE,
        ),
        ("#code=c0de&iss=http://issuer&state=STATE", NO_STATE),
        ("?code=c0de&iss=http://issuer#state=STATE", NO_STATE),
        ("?State=STATE&code=c0de&iss=http://issuer", NO_STATE),
        // Who sent it is compared as a text.
        ("?code=c0de&state=STATE", NO_ISSUER),
        ("?code=c0de&state=STATE&iss=", OTHER_ISSUER),
        ("?code=c0de&state=STATE&iss=http://issuer/", OTHER_ISSUER),
        ("?code=c0de&state=STATE&iss=HTTP://issuer", OTHER_ISSUER),
        ("?code=c0de&state=STATE&iss=http://canary", OTHER_ISSUER),
        (
            "?code=c0de&state=STATE&iss=http://issuer&iss=http://issuer",
            TWICE,
        ),
        (
            "?code=c0de&state=STATE&iss=http://issuer&iss=http://canary",
            TWICE,
        ),
        ("?state=STATE&iss=http://issuer", NO_CODE),
        ("?code=&state=STATE&iss=http://issuer", NO_CODE),
        ("?code=c0de&code=c0de&state=STATE&iss=http://issuer", TWICE),
        // A refusal counts, whatever comes with it, but only from the right one.
        (
            "?error=access_denied&code=c0de&state=STATE&iss=http://issuer",
            "the login was given up: it was denied on the login page",
        ),
        (
            "?error=server_error&code=c0de&state=STATE&iss=http://issuer",
            "http://issuer/authorize refused the login: server_error",
        ),
        (
            "?error=server_error&state=STATE&iss=http://canary",
            OTHER_ISSUER,
        ),
        (
            "?error=server_error&state=other&iss=http://issuer",
            OTHER_STATE,
        ),
        ("?error=a&error=b&state=STATE&iss=http://issuer", TWICE),
        (
            "?error=a%1b[2J&error_description=%e2%80%ae%0d%0ab%00&state=STATE&iss=http://issuer",
            "http://issuer/authorize refused the login: a\\x1b[2J (\\u{202e}\\r\\nb\\x00)",
        ),
        // What was sent stands in no error.
        (
            "?error=a&error_description=c0de+STATE&code=c0de&state=STATE&iss=http://issuer",
            "http://issuer/authorize refused the login: a (*** ***)",
        ),
    ] {
        let stage = Stage::new().await;
        let forged = Forger::bringing(stage.with_places(&format!("{BACK}{answer}")));
        let login = stage.builder().interaction(forged).build().unwrap();
        let refusal = stage.refusal_of(&login).await;
        assert_eq!(refusal, says, "{answer}");
        assert!(!refusal.contains("c0de"), "{answer}");
        assert_eq!(stage.authority.count("/token"), 0, "{answer}");
        assert_eq!(stage.canary.lines(), [""; 0]);
    }
}

#[tokio::test]
async fn an_issuer_that_sends_back_as_another_gets_no_code() {
    for (iss, says) in [
        (Iss::Missing, NO_ISSUER),
        (Iss::WithSlash, OTHER_ISSUER),
        (
            Iss::Wrong("https://honest.example".to_owned()),
            OTHER_ISSUER,
        ),
    ] {
        let stage = Stage::new().await;
        stage.authority.change(|knobs| knobs.iss = iss.clone());
        assert_eq!(stage.refusal().await, says, "{iss:?}");
        assert_eq!(stage.authority.count("/token"), 0);
    }
}

#[tokio::test]
async fn the_state_of_another_login_is_refused() {
    let mut stage = Stage::new().await;
    stage.person = ScriptedPerson::new(Conduct::Tampers("of-another-login".to_owned()));
    assert_eq!(stage.refusal().await, OTHER_STATE);
    assert_eq!(stage.authority.count("/token"), 0);
}

/// RFC 9207: the attacker's issuer sends the browser to an honest one, to be given its code.
#[tokio::test]
async fn a_code_of_one_issuer_is_not_given_to_another() {
    let stage = Stage::new().await;
    let honest = Authority::start().await;
    honest.add_client(Client::public("known-to-both", BACK));
    let endpoint = format!("\"{}\"", honest.url("/authorize"));
    let metadata = stage.edit("authorization_endpoint", &endpoint);
    let registered = stage.edit("client_id", "\"known-to-both\"");
    stage.authority.change(|knobs| {
        knobs.metadata = metadata;
        knobs.registered = registered;
    });
    assert_eq!(stage.refusal().await, OTHER_ISSUER);
    assert_eq!(honest.count("/authorize"), 1);
    assert_eq!(stage.authority.count("/token"), 0);
    assert_eq!(honest.count("/token"), 0);
}

const NO_STATE: &str = "what came back from the browser is not used: it has no state; the whole URL is \
    needed";

const OTHER_STATE: &str =
    "what came back from the browser is not used: its state is not that of this login";

const TWICE: &str = "what came back from the browser is not used: a parameter is in it twice";

const OTHER_ISSUER: &str = "what came back from the browser is not used: it is from another issuer than the \
    one that was asked";

const NO_ISSUER: &str = "what came back from the browser is not used: it does not say who sent it, \
    although this issuer always does";

const NO_CODE: &str = "what came back from the browser is not used: it has no code";
