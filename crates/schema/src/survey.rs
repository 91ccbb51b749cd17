//! Reads a schema before it is compiled, and refuses what would cost too much.
//!
//! Finds every place where a subschema stands, resolves every reference to one of these
//! places, and follows the steps that apply a schema to the same value again
//! (`$ref`, `allOf`, `if` and so on). These must end, after not too many steps.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::SchemaError;
use crate::counter;
use crate::path::cut;

/// The dialects that are spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Draft07,
    Draft202012,
}

impl Dialect {
    /// What `$schema` says; absent means 2020-12 (basic, JSON Schema usage).
    fn of(schema: &Value) -> Result<Self, SchemaError> {
        let name = match schema.get("$schema") {
            None => return Ok(Self::Draft202012),
            Some(Value::String(name)) => name,
            Some(other) => {
                return Err(SchemaError::Dialect(cut(&other.to_string(), 100)));
            }
        };
        let plain = name.strip_suffix('#').unwrap_or(name);
        let path = plain
            .strip_prefix("https://")
            .or_else(|| plain.strip_prefix("http://"));
        match path {
            Some("json-schema.org/draft/2020-12/schema") => Ok(Self::Draft202012),
            Some("json-schema.org/draft-07/schema") => Ok(Self::Draft07),
            _ => Err(SchemaError::Dialect(cut(name, 100))),
        }
    }
}

/// What the steps between the subschemas are.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) dialect: Dialect,
    /// The longest way through subschemas that apply to the same value.
    pub(crate) longest: usize,
    /// Is there a place that collects the errors of all its alternatives?
    pub(crate) has_choice: bool,
    /// How many patterns there are.
    pub(crate) patterns: usize,
    /// What values are compared with, one by one, in all places together.
    compared: u64,
    /// For every place: the places that apply to the same value, and those for values inside it.
    steps: Vec<(Vec<usize>, Vec<usize>)>,
    /// Every place before those that it applies to the same value.
    order: Vec<usize>,
}

impl Shape {
    /// Whether every error of a value may be looked for, which nothing stops on the way.
    ///
    /// A place that can be reached in several ways is entered once for each of them.
    pub(crate) fn may_search(&self, depth: usize, values: usize, bytes: usize) -> bool {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let ways = self.most_ways(depth);
        let product = |per_way: u64, number: usize| {
            ways.saturating_mul(per_way).saturating_mul(count(number))
        };
        product(count(self.steps.len()), values) <= MAX_SEARCH
            // An error may hold a copy of the value it is about.
            && product(count(self.steps.len()), bytes) <= MAX_COPIED
            && product(count(self.patterns), bytes) <= MAX_SCAN
            && product(self.compared, values) <= MAX_SCAN
    }

    /// In how many ways at most a place is reached for the same value.
    fn most_ways(&self, depth: usize) -> u64 {
        let mut most = 1_u64;
        let mut ways = vec![0_u64; self.steps.len()];
        if let Some(root) = ways.first_mut() {
            *root = 1;
        }
        for _ in 0..depth {
            let mut below = vec![0_u64; self.steps.len()];
            for &at in &self.order {
                let here = ways.get(at).copied().unwrap_or(0);
                let Some((same, inner)) = self.steps.get(at).filter(|_| here > 0) else {
                    continue;
                };
                most = most.max(here);
                for (targets, list) in [(same, &mut ways), (inner, &mut below)] {
                    for target in targets {
                        if let Some(count) = list.get_mut(*target) {
                            *count = count.saturating_add(here);
                        }
                    }
                }
            }
            ways = below;
        }
        most
    }
}

