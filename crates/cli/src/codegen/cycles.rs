//! Definitions that contain themselves.

use super::shape::{Schema, Shape};

/// Cuts definitions that are nothing but themselves (`a: {$ref: a}`, `a: b or a`): no language has
/// a type for that, and everything fits it.
pub(super) fn cut(schema: &mut Schema) {
    for number in 0..schema.definitions.len() {
        if reaches(schema, number, number, bare)
            && let Some(definition) = schema.definitions.get_mut(number)
        {
            definition.shape = Shape::Unknown;
        }
    }
}

/// Does a definition contain itself, by whatever way?
pub(super) fn is_recursive(schema: &Schema, number: usize) -> bool {
    reaches(schema, number, number, all)
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

/// The definitions that a shape is, rather than contains.
fn bare(shape: &Shape, found: &mut Vec<usize>) {
    match shape {
        Shape::Named(number) => found.push(*number),
        Shape::Union(parts) | Shape::Both(parts) => {
            for part in parts {
                bare(part, found);
            }
        }
        _ => {}
    }
}

fn reaches(schema: &Schema, from: usize, to: usize, within: fn(&Shape, &mut Vec<usize>)) -> bool {
    let mut seen = vec![false; schema.definitions.len()];
    let mut open = vec![from];
    while let Some(number) = open.pop() {
        let Some(definition) = schema.definitions.get(number) else {
            continue;
        };
        let mut found = Vec::new();
        within(&definition.shape, &mut found);
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
