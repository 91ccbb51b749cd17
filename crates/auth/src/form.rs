//! Forms: what is posted where tokens are given out.
//!
//! One function for each grant says what it takes. How the client proves itself is added by
//! [`client_proof`](crate::client_proof).
//!
//! Specification: RFC 6749, sections 4 and 6; RFC 7523, section 2.1; RFC 8693; RFC 8707,
//! section 2.2.

use std::fmt;

use bytes::Bytes;
use form_urlencoded::{Serializer, byte_serialize};
use zeroize::Zeroizing;

use crate::scope::Scopes;
use crate::secret::Secret;

/// Pairs in the order in which they were added. Their values are wiped, and not printed.
#[derive(Clone, Default)]
pub(crate) struct Form {
    pairs: Vec<(&'static str, Zeroizing<String>)>,
    /// What is cut out of whatever is answered.
    secrets: Vec<Secret>,
}

impl Form {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A form for a grant.
    pub(crate) fn of_grant(grant: &str) -> Self {
        Self::new().add("grant_type", grant)
    }

    /// Adds a pair.
    #[must_use]
    pub(crate) fn add(mut self, name: &'static str, value: &str) -> Self {
        self.pairs.push((name, Zeroizing::new(value.to_owned())));
        self
    }

    /// Adds a pair whose value is cut out of whatever is answered.
    #[must_use]
    pub(crate) fn add_secret(self, name: &'static str, value: &Secret) -> Self {
        self.add(name, value.reveal()).hide(value)
    }

    /// What goes another way than in the form, and is cut out of whatever is answered too.
    #[must_use]
    pub(crate) fn hide(mut self, secret: &Secret) -> Self {
        self.secrets.push(secret.clone());
        self
    }

    /// Adds what the token is for, if that is said.
    #[must_use]
    pub(crate) fn add_resource(self, resource: Option<&str>) -> Self {
        match resource {
            Some(resource) => self.add("resource", resource),
            None => self,
        }
    }

    /// Adds what the token is to allow, if anything is named.
    #[must_use]
    pub(crate) fn add_scopes(self, scopes: &Scopes) -> Self {
        match scopes.is_empty() {
            true => self,
            false => self.add("scope", &scopes.to_string()),
        }
    }

    /// The first value of this name.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let (_, value) = self.pairs.iter().find(|(own, _)| *own == name)?;
        Some(value)
    }

    /// The text that is sent. It is wiped when it was.
    pub(crate) fn encode(&self) -> Bytes {
        // Room for the longest text it can become: growing would leave copies behind.
        let longest = self.pairs.iter();
        let longest = longest.map(|(name, value)| name.len() + 3 * value.len() + 2);
        let room = String::with_capacity(longest.sum());
        let pairs = self.pairs.iter().map(|(name, value)| (name, &**value));
        let text = Serializer::new(room).extend_pairs(pairs).finish();
        Bytes::from_owner(Zeroizing::new(text.into_bytes()))
    }

    /// A text without the secrets that are in this form, as they are and as they were sent.
    pub(crate) fn cut_out_of(&self, text: &str) -> String {
        // What is as short as this stands in ordinary words, and is no secret.
        let is_long = |secret: &&Secret| secret.reveal().len() >= SHORTEST_HIDDEN;
        self.secrets
            .iter()
            .filter(is_long)
            .fold(text.to_owned(), |text, secret| {
                let secret = secret.reveal();
                let sent = Zeroizing::new(byte_serialize(secret.as_bytes()).collect::<String>());
                text.replace(secret, HIDDEN).replace(&**sent, HIDDEN)
            })
    }
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.pairs.iter().map(|(name, _)| name).collect();
        f.debug_tuple("Form").field(&names).finish()
    }
}

/// A new token for an old one.
pub(crate) fn refresh_form(refresh: &Secret, resource: Option<&str>) -> Form {
    Form::of_grant("refresh_token")
        .add_secret("refresh_token", refresh)
        .add_resource(resource)
}

/// A token for the client itself.
pub(crate) fn client_credentials_form(resource: Option<&str>, scopes: &Scopes) -> Form {
    Form::of_grant("client_credentials")
        .add_resource(resource)
        .add_scopes(scopes)
}

