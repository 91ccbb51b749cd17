//! What a person finds on a page: a form to fill in, or a way out.
//!
//! It reads as much HTML as the pages of an authorization server need: attributes in double
//! quotes, and no script.

/// A form, with what stands in it already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// Where it is sent.
    pub(crate) action: String,
    /// The names of its fields, with their values.
    pub(crate) fields: Vec<(String, String)>,
}

impl Form {
    /// The first form of a page.
    pub(crate) fn find(page: &str) -> Option<Self> {
        let (_, rest) = page.split_once("<form")?;
        let (head, rest) = rest.split_once('>')?;
        let (body, _) = rest.split_once("</form>")?;
        let inputs = body.split("<input").skip(1);
        let fields = inputs.filter_map(|input| {
            let (tag, _) = input.split_once('>')?;
            let value = attribute(tag, "value").unwrap_or_default();
            Some((attribute(tag, "name")?, value))
        });
        Some(Self {
            action: attribute(head, "action")?,
            fields: fields.collect(),
        })
    }

    /// The body that sends it. What is empty is filled in with `answer`.
    pub(crate) fn filled(&self, answer: &str) -> String {
        let mut body = form_urlencoded::Serializer::new(String::new());
        for (name, value) in &self.fields {
            let is_empty = value.is_empty();
            body.append_pair(name, if is_empty { answer } else { value });
        }
        body.finish()
    }
}

/// Where the link leads that has an address with this end.
pub(crate) fn link(page: &str, end: &str) -> Option<String> {
    let tags = page.split("<a").skip(1);
    let mut addresses = tags.filter_map(|tag| attribute(tag.split_once('>')?.0, "href"));
    addresses.find(|address| address.ends_with(end))
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let wanted = format!("{name}=\"");
    let mut places = tag.match_indices(&wanted);
    // `name="` is also the end of `data-name="`.
    let (at, _) = places.find(|(at, _)| {
        let before = tag.get(..*at).unwrap_or_default();
        before.ends_with(|character: char| character.is_ascii_whitespace())
    })?;
    let (value, _) = tag.get(at + wanted.len()..)?.split_once('"')?;
    let mut value = value.to_owned();
    for (written, meant) in ENTITIES {
        value = value.replace(written, meant);
    }
    Some(value)
}

// An ampersand comes last: else what it makes would be read again.
const ENTITIES: [(&str, &str); 5] = [
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&amp;", "&"),
];

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<h1>Sign-in</h1>
        <form autocomplete="off" action="/go?a=1&amp;b=2" method="post">
          <input type="hidden" name="prompt" value="login"/>
          <input required type="text" name="login"
            placeholder="Enter any login">
          <button type="submit">Sign in</button>
        </form>
        <a href="/help">Help</a> <a href="/interaction/x/abort">[ Cancel ]</a>"#;

    #[test]
    fn a_form_is_found_with_its_fields() {
        let form = Form::find(PAGE).unwrap();
        assert_eq!(form.action, "/go?a=1&b=2");
        assert_eq!(form.filled("a b"), "prompt=login&login=a+b");
    }

    #[test]
    fn a_page_without_a_form_has_none() {
        assert_eq!(Form::find("<h1>Sign-in Success</h1>"), None);
    }

    #[test]
    fn a_link_is_found_by_its_end() {
        assert_eq!(link(PAGE, "/abort").unwrap(), "/interaction/x/abort");
        assert_eq!(link(PAGE, "/elsewhere"), None);
    }
}
