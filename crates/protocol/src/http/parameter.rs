//! Tool parameters that a header repeats: `x-mcp-header`.
//!
//! Finds the annotated parameters of a tool's input schema, or says why the tool
//! is invalid; writes their headers for a call; checks the headers of a call.
//! Excluding the tool and refreshing the list is for whoever keeps the list.
//!
//! Specification: 2026-07-28 basic/transports/streamable-http, custom headers;
//! server/tools, x-mcp-header.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};
use memchr::memmem;
use serde_json::Value;

use super::mirror::{self, Mismatch};
use crate::payload::RawJson;

mod argument;

use argument::Argument;
pub use argument::ArgumentError;

/// The parameters of one tool that headers repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters(Vec<Parameter>);

/// One annotated parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// The whole name of its header, `mcp-param-…`.
    pub header: HeaderName,
    /// The keys that lead to it from the root of the arguments.
    pub path: Vec<String>,
    /// Its declared type.
    pub kind: ParameterKind,
}

/// The types a header can repeat; `number` is not one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParameterKind {
    /// As it is.
    String,
    /// In decimal, within ±(2^53-1).
    Integer,
    /// `true` or `false`.
    Boolean,
}

impl Parameters {
    /// Finds the annotated parameters of an input schema.
    ///
    /// # Errors
    /// When an annotation makes the tool invalid: it must then not be offered.
    pub fn read(input_schema: &RawJson) -> Result<Self, InvalidAnnotation> {
        if !may_annotate(input_schema.as_str()) {
            return Ok(Self::default());
        }
        let mut walk = Walk::default();
        // Valid JSON that has no value here nests too deeply or has absurd numbers.
        let schema: Value = input_schema
            .decode()
            .map_err(|_| walk.invalid(Fault::TooLarge))?;
        walk.schema(&schema, Reach::Root)?;
        Ok(Self(walk.found))
    }

    /// The headers of a call with these arguments.
    ///
    /// An argument that is absent or null has none; the empty string has an empty one.
    ///
    /// # Errors
    /// When an annotated argument has no header form. The call cannot be made over HTTP.
    pub fn headers_for(
        &self,
        arguments: Option<&RawJson>,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, ArgumentError> {
        let mut headers = Vec::new();
        for parameter in &self.0 {
            match Argument::at(arguments, &parameter.path)? {
                Argument::Absent => {}
                present => headers.push((
                    parameter.header.clone(),
                    mirror::encode(&present.text(&parameter.path)?),
                )),
            }
        }
        Ok(headers)
    }

    /// Checks the headers of a call against its arguments.
    ///
    /// # Errors
    /// The first header that does not repeat its argument: -32020 and 400.
    pub fn check(&self, headers: &HeaderMap, arguments: Option<&RawJson>) -> Result<(), Mismatch> {
        self.0
            .iter()
            .try_for_each(|parameter| parameter.check(headers, arguments))
    }

    /// Is no parameter annotated?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The annotated parameters, in the order of the schema's keys.
    pub fn iter(&self) -> std::slice::Iter<'_, Parameter> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Parameters {
    type Item = &'a Parameter;
    type IntoIter = std::slice::Iter<'a, Parameter>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Parameter {
    fn check(&self, headers: &HeaderMap, arguments: Option<&RawJson>) -> Result<(), Mismatch> {
        let name = &self.header;
        let no_form = |_: ArgumentError| Mismatch::NoHeaderForm {
            header: name.clone(),
        };
        let argument = Argument::at(arguments, &self.path).map_err(no_form)?;
        let Some(value) = mirror::one(headers, name)? else {
            return match argument {
                Argument::Absent => Ok(()),
                present => Err(Mismatch::missing(
                    name,
                    &present.text(&self.path).map_err(no_form)?,
                )),
            };
        };
        if argument == Argument::Absent {
            // A proxy would have acted on a value that the tool never sees.
            return Err(Mismatch::Unexpected {
                header: name.clone(),
            });
        }
        let found = mirror::decode(value).map_err(|reason| Mismatch::malformed(name, reason))?;
        let expected = argument.text(&self.path).map_err(no_form)?;
        if argument.is_said_by(&found) {
            Ok(())
        } else {
            Err(Mismatch::unequal(name, &found, &expected))
        }
    }
}

/// Why an annotation makes its tool invalid, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidAnnotation {
    /// JSON Pointer to the schema that holds the annotation.
    pub place: String,
    /// The rule that it breaks.
    pub fault: Fault,
}

/// A rule that an `x-mcp-header` annotation can break.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The annotation is not a string.
    NotText,
    /// The name is empty or has characters that no header name has.
    NotToken(String),
    /// Another parameter has the same name, without regard to case.
    NotUnique(String),
    /// The type is not `string`, `integer` or `boolean`.
    NotPrimitive,
    /// It does not stand on a property reached through `properties` alone.
    NotReachable,
    /// The schema is nested too deeply, has too many parts or a number beyond all range.
    TooLarge,
}

impl fmt::Display for InvalidAnnotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ANNOTATION} at {:?} ", self.place)?;
        match &self.fault {
            Fault::NotText => f.write_str("is not a string"),
            Fault::NotToken(name) => write!(f, "is {name:?}, expected a header name token"),
            Fault::NotUnique(name) => write!(f, "repeats the name {name:?}"),
            Fault::NotPrimitive => {
                f.write_str("is on another type than string, integer or boolean")
            }
            Fault::NotReachable => {
                f.write_str("is not on a property reached through properties alone")
            }
            Fault::TooLarge => write!(
                f,
                "cannot be searched for, the schema exceeds {MAX_DEPTH} levels, {MAX_NODES} parts or \
                 the range of numbers"
            ),
        }
    }
}

