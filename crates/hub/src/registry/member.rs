//! One server in a snapshot: what it offers, under which names, and what of it may be seen.
//!
//! Made anew when the server is listed, its policy changes, or another server comes or goes with
//! which it shares names or URIs. Never changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::lock::{Mismatch, Pin, PinKind};
use crate::policy::{Denial, Reason, Verdict};
use crate::profile::Profile;
use crate::registry::entry::{PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use crate::registry::names::Settled;
use crate::registry::note::{cut, note};
use crate::registry::offer::Offer;
use crate::registry::{shelf, uri};
use crate::{ExposedName, Policy};

/// A server in a snapshot.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) offer: Arc<Offer>,
    pub(crate) policy: Policy,
    /// What may be seen, each in the server's order.
    pub(crate) listed: Listing,
    /// Every tool that has a name, at the place where the offer has it.
    tools: Vec<Option<Arc<ToolEntry>>>,
    /// Places in `tools`, ordered by name; first those that have none.
    tools_by_name: Box<[u32]>,
    /// Why tools may not be used, by their place.
    denied: BTreeMap<usize, Reason>,
    prompts: Vec<Option<Arc<PromptEntry>>>,
    /// What is not as it was approved.
    refused: BTreeMap<(PinKind, String), Mismatch>,
    pub(crate) notes: Vec<String>,
}

/// What of a server may be seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    pub(crate) tools: Vec<Arc<ToolEntry>>,
    pub(crate) prompts: Vec<Arc<PromptEntry>>,
    pub(crate) resources: Vec<Arc<ResourceEntry>>,
    pub(crate) templates: Vec<Arc<TemplateEntry>>,
    /// The interfaces of tools that are not called here what the server calls them. They stand in
    /// the descriptions of tools.
    pub(crate) wrapped_ui: Vec<Arc<str>>,
}

/// What a member must know of the others.
#[derive(Debug)]
pub(crate) struct Around<'a, F> {
    pub(crate) tools: &'a [Settled],
    pub(crate) prompts: &'a [Settled],
    /// Does another server have this URI, or this template, too?
    pub(crate) is_shared: F,
}

impl Member {
    pub(crate) fn new<F: Fn(&Arc<str>) -> bool>(
        offer: Arc<Offer>,
        policy: Policy,
        around: &Around<'_, F>,
        old: Option<&Self>,
    ) -> Self {
        let mut member = Self {
            notes: notes(&offer),
            listed: Listing::default(),
            tools: Vec::new(),
            tools_by_name: Box::default(),
            denied: BTreeMap::new(),
            prompts: Vec::new(),
            refused: BTreeMap::new(),
            offer,
            policy,
        };
        member.name_tools(around.tools, old);
        member.name_prompts(around.prompts, old);
        member.judge_tools();
        if member.policy.refusal().is_none() {
            member.judge_others();
            let prompts = member.prompts.iter().flatten();
            let prompts =
                prompts.filter(|entry| !member.refuses(PinKind::Prompt, &entry.prompt.name));
            member.listed.prompts = prompts.cloned().collect();
            member.list_resources(&around.is_shared, old);
            member.list_templates(&around.is_shared, old);
            let ui = member.offer.tools.ui.iter().map(|(_, uri)| uri);
            let is_seen = |uri: &Arc<str>| {
                let mut tools = member.listed.tools.iter();
                tools.any(|entry| entry.ui_resource() == Some(uri))
            };
            let wrapped = ui.filter(|uri| (around.is_shared)(uri) && is_seen(uri));
            member.listed.wrapped_ui = wrapped.cloned().collect();
        }
        member
    }

    /// The same without the tools that are not in a profile. None if all are.
    pub(crate) fn narrowed(&self, profile: &Profile) -> Option<Self> {
        let is_in = |entry: &ToolEntry| {
            profile.has_tool(self.server(), &entry.tool.name, entry.name.as_str())
        };
        if self.tools.iter().flatten().all(|entry| is_in(entry)) {
            return None;
        }
        let mut narrowed = self.clone();
        for entry in &mut narrowed.tools {
            entry.take_if(|entry| !is_in(entry));
        }
        narrowed.tools_by_name = by_name(&narrowed.tools);
        narrowed.listed.tools.retain(|entry| is_in(entry));
        let tools = &narrowed.listed.tools;
        let shows = |uri: &Arc<str>| tools.iter().any(|entry| entry.ui_resource() == Some(uri));
        narrowed.listed.wrapped_ui.retain(shows);
        Some(narrowed)
    }

    pub(crate) fn server(&self) -> &Arc<str> {
        &self.offer.server
    }

    /// The tool with this name; or why it may not be used.
    pub(crate) fn tool(&self, name: &str) -> Option<Result<&Arc<ToolEntry>, Denial>> {
        let place = shelf::place(&self.tools_by_name, |place| {
            let found = self.tools.get(place)?.as_ref();
            Some(found.map(|entry| entry.name.as_str()).cmp(&Some(name)))
        })?;
        self.judged(place)
    }

