//! Where a person agrees. Here everybody does, at once, unless the browser says otherwise.
//!
//! Specification: OAuth 2.1, section 4.1; RFC 7636; RFC 8707; RFC 9207.

use super::client::Client;
use super::knobs::{Iss, Knobs};
use super::message::{Asked, Reply};
use super::{Code, Grant, Office, Outcome, Refused};

/// With this header, the person at the browser does not agree.
pub(super) const DENIES: &str = "x-person-denies";

impl Office {
    pub(super) fn authorize(&self, asked: &Asked) -> Reply {
        let knobs = self.knobs();
        // Until it is known that the client may be there, no browser is sent anywhere.
        let (client, redirect_uri) = match self.check_visit(&knobs, asked) {
            Ok(visit) => visit,
            Err(refused) => {
                return Refused {
                    status: 400,
                    ..refused
                }
                .reply();
            }
        };
        let mut back = form_urlencoded::Serializer::new(String::new());
        match self.grant_code(&knobs, asked, &client, &redirect_uri) {
            Ok(code) => back.append_pair("code", &code),
            Err(refused) => back
                .append_pair("error", refused.code)
                .append_pair("error_description", &refused.why),
        };
        if let Some(state) = asked.query.find("state") {
            back.append_pair("state", state);
        }
        match knobs.iss {
            Iss::Right => back.append_pair("iss", &self.issuer),
            Iss::Missing => &mut back,
            Iss::WithSlash => back.append_pair("iss", &format!("{}/", self.issuer)),
            Iss::Wrong(other) => back.append_pair("iss", &other),
        };
        let join = if redirect_uri.contains('?') { '&' } else { '?' };
        let location = format!("{redirect_uri}{join}{}", back.finish());
        Reply::new(302).header("location", &location)
    }

    fn check_visit(&self, knobs: &Knobs, asked: &Asked) -> Outcome<(Client, String)> {
        let bad = |why: &str| Refused::new("invalid_request", why);
        if asked.method != "GET" {
            return Err(bad("a browser comes with GET"));
        }
        if asked.query.repeated().is_some() {
            return Err(bad("a parameter is there twice"));
        }
        let id = asked.query.find("client_id");
        let client = self.find_client(knobs, id.unwrap_or_default())?;
        let redirect_uri = asked.query.find("redirect_uri");
        let redirect_uri = redirect_uri.ok_or_else(|| bad("there is no redirect_uri"))?;
        match client.may_return_to(redirect_uri) {
            true => Ok((client, redirect_uri.to_owned())),
            false => Err(bad("the client is not at this redirect_uri")),
        }
    }

    fn grant_code(
        &self,
        knobs: &Knobs,
        asked: &Asked,
        client: &Client,
        redirect_uri: &str,
    ) -> Outcome<String> {
        let query = &asked.query;
        let bad = |why: &str| Refused::new("invalid_request", why);
        if query.find("response_type") != Some("code") {
            let why = "only codes are given out";
            return Err(Refused::new("unsupported_response_type", why));
        }
        if !client
            .grants
            .iter()
            .any(|grant| grant == "authorization_code")
        {
            let why = "the client has no use for codes";
            return Err(Refused::new("unauthorized_client", why));
        }
        let challenge = query.find("code_challenge").unwrap_or_default();
        let is_hash = challenge.len() == 43 && query.find("code_challenge_method") == Some("S256");
        if !is_hash {
            return Err(bad("there is no code_challenge of S256"));
        }
        let resource = check_resource(knobs, query.find("resource"))?;
        let mut scopes = check_scopes(knobs, query.find("scope"))?;
        if asked.header(DENIES).is_some() {
            return Err(Refused::new("access_denied", "the person does not agree"));
        }
        if let Some(given) = &knobs.consents_to {
            scopes.retain(|scope| given.contains(&scope.as_str()));
        }
        let mut files = self.files();
        let grant = Grant {
            client: client.id.clone(),
            subject: "somebody".to_owned(),
            scopes,
            resource,
            key: query.find("dpop_jkt").map(str::to_owned),
            family: files.next_family(),
        };
        let code = files.secret("code");
        let kept = Code {
            grant,
            redirect_uri: redirect_uri.to_owned(),
            challenge: challenge.to_owned(),
        };
        files.codes.insert(code.clone(), kept);
        Ok(code)
    }
}

/// RFC 8707: absolute, without a fragment.
pub(super) fn check_resource(knobs: &Knobs, resource: Option<&str>) -> Outcome<Option<String>> {
    let bad = |why: &str| Refused::new("invalid_target", why);
    match resource {
        None if knobs.needs_resource => Err(bad("there is no resource")),
        Some(resource) if !resource.contains("://") || resource.contains('#') => {
            Err(bad("resource is no URL without a fragment"))
        }
        resource => Ok(resource.map(str::to_owned)),
    }
}

pub(super) fn check_scopes(knobs: &Knobs, scopes: Option<&str>) -> Outcome<Vec<String>> {
    let scopes: Vec<String> = scopes
        .unwrap_or_default()
        .split(' ')
        .filter(|scope| !scope.is_empty())
        .map(str::to_owned)
        .collect();
    let is_known = |scope: &String| knobs.scopes.contains(&scope.as_str());
    match scopes.iter().all(is_known) {
        true => Ok(scopes),
        false => Err(Refused::new("invalid_scope", "there is no such scope")),
    }
}
