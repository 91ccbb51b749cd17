//! Schemas as JSON whose members keep their order: properties are written as their author
//! ordered them.

pub(super) use crate::json::Json as Node;

/// A number that counts something.
pub(super) fn count(node: &Node) -> Option<usize> {
    match node {
        Node::Number(number) => number.as_u64()?.try_into().ok(),
        _ => None,
    }
}

/// What a JSON pointer leads to.
pub(super) fn find<'a>(root: &'a Node, pointer: &str) -> Option<&'a Node> {
    let mut node = root;
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        node = match node {
            Node::List(items) => items.get(step.parse::<usize>().ok()?)?,
            _ => node.get(&step)?,
        };
    }
    Some(node)
}

/// As JSON on one line, which TypeScript reads too.
pub(super) fn written(node: &Node) -> String {
    // Null cannot fail, and is what everything else would be.
    serde_json::to_string(node).unwrap_or_else(|_| "null".to_owned())
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