    /// The tool that the server calls so; or why it may not be used.
    pub(crate) fn own_tool(&self, own_name: &str) -> Option<Result<&Arc<ToolEntry>, Denial>> {
        self.judged(self.offer.tools.place(own_name)?)
    }

    /// The tool at a place, if it may be used.
    pub(crate) fn listed_tool(&self, place: usize) -> Option<&Arc<ToolEntry>> {
        self.judged(place)?.ok()
    }

    /// The prompt for which this holds; or why it may not be used.
    pub(crate) fn prompt(
        &self,
        is_wanted: impl Fn(&PromptEntry) -> bool,
    ) -> Option<Result<&Arc<PromptEntry>, Denial>> {
        let mut prompts = self.prompts.iter().flatten();
        let found = prompts.find(|entry| is_wanted(entry))?;
        let name = &found.prompt.name;
        let enabled = self.check_enabled("prompt", name);
        Some(enabled.and_then(|()| {
            let key = (PinKind::Prompt, name.clone());
            match self.refused.get(&key) {
                Some(mismatch) => Err(self.not_approved(&key, mismatch)),
                None => Ok(found),
            }
        }))
    }

    /// # Errors
    /// When the server is switched off, or was not approved.
    pub(crate) fn check_enabled(&self, kind: &'static str, name: &str) -> Result<(), Denial> {
        match self.policy.refusal() {
            None => Ok(()),
            Some(reason) => Err(self.denial(kind, name, reason)),
        }
    }

    /// What is not as it was approved.
    pub(crate) fn refused(&self) -> impl Iterator<Item = Denial> {
        let refused = self.refused.iter();
        refused.map(|(key, mismatch)| self.not_approved(key, mismatch))
    }

    /// The same, without what was so before.
    pub(crate) fn newly_refused(&self, old: Option<&Self>) -> impl Iterator<Item = Denial> {
        let was =
            move |key, mismatch| old.is_some_and(|old| old.refused.get(key) == Some(mismatch));
        let refused = self.refused.iter();
        let new = refused.filter(move |(key, mismatch)| !was(key, mismatch));
        new.map(|(key, mismatch)| self.not_approved(key, mismatch))
    }

    fn refuses(&self, kind: PinKind, name: &str) -> bool {
        !self.refused.is_empty() && self.refused.contains_key(&(kind, name.to_owned()))
    }

    fn not_approved(&self, (kind, name): &(PinKind, String), mismatch: &Mismatch) -> Denial {
        let reason = Reason::NotApproved(Box::new(mismatch.clone()));
        self.denial(kind.word(), name, reason)
    }

    fn judged(&self, place: usize) -> Option<Result<&Arc<ToolEntry>, Denial>> {
        let entry = self.tools.get(place)?.as_ref()?;
        Some(match self.denied.get(&place) {
            None => Ok(entry),
            Some(reason) => Err(self.denial("tool", &entry.tool.name, reason.clone())),
        })
    }

    fn denial(&self, kind: &'static str, name: &str, reason: Reason) -> Denial {
        Denial {
            server: self.server().as_ref().to_owned(),
            name: cut(name).to_owned(),
            kind,
            reason,
        }
    }

    fn name_tools(&mut self, settled: &[Settled], old: Option<&Self>) {
        let entries = self.offer.tools.entries.iter().zip(settled).enumerate();
        let named = entries.map(|(place, (entry, settled))| {
            let name = match settled {
                Settled::Own => return Some(Arc::clone(entry)),
                Settled::Longer(name) => name.clone(),
                Settled::LeftOut => {
                    left_out(&mut self.notes, "tool", &entry.tool.name);
                    return None;
                }
            };
            renamed(
                &mut self.notes,
                "tool",
                &entry.tool.name,
                &entry.name,
                &name,
            );
            let known = old.and_then(|old| old.tools.get(place)?.as_ref());
            let is_known = |known: &&Arc<ToolEntry>| {
                Arc::ptr_eq(&known.tool, &entry.tool) && known.name == name
            };
            Some(known.filter(is_known).cloned().unwrap_or_else(|| {
                Arc::new(ToolEntry {
                    name,
                    ..ToolEntry::clone(entry)
                })
            }))
        });
        self.tools = named.collect();
        self.tools_by_name = by_name(&self.tools);
    }

    fn name_prompts(&mut self, settled: &[Settled], old: Option<&Self>) {
        let entries = self.offer.prompts.entries.iter().zip(settled).enumerate();
        let named = entries.map(|(place, (entry, settled))| {
            let name = match settled {
                Settled::Own => return Some(Arc::clone(entry)),
                Settled::Longer(name) => name.clone(),
                Settled::LeftOut => {
                    left_out(&mut self.notes, "prompt", &entry.prompt.name);
                    return None;
                }
            };
            renamed(
                &mut self.notes,
                "prompt",
                &entry.prompt.name,
                &entry.name,
                &name,
            );
            let known = old.and_then(|old| old.prompts.get(place)?.as_ref());
            let is_known = |known: &&Arc<PromptEntry>| {
                Arc::ptr_eq(&known.prompt, &entry.prompt) && known.name == name
            };
            Some(known.filter(is_known).cloned().unwrap_or_else(|| {
                Arc::new(PromptEntry {
                    name,
                    ..PromptEntry::clone(entry)
                })
            }))
        });
        self.prompts = named.collect();
    }