/// A token for what somebody else has signed: a platform, or an identity provider.
pub(crate) fn assertion_form(assertion: &Secret, resource: Option<&str>, scopes: &Scopes) -> Form {
    Form::of_grant("urn:ietf:params:oauth:grant-type:jwt-bearer")
        .add_secret("assertion", assertion)
        .add_resource(resource)
        .add_scopes(scopes)
}

/// At an identity provider: an assertion for an issuer (`audience`), for a token that says who
/// logged in.
pub(crate) fn exchange_form(
    id_token: &Secret,
    audience: &str,
    resource: Option<&str>,
    scopes: &Scopes,
) -> Form {
    Form::of_grant("urn:ietf:params:oauth:grant-type:token-exchange")
        .add("requested_token_type", &format!("{TOKEN_TYPE}id-jag"))
        .add("audience", audience)
        .add_resource(resource)
        .add_scopes(scopes)
        .add_secret("subject_token", id_token)
        .add("subject_token_type", &format!("{TOKEN_TYPE}id_token"))
}

/// The grant for a code that was entered on another device.
pub(crate) const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

const HIDDEN: &str = "***";
const SHORTEST_HIDDEN: usize = 4;
const TOKEN_TYPE: &str = "urn:ietf:params:oauth:token-type:";

#[cfg(test)]
mod tests {
    use super::*;

    fn text(form: &Form) -> String {
        String::from_utf8(form.encode().to_vec()).unwrap()
    }

    #[test]
    fn pairs_are_written_in_order_and_escaped() {
        let form = Form::of_grant("a b")
            .add_secret("code", &Secret::new("ü&=+%"))
            .add("resource", "https://example.com/mcp");
        assert_eq!(
            text(&form),
            "grant_type=a+b&code=%C3%BC%26%3D%2B%25&resource=https%3A%2F%2Fexample.com%2Fmcp"
        );
        assert_eq!(form.value("code"), Some("ü&=+%"));
        assert_eq!(form.value("none"), None);
    }

    #[test]
    fn values_are_not_printed() {
        let form = Form::new().add_secret("code", &Secret::new("s3cret"));
        assert_eq!(format!("{form:?}"), r#"Form(["code"])"#);
    }

    #[test]
    fn secrets_are_cut_out_of_what_others_say() {
        let form = Form::of_grant("refresh_token")
            .add_secret("refresh_token", &Secret::new("s3cret"))
            .add_secret("empty", &Secret::new(""));
        let said = "the refresh_token s3cret is unknown: s3cret";
        assert_eq!(
            form.cut_out_of(said),
            "the refresh_token *** is unknown: ***"
        );
        // Some answer with the form itself.
        let odd = Form::new().hide(&Secret::new("s3/cr&t"));
        assert_eq!(
            odd.cut_out_of("no s3/cr&t: code=s3%2Fcr%26t&x"),
            "no ***: code=***&x"
        );
        let form = form.hide(&Secret::new("unknown"));
        assert_eq!(form.cut_out_of("unknown s3cret"), "*** ***");
        let short = Form::new().hide(&Secret::new("ant"));
        assert_eq!(short.cut_out_of("invalid_grant"), "invalid_grant");
        assert_eq!(
            form.encode(),
            "grant_type=refresh_token&refresh_token=s3cret&empty="
        );
    }

    #[test]
    fn every_grant_says_what_it_takes() {
        let secret = Secret::new("s");
        let scopes = Scopes::parse("a b");
        let resource = Some("r");
        assert_eq!(
            text(&refresh_form(&secret, resource)),
            "grant_type=refresh_token&refresh_token=s&resource=r"
        );
        assert_eq!(
            text(&refresh_form(&secret, None)),
            "grant_type=refresh_token&refresh_token=s"
        );
        assert_eq!(
            text(&client_credentials_form(resource, &scopes)),
            "grant_type=client_credentials&resource=r&scope=a+b"
        );
        let colons = |text: String| text.replace("%3A", ":");
        assert_eq!(
            colons(text(&assertion_form(&secret, resource, &scopes))),
            "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=s&resource=r\
             &scope=a+b"
        );
        let exchange = exchange_form(&secret, "as", resource, &Scopes::default());
        assert_eq!(
            colons(text(&exchange)),
            "grant_type=urn:ietf:params:oauth:grant-type:token-exchange\
             &requested_token_type=urn:ietf:params:oauth:token-type:id-jag&audience=as\
             &resource=r&subject_token=s\
             &subject_token_type=urn:ietf:params:oauth:token-type:id_token"
        );
    }
}
