//! JSON pointers: places in a document, and in the fragment of a reference.
//!
//! Specification: RFC 6901.

/// One step further.
pub(crate) fn step(place: &str, name: &str) -> String {
    format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The pointer of a reference into its own document: `#/$defs/a`. None for one that leads
/// elsewhere, and for an anchor.
pub(crate) fn of_reference(reference: &str) -> Option<String> {
    let pointer = decoded(reference.strip_prefix('#')?);
    (pointer.is_empty() || pointer.starts_with('/')).then_some(pointer)
}

/// Without percent signs.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let hex = (*first == b'%').then(|| behind.split_at_checked(2));
        let byte = hex.flatten().and_then(|(digits, behind)| {
            let digits = std::str::from_utf8(digits).ok()?;
            Some((u8::from_str_radix(digits, 16).ok()?, behind))
        });
        let (byte, behind) = byte.unwrap_or((*first, behind));
        bytes.push(byte);
        rest = behind;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_signs_are_one_step() {
        assert_eq!(step("/a", "b/c~d"), "/a/b~1c~0d");
    }

    #[test]
    fn references_into_the_document_have_a_pointer() {
        let check = |reference: &str, expected: Option<&str>| {
            assert_eq!(of_reference(reference).as_deref(), expected, "{reference}");
        };
        check("#", Some(""));
        check("#/$defs/a", Some("/$defs/a"));
        check("#/%24defs/a%20b", Some("/$defs/a b"));
        check("#/a%2", Some("/a%2"));
        check("#/a%zz", Some("/a%zz"));
        check("#anchor", None);
        check("https://example.com/a#/b", None);
        check("", None);
    }
}