/// Checks a schema, and puts a counter into every subschema.
pub(crate) fn survey(schema: &mut Value, keyword: &str) -> Result<Shape, SchemaError> {
    let dialect = Dialect::of(schema)?;
    let (values, levels) = measure(schema);
    for (what, count, limit) in [("values", values, MAX_NODES), ("levels", levels, MAX_DEPTH)] {
        if count > limit {
            return Err(SchemaError::TooLarge { what, limit });
        }
    }
    let survey = Survey::new(schema, dialect)?;
    let (longest, order) = survey.check_circles()?;
    let mut pointers = Vec::with_capacity(order.len());
    let mut steps = Vec::with_capacity(order.len());
    let mut has_choice = false;
    let (mut patterns, mut compared) = (0, 0);
    for place in survey.places {
        if let Some(members) = place.schema.as_object() {
            patterns +=
                usize::from(members.contains_key("pattern")) + pattern_names(members).count();
            compared += counter::compared(members);
        }
        has_choice |= place.schema.get("anyOf").is_some() || place.schema.get("oneOf").is_some();
        pointers.push(place.pointer);
        steps.push((place.same_value, place.below));
    }
    if patterns > MAX_PATTERNS {
        return Err(SchemaError::TooLarge {
            what: "patterns",
            limit: MAX_PATTERNS,
        });
    }
    for pointer in pointers {
        if let Some(Value::Object(members)) = schema.pointer_mut(&pointer) {
            members.insert(keyword.to_owned(), Value::Bool(true));
        }
    }
    Ok(Shape {
        dialect,
        longest,
        has_choice,
        patterns,
        compared,
        steps,
        order,
    })
}

/// The patterns that names of members are compared with.
pub(crate) fn pattern_names(members: &Map<String, Value>) -> impl Iterator<Item = &String> {
    let named = members.get("patternProperties").and_then(Value::as_object);
    named.into_iter().flat_map(Map::keys)
}

/// Counts values and levels without recursion.
pub(crate) fn measure(value: &Value) -> (usize, usize) {
    let mut values = 0_usize;
    let mut levels = 0;
    let mut open: Vec<(&Value, usize)> = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        values += 1;
        levels = levels.max(depth);
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => {
                open.extend(members.values().map(|member| (member, depth + 1)));
            }
            _ => {}
        }
    }
    (values, levels)
}

/// One subschema.
struct Place<'a> {
    pointer: String,
    /// The place of the resource that it belongs to: where `#` leads from here.
    resource: usize,
    schema: &'a Value,
    /// The subschemas that apply to the same value.
    same_value: Vec<usize>,
    /// The subschemas that apply to values inside it.
    below: Vec<usize>,
}

/// A subschema that was seen but not yet looked at.
struct Found<'a> {
    pointer: String,
    schema: &'a Value,
    resource: Option<usize>,
    /// Who applies it, and whether to the same value.
    parent: Option<usize>,
    same: bool,
}

