//! Where tokens are given out.
//!
//! Specification: OAuth 2.1, sections 3.2, 4.1.3, 4.2 and 4.3; RFC 7636, section 4.6; RFC 8707,
//! section 2.2; RFC 9449, section 5.

use serde_json::json;

use super::authorize::{check_resource, check_scopes};
use super::client::Client;
use super::jose::{hash, now};
use super::knobs::{Knobs, Refresh};
use super::message::{Asked, Reply};
use super::{Access, Grant, Office, Outcome, RefreshToken, Refused};

/// What is granted here.
pub(crate) const GRANTS: [&str; 6] = [
    "authorization_code",
    "refresh_token",
    "client_credentials",
    "urn:ietf:params:oauth:grant-type:jwt-bearer",
    "urn:ietf:params:oauth:grant-type:token-exchange",
    "urn:ietf:params:oauth:grant-type:device_code",
];

impl Office {
    pub(super) fn token(&self, asked: &Asked) -> Outcome<Reply> {
        let knobs = self.knobs();
        self.check_form(asked)?;
        // Before anything is used up: who is told to come again with a nonce comes with the
        // same code.
        let key = self.check_token_proof(&knobs, asked)?;
        let kind = asked.form.find("grant_type").unwrap_or_default();
        if !GRANTS.contains(&kind) {
            let why = "there is no such grant";
            return Err(Refused::new("unsupported_grant_type", why));
        }
        if self.is_of_workload(asked) {
            let grant = self.grant_workload(&knobs, asked, key)?;
            return Ok(self.give(&knobs, grant, false));
        }
        let client = self.check_client(&knobs, asked)?;
        if !client.grants.iter().any(|grant| grant == kind) {
            let why = "the client may not use this grant";
            return Err(Refused::new("unauthorized_client", why));
        }
        let may_refresh = client.grants.iter().any(|grant| grant == "refresh_token");
        let first = may_refresh && knobs.refresh != Refresh::None;
        match kind {
            "authorization_code" => {
                let grant = self.grant_of_code(asked, &client, key)?;
                Ok(self.give(&knobs, grant, first))
            }
            "refresh_token" => self.refresh(&knobs, asked, &client, key),
            "client_credentials" => {
                let grant = self.grant_client(&knobs, asked, &client, key)?;
                Ok(self.give(&knobs, grant, false))
            }
            "urn:ietf:params:oauth:grant-type:device_code" => {
                let grant = self.grant_device(&knobs, asked, &client, key)?;
                Ok(self.give(&knobs, grant, first))
            }
            "urn:ietf:params:oauth:grant-type:token-exchange" => {
                self.exchange(&knobs, asked, &client)
            }
            _ => {
                let grant = self.grant_assertion(&knobs, asked, &client, key)?;
                Ok(self.give(&knobs, grant, false))
            }
        }
    }

    fn grant_of_code(&self, asked: &Asked, client: &Client, key: Option<String>) -> Outcome<Grant> {
        let bad = |why: &str| Refused::new("invalid_grant", why);
        let form = &asked.form;
        let mut files = self.files();
        let shown = form.find("code").unwrap_or_default();
        if let Some(family) = files.used_codes.get(shown).copied() {
            // Somebody else may have used it first.
            files.end_family(family);
            return Err(bad("the code was used before"));
        }
        let code = files.codes.remove(shown);
        let mut code = code.ok_or_else(|| bad("there is no such code"))?;
        files.used_codes.insert(shown.to_owned(), code.grant.family);
        if code.grant.client != client.id {
            return Err(bad("the code is that of another client"));
        }
        if form.find("redirect_uri") != Some(code.redirect_uri.as_str()) {
            return Err(bad("redirect_uri is not the one of the login"));
        }
        let verifier = form.find("code_verifier").unwrap_or_default();
        let is_verifier = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if !(43..=128).contains(&verifier.len()) || !verifier.bytes().all(is_verifier) {
            return Err(bad("code_verifier is none"));
        }
        if hash(verifier) != code.challenge {
            return Err(bad("code_verifier does not fit the challenge"));
        }
        check_same_resource(&code.grant, asked)?;
        if code.grant.key.is_some() && code.grant.key != key {
            return Err(bad("the code is bound to another key"));
        }
        code.grant.key = key;
        Ok(code.grant)
    }

