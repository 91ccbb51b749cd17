//! What a server says of a skill before any of its files is read.
//!
//! Specification: SEP-2640 (skill entries).

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde_json::{Map, Value};
use switchboard_skills::{SKILL_FILE, text};

use crate::skills::fault::SkillFault;

/// A skill, as it was listed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Skill {
    /// Where its `SKILL.md` is.
    pub uri: String,
    /// What it says of itself: the frontmatter of its `SKILL.md`.
    pub frontmatter: Map<String, Value>,
    /// Its files.
    #[serde(rename = "resources")]
    pub files: SkillFiles,
}

impl Skill {
    /// Its name.
    pub fn name(&self) -> &str {
        text(&self.frontmatter, "name")
    }

    /// What it does and when to use it.
    pub fn description(&self) -> &str {
        text(&self.frontmatter, "description")
    }

    /// The last part of the URI of its folder, which is its name as well.
    pub(super) fn folder(&self) -> Option<&str> {
        self.root()?.rsplit('/').next()
    }

    /// What was listed of one of its files; nothing for a file that is made up as it is read.
    pub(super) fn file(&self, uri: &str) -> Result<Option<&SkillFile>, SkillFault> {
        let root = self.root().ok_or(SkillFault::NoSkillFile)?;
        let path = uri
            .strip_prefix(root)
            .and_then(|rest| rest.strip_prefix('/'));
        // A server may resolve `..` before it reads, so it is outside wherever it stands.
        let is_inside =
            path.is_some_and(|path| !path.split('/').any(|part| matches!(part, "" | "." | "..")));
        if !is_inside {
            return Err(SkillFault::Outside);
        }
        match &self.files {
            SkillFiles::Dynamic => Ok(None),
            SkillFiles::Listed(files) => {
                let listed = files.iter().find(|file| file.uri == uri);
                listed.map(Some).ok_or(SkillFault::Unlisted)
            }
        }
    }

    /// The URI of its folder, without a slash at the end.
    fn root(&self) -> Option<&str> {
        self.uri.strip_suffix(SKILL_FILE)?.strip_suffix('/')
    }
}

/// The files of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkillFiles {
    /// All of them, its `SKILL.md` among them.
    Listed(Vec<SkillFile>),
    /// They are made up as they are read, so there is nothing to hold them against.
    Dynamic,
}

/// A file of a skill, as it was listed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct SkillFile {
    /// Where it is.
    pub uri: String,
    /// `sha256:` and the digest of its bytes.
    pub digest: String,
    /// How many bytes it has.
    pub size: u64,
}

impl<'de> Deserialize<'de> for SkillFiles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = SkillFiles;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of files, or \"dynamic\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<SkillFiles, E> {
                match text {
                    "dynamic" => Ok(SkillFiles::Dynamic),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, files: A) -> Result<SkillFiles, A::Error> {
                let files = Vec::deserialize(de::value::SeqAccessDeserializer::new(files))?;
                Ok(SkillFiles::Listed(files))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(resources: &str) -> Skill {
        let text = format!(
            r#"{{"uri":"skill://a/pdf/SKILL.md","frontmatter":{{"name":"pdf"}},"resources":{resources}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn files_are_listed_or_made_up() {
        assert_eq!(skill(r#""dynamic""#).files, SkillFiles::Dynamic);
        let listed = skill(r#"[{"uri":"skill://a/pdf/SKILL.md","digest":"sha256:00","size":3}]"#);
        let SkillFiles::Listed(files) = &listed.files else {
            panic!("{listed:?}");
        };
        assert_eq!(files[0].size, 3);
        let other = r#"{"uri":"u","frontmatter":{},"resources":"static"}"#;
        assert!(serde_json::from_str::<Skill>(other).is_err());
    }

    #[test]
    fn only_files_of_the_skill_are_its_files() {
        let dynamic = skill(r#""dynamic""#);
        assert_eq!(dynamic.folder(), Some("pdf"));
        assert_eq!(dynamic.file("skill://a/pdf/forms/a.md"), Ok(None));
        for uri in [
            "skill://a/other/x.md",
            "skill://a/pdf",
            "skill://a/pdf/",
            "skill://a/pdf/../other/x.md",
            "skill://a/pdfx/y.md",
            "file:///etc/passwd",
        ] {
            assert_eq!(dynamic.file(uri), Err(SkillFault::Outside), "{uri}");
        }
        let listed = skill("[]");
        assert_eq!(listed.file("skill://a/pdf/x.md"), Err(SkillFault::Unlisted));
    }
}
