//! The skills of a server: listed, and read so that nothing unverified is given out.
//!
//! What a list says of a skill is all that a host knows of it until it is loaded. So what is
//! read afterwards must be that: each file has the digest and the size that were listed, and
//! the frontmatter of `SKILL.md` is the one that was listed, member by member. Nothing is read
//! that was not asked for.
//!
//! ```no_run
//! # async fn example() -> Result<(), switchboard_client::Error> {
//! let client = switchboard_client::Client::connect("https://mcp.example.com/mcp").await?;
//! for skill in client.skills().await? {
//!     println!("{}: {}", skill.name(), skill.description());
//!     if skill.name() == "refunds" {
//!         println!("{}", client.read_skill(&skill).await?);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! What a host does with a skill is left to it.
//!
//! Specification: SEP-2640, extension `io.modelcontextprotocol/skills`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use switchboard_protocol::jsonrpc::MethodName;
use switchboard_protocol::types::{ReadResourceResult, ResourceContents};

use crate::call::decode;
use crate::client::Client;
use crate::error::{Error, ErrorKind};
use crate::pages;

mod entry;
mod fault;

pub use entry::{Skill, SkillFile, SkillFiles};
pub use fault::SkillFault;
pub use switchboard_skills::{FormatFault, SKILLS_EXTENSION};

impl Client {
    /// All skills of the server. No file of theirs is read.
    ///
    /// # Errors
    /// When the server has no skills, or the list cannot be had, or is longer than the limits.
    pub async fn skills(&self) -> Result<Vec<Skill>, Error> {
        self.check_skills(LIST).await?;
        let mut skills = Vec::new();
        pages::read_all(self, MethodName::new(LIST), |page| {
            #[derive(Deserialize)]
            struct Page {
                skills: Vec<Skill>,
            }
            let page: Page = decode(page)?;
            let count = page.skills.len();
            skills.extend(page.skills);
            Ok(count)
        })
        .await?;
        Ok(skills)
    }

    /// What the server says of one skill, by the URI of its `SKILL.md`.
    ///
    /// # Errors
    /// When the server has no such skill.
    pub async fn skill(&self, uri: &str) -> Result<Skill, Error> {
        #[derive(Deserialize)]
        struct Answer {
            skill: Skill,
        }
        self.check_skills(GET).await?;
        let params = serde_json::json!({"uri": uri});
        let answer = self.raw(GET, Some(&params)).await?;
        let answer: Answer = decode(&answer).map_err(|kind| self.skill_error(GET, kind))?;
        Ok(answer.skill)
    }

    /// The text of a skill's `SKILL.md`.
    ///
    /// # Errors
    /// When it is not the one that was listed: its digest, its size or its frontmatter differ.
    pub async fn read_skill(&self, skill: &Skill) -> Result<String, Error> {
        let bytes = self.read_skill_file(skill, &skill.uri).await?;
        let fail = |fault: SkillFault| self.skill_error(&skill.uri, ErrorKind::Skill(fault));
        let text = String::from_utf8(bytes).map_err(|_| fail(SkillFault::NotText))?;
        fault::check_frontmatter(skill, &text).map_err(fail)?;
        Ok(text)
    }

    /// The bytes of a file of a skill.
    ///
    /// # Errors
    /// When it is no file of this skill, or not the one that was listed: its digest or its
    /// size differ.
    pub async fn read_skill_file(&self, skill: &Skill, uri: &str) -> Result<Vec<u8>, Error> {
        let fail = |fault: SkillFault| self.skill_error(uri, ErrorKind::Skill(fault));
        let listed = skill.file(uri).map_err(fail)?;
        let result: ReadResourceResult = self.read(uri).await?;
        let bytes = contents(result, uri).map_err(fail)?;
        if let Some(listed) = listed {
            fault::check_file(listed, &bytes).map_err(fail)?;
        }
        Ok(bytes)
    }

    /// A server that does not speak of skills is not asked for them.
    async fn check_skills(&self, operation: &str) -> Result<(), Error> {
        let ready = self.ready().await?;
        let extensions = ready.capabilities.extensions.as_ref();
        if extensions.is_some_and(|extensions| extensions.contains_key(SKILLS_EXTENSION)) {
            return Ok(());
        }
        let what = format!("the server does not declare {SKILLS_EXTENSION}");
        Err(self.skill_error(operation, ErrorKind::NotOffered(what)))
    }

    fn skill_error(&self, operation: &str, kind: ErrorKind) -> Error {
        Error::new(&self.shared().name, operation, kind)
    }
}

/// The bytes that a server gave for this URI.
fn contents(result: ReadResourceResult, uri: &str) -> Result<Vec<u8>, SkillFault> {
    let mut fitting = result
        .contents
        .into_iter()
        .filter(|contents| contents.uri() == Some(uri));
    match (fitting.next(), fitting.next()) {
        (Some(ResourceContents::Text(text)), None) => Ok(text.text.into_bytes()),
        (Some(ResourceContents::Blob(blob)), None) => STANDARD
            .decode(&blob.blob)
            .map_err(|_| SkillFault::NotBase64),
        _ => Err(SkillFault::NotOneFile),
    }
}

const LIST: &str = "skills/list";
const GET: &str = "skills/get";
