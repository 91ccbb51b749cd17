//! Objects in the order in which they are written.

use serde_json::Value as Json;

/// Members of an object in the order in which they are written, each as JSON text.
#[derive(Default)]
pub(super) struct Members(pub(super) Vec<(String, String)>);

impl Members {
    pub(super) fn json(&mut self, key: &str, value: impl Into<Json>) {
        self.0.push((key.to_owned(), value.into().to_string()));
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        self.json(key, value);
    }

    pub(super) fn object(&mut self, key: &str, members: Self) {
        if !members.0.is_empty() {
            self.0.push((key.to_owned(), members.into_text()));
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(known, _)| known == key)
    }

    pub(super) fn has_header(&self, name: &str) -> bool {
        let mut members = self.0.iter();
        members.any(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    /// Adds what nobody knew. Where both are objects, their members are put together; otherwise
    /// what is there already counts.
    pub(super) fn merge(&mut self, key: &str, value: Json) {
        let Some((_, text)) = self.0.iter_mut().find(|(known, _)| known == key) else {
            return self.json(key, value);
        };
        if let (Ok(Json::Object(known)), Json::Object(more)) = (serde_json::from_str(text), value) {
            let mut members = Self::default();
            for (key, value) in known {
                members.json(&key, value);
            }
            members.absorb(Some(Json::Object(more)));
            *text = members.into_text();
        }
    }

    pub(super) fn absorb(&mut self, object: Option<Json>) {
        if let Some(Json::Object(members)) = object {
            for (key, value) in members {
                self.merge(&key, value);
            }
        }
    }

    pub(super) fn into_text(self) -> String {
        let members = self.0.into_iter().map(|(key, value)| {
            let key = Json::String(key);
            format!("{key}:{value}")
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }
}
