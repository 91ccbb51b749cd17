//! Skills that our server serves, read by our client: what was listed is what is given out.
#![expect(
    clippy::unwrap_used,
    reason = "clippy knows tests by their attribute, not the functions that they share"
)]

use std::fs;
use std::path::{Path, PathBuf};

use switchboard_client::skills::{Skill, SkillFault, SkillFiles};
use switchboard_client::{Class, Client, ErrorKind, NoHost, memory};
use switchboard_server::Server;
use switchboard_server::skills::Skills;

const REFUNDS: &str = "---\nname: refunds\ndescription: How to refund an order.\n---\n# Refunds\n";

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // It is not there the first time.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("refunds/references")).unwrap();
        let folder = Self(folder);
        folder.write("refunds/SKILL.md", REFUNDS.as_bytes());
        folder.write("refunds/references/stamp.png", b"\x89PNG\r\n\x1a\n");
        folder
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        fs::write(self.0.join(path), bytes).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A client of a server that serves these skills.
async fn client_of(server: Server) -> Client {
    let (ours, theirs) = memory::pair();
    let site = server.site().unwrap();
    tokio::spawn(async move {
        let (read, write) = tokio::io::split(theirs);
        site.serve(read, write).await
    });
    Client::connect_in_memory(ours, NoHost).await.unwrap()
}

async fn serve(folder: &Folder) -> (Client, Skills, Skill) {
    let skills = Skills::folder(&folder.0).unwrap();
    let client = client_of(Server::new("shop", "1.0.0").skills(skills.clone())).await;
    let mut listed = client.skills().await.unwrap();
    assert_eq!(listed.len(), 1);
    let skill = listed.remove(0);
    (client, skills, skill)
}

fn fault(error: &switchboard_client::Error) -> &SkillFault {
    assert_eq!(error.class(), Class::Peer, "{error}");
    match error.kind() {
        ErrorKind::Skill(fault) => fault,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_skill_is_listed_and_every_file_of_it_is_read() {
    let folder = Folder::new("read");
    let (client, _, skill) = serve(&folder).await;
    assert_eq!(skill.name(), "refunds");
    assert_eq!(skill.description(), "How to refund an order.");
    assert_eq!(client.skill(&skill.uri).await.unwrap(), skill);

    assert_eq!(client.read_skill(&skill).await.unwrap(), REFUNDS);
    let SkillFiles::Listed(files) = &skill.files else {
        panic!("{skill:?}");
    };
    assert_eq!(files.len(), 2);
    let stamp = client.read_skill_file(&skill, &files[1].uri).await;
    assert_eq!(stamp.unwrap(), b"\x89PNG\r\n\x1a\n");
}

#[tokio::test]
async fn a_skill_that_has_changed_since_it_was_listed_is_refused() {
    let folder = Folder::new("changed");
    let (client, skills, skill) = serve(&folder).await;

    folder.write(
        "refunds/SKILL.md",
        REFUNDS.replace("order", "ordes").as_bytes(),
    );
    skills.reload().unwrap();
    let error = client.read_skill(&skill).await.unwrap_err();
    assert!(
        matches!(fault(&error), SkillFault::OtherDigest { .. }),
        "{error}"
    );

    folder.write("refunds/SKILL.md", format!("{REFUNDS}more\n").as_bytes());
    skills.reload().unwrap();
    let error = client.read_skill(&skill).await.unwrap_err();
    assert!(
        matches!(fault(&error), SkillFault::OtherSize { .. }),
        "{error}"
    );

    // Listed again, it is what it says.
    let listed = client.skills().await.unwrap();
    assert!(
        client
            .read_skill(&listed[0])
            .await
            .unwrap()
            .ends_with("more\n")
    );
}

#[tokio::test]
async fn a_file_that_is_not_the_skills_is_not_even_asked_for() {
    let folder = Folder::new("outside");
    let (client, _, skill) = serve(&folder).await;
    let unlisted = client.read_skill_file(&skill, "skill://refunds/other.md");
    assert_eq!(fault(&unlisted.await.unwrap_err()), &SkillFault::Unlisted);
    let outside = client.read_skill_file(&skill, "skill://other/SKILL.md");
    assert_eq!(fault(&outside.await.unwrap_err()), &SkillFault::Outside);
}

#[tokio::test]
async fn a_server_without_skills_is_not_asked_for_them() {
    let client = client_of(Server::new("plain", "1.0.0")).await;
    let error = client.skills().await.unwrap_err();
    assert_eq!(error.class(), Class::Caller);
    assert!(
        error.to_string().contains("io.modelcontextprotocol/skills"),
        "{error}"
    );
}
