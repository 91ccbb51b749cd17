//! Definitions that contain themselves.

use std::collections::HashSet;

use super::shape::{Schema, Shape};

/// Cuts definitions that are nothing but themselves (`a: {$ref: a}`, `a: b or a`): no language has
/// a type for that, and everything fits it.
pub(super) fn cut(schema: &mut Schema) {
    for number in 0..schema.definitions.len() {
        let shape = schema.definitions.get(number).map(|own| &own.shape);
        let mut seen = HashSet::new();
        if shape.is_some_and(|shape| is_itself(schema, shape, false, number, &mut seen))
            && let Some(definition) = schema.definitions.get_mut(number)
        {
            definition.shape = Shape::Unknown;
        }
    }
}

/// Is a shape a definition, rather than contains it? What stands beside others (`a: b and [a]`)
/// is looked into by compilers before they know the whole, objects excepted.
fn is_itself(
    schema: &Schema,
    shape: &Shape,
    is_joined: bool,
    number: usize,
    seen: &mut HashSet<(usize, bool)>,
) -> bool {
    match shape {
        Shape::Named(own) if *own == number => true,
        Shape::Named(own) if seen.insert((*own, is_joined)) => {
            let definition = schema.definitions.get(*own);
            definition.is_some_and(|own| is_itself(schema, &own.shape, is_joined, number, seen))
        }
        Shape::Union(_) => any(schema, shape, is_joined, number, seen),
        Shape::Both(_) => any(schema, shape, true, number, seen),
        Shape::List(_) | Shape::Tuple(_) if is_joined => any(schema, shape, true, number, seen),
        // Nor do they wait for places that need not be there.
        Shape::Tuple(tuple) => {
            let optional = tuple.items.iter().skip(tuple.required);
            let mut parts = optional.chain(tuple.rest.as_deref());
            parts.any(|part| is_itself(schema, part, true, number, seen))
        }
        _ => false,
    }
}

fn any(
    schema: &Schema,
    shape: &Shape,
    is_joined: bool,
    number: usize,
    seen: &mut HashSet<(usize, bool)>,
) -> bool {
    let mut parts = shape.parts().into_iter();
    parts.any(|part| is_itself(schema, part, is_joined, number, seen))
}

/// Does a definition contain itself, by whatever way?
pub(super) fn is_recursive(schema: &Schema, number: usize) -> bool {
    reaches(schema, number, number)
}

/// The definitions within a shape, by whatever way.
fn all(shape: &Shape, found: &mut Vec<usize>) {
    if let Shape::Named(number) = shape {
        found.push(*number);
    }
    for part in shape.parts() {
        all(part, found);
    }
}

fn reaches(schema: &Schema, from: usize, to: usize) -> bool {
    let mut seen = vec![false; schema.definitions.len()];
    let mut open = vec![from];
    while let Some(number) = open.pop() {
        let Some(definition) = schema.definitions.get(number) else {
            continue;
        };
        let mut found = Vec::new();
        all(&definition.shape, &mut found);
        for next in found {
            if next == to {
                return true;
            }
            if let Some(seen) = seen.get_mut(next).filter(|seen| !**seen) {
                *seen = true;
                open.push(next);
            }
        }
    }
    false
}
