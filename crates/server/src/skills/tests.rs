//! A folder of skills as its owner and its clients see it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use switchboard_protocol::types::{CacheScope, Cacheable as _, ResourceContents};

use super::*;

#[cfg(unix)]
mod paths;

/// A folder of its own for a test, gone when the test is over.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("switchboard-skills-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(path.join("skills")).unwrap();
        Self(path)
    }

    /// The folder of skills in it.
    fn root(&self) -> PathBuf {
        self.0.join("skills")
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    /// A skill at a path, called as the last part of it.
    fn skill(&self, path: &str) -> &Self {
        let name = path.rsplit('/').next().unwrap();
        self.write(&format!("{path}/SKILL.md"), skill_text(name))
    }

    #[cfg(unix)]
    fn link(&self, path: &str, target: impl AsRef<Path>) -> &Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
        self
    }

    fn open(&self) -> Skills {
        Skills::folder(self.root()).unwrap()
    }

    fn check_refused(&self, path: &str, reason: &str) {
        self.check_refused_with(SkillsOptions::default(), path, reason);
    }

    fn check_refused_with(&self, options: SkillsOptions, path: &str, reason: &str) {
        let error = Skills::folder_with(self.root(), options).unwrap_err();
        assert_eq!(error.path, self.root().join(path), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn skill_text(name: &str) -> String {
    format!("---\nname: {name}\ndescription: About {name}.\n---\n# {name}\n")
}

fn uris(resources: &[Resource]) -> Vec<&str> {
    resources.iter().map(|r| r.uri.as_str()).collect()
}

fn listed(skills: &Skills) -> Vec<String> {
    let page = skills.list(None).unwrap();
    page.skills.into_iter().map(|skill| skill.uri).collect()
}

#[test]
fn a_skill_is_listed_with_every_file_and_its_digest() {
    let scratch = Scratch::new();
    scratch
        .write("a/SKILL.md", "---\nname: a\ndescription: b\n---\n")
        .write("a/data/empty.bin", "")
        .write("a/abc.txt", "abc");
    let page = scratch.open().list(None).unwrap();
    assert_eq!(
        serde_json::to_value(page).unwrap(),
        json!({
            "skills": [{
                "uri": "skill://a/SKILL.md",
                "frontmatter": {"name": "a", "description": "b"},
                "resources": [
                    {
                        "uri": "skill://a/SKILL.md",
                        "digest":
                            "sha256:a98e4e3c6591006048de00b4ec52ad408c39cbaf09f591f4f620ea6a17cbfe3e",
                        "size": 31,
                    },
                    // The examples of FIPS 180-2.
                    {
                        "uri": "skill://a/abc.txt",
                        "digest":
                            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                        "size": 3,
                    },
                    {
                        "uri": "skill://a/data/empty.bin",
                        "digest":
                            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                        "size": 0,
                    },
                ],
            }],
            "ttlMs": 300_000,
            "cacheScope": "private",
        })
    );
}

#[test]
fn one_skill_is_found_by_its_uri_alone() {
    let scratch = Scratch::new();
    let skills = scratch.skill("a").skill("group/b").open();
    let found = skills.skill("skill://group/b/SKILL.md").unwrap();
    assert_eq!(found.skill, skills.list(None).unwrap().skills[1]);
    assert_eq!(found.skill.name(), "b");
    let written = serde_json::to_value(&found).unwrap();
    assert_eq!(written["ttlMs"], 300_000);
    assert_eq!(written.get("nextCursor"), None);

    for uri in ["skill://c/SKILL.md", "skill://a", "skill://group", ""] {
        let error = skills.skill(uri).unwrap_err();
        assert_eq!(error.code.0, -32602);
        let data: Value = error.data.unwrap().decode().unwrap();
        assert_eq!(data, json!({"uri": uri}));
    }
}

#[test]
fn files_are_read_as_text_or_bytes_with_their_type() {
    let scratch = Scratch::new();
    scratch
        .skill("a")
        .write("a/x y.JSON", "{}")
        .write("a/notes", "plain é")
        .write("a/raw", b"\xff\x00")
        .write("a/broken.md", b"\xff")
        .write("a/a.png", "not really");
    let skills = scratch.open();
    let read = |uri: &str| {
        let result = skills.read(uri).unwrap();
        assert_eq!(result.scope(), CacheScope::Private);
        serde_json::to_value(&result.contents[0]).unwrap()
    };
    assert_eq!(
        read("skill://a/SKILL.md"),
        json!({"uri": "skill://a/SKILL.md", "mimeType": "text/markdown", "text": skill_text("a")})
    );
    assert_eq!(
        read("skill://a/x%20y.JSON"),
        json!({"uri": "skill://a/x%20y.JSON", "mimeType": "application/json", "text": "{}"})
    );
    assert_eq!(
        read("skill://a/notes"),
        json!({"uri": "skill://a/notes", "mimeType": "text/plain", "text": "plain é"})
    );
    assert_eq!(
        read("skill://a/raw"),
        json!({"uri": "skill://a/raw", "mimeType": "application/octet-stream", "blob": "/wA="})
    );
    assert_eq!(
        read("skill://a/broken.md"),
        json!({"uri": "skill://a/broken.md", "mimeType": "text/markdown", "blob": "/w=="})
    );
    let png = skills.read("skill://a/a.png").unwrap();
    assert!(matches!(png.contents[0], ResourceContents::Blob(_)));
}

#[test]
fn nothing_outside_is_reached_by_a_clever_uri() {
    let scratch = Scratch::new();
    fs::write(scratch.0.join("secret.txt"), "secret").unwrap();
    scratch
        .skill("a")
        .skill("b")
        .write("loose.md", "loose")
        .write("a/.hidden", "hidden")
        .write("a/.git/config", "hidden");
    let skills = scratch.open();
    for uri in [
        "skill://../secret.txt",
        "skill://a/../../secret.txt",
        "skill://a/%2e%2e/%2e%2e/secret.txt",
        "skill://a/..%2f..%2fsecret.txt",
        "skill://a/../b/SKILL.md",
        "skill://a//SKILL.md",
        "skill://a/./SKILL.md",
        "skill://a/SKILL.md/",
        "skill://a/SKILL.md?x",
        "skill://A/SKILL.md",
        "SKILL://a/SKILL.md",
        "file:///etc/passwd",
        "/etc/passwd",
        "skill://loose.md",
        "skill://a/.hidden",
        "skill://a/.git/config",
        "skill://a",
        "skill://",
        "",
    ] {
        assert!(skills.read(uri).is_none(), "{uri}");
        assert!(skills.skill(uri).is_err(), "{uri}");
    }
    for uri in ["skill://", "skill://..", "skill://a/", "skill://a/.git"] {
        assert_eq!(skills.directory(uri, None).unwrap_err().code.0, -32602);
    }
    assert_eq!(
        skills
            .skill("skill://a/SKILL.md")
            .unwrap()
            .skill
            .resources
            .len(),
        1
    );
}

#[test]
fn directories_list_what_lies_directly_in_them() {
    let scratch = Scratch::new();
    scratch
        .skill("group/a")
        .write("group/README.md", "of no skill")
        .write("group/other/README.md", "of no skill")
        .write("group/a/docs/deep/x.md", "x")
        .write("group/a/z.txt", "z");
    fs::create_dir(scratch.root().join("group/a/empty")).unwrap();
    let skills = scratch.open();
    let of = |uri: &str| serde_json::to_value(skills.directory(uri, None).unwrap()).unwrap();
    let directory =
        |uri: &str, name: &str| json!({"uri": uri, "name": name, "mimeType": "inode/directory"});
    assert_eq!(
        of("skill://group"),
        json!({"resources": [directory("skill://group/a", "a")]})
    );
    assert_eq!(
        of("skill://group/a"),
        json!({"resources": [
            {
                "uri": "skill://group/a/SKILL.md",
                "name": "a",
                "description": "About a.",
                "mimeType": "text/markdown",
                "size": 42,
            },
            directory("skill://group/a/docs", "docs"),
            directory("skill://group/a/empty", "empty"),
            {"uri": "skill://group/a/z.txt", "name": "z.txt", "mimeType": "text/plain", "size": 1},
        ]})
    );
    assert_eq!(of("skill://group/a/empty"), json!({"resources": []}));
    assert_eq!(
        uris(
            &skills
                .directory("skill://group/a/docs", None)
                .unwrap()
                .resources
        ),
        ["skill://group/a/docs/deep"]
    );
    let file = skills.directory("skill://group/a/z.txt", None).unwrap_err();
    assert_eq!(file.code.0, -32602);
    assert!(file.message.contains("is a file"), "{file}");
    assert!(skills.directory("skill://group/other", None).is_err());
}

#[test]
fn the_resource_of_a_skill_says_what_its_frontmatter_says() {
    let scratch = Scratch::new();
    let skills = scratch.skill("b").skill("a").write("a/x.md", "x").open();
    let resources = skills.resources();
    assert_eq!(
        uris(&resources),
        ["skill://a/SKILL.md", "skill://b/SKILL.md"]
    );
    assert_eq!(resources[0].name, "a");
    assert_eq!(resources[0].description.as_deref(), Some("About a."));
    assert_eq!(resources[0].mime_type.as_deref(), Some("text/markdown"));
    assert_eq!(skills.capability(), json!({"directoryRead": true}));
}

#[test]
fn a_skill_inside_of_a_skill_is_its_own_and_part_of_the_other() {
    let scratch = Scratch::new();
    let skills = scratch.skill("outer").skill("outer/parts/inner").open();
    let page = skills.list(None).unwrap();
    let files: Vec<Vec<&str>> = page
        .skills
        .iter()
        .map(|skill| skill.resources.iter().map(|r| r.uri.as_str()).collect())
        .collect();
    let inner = "skill://outer/parts/inner/SKILL.md";
    assert_eq!(files, [vec!["skill://outer/SKILL.md", inner], vec![inner]]);
    assert_eq!(page.skills[1].resources[0], page.skills[0].resources[1]);
}

#[test]
fn clients_may_keep_what_they_read_for_so_long() {
    let scratch = Scratch::new();
    scratch.skill("s");
    let options = SkillsOptions {
        time_to_live: Duration::from_secs(7),
        ..SkillsOptions::default()
    };
    let skills = Skills::folder_with(scratch.root(), options).unwrap();
    let uri = "skill://s/SKILL.md";
    let read = skills.read(uri).unwrap();
    assert_eq!(read.time_to_live(), Duration::from_secs(7));
}

#[test]
fn long_lists_come_in_pages() {
    let scratch = Scratch::new();
    for number in 0..7 {
        scratch.skill(&format!("s{number}"));
        scratch.write(&format!("s0/f{number}"), "");
    }
    let options = SkillsOptions {
        page_size: 3,
        ..SkillsOptions::default()
    };
    let skills = Skills::folder_with(scratch.root(), options).unwrap();

    let mut seen = Vec::new();
    let mut sizes = Vec::new();
    let mut cursor = None;
    loop {
        let page = skills.list(cursor.as_deref()).unwrap();
        sizes.push(page.skills.len());
        seen.extend(page.skills.into_iter().map(|skill| skill.uri));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(sizes, [3, 3, 1]);
    seen.dedup();
    assert_eq!(seen.len(), 7);

    let first = skills.directory("skill://s0", None).unwrap();
    let cursor = first.next_cursor.unwrap();
    let second = skills.directory("skill://s0", Some(&cursor)).unwrap();
    assert_eq!(
        uris(&second.resources),
        ["skill://s0/f2", "skill://s0/f3", "skill://s0/f4"]
    );

    for refused in [
        skills.list(Some("nonsense")).unwrap_err(),
        // A cursor belongs to its list.
        skills.list(Some(&cursor)).unwrap_err(),
        skills.directory("skill://s1", Some(&cursor)).unwrap_err(),
    ] {
        assert_eq!(refused.code.0, -32602);
    }
}

#[test]
fn a_page_of_skills_with_many_files_is_shorter() {
    let scratch = Scratch::new();
    for number in 0..12 {
        let path = format!("s{number:02}");
        scratch.skill(&path);
        for file in 0..200 {
            scratch.write(&format!("{path}/{file}"), "");
        }
    }
    let page = scratch.open().list(None).unwrap();
    assert_eq!(page.skills.len(), 9);
    assert!(page.next_cursor.is_some());
}

#[test]
fn limits_are_kept() {
    let scratch = Scratch::new();
    scratch.skill("a").write("a/x", "12").write("a/y", "34");
    let with = |set: fn(&mut SkillsOptions)| {
        let mut options = SkillsOptions::default();
        set(&mut options);
        options
    };
    let check = |set, path: &str, reason: &str| {
        scratch.check_refused_with(with(set), path, reason);
    };
    check(|o| o.files_per_skill = 2, "a", "more than 2 files");
    check(|o| o.bytes_per_skill = 45, "a", "more than 45 bytes");
    check(|o| o.bytes = 45, "a", "all skills have more than 45 bytes");
    check(|o| o.skills = 0, "", "more than 0 skills");
    check(|o| o.entries = 3, "", "more than 3 files and folders");
    check(|o| o.depth = 0, "a", "deeper than 0 folders");
    let exact = with(|o| {
        o.files_per_skill = 3;
        o.bytes_per_skill = 46;
        o.bytes = 46;
        o.skills = 1;
        o.entries = 4;
        o.depth = 1;
    });
    assert!(Skills::folder_with(scratch.root(), exact).is_ok());
}

#[test]
fn a_bad_skill_is_refused_with_its_file_and_the_reason() {
    let check = |path: &str, text: &str, at: &str, reason: &str| {
        let scratch = Scratch::new();
        scratch
            .skill("good")
            .write(path, text)
            .check_refused(at, reason);
    };
    let text = skill_text("other");
    check(
        "a/SKILL.md",
        &text,
        "a/SKILL.md",
        "\"other\" but its folder \"a\"",
    );
    check("Bad_/SKILL.md", &text, "Bad_", "no name for a skill");
    check("a/SKILL.md", "# no", "a/SKILL.md", "frontmatter");
    check("a/SKILL.md", "---\na: b: c\n---\n", "a/SKILL.md", "line 2");
    check("SKILL.md", &text, "SKILL.md", "move it into a folder");
    check("a/skill.md", &text, "a/skill.md", "rename it to SKILL.md");
    check("a/SKILL.md/x", "", "a/SKILL.md", "not a file");

    let scratch = Scratch::new();
    scratch
        .write("a/SKILL.md", b"---\n\xff")
        .check_refused("a/SKILL.md", "not UTF-8");
    let missing = Skills::folder(scratch.0.join("missing")).unwrap_err();
    assert!(matches!(missing.fault, SkillFault::Unreadable(_)));
}

#[test]
fn a_lenient_owner_serves_the_good_skills() {
    let scratch = Scratch::new();
    scratch
        .skill("good")
        .skill("bad/parts/fine")
        .write("bad/SKILL.md", "# no frontmatter")
        .write("bad/secret.md", "not served")
        .write("worse/SKILL.md", skill_text("better"));
    let options = SkillsOptions::default();
    let (skills, rejected) = Skills::folder_lenient(scratch.root(), options).unwrap();
    let fine = "skill://bad/parts/fine/SKILL.md";
    assert_eq!(listed(&skills), [fine, "skill://good/SKILL.md"]);
    assert!(skills.read("skill://bad/secret.md").is_none());
    // What is left of the bad one is the way to the good one in it.
    let way = skills.directory("skill://bad", None).unwrap();
    assert_eq!(uris(&way.resources), ["skill://bad/parts"]);
    let paths: Vec<_> = rejected.iter().map(|error| error.path.clone()).collect();
    let root = scratch.root();
    assert_eq!(
        paths,
        [root.join("bad/SKILL.md"), root.join("worse/SKILL.md")]
    );
}

#[test]
fn a_changed_file_is_served_only_after_a_reload_that_says_so() {
    let scratch = Scratch::new();
    scratch
        .skill("a")
        .skill("b")
        .skill("gone")
        .write("a/x.md", "old");
    let skills = scratch.open();
    let before = skills.skill("skill://a/SKILL.md").unwrap();
    scratch.write("a/x.md", "new").skill("fresh");
    fs::remove_dir_all(scratch.root().join("gone")).unwrap();

    let text = |uri: &str| match &skills.read(uri).unwrap().contents[0] {
        ResourceContents::Text(contents) => contents.text.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(text("skill://a/x.md"), "old");
    assert_eq!(skills.skill("skill://a/SKILL.md").unwrap(), before);

    let changes = skills.reload().unwrap();
    assert_eq!(changes.added, ["skill://fresh/SKILL.md"]);
    assert_eq!(changes.removed, ["skill://gone/SKILL.md"]);
    assert_eq!(changes.changed, ["skill://a/SKILL.md"]);
    let files = [
        "skill://a/x.md",
        "skill://fresh/SKILL.md",
        "skill://gone/SKILL.md",
    ];
    assert_eq!(changes.files, files);
    assert_eq!(text("skill://a/x.md"), "new");
    assert_ne!(skills.skill("skill://a/SKILL.md").unwrap(), before);
    assert!(skills.reload().unwrap().is_empty());
}

#[test]
fn a_reload_that_finds_a_bad_skill_changes_nothing() {
    let scratch = Scratch::new();
    let skills = scratch.skill("a").open();
    scratch.write("a/SKILL.md", "broken").skill("b");
    assert!(skills.reload().is_err());
    assert_eq!(listed(&skills), ["skill://a/SKILL.md"]);
}

#[cfg(unix)]
#[test]
fn links_that_lead_out_are_refused() {
    let check = |link: &str, target: &str, reason: &str| {
        let scratch = Scratch::new();
        fs::create_dir(scratch.0.join("outside")).unwrap();
        fs::write(scratch.0.join("outside/SKILL.md"), skill_text("outside")).unwrap();
        scratch.skill("a").write(".private/x", "hidden");
        scratch.link(link, target).check_refused(link, reason);
    };
    check("a/passwd", "/etc/passwd", "leads out");
    check("a/up", "../../outside/SKILL.md", "leads out");
    check("outside", "../outside", "leads out");
    check("a/deep/back", "../../../outside", "leads out");
    check("a/hidden", "../.private/x", "hidden");
    check("a/nowhere", "missing", "cannot be read");
    check("a/circle", ".", "leads back");
    check("a/circle", "..", "leads back");
    check("a/self", "self", "cannot be read");
}

#[cfg(unix)]
#[test]
fn links_that_stay_inside_are_what_they_lead_to() {
    let scratch = Scratch::new();
    scratch
        .skill("a")
        .skill("b")
        .write("shared/licence.txt", "free")
        .link("a/licence.txt", "../shared/licence.txt")
        .link("b/more", "../shared");
    let skills = scratch.open();
    for uri in ["skill://a/licence.txt", "skill://b/more/licence.txt"] {
        assert!(skills.read(uri).is_some(), "{uri}");
    }
}

#[cfg(unix)]
#[test]
fn links_that_lead_to_each_other_are_refused() {
    let scratch = Scratch::new();
    scratch.skill("a").link("a/l", "../b").link("b/l", "../a");
    let error = Skills::folder(scratch.root()).unwrap_err();
    assert!(matches!(error.fault, SkillFault::LeadsInCircles), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf8_are_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let scratch = Scratch::new();
    let name = std::ffi::OsStr::from_bytes(b"x\xff");
    fs::write(scratch.skill("a").root().join(name), "").unwrap();
    assert!(Skills::folder(scratch.root()).is_ok(), "beside the skills");
    fs::write(scratch.root().join("a").join(name), "").unwrap();
    let error = Skills::folder(scratch.root()).unwrap_err();
    assert!(matches!(error.fault, SkillFault::NameNotUtf8), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_neither_file_nor_folder_is_refused() {
    let scratch = Scratch::new();
    let path = scratch.skill("a").root().join("a/socket");
    let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    scratch.check_refused("a/socket", "not a file");
}

#[test]
fn the_skills_of_the_examples_can_be_served() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/skills");
    let skills = Skills::folder(folder).unwrap();
    let first = &skills.resources()[0];
    let directory = first.uri.strip_suffix("/SKILL.md").unwrap();
    // The conformance suite reads the directory of the first skill and wants a
    // directory in it.
    let children = skills.directory(directory, None).unwrap().resources;
    let is_directory = |r: &Resource| r.mime_type.as_deref() == Some("inode/directory");
    assert!(children.iter().any(is_directory));
}
