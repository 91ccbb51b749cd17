//! URI templates: the input is a template, a line feed and a URI.

use std::collections::BTreeSet;

use switchboard_protocol::uri_template::UriTemplate;

/// A template is read or refused with a place in it; values that were found in a
/// URI make a URI in which values are found.
pub fn uri_template(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (template, uri) = text.split_once('\n').unwrap_or((&text, &text));
    let template = match UriTemplate::parse(template) {
        Ok(template) => template,
        Err(error) => {
            assert!(error.position <= template.len());
            return;
        }
    };
    // A template filled in with nothing is a URI of its own, but for the
    // expressions that must not be empty.
    let empty = template.expand(&Default::default());
    template.matches(&empty.expect("no variable is a composite"));

    let Some(found) = template.matches(uri) else {
        return;
    };
    let mut names = BTreeSet::new();
    let is_unambiguous = template.variable_names().all(|name| names.insert(name));
    assert!(
        found
            .keys()
            .all(|name| template.variable_names().any(|known| known == name))
    );
    if is_unambiguous {
        let made = template
            .expand(&found)
            .expect("what was found fits the template");
        assert!(
            template.matches(&made).is_some(),
            "{template} {found:?} {made}"
        );
    }
}
