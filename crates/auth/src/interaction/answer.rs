//! Is this what the browser was to bring back?
//!
//! Anybody can send something to a port of this machine, or paste the address of yesterday. What
//! does not have the `state` of this very login is not its answer, and must not end it. Whether
//! the answer is a good one is for the flow to check, the `state` once more included.
//!
//! Specification: RFC 6749, sections 4.1.2 and 10.12.

use crate::place::Place;
use crate::secret::Secret;

/// The answer that one login waits for.
pub(super) struct Expected {
    state: Option<Secret>,
}

impl Expected {
    /// The answer to what this page asks for.
    pub(super) fn of(page: &Place) -> Self {
        let query = page.uri().query().unwrap_or_default();
        Self {
            state: value(query, "state"),
        }
    }

    /// # Errors
    /// When this query is not it, with the reason.
    pub(super) fn check(&self, query: &str) -> Result<(), &'static str> {
        if value(query, "code").is_none() && value(query, "error").is_none() {
            return Err("there is neither a code nor an error in it");
        }
        match value(query, "state") == self.state || self.state.is_none() {
            true => Ok(()),
            false => Err("it belongs to another login"),
        }
    }

    /// Reads what a person pasted: the address at which the browser ended, or its query.
    ///
    /// # Errors
    /// When it is neither, with the reason.
    pub(super) fn read_line(&self, line: &Secret) -> Result<Secret, &'static str> {
        let text = line.reveal();
        if text.len() > LONGEST_LINE {
            return Err("it is longer than 16384 bytes");
        }
        // Chats and shells add quotes and brackets around an address.
        let is_wrapping = |letter: char| {
            letter.is_whitespace()
                || letter.is_control()
                || matches!(letter, '"' | '\'' | '<' | '>' | '`')
        };
        let text = text.trim_matches(is_wrapping);
        if text.is_empty() {
            return Err("it is empty");
        }
        let text = text.split('#').next().unwrap_or_default();
        let query = text.split_once('?').map_or(text, |(_, query)| query);
        if !query.contains('=') {
            return Err("it is not the whole address at which the browser ended");
        }
        self.check(query)?;
        Ok(Secret::new(query))
    }
}

/// The first value of that name that is not empty.
fn value(query: &str, name: &str) -> Option<Secret> {
    form_urlencoded::parse(query.as_bytes())
        .find(|(own, value)| own == name && !value.is_empty())
        .map(|(_, value)| Secret::new(value))
}

// Twice the longest URL that is shown to a browser.
const LONGEST_LINE: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn expected() -> Expected {
        let page = "https://login.example/authorize?client_id=a&state=s%2B1&code_challenge=c";
        Expected::of(&Place::parse(page).unwrap())
    }

    fn read(line: &str) -> Result<String, &'static str> {
        let read = expected().read_line(&Secret::new(line));
        read.map(|query| query.reveal().to_owned())
    }

    #[test]
    fn an_answer_has_the_state_and_a_code_or_an_error() {
        let check = |query: &str| expected().check(query);
        check("code=x&state=s%2B1").unwrap();
        check("error=access_denied&state=s%2B1&iss=https%3A%2F%2Flogin.example").unwrap();
        check("code=x&state=s+1").unwrap_err();
        check("code=x&state=").unwrap_err();
        check("code=x").unwrap_err();
        check("error=access_denied").unwrap_err();
        check("state=s%2B1").unwrap_err();
        check("code=&state=s%2B1").unwrap_err();
        check("").unwrap_err();
    }

    #[test]
    fn a_page_without_a_state_is_answered_without_one() {
        let expected = Expected::of(&Place::parse("https://login.example/authorize").unwrap());
        expected.check("code=x").unwrap();
        expected.check("code=x&state=any").unwrap();
        expected.check("state=any").unwrap_err();
    }

    #[test]
    fn an_address_may_be_pasted_in_several_forms() {
        for line in [
            "http://127.0.0.1:7/callback?code=x&state=s%2B1",
            "  http://127.0.0.1:7/callback?code=x&state=s%2B1\r\n",
            "\"http://127.0.0.1:7/callback?code=x&state=s%2B1\"",
            "<https://app.example/done?code=x&state=s%2B1#_=_>",
            "?code=x&state=s%2B1",
            "code=x&state=s%2B1",
        ] {
            assert_eq!(read(line).unwrap(), "code=x&state=s%2B1", "{line:?}");
        }
    }

    #[test]
    fn anything_else_is_not_the_answer_and_the_reason_is_said() {
        let reason = |line: &str| read(line).unwrap_err();
        assert!(reason("").contains("empty"));
        assert!(reason(" \n").contains("empty"));
        assert!(reason("what now?").contains("whole address"));
        assert!(reason("4/0AbCdEf").contains("whole address"));
        assert!(reason("http://127.0.0.1:7/callback?code=x&state=old").contains("another login"));
        // The address of the login page itself.
        assert!(reason("https://login.example/authorize?state=s%2B1").contains("neither"));
        assert!(reason(&"a".repeat(20_000)).contains("longer"));
    }
}