struct Survey<'a> {
    places: Vec<Place<'a>>,
    by_pointer: HashMap<String, usize>,
    /// Places by the resource they are in and the anchor they have.
    anchors: HashMap<(usize, &'a str), usize>,
    /// Resources by the absolute `$id` they have.
    ids: HashMap<&'a str, usize>,
    dynamic: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Survey<'a> {
    fn new(root: &'a Value, dialect: Dialect) -> Result<Self, SchemaError> {
        let mut survey = Self {
            places: Vec::new(),
            by_pointer: HashMap::new(),
            anchors: HashMap::new(),
            ids: HashMap::new(),
            dynamic: HashMap::new(),
        };
        survey.collect(root, dialect);
        for at in 0..survey.places.len() {
            survey.link(at, dialect)?;
        }
        Ok(survey)
    }

    /// Finds every subschema, parents before children.
    fn collect(&mut self, root: &'a Value, dialect: Dialect) {
        let mut open = vec![Found {
            pointer: String::new(),
            schema: root,
            resource: None,
            parent: None,
            same: false,
        }];
        while let Some(found) = open.pop() {
            let Found {
                pointer,
                schema,
                resource,
                parent,
                same,
            } = found;
            let at = self.places.len();
            let mut resource = resource.unwrap_or(at);
            if let Some(members) = schema.as_object() {
                // In draft-07 nothing beside `$ref` counts.
                let alone = dialect == Dialect::Draft07 && members.contains_key("$ref");
                if !alone {
                    self.name(members, at, &mut resource);
                    for (keyword, value) in members {
                        for (inner, value, same) in subschemas(keyword, value, dialect) {
                            let pointer = format!("{pointer}/{}{inner}", escape(keyword));
                            let applies = !matches!(keyword.as_str(), "$defs" | "definitions");
                            let parent = applies.then_some(at);
                            open.push(Found {
                                pointer,
                                schema: value,
                                resource: Some(resource),
                                parent,
                                same,
                            });
                        }
                    }
                } else {
                    // Its definitions can still be referred to.
                    for keyword in ["definitions", "$defs"] {
                        let value = members.get(keyword).unwrap_or(&Value::Null);
                        for (inner, value, _) in subschemas(keyword, value, dialect) {
                            let pointer = format!("{pointer}/{}{inner}", escape(keyword));
                            open.push(Found {
                                pointer,
                                schema: value,
                                resource: Some(resource),
                                parent: None,
                                same: false,
                            });
                        }
                    }
                }
            }
            if let Some(parent) = parent.and_then(|parent| self.places.get_mut(parent)) {
                let steps = if same {
                    &mut parent.same_value
                } else {
                    &mut parent.below
                };
                steps.push(at);
            }
            self.by_pointer.insert(pointer.clone(), at);
            self.places.push(Place {
                pointer,
                resource,
                schema,
                same_value: Vec::new(),
                below: Vec::new(),
            });
        }
    }

    /// Notes under which names a place can be referred to.
    fn name(&mut self, members: &'a Map<String, Value>, at: usize, resource: &mut usize) {
        let text = |keyword| members.get(keyword).and_then(Value::as_str);
        match text("$id") {
            Some(id) if id.starts_with('#') => {
                // How draft-07 writes an anchor.
                self.anchors
                    .insert((*resource, id.trim_start_matches('#')), at);
            }
            Some(id) => {
                *resource = at;
                self.ids.insert(id.trim_end_matches('#'), at);
            }
            None => {}
        }
        if let Some(anchor) = text("$anchor") {
            self.anchors.insert((*resource, anchor), at);
        }
        if let Some(anchor) = text("$dynamicAnchor") {
            self.anchors.insert((*resource, anchor), at);
            self.dynamic.entry(anchor).or_default().push(at);
        }
    }

    /// Resolves the references of one place.
    fn link(&mut self, at: usize, dialect: Dialect) -> Result<(), SchemaError> {
        let Some(place) = self.places.get(at) else {
            return Ok(());
        };
        let mut targets = Vec::new();
        let keywords: &[&str] = match dialect {
            Dialect::Draft07 => &["$ref"],
            Dialect::Draft202012 => &["$ref", "$dynamicRef"],
        };
        for keyword in keywords {
            let reference = match place.schema.get(*keyword) {
                None => continue,
                Some(Value::String(reference)) => reference,
                Some(_) => {
                    return Err(SchemaError::Malformed(format!(
                        "`{keyword}` is not a string"
                    )));
                }
            };
            targets.push(self.resolve(reference, place.resource)?);
            if *keyword == "$dynamicRef" {
                // Which one it is depends on the way here, so any may be meant.
                let anchor = reference.split_once('#').map_or("", |(_, anchor)| anchor);
                targets.extend(self.dynamic.get(anchor).into_iter().flatten());
            }
        }
        if let Some(place) = self.places.get_mut(at) {
            place.same_value.extend(targets);
        }
        Ok(())
    }

    fn resolve(&self, reference: &str, resource: usize) -> Result<usize, SchemaError> {
        let shown = || cut(reference, 200);
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = match document {
            "" => resource,
            // Relative ones depend on a base that a peer chooses; absolute ones can be compared.
            _ if document.contains(':') => match self.ids.get(document) {
                Some(resource) => *resource,
                None => return Err(SchemaError::Remote(shown())),
            },
            _ => return Err(SchemaError::Remote(shown())),
        };
        let found = if fragment.is_empty() {
            Some(resource)
        } else if fragment.starts_with('/') {
            let base = self.places.get(resource).map(|place| &place.pointer);
            let path = percent_decoded(fragment);
            base.and_then(|base| self.by_pointer.get(&format!("{base}{path}")))
                .copied()
        } else {
            self.anchors.get(&(resource, fragment)).copied()
        };
        found.ok_or_else(|| SchemaError::Dangling(shown()))
    }

    /// Follows the steps that stay at the same value: they must end, and soon.
    ///
    /// Gives the longest way and an order in which every step leads onwards.
    fn check_circles(&self) -> Result<(usize, Vec<usize>), SchemaError> {
        let mut order = Vec::with_capacity(self.places.len());
        let mut longest = 0;
        // How many steps lead on from a place, and in how many ways to an end; `None` while they
        // are being followed.
        let mut known: HashMap<usize, Option<(usize, usize)>> = HashMap::new();
        for start in 0..self.places.len() {
            let mut open = vec![(start, 0_usize)];
            while let Some((at, next)) = open.pop() {
                if next == 0 {
                    match known.get(&at) {
                        Some(Some(_)) => continue,
                        Some(None) => return Err(self.circular(at)),
                        None => known.insert(at, None),
                    };
                }
                let steps = self
                    .places
                    .get(at)
                    .map_or(&[][..], |place| &place.same_value);
                if let Some(step) = steps.get(next) {
                    open.push((at, next + 1));
                    open.push((*step, 0));
                    continue;
                }
                let beyond = steps
                    .iter()
                    .filter_map(|step| known.get(step).copied().flatten());
                let (mut length, mut ways) = (0, 0_usize);
                for (steps, ends) in beyond {
                    length = length.max(steps + 1);
                    ways = ways.saturating_add(ends);
                }
                let ways = ways.max(1);
                if ways > MAX_WAYS {
                    return Err(SchemaError::TooLarge {
                        what: "ways from one subschema through others at the same value",
                        limit: MAX_WAYS,
                    });
                }
                if length > MAX_STEPS {
                    return Err(SchemaError::TooLarge {
                        what: "steps from one subschema to another at the same value",
                        limit: MAX_STEPS,
                    });
                }
                longest = longest.max(length);
                known.insert(at, Some((length, ways)));
                order.push(at);
            }
        }
        order.reverse();
        Ok((longest, order))
    }

    fn circular(&self, at: usize) -> SchemaError {
        let pointer = self.places.get(at).map_or("", |place| &place.pointer);
        SchemaError::Circular(cut(&format!("#{pointer}"), 200))
    }
}

