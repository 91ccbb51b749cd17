//! The parts of a result: text is printed, the rest is saved or named.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use switchboard_client::types::{BlobResourceContents, ContentBlock, ResourceContents};

use crate::app::App;
use crate::exit::Failure;
use crate::output::Page;

/// Takes the parts of results and says what people are shown of them.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    app: &'a App,
    /// Where what is no text goes.
    folder: Option<&'a Path>,
    page: Page,
    has_text: bool,
    /// How many parts were saved or named.
    others: usize,
}

impl<'a> Parts<'a> {
    pub(crate) fn new(app: &'a App, folder: Option<&'a Path>) -> Self {
        Self {
            app,
            folder,
            page: Page::new(),
            has_text: false,
            others: 0,
        }
    }

    /// Was there no text at all?
    pub(crate) const fn is_without_text(&self) -> bool {
        !self.has_text
    }

    pub(crate) fn into_page(self) -> Page {
        self.page
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.has_text = true;
        let page = std::mem::take(&mut self.page);
        self.page = page.text(text);
    }

    /// One part of a result of a tool or a prompt.
    pub(crate) fn block(&mut self, block: &ContentBlock) -> Result<(), Failure> {
        match block {
            ContentBlock::Text(block) => self.text(&block.text),
            ContentBlock::Image(block) => {
                self.encoded("image", &block.data, Some(&block.mime_type))?;
            }
            ContentBlock::Audio(block) => {
                self.encoded("audio", &block.data, Some(&block.mime_type))?;
            }
            ContentBlock::Resource(block) => self.contents(&block.resource)?,
            ContentBlock::ResourceLink(link) => {
                self.others += 1;
                let uri = &link.resource.uri;
                self.app.output.note(&format!("resource: {uri}"));
            }
            _ => {
                self.others += 1;
                self.app
                    .output
                    .note("a part of a kind that is not known here; --json shows it");
            }
        }
        Ok(())
    }

    /// What a resource holds.
    pub(crate) fn contents(&mut self, contents: &ResourceContents) -> Result<(), Failure> {
        match contents {
            ResourceContents::Text(contents) => self.text(&contents.text),
            ResourceContents::Blob(contents) => {
                let name = name_of(&contents.uri);
                self.encoded(&name, &contents.blob, contents.mime_type.as_deref())?;
            }
            _ => {
                self.others += 1;
                self.app
                    .output
                    .note("contents of a kind that is not known here; --json shows them");
            }
        }
        Ok(())
    }

    /// Bytes in base64.
    fn encoded(&mut self, name: &str, data: &str, mime_type: Option<&str>) -> Result<(), Failure> {
        self.others += 1;
        let kind = mime_type.unwrap_or("bytes");
        let Some(bytes) = BlobResourceContents::new("", data).bytes() else {
            let what = format!("{kind} that is not in base64; --json shows it");
            self.app.output.warn(&what);
            return Ok(());
        };
        let Some(folder) = self.folder else {
            let size = bytes.len();
            let what = format!("{kind}, {size} bytes, not shown; --save DIR writes it");
            self.app.output.note(&what);
            return Ok(());
        };
        let path = save(folder, name, mime_type, &bytes)
            .map_err(|error| Failure::unexpected(format!("{}: {error}", folder.display())))?;
        self.app.output.note(&format!("saved {}", path.display()));
        Ok(())
    }
}

/// Writes a new file: nothing is written over.
fn save(folder: &Path, name: &str, mime_type: Option<&str>, bytes: &[u8]) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, ending),
        _ => (name, ending_of(mime_type)),
    };
    for number in 1..=MOST_FILES {
        let name = match number {
            1 => format!("{stem}.{ending}"),
            number => format!("{stem}-{number}.{ending}"),
        };
        let path = folder.join(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(bytes)?;
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!(
        "there are {MOST_FILES} files {stem}.{ending} already"
    )))
}

/// The last part of a URI, as the name of a file in a folder and nowhere else.
fn name_of(uri: &str) -> String {
    let last = uri.trim_end_matches('/').rsplit(['/', '\\', ':']).next();
    let last = last.unwrap_or_default().split(['?', '#']).next();
    let plain = last.unwrap_or_default().chars().take(LONGEST_NAME);
    let plain = plain.map(|character| match character {
        _ if character.is_alphanumeric() || "-_. ".contains(character) => character,
        _ => '_',
    });
    let name: String = plain.collect();
    match name.trim_matches(['.', ' ']) {
        "" => "resource".to_owned(),
        name => name.to_owned(),
    }
}

fn ending_of(mime_type: Option<&str>) -> &str {
    let mime_type = mime_type.unwrap_or_default();
    let kind = mime_type.split(';').next().unwrap_or_default().trim();
    match kind {
        "image/jpeg" => "jpg",
        "image/svg+xml" => "svg",
        "audio/mpeg" => "mp3",
        "text/plain" => "txt",
        "text/markdown" => "md",
        _ => {
            let ending = kind.rsplit(['/', '.']).next().unwrap_or_default();
            let ending = ending.strip_prefix("x-").unwrap_or(ending);
            let is_plain = ending
                .chars()
                .all(|character| character.is_ascii_alphanumeric());
            match (1..=8).contains(&ending.len()) && is_plain {
                true => ending,
                false => "bin",
            }
        }
    }
}

const MOST_FILES: usize = 10_000;
const LONGEST_NAME: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_only_so_many_files_of_one_name() {
        let folder = format!("switchboard-many-files-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let write = || save(&folder, "a.txt", None, b"");
        assert!(write().is_ok());
        for number in 2..MOST_FILES {
            fs::write(folder.join(format!("a-{number}.txt")), "").unwrap();
        }
        let last = write().unwrap();
        assert!(last.ends_with(format!("a-{MOST_FILES}.txt")), "{last:?}");
        let refused = write().unwrap_err().to_string();
        fs::remove_dir_all(&folder).unwrap();
        assert!(refused.contains("10000 files a.txt"), "{refused}");
    }

    #[test]
    fn a_file_has_a_name_in_its_folder() {
        let check = |uri: &str, expected: &str| assert_eq!(name_of(uri), expected, "{uri}");
        check("file:///a/b.png", "b.png");
        check("demo://x/../../etc/passwd", "passwd");
        check("x:..", "resource");
        check("x:a\\..\\b", "b");
        check("https://a/b/c?x=1#y", "c");
        check("x:a\u{1b}[2Jb", "a__2Jb");
    }

    #[test]
    fn a_file_ends_with_its_type() {
        let check = |kind: &str, expected: &str| assert_eq!(ending_of(Some(kind)), expected);
        check("image/png", "png");
        check("image/jpeg", "jpg");
        check("audio/x-wav", "wav");
        check("application/vnd.ms-excel.sheet.macroEnabled.12", "12");
        check("application/a_b;y", "bin");
        assert_eq!(ending_of(None), "bin");
    }
}