    fn judge_tools(&mut self) {
        for (place, entry) in self.tools.iter().enumerate() {
            let Some(entry) = entry else {
                continue;
            };
            match self.policy.verdict(&entry.tool, entry.name.as_str()) {
                Verdict::Allowed => self.listed.tools.push(Arc::clone(entry)),
                Verdict::Denied(reason) => {
                    if let Reason::NotApproved(mismatch) = &reason {
                        let key = (PinKind::Tool, entry.tool.name.clone());
                        self.refused.insert(key, Mismatch::clone(mismatch));
                    }
                    self.denied.insert(place, reason);
                }
            }
        }
    }

    /// Holds prompts and resources against what was approved.
    fn judge_others(&mut self) {
        if self.policy.pins.is_none() {
            return;
        }
        let (policy, refused) = (&self.policy, &mut self.refused);
        let mut judge = |kind, name: &str, pin: &dyn Fn() -> Pin| {
            if let Some(mismatch) = policy.mismatch(kind, name, pin) {
                refused.insert((kind, name.to_owned()), mismatch);
            }
        };
        for entry in &self.offer.prompts.entries {
            let prompt = &entry.prompt;
            judge(PinKind::Prompt, &prompt.name, &|| Pin::prompt(prompt));
        }
        for entry in &self.offer.templates.entries {
            let template = &entry.template;
            judge(PinKind::Template, &template.uri_template, &|| {
                Pin::template(template)
            });
        }
        for entry in &self.offer.resources.entries {
            let resource = &entry.resource;
            judge(PinKind::Resource, &resource.uri, &|| {
                Pin::resource(resource)
            });
        }
    }

    fn list_resources(&mut self, is_shared: impl Fn(&Arc<str>) -> bool, old: Option<&Self>) {
        let old = old.map_or(&[][..], |old| &old.listed.resources);
        let entries = self.offer.resources.entries.iter();
        let entries = entries.filter(|entry| !self.refuses(PinKind::Resource, &entry.resource.uri));
        let listed = entries.enumerate().map(|(place, entry)| {
            if !is_shared(&entry.uri) {
                return Arc::clone(entry);
            }
            let uri: Arc<str> = uri::wrap(&entry.server, &entry.uri).into();
            let is_known = |known: &&Arc<ResourceEntry>| {
                Arc::ptr_eq(&known.resource, &entry.resource) && known.uri == uri
            };
            let known = old.get(place).filter(is_known).cloned();
            known.unwrap_or_else(|| {
                Arc::new(ResourceEntry {
                    uri,
                    ..ResourceEntry::clone(entry)
                })
            })
        });
        self.listed.resources = listed.collect();
    }

    fn list_templates(&mut self, is_shared: impl Fn(&Arc<str>) -> bool, old: Option<&Self>) {
        let old = old.map_or(&[][..], |old| &old.listed.templates);
        let entries = self.offer.templates.entries.iter();
        let entries =
            entries.filter(|entry| !self.refuses(PinKind::Template, &entry.template.uri_template));
        let listed = entries.enumerate().map(|(place, entry)| {
            if !is_shared(&entry.uri_template) {
                return Arc::clone(entry);
            }
            let uri_template: Arc<str> = uri::wrap(&entry.server, &entry.uri_template).into();
            let is_known = |known: &&Arc<TemplateEntry>| {
                Arc::ptr_eq(&known.template, &entry.template) && known.uri_template == uri_template
            };
            let known = old.get(place).filter(is_known).cloned();
            known.unwrap_or_else(|| {
                Arc::new(TemplateEntry {
                    uri_template,
                    ..TemplateEntry::clone(entry)
                })
            })
        });
        self.listed.templates = listed.collect();
    }
}

/// Places, ordered by name; first those that have none.
fn by_name(tools: &[Option<Arc<ToolEntry>>]) -> Box<[u32]> {
    shelf::order_by(tools, |entry| {
        entry.as_ref().map_or("", |entry| entry.name.as_str())
    })
}

fn notes(offer: &Offer) -> Vec<String> {
    let Offer {
        tools,
        prompts,
        resources,
        templates,
        ..
    } = offer;
    let notes = [
        &tools.notes,
        &prompts.notes,
        &resources.notes,
        &templates.notes,
    ];
    notes.into_iter().flatten().cloned().collect()
}

fn renamed(notes: &mut Vec<String>, kind: &str, own: &str, from: &ExposedName, to: &ExposedName) {
    note(notes, || {
        let own = cut(own);
        format!("{kind} {own:?}: offered as {to}, because {from} could be another one too")
    });
}

fn left_out(notes: &mut Vec<String>, kind: &str, own: &str) {
    note(notes, || {
        let own = cut(own);
        format!("{kind} {own:?}: left out, its name cannot be told from that of another one")
    });
}