/// The subschemas under a keyword: their pointer inside it, and whether they apply to the same value.
fn subschemas<'a>(
    keyword: &str,
    value: &'a Value,
    dialect: Dialect,
) -> Vec<(String, &'a Value, bool)> {
    let named = |same: bool| -> Vec<_> {
        let members = value.as_object().into_iter().flatten();
        let schemas = members.filter(|(_, value)| is_schema(value));
        schemas
            .map(|(name, value)| (format!("/{}", escape(name)), value, same))
            .collect()
    };
    let listed = |same: bool| -> Vec<_> {
        let items = value.as_array().into_iter().flatten().enumerate();
        let schemas = items.filter(|(_, value)| is_schema(value));
        schemas
            .map(|(index, value)| (format!("/{index}"), value, same))
            .collect()
    };
    let single = |same: bool| -> Vec<_> {
        if is_schema(value) {
            vec![(String::new(), value, same)]
        } else {
            Vec::new()
        }
    };
    match keyword {
        "allOf" | "anyOf" | "oneOf" => listed(true),
        "not" | "if" | "then" | "else" => single(true),
        "dependentSchemas" | "dependencies" => named(true),
        "properties" | "patternProperties" | "$defs" | "definitions" => named(false),
        "prefixItems" => listed(false),
        "items" if dialect == Dialect::Draft07 && value.is_array() => listed(false),
        "items"
        | "additionalItems"
        | "contains"
        | "additionalProperties"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => single(false),
        _ => Vec::new(),
    }
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

/// A name as part of a JSON pointer (RFC 6901).
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The pointer in a fragment of a URI; what is not UTF-8 afterwards names nothing.
fn percent_decoded(fragment: &str) -> String {
    let mut out = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = |at: usize| after.get(at).and_then(|b| char::from(*b).to_digit(16));
        match (byte, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                out.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

// Larger schemas are left out of a listing by careful clients, so nobody gains by them.
pub(crate) const MAX_BYTES: usize = 256 * 1024;
const MAX_NODES: usize = 10_000;
const MAX_DEPTH: usize = 64;
// Nobody writes longer ones by hand; each is a frame or two of the stack.
const MAX_STEPS: usize = 32;
// A union of unions has some hundred. Alternatives that fail are not counted while they are tried.
const MAX_WAYS: usize = 100_000;
// Some hundred is what the largest schemas of formats have; each is a program of its own.
const MAX_PATTERNS: usize = 1000;
// Subschemas entered, each of which may leave an error of some hundred bytes.
const MAX_SEARCH: u64 = 100_000;
const MAX_COPIED: u64 = 64 * 1024 * 1024;
// Bytes read by patterns, or options compared with.
const MAX_SCAN: u64 = 4_000_000;
