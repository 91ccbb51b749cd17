//! Finds resources by URI, and says what a resource is called here.
//!
//! Specification: server/resources; MCP Apps (resources of user interfaces may be missing from
//! lists, and are read all the same).

use std::borrow::Cow;
use std::sync::Arc;

use crate::Catalog;
use crate::registry::entry::TemplateEntry;
use crate::registry::finding::unknown;
use crate::registry::member::Member;
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
        if let Some((server, inner)) = uri::unwrap(uri) {
            let member = self.member(&server);
            return located(member.ok_or_else(|| self.no_resource(uri))?, inner);
        }
        match *self.owners(uri) {
            [] => Err(self.no_resource(uri)),
            [owner] => located(owner, uri.to_owned()),
            ref several => {
                let several = several.iter().take(MOST_OFFERED);
                let offered_as = several.map(|member| uri::wrap(member.server(), uri));
                Err(NotFound::ambiguous(
                    Kind::Resource,
                    uri,
                    offered_as.collect(),
                ))
            }
        }
    }

    /// The same of a server that is known; the URI may be the server's own or the one here.
    ///
    /// # Errors
    /// When there is no such server, or it may not be used.
    pub fn find_resource_on(&self, server: &str, uri: &str) -> Result<Located, NotFound> {
        let member = self.find_member(server)?;
        let inner = uri::unwrap(uri).filter(|(found, _)| found == server);
        located(
            member,
            inner.map_or_else(|| uri.to_owned(), |(_, inner)| inner),
        )
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
            unknown(Kind::Template, uri_template, names)
        })
    }

    /// What a resource of this server is called here.
    ///
    /// As the server calls it where that leads back to it, and otherwise with the server in front.
    /// Web pages that no server lists are left alone: whoever reads them needs no server.
    pub fn expose_uri<'a>(&self, server: &str, uri: &'a str) -> Cow<'a, str> {
        let is_plain = !uri::looks_wrapped(uri)
            && match *self.owners(uri) {
                [owner] if **owner.server() == *server => true,
                _ => is_web_page(uri) && self.listing(uri).next().is_none(),
            };
        if is_plain {
            Cow::Borrowed(uri)
        } else {
            Cow::Owned(uri::wrap(server, uri))
        }
    }

    /// The servers that list a resource, or else have a template that it fits.
    fn owners(&self, uri: &str) -> Vec<&Arc<Member>> {
        let owners: Vec<_> = self.listing(uri).collect();
        if !owners.is_empty() {
            return owners;
        }
        let members = self.snapshot().members.iter();
        let owners = members.filter(|member| {
            let mut templates = member.offer.templates.entries.iter();
            templates.any(|template| template.has(uri))
        });
        owners.collect()
    }

    /// The servers that list a resource, or show a tool with it.
    fn listing(&self, uri: &str) -> impl Iterator<Item = &Arc<Member>> {
        let hash = hash(uri);
        let members = self.snapshot().members.iter();
        members.filter(move |member| member.offer.has_uri(uri, hash))
    }

    fn no_resource(&self, uri: &str) -> NotFound {
        let names = self.resources().map(|entry| &*entry.uri);
        unknown(Kind::Resource, uri, names)
    }
}

fn located(member: &Member, uri: String) -> Result<Located, NotFound> {
    match member.check_enabled("resource", &uri) {
        Ok(()) => Ok(Located {
            server: Arc::clone(member.server()),
            uri,
        }),
        Err(denial) => Err(NotFound::denied(Kind::Resource, &uri, denial)),
    }
}

fn is_web_page(uri: &str) -> bool {
    uri.starts_with("https://") || uri.starts_with("http://")
}
