//! What values fit a schema, as far as types can say it.

use super::node::Node;

/// A schema as shapes. The first definition is the whole.
#[derive(Clone, Debug, Default)]
pub(super) struct Schema {
    pub(super) definitions: Vec<Named>,
}

/// A shape that others refer to.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// What its author called it; empty for the whole.
    pub(super) hint: String,
    pub(super) comment: Comment,
    pub(super) shape: Shape,
}

/// What values fit.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// All.
    Unknown,
    /// None.
    Never,
    Null,
    Boolean,
    Integer,
    Number,
    Text,
    /// This one.
    Literal(Node),
    List(Box<Self>),
    Tuple(Tuple),
    Object(Object),
    /// Any of these; at least two, none of which is one itself.
    Union(Vec<Self>),
    /// All of these at once; at least two.
    Both(Vec<Self>),
    /// A definition.
    Named(usize),
}

/// A list whose places differ.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tuple {
    pub(super) items: Vec<Shape>,
    /// So many must be there.
    pub(super) required: usize,
    /// What may follow.
    pub(super) rest: Option<Box<Shape>>,
}

/// An object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Object {
    pub(super) fields: Vec<Field>,
    pub(super) rest: Rest,
}

/// What other members an object may have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Rest {
    /// The schema does not say, so any.
    #[default]
    Unsaid,
    None,
    Some(Box<Shape>),
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) comment: Comment,
    pub(super) is_required: bool,
    pub(super) shape: Shape,
}

/// What is said about a value beside its type.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Comment {
    pub(super) text: Option<String>,
    /// `("minimum", "1")`
    pub(super) tags: Vec<(&'static str, String)>,
}

impl Shape {
    /// Any of these.
    pub(super) fn union(shapes: impl IntoIterator<Item = Self>) -> Self {
        let mut all: Vec<Self> = Vec::new();
        for shape in shapes {
            match shape {
                Self::Unknown => return Self::Unknown,
                Self::Never => {}
                Self::Union(inner) => inner.into_iter().for_each(|shape| add(&mut all, shape)),
                other => add(&mut all, other),
            }
        }
        match all.len() {
            0 => Self::Never,
            1 => all.swap_remove(0),
            _ => Self::Union(all),
        }
    }

    /// All of these at once. Objects become one object.
    pub(super) fn both(shapes: impl IntoIterator<Item = Self>) -> Self {
        let mut all: Vec<Self> = Vec::new();
        let mut object: Option<Object> = None;
        for shape in shapes {
            match shape {
                Self::Unknown => {}
                Self::Never => return Self::Never,
                Self::Object(other) => match &mut object {
                    Some(object) => object.join(other),
                    None => {
                        object = Some(other);
                        // Its place is kept, the rest is joined to it.
                        all.push(Self::Object(Object::default()));
                    }
                },
                other => add(&mut all, other),
            }
        }
        if let Some(object) = object {
            let is_said = !object.fields.is_empty() || object.rest != Rest::Unsaid;
            let place = all
                .iter()
                .position(|shape| matches!(shape, Self::Object(_)));
            match place {
                Some(place) if is_said || all.len() == 1 => {
                    if let Some(slot) = all.get_mut(place) {
                        *slot = Self::Object(object);
                    }
                }
                Some(place) => drop(all.remove(place)),
                None => {}
            }
        }
        // What another part says more exactly need not be said.
        let exact: Vec<Self> = all
            .iter()
            .filter(|shape| {
                !all.iter()
                    .any(|other| other != *shape && other.is_within(shape))
            })
            .cloned()
            .collect();
        match exact.len() {
            0 => Self::Unknown,
            1 => exact.into_iter().next().unwrap_or(Self::Unknown),
            _ => Self::Both(exact),
        }
    }

    /// Does every value of it fit the other, as can be seen at once?
    fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Union(parts), _) => parts
                .iter()
                .all(|part| part == other || part.is_within(other)),
            (Self::Literal(Node::Text(_)), Self::Text)
            | (Self::Literal(Node::Number(_)), Self::Number | Self::Integer)
            | (Self::Literal(Node::Bool(_)), Self::Boolean)
            | (Self::Literal(Node::Null), Self::Null)
            | (Self::Integer, Self::Number) => true,
            _ => false,
        }
    }

    /// The shapes that it is made of.
    pub(super) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::List(item) => vec![item],
            Self::Tuple(tuple) => tuple.items.iter().chain(tuple.rest.as_deref()).collect(),
            Self::Object(object) => {
                let rest = match &object.rest {
                    Rest::Some(rest) => Some(&**rest),
                    Rest::Unsaid | Rest::None => None,
                };
                let fields = object.fields.iter().map(|field| &field.shape);
                fields.chain(rest).collect()
            }
            Self::Union(parts) | Self::Both(parts) => parts.iter().collect(),
            _ => Vec::new(),
        }
    }
}

impl Object {
    fn join(&mut self, other: Self) {
        for field in other.fields {
            match self.fields.iter_mut().find(|own| own.name == field.name) {
                Some(own) => {
                    own.is_required |= field.is_required;
                    let shape = std::mem::replace(&mut own.shape, Shape::Unknown);
                    own.shape = Shape::both([shape, field.shape]);
                    if own.comment.text.is_none() {
                        own.comment = field.comment;
                    }
                }
                None => self.fields.push(field),
            }
        }
        // Parts that are closed each for itself would let nothing through; what is meant is the
        // whole.
        self.rest = match (std::mem::take(&mut self.rest), other.rest) {
            (Rest::Unsaid, rest) | (rest, Rest::Unsaid) => rest,
            (Rest::Some(one), Rest::Some(two)) => Rest::Some(Box::new(Shape::both([*one, *two]))),
            (Rest::None, _) | (_, Rest::None) => Rest::None,
        };
    }
}

fn add(all: &mut Vec<Shape>, shape: Shape) {
    if !all.contains(&shape) {
        all.push(shape);
    }
}
