//! Assertions of others: platforms speak for their workloads, identity providers for people.
//!
//! An authority is both sides of the second: as an identity provider it makes assertions, as
//! the one that a server trusts it takes them.
//!
//! Specification: RFC 7523, section 2.1; RFC 8693; Identity Assertion Authorization Grant.

use serde_json::json;

use super::authorize::{check_resource, check_scopes};
use super::client::Client;
use super::jose::{Jwt, fresh, now};
use super::knobs::Knobs;
use super::message::{Asked, Reply};
use super::{Grant, Office, Outcome, Refused};

impl Office {
    /// Is it an assertion of a platform? Its workload needs not be a client.
    pub(super) fn is_of_workload(&self, asked: &Asked) -> bool {
        let kind = asked.form.find("grant_type");
        let assertion = asked.form.find("assertion").map(Jwt::parse);
        let is_person =
            assertion.is_some_and(|jwt| jwt.is_ok_and(|jwt| jwt.header["typ"] == ID_JAG_TYPE));
        kind == Some("urn:ietf:params:oauth:grant-type:jwt-bearer") && !is_person
    }

    pub(super) fn grant_workload(
        &self,
        knobs: &Knobs,
        asked: &Asked,
        key: Option<String>,
    ) -> Outcome<Grant> {
        let jwt = self.check_assertion(asked)?;
        let subject = jwt.claim("sub").map_err(invalid)?.to_owned();
        Ok(Grant {
            client: subject.clone(),
            subject,
            scopes: check_scopes(knobs, asked.form.find("scope"))?,
            resource: check_resource(knobs, asked.form.find("resource"))?,
            key,
            family: self.files().next_family(),
        })
    }

    /// What an identity provider says about a person, for this client and this resource.
    pub(super) fn grant_assertion(
        &self,
        knobs: &Knobs,
        asked: &Asked,
        client: &Client,
        key: Option<String>,
    ) -> Outcome<Grant> {
        let jwt = self.check_assertion(asked)?;
        if jwt.claim("client_id").map_err(invalid)? != client.id {
            return Err(invalid("client_id is another client".to_owned()));
        }
        // The assertion says what the token is for; who asks may repeat it.
        let resource = jwt.claims["resource"].as_str();
        let asked_for = asked.form.find("resource");
        if asked_for.is_some() && asked_for != resource {
            let why = "resource is not that of the assertion";
            return Err(Refused::new("invalid_target", why));
        }
        Ok(Grant {
            client: client.id.clone(),
            subject: jwt.claim("sub").map_err(invalid)?.to_owned(),
            scopes: check_scopes(knobs, jwt.claims["scope"].as_str())?,
            resource: check_resource(knobs, resource)?,
            key,
            family: self.files().next_family(),
        })
    }

    /// Signed by somebody who is trusted, for us, now, and for the first time.
    fn check_assertion(&self, asked: &Asked) -> Outcome<Jwt> {
        let jwt = Jwt::parse(asked.form.find("assertion").unwrap_or_default());
        let jwt = jwt.map_err(invalid)?;
        self.check_claims(&jwt).map_err(invalid)?;
        Ok(jwt)
    }

    fn check_claims(&self, jwt: &Jwt) -> Result<(), String> {
        let mut files = self.files();
        let point = files.trusted.get(jwt.claim("iss")?);
        jwt.check_signature(point.ok_or("nobody trusts its issuer")?)?;
        if jwt.claim("aud")? != self.issuer {
            return Err("aud is not this issuer".to_owned());
        }
        jwt.check_times(now())?;
        files.check_unseen(jwt.claim("jti")?)
    }

    /// An identity token for an assertion that another authority takes.
    pub(super) fn exchange(&self, knobs: &Knobs, asked: &Asked, client: &Client) -> Outcome<Reply> {
        let bad = |why: &str| Refused::new("invalid_request", why);
        let form = &asked.form;
        if form.find("requested_token_type") != Some(ID_JAG) {
            return Err(bad("only assertions for others are given out"));
        }
        let kind = form.find("subject_token_type");
        if kind != Some("urn:ietf:params:oauth:token-type:id_token") {
            return Err(bad("only identity tokens are exchanged"));
        }
        let audience = form.find("audience");
        let audience = audience.ok_or_else(|| bad("there is no audience"))?;
        let shown = form.find("subject_token").unwrap_or_default();
        let login = self.files().identities.get(shown).cloned();
        let (login_client, subject) = login.ok_or_else(|| bad("there is no such login"))?;
        if login_client != client.id {
            return Err(bad("the login was for another client"));
        }
        let resource = check_resource(knobs, form.find("resource"))?;
        let scopes = check_scopes(knobs, form.find("scope"))?;
        let claims = json!({
            "iss": self.issuer,
            "sub": subject,
            "aud": audience,
            "resource": resource,
            "client_id": client.id,
            "scope": scopes.join(" "),
            "jti": fresh("assertion"),
            "iat": now(),
            "exp": now() + 300,
        });
        let assertion = self.key.sign(&json!({ "typ": ID_JAG_TYPE }), &claims);
        self.files().secrets.push(assertion.clone());
        let body = json!({
            "access_token": assertion,
            "issued_token_type": ID_JAG,
            "token_type": "N_A",
            "expires_in": 300,
        });
        Ok(Reply::json(200, &knobs.tokens.apply(body)))
    }
}

fn invalid(why: String) -> Refused {
    Refused::new("invalid_grant", why)
}

const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_JAG_TYPE: &str = "oauth-id-jag+jwt";
