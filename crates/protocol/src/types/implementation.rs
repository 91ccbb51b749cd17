//! Who a peer is, and the icons that it and its offers wear.
//!
//! Fetching and showing icons safely is the host's affair.
//!
//! Specification: schema `Implementation`, `Icon`; basic/index, section icons.

use serde::{Deserialize, Serialize};

use crate::types::Extra;

/// Name and version of a client or server. Unverified: for display and logs only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Implementation {
    /// Its name for programs.
    pub name: String,
    /// Its name for people (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its version.
    pub version: String,
    /// What it does (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where to read more (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// Its icons (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Implementation {
    /// A name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            version: version.into(),
            description: None,
            website_url: None,
            icons: None,
            extra: Extra::default(),
        }
    }

    /// The name to show: the title, else the name.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

/// An image that stands for something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Icon {
    /// Where the image is: an `https:` or `data:` URI.
    pub src: String,
    /// Its type, if the source's own is missing or too general.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its sizes, as `48x48` or `any`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<String>>,
    /// The background it is made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theme: Option<IconTheme>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Icon {
    /// An image at a URI.
    pub fn new(src: impl Into<String>) -> Self {
        Self {
            src: src.into(),
            mime_type: None,
            sizes: None,
            theme: None,
            extra: Extra::default(),
        }
    }

    /// May the image be fetched at all? Only `https:` and `data:` URIs may.
    pub fn has_allowed_source(&self) -> bool {
        let scheme = self.src.split_once(':').map(|(scheme, _)| scheme);
        scheme.is_some_and(|s| s.eq_ignore_ascii_case("https") || s.eq_ignore_ascii_case("data"))
    }
}

/// The background that an icon is made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum IconTheme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
    /// A word that this crate does not know.
    #[serde(untagged)]
    Other(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn icons_come_from_https_and_data_only() {
        for good in ["https://a/b.png", "data:image/png;base64,AA==", "HTTPS://a"] {
            assert!(Icon::new(good).has_allowed_source(), "{good}");
        }
        for bad in [
            "http://a",
            "javascript:x",
            "file:///a",
            "a.png",
            "",
            " https://a",
        ] {
            assert!(!Icon::new(bad).has_allowed_source(), "{bad}");
        }
    }

    #[test]
    fn the_name_to_show_is_title_then_name() {
        let mut server = Implementation::new("n", "1");
        assert_eq!(server.display_name(), "n");
        server.title = Some("t".to_owned());
        assert_eq!(server.display_name(), "t");
    }

    #[test]
    fn an_unknown_theme_is_kept() {
        let text = r#"{"src":"s","theme":"sepia"}"#;
        let icon: Icon = serde_json::from_str(text).unwrap();
        assert_eq!(icon.theme, Some(IconTheme::Other("sepia".into())));
        assert_eq!(serde_json::to_string(&icon).unwrap(), text);
    }
}
