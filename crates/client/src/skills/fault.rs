//! Why what was read of a skill is not given out.
//!
//! Specification: SEP-2640 (integrity, comparing frontmatter).

use std::fmt;

use switchboard_skills::{FormatFault, digest, frontmatter};

use crate::skills::entry::{Skill, SkillFile};
use crate::words::plain;

/// Why what was read of a skill is not given out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkillFault {
    /// The URI of the skill is not that of a `SKILL.md`.
    NoSkillFile,
    /// The file does not lie in the skill's folder.
    Outside,
    /// The file is not in the list of the skill's files.
    Unlisted,
    /// The server did not give just this file.
    NotOneFile,
    /// The bytes are not in base64.
    NotBase64,
    /// The `SKILL.md` is not UTF-8.
    NotText,
    /// The file has another size than was listed.
    OtherSize {
        /// What was listed.
        listed: u64,
        /// What was read.
        read: u64,
    },
    /// The file has another digest than was listed.
    OtherDigest {
        /// What was listed.
        listed: String,
        /// What was read.
        read: String,
    },
    /// The frontmatter of the `SKILL.md` cannot be read.
    Format(FormatFault),
    /// The frontmatter of the `SKILL.md` is not the one that was listed.
    OtherFrontmatter {
        /// The first member that differs.
        member: String,
    },
}

/// Is this file the one that was listed?
pub(super) fn check_file(listed: &SkillFile, bytes: &[u8]) -> Result<(), SkillFault> {
    let read = bytes.len() as u64;
    if listed.size != read {
        return Err(SkillFault::OtherSize {
            listed: listed.size,
            read,
        });
    }
    let read = digest(bytes);
    if listed.digest != read {
        return Err(SkillFault::OtherDigest {
            listed: listed.digest.clone(),
            read,
        });
    }
    Ok(())
}

/// Is the frontmatter of this `SKILL.md` the one that was listed?
pub(super) fn check_frontmatter(skill: &Skill, text: &str) -> Result<(), SkillFault> {
    let folder = skill.folder().ok_or(SkillFault::NoSkillFile)?;
    let read = frontmatter(text, folder).map_err(SkillFault::Format)?;
    let listed = &skill.frontmatter;
    let all = listed.keys().chain(read.keys());
    let other = all
        .into_iter()
        .find(|key| listed.get(*key) != read.get(*key));
    match other {
        None => Ok(()),
        Some(member) => Err(SkillFault::OtherFrontmatter {
            member: member.clone(),
        }),
    }
}

impl fmt::Display for SkillFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSkillFile => f.write_str("the URI of the skill does not end in /SKILL.md"),
            Self::Outside => f.write_str("it does not lie in the skill's folder"),
            Self::Unlisted => f.write_str("it is not in the list of the skill's files"),
            Self::NotOneFile => f.write_str("the server did not give just this file"),
            Self::NotBase64 => f.write_str("the bytes are not in base64"),
            Self::NotText => f.write_str("the text is not UTF-8"),
            Self::OtherSize { listed, read } => write!(
                f,
                "not the file that was listed: {listed} bytes were listed, {read} came; list the skills again"
            ),
            Self::OtherDigest { listed, read } => write!(
                f,
                "not the file that was listed: its digest is {read}, not {}; list the skills again",
                plain(listed, 80)
            ),
            Self::Format(fault) => write!(f, "{}", plain(&fault.to_string(), 300)),
            Self::OtherFrontmatter { member } => write!(
                f,
                "not the skill that was listed: {:?} in its frontmatter differs; list the skills again",
                plain(member, 60)
            ),
        }
    }
}

impl std::error::Error for SkillFault {}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---\nname: pdf\ndescription: Fills in forms.\n---\n# PDF\n";

    fn skill(frontmatter: &str) -> Skill {
        let text = format!(
            r#"{{"uri":"skill://pdf/SKILL.md","frontmatter":{frontmatter},"resources":"dynamic"}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn refused(frontmatter: &str, member: &str) {
        let fault = check_frontmatter(&skill(frontmatter), TEXT).unwrap_err();
        assert_eq!(
            fault,
            SkillFault::OtherFrontmatter {
                member: member.to_owned()
            }
        );
    }

    #[test]
    fn frontmatter_must_be_the_same_member_by_member() {
        let same = skill(r#"{"description":"Fills in forms.","name":"pdf"}"#);
        assert_eq!(check_frontmatter(&same, TEXT), Ok(()));
        refused(r#"{"name":"pdf","description":"Other."}"#, "description");
        refused(r#"{"name":"pdf"}"#, "description");
        refused(
            r#"{"name":"pdf","description":"Fills in forms.","license":"MIT"}"#,
            "license",
        );
    }

    #[test]
    fn a_file_must_have_its_size_and_its_digest() {
        let listed = |size, digest: &str| SkillFile {
            uri: String::new(),
            digest: digest.to_owned(),
            size,
        };
        let good = digest(b"abc");
        assert_eq!(check_file(&listed(3, &good), b"abc"), Ok(()));
        assert!(matches!(
            check_file(&listed(3, &good), b"abd"),
            Err(SkillFault::OtherDigest { .. })
        ));
        assert_eq!(
            check_file(&listed(3, &good), b"abcd"),
            Err(SkillFault::OtherSize { listed: 3, read: 4 })
        );
    }
}
