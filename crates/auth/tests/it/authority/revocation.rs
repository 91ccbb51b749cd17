//! Tokens that shall count no longer.
//!
//! Specification: RFC 7009.

use super::message::{Asked, Reply};
use super::{Office, Outcome, Refused};

impl Office {
    pub(super) fn revoke(&self, asked: &Asked) -> Outcome<Reply> {
        self.check_form(asked)?;
        let client = self.check_client(&self.knobs(), asked)?;
        let Some(shown) = asked.form.find("token") else {
            return Err(Refused::new("invalid_request", "there is no token"));
        };
        let mut files = self.files();
        let access = files.access.get(shown).map(|token| &token.grant);
        let refresh = files.refresh.get(shown).map(|token| &token.grant);
        let is_refresh = refresh.is_some();
        // A token that does not exist counts no longer either.
        let Some(grant) = refresh.or(access).cloned() else {
            return Ok(Reply::new(200));
        };
        if grant.client != client.id {
            let why = "the token is that of another client";
            return Err(Refused::new("invalid_request", why));
        }
        match is_refresh {
            true => files.end_family(grant.family),
            false => drop(files.access.remove(shown)),
        }
        Ok(Reply::new(200))
    }
}