    fn refresh(
        &self,
        knobs: &Knobs,
        asked: &Asked,
        client: &Client,
        key: Option<String>,
    ) -> Outcome<Reply> {
        let bad = |why: &str| Refused::new("invalid_grant", why);
        let shown = asked.form.find("refresh_token").unwrap_or_default();
        let mut files = self.files();
        let token = files.refresh.get(shown).cloned();
        let token = token.ok_or_else(|| bad("there is no such refresh token"))?;
        if token.grant.client != client.id {
            return Err(bad("the refresh token is that of another client"));
        }
        if token.was_used {
            files.end_family(token.grant.family);
            return Err(bad("the refresh token was used before"));
        }
        // RFC 9449, section 5: those of clients that prove nothing else are bound.
        if token.grant.key.is_some() && client.method == "none" && token.grant.key != key {
            return Err(bad("the refresh token is bound to another key"));
        }
        check_same_resource(&token.grant, asked)?;
        let scopes = check_scopes(knobs, asked.form.find("scope"))?;
        if !scopes
            .iter()
            .all(|scope| token.grant.scopes.contains(scope))
        {
            let why = "a refresh token gives no more than it had";
            return Err(Refused::new("invalid_scope", why));
        }
        let mut grant = token.grant;
        grant.key = key;
        let rotates = knobs.refresh == Refresh::Rotates;
        if let Some(used) = files.refresh.get_mut(shown) {
            used.was_used = rotates;
        }
        drop(files);
        Ok(match scopes.is_empty() {
            true => self.give(knobs, grant, rotates),
            // The refresh token keeps the scopes that this access token does without.
            false => self.give_narrowed(knobs, grant, rotates, scopes),
        })
    }

    fn grant_client(
        &self,
        knobs: &Knobs,
        asked: &Asked,
        client: &Client,
        key: Option<String>,
    ) -> Outcome<Grant> {
        if client.method == "none" {
            let why = "a client without credentials has none to show";
            return Err(Refused::new("unauthorized_client", why));
        }
        Ok(Grant {
            client: client.id.clone(),
            subject: client.id.clone(),
            scopes: check_scopes(knobs, asked.form.find("scope"))?,
            resource: check_resource(knobs, asked.form.find("resource"))?,
            key,
            family: self.files().next_family(),
        })
    }

    fn give(&self, knobs: &Knobs, grant: Grant, with_refresh: bool) -> Reply {
        let scopes = grant.scopes.clone();
        self.give_narrowed(knobs, grant, with_refresh, scopes)
    }

    fn give_narrowed(
        &self,
        knobs: &Knobs,
        grant: Grant,
        with_refresh: bool,
        scopes: Vec<String>,
    ) -> Reply {
        let mut files = self.files();
        let access = files.secret("access");
        let end = now() + knobs.expires_in.unwrap_or(3600);
        let mut body = json!({
            "access_token": access,
            "token_type": if grant.key.is_some() { "DPoP" } else { "Bearer" },
            "scope": scopes.join(" "),
        });
        if let Some(seconds) = knobs.expires_in {
            body["expires_in"] = json!(seconds);
        }
        if with_refresh {
            let token = files.secret("refresh");
            body["refresh_token"] = json!(token);
            let kept = RefreshToken {
                grant: grant.clone(),
                was_used: false,
            };
            files.refresh.insert(token, kept);
        }
        let grant = Grant { scopes, ..grant };
        files.access.insert(access, Access { grant, end });
        Reply::json(200, &knobs.tokens.apply(body))
    }
}

/// The resource that is asked for is the one that was granted.
fn check_same_resource(grant: &Grant, asked: &Asked) -> Outcome<()> {
    let resource = asked.form.find("resource");
    match resource == grant.resource.as_deref() {
        true => Ok(()),
        false => {
            let why = "resource is not the one that was granted";
            Err(Refused::new("invalid_target", why))
        }
    }
}