impl std::error::Error for InvalidAnnotation {}

/// Could the text hold an annotation? Most do not, and are then not decoded.
///
/// A key may be spelt with escapes, `x\u002dmcp-header`. Only those of the letters
/// and the dash count, since others are common in descriptions.
fn may_annotate(text: &str) -> bool {
    let text = text.as_bytes();
    memmem::find(text, ANNOTATION.as_bytes()).is_some()
        || memmem::find_iter(text, b"\\u00").any(|at| {
            let digits = text.get(at + 4..at + 6);
            matches!(digits, Some([b'2', b'd' | b'D'] | [b'6' | b'7', _]))
        })
}

/// How a part of the schema was reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// It is the root.
    Root,
    /// It is a property, through `properties` alone.
    Property,
    /// Through any other keyword: an annotation here is invalid.
    Other,
}

/// A search through a schema, bounded in parts. Its depth the JSON reader has bounded.
#[derive(Default)]
struct Walk {
    /// The keywords and names on the way to the present part.
    place: Vec<String>,
    /// The property names among them.
    path: Vec<String>,
    nodes: usize,
    found: Vec<Parameter>,
}

impl Walk {
    fn schema(&mut self, schema: &Value, reach: Reach) -> Result<(), InvalidAnnotation> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(self.invalid(Fault::TooLarge));
        }
        let members = match schema {
            Value::Object(members) => members,
            Value::Array(items) => {
                return items.iter().enumerate().try_for_each(|(index, item)| {
                    self.inside(index.to_string(), |walk| walk.schema(item, Reach::Other))
                });
            }
            _ => return Ok(()),
        };
        if let Some(annotation) = members.get(ANNOTATION) {
            self.annotation(annotation, members.get("type"), reach)?;
        }
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                // Instance data: what looks like an annotation in it is none.
                (
                    "const" | "default" | "enum" | "examples" | "required" | "dependentRequired",
                    _,
                )
                | (ANNOTATION, _) => {}
                ("properties", Value::Object(properties)) if reach != Reach::Other => {
                    self.inside(keyword.clone(), |walk| {
                        properties.iter().try_for_each(|(name, property)| {
                            walk.path.push(name.clone());
                            let outcome = walk.inside(name.clone(), |walk| {
                                walk.schema(property, Reach::Property)
                            });
                            walk.path.pop();
                            outcome
                        })
                    })?;
                }
                // Keys are names here too, so a key `x-mcp-header` is no annotation.
                (
                    "properties" | "patternProperties" | "$defs" | "definitions"
                    | "dependentSchemas" | "dependencies",
                    Value::Object(named),
                ) => self.inside(keyword.clone(), |walk| {
                    named.iter().try_for_each(|(name, schema)| {
                        walk.inside(name.clone(), |walk| walk.schema(schema, Reach::Other))
                    })
                })?,
                // Keywords that nobody knows may hold schemas as well.
                _ => self.inside(keyword.clone(), |walk| walk.schema(value, Reach::Other))?,
            }
        }
        Ok(())
    }

    fn annotation(
        &mut self,
        annotation: &Value,
        kind: Option<&Value>,
        reach: Reach,
    ) -> Result<(), InvalidAnnotation> {
        if reach != Reach::Property {
            return Err(self.invalid(Fault::NotReachable));
        }
        let Value::String(name) = annotation else {
            return Err(self.invalid(Fault::NotText));
        };
        let kind = match kind.and_then(Value::as_str) {
            Some("string") => ParameterKind::String,
            Some("integer") => ParameterKind::Integer,
            Some("boolean") => ParameterKind::Boolean,
            _ => return Err(self.invalid(Fault::NotPrimitive)),
        };
        let header = Some(name).filter(|name| !name.is_empty()).and_then(|name| {
            format!("{}{name}", super::header::PARAMETER_PREFIX)
                .parse()
                .ok()
        });
        let Some(header) = header else {
            return Err(self.invalid(Fault::NotToken(super::excerpt(name))));
        };
        // Header names are kept in lower case, so equal means equal but for case.
        if self.found.iter().any(|other| other.header == header) {
            return Err(self.invalid(Fault::NotUnique(super::excerpt(name))));
        }
        self.found.push(Parameter {
            header,
            path: self.path.clone(),
            kind,
        });
        Ok(())
    }

    fn inside(
        &mut self,
        step: String,
        look: impl FnOnce(&mut Self) -> Result<(), InvalidAnnotation>,
    ) -> Result<(), InvalidAnnotation> {
        self.place.push(step);
        let outcome = look(self);
        self.place.pop();
        outcome
    }

    fn invalid(&self, fault: Fault) -> InvalidAnnotation {
        let escaped = self.place.iter().map(|step| {
            let step = step.replace('~', "~0").replace('/', "~1");
            format!("/{step}")
        });
        InvalidAnnotation {
            place: super::excerpt(&escaped.collect::<String>()),
            fault,
        }
    }
}

const ANNOTATION: &str = "x-mcp-header";

// Where the JSON reader stops, deeper than any form a person fills in; one level is a keyword and
// a name.
const MAX_DEPTH: usize = 63;

// Bounds the work that a peer can cause; a schema this large serves no model.
const MAX_NODES: usize = 10_000;

#[cfg(test)]
mod tests;
