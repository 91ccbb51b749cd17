//! Finds resources by URI, and says what a resource is called here.
//!
//! Specification: server/resources; MCP Apps (resources of user interfaces may be missing from
//! lists, and are read all the same).

use std::borrow::Cow;
use std::sync::Arc;

use crate::Catalog;
use crate::registry::entry::TemplateEntry;
use crate::registry::finding::owned;
use crate::registry::member::Member;
use crate::registry::near::nearest;
use crate::registry::not_found::{Kind, MOST_OFFERED, NotFound};
use crate::registry::shelf::hash;
use crate::registry::uri;

/// Where a resource is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Located {
    /// The server that has it.
    pub server: Arc<str>,
    /// What that server calls it.
    pub uri: String,
}

impl Catalog {
    /// Where the resource with this URI is.
    ///
    /// One with a server in front is taken to be there, also if it is in no list. Others belong to
    /// the one server that lists them, or else has a template that they fit.
    ///
    /// # Errors
    /// When no server, or more than one, could have it, or it may not be used.
    pub fn find_resource(&self, uri: &str) -> Result<Located, NotFound> {
        let (member, uri) = match uri::unwrap(uri) {
            Some((server, inner)) => match self.member(&server) {
                Some(member) => (member, inner),
                None => return Err(self.no_resource(uri)),
            },
            None => (self.owner(uri)?, uri.to_owned()),
        };
        match member.check_enabled("resource", &uri) {
            Ok(()) => Ok(Located {
                server: Arc::clone(member.server()),
                uri,
            }),
            Err(denial) => Err(NotFound::denied(Kind::Resource, &uri, denial)),
        }
    }

    /// The family of resources that is offered under this template.
    ///
    /// # Errors
    /// When there is none, or it may not be used.
    pub fn find_template(&self, uri_template: &str) -> Result<&Arc<TemplateEntry>, NotFound> {
        let mut templates = self.templates();
        let found = templates.find(|entry| *entry.uri_template == *uri_template);
        found.ok_or_else(|| {
            let names = self.templates().map(|entry| &*entry.uri_template);
            NotFound::unknown(
                Kind::Template,
                uri_template,
                owned(nearest(uri_template, names)),
            )
        })
    }

    /// What a resource of this server is called here.
    ///
    /// As the server calls it where that leads back to it, and otherwise with the server in front.
    /// Web pages that no server lists are left alone: whoever reads them needs no server.
    pub fn expose_uri<'a>(&self, server: &str, uri: &'a str) -> Cow<'a, str> {
        let is_owner = |owner: &Arc<Member>| **owner.server() == *server;
        let is_plain = !uri::looks_wrapped(uri)
            && (self.owner(uri).is_ok_and(is_owner)
                || is_web_page(uri) && self.owners(uri).next().is_none());
        if is_plain {
            Cow::Borrowed(uri)
        } else {
            Cow::Owned(uri::wrap(server, uri))
        }
    }

    /// The one server that has a resource which its own URI is given of.
    fn owner(&self, uri: &str) -> Result<&Arc<Member>, NotFound> {
        let mut owners = self.owners(uri);
        if let Some(owner) = owners.next() {
            let others: Vec<_> = owners.collect();
            return self.only_one(uri, owner, others);
        }
        let mut owners = self.snapshot().members.iter().filter(|member| {
            let mut templates = member.offer.templates.entries.iter();
            templates.any(|template| template.has(uri))
        });
        match owners.next() {
            Some(owner) => {
                let others: Vec<_> = owners.collect();
                self.only_one(uri, owner, others)
            }
            None => Err(self.no_resource(uri)),
        }
    }

    fn only_one<'a>(
        &self,
        uri: &str,
        owner: &'a Arc<Member>,
        others: Vec<&Arc<Member>>,
    ) -> Result<&'a Arc<Member>, NotFound> {
        if others.is_empty() {
            return Ok(owner);
        }
        let all = std::iter::once(owner).chain(others).take(MOST_OFFERED);
        let offered_as = all.map(|member| uri::wrap(member.server(), uri)).collect();
        Err(NotFound::ambiguous(Kind::Resource, uri, offered_as))
    }

    /// The servers that say that they have a resource.
    fn owners(&self, uri: &str) -> impl Iterator<Item = &Arc<Member>> {
        let hash = hash(uri);
        let members = self.snapshot().members.iter();
        members.filter(move |member| member.offer.has_uri(uri, hash))
    }

    fn no_resource(&self, uri: &str) -> NotFound {
        let names = self.resources().map(|entry| &*entry.uri);
        NotFound::unknown(Kind::Resource, uri, owned(nearest(uri, names)))
    }
}

fn is_web_page(uri: &str) -> bool {
    uri.starts_with("https://") || uri.starts_with("http://")
}
