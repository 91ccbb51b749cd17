//! The media type of a file, by its name.
//!
//! A short list of what skills are made of; nothing is guessed from the bytes but
//! whether they are text.

/// The type of a file, if its name tells.
pub(super) fn of(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    TYPES
        .iter()
        .find(|(known, _)| *known == extension)
        .map(|(_, media_type)| *media_type)
}

/// Are files of this type bytes even where those happen to be UTF-8?
pub(super) fn is_binary(media_type: &str) -> bool {
    !media_type.starts_with("text/")
        && !media_type.ends_with("+xml")
        && !TEXT_APPLICATIONS.contains(&media_type)
}

pub(super) const DIRECTORY: &str = "inode/directory";
pub(super) const PLAIN_TEXT: &str = "text/plain";
pub(super) const BYTES: &str = "application/octet-stream";

const TYPES: &[(&str, &str)] = &[
    ("bash", "application/x-sh"),
    ("c", "text/x-c"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("go", "text/x-go"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("java", "text/x-java"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("markdown", "text/markdown"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("otf", "font/otf"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("py", "text/x-python"),
    ("rb", "text/x-ruby"),
    ("rs", "text/x-rust"),
    ("sh", "application/x-sh"),
    ("sql", "application/sql"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("toml", "application/toml"),
    ("ts", "text/x-typescript"),
    ("tsv", "text/tab-separated-values"),
    ("ttf", "font/ttf"),
    ("txt", PLAIN_TEXT),
    ("wasm", "application/wasm"),
    ("webp", "image/webp"),
    ("woff2", "font/woff2"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

const TEXT_APPLICATIONS: &[&str] = &[
    "application/json",
    "application/sql",
    "application/toml",
    "application/x-sh",
    "application/xml",
    "application/yaml",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_type() {
        assert_eq!(of("SKILL.md"), Some("text/markdown"));
        assert_eq!(of("a.b.PNG"), Some("image/png"));
        assert_eq!(of("Makefile"), None);
        assert_eq!(of("a.unknown"), None);
    }

    #[test]
    fn pictures_are_bytes_and_drawings_are_text() {
        assert!(is_binary("image/png"));
        assert!(!is_binary("image/svg+xml"));
        assert!(!is_binary("application/json"));
        assert!(!is_binary("text/markdown"));
    }
}
