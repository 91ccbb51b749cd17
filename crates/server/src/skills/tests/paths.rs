//! Ways out of the folder of skills that are harder to see.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Scratch, skill_text};

/// Compared as texts, the one would begin with the other.
#[test]
fn a_folder_whose_name_begins_like_the_root_is_outside() {
    let scratch = Scratch::new();
    let beside = scratch.0.join("skills-of-others");
    fs::create_dir(&beside).unwrap();
    fs::write(beside.join("SKILL.md"), skill_text("skills-of-others")).unwrap();
    scratch.skill("a");
    scratch
        .link("a/near", "../../skills-of-others/SKILL.md")
        .check_refused("a/near", "leads out");
    fs::remove_file(scratch.root().join("a/near")).unwrap();
    let skills = scratch.open();
    for uri in [
        "skill://a/../../skills-of-others/SKILL.md",
        "skill://../skills-of-others/SKILL.md",
        "skill://-of-others/SKILL.md",
    ] {
        assert!(skills.read(uri).is_none(), "{uri}");
    }
}

/// Between the look at a file and its reading, somebody puts a link in its place.
#[test]
fn a_file_that_becomes_a_link_while_it_is_read_is_not_followed() {
    let scratch = Scratch::new();
    let secret = scratch.0.join("secret");
    fs::write(&secret, "outside").unwrap();
    scratch.skill("a").write("a/x.md", "inside");
    let skills = scratch.open();
    let is_over = AtomicBool::new(false);
    let place = scratch.root().join("a/x.md");
    let spare = scratch.root().join(".spare");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                std::os::unix::fs::symlink(&secret, &spare).unwrap();
                fs::rename(&spare, &place).unwrap();
                fs::write(&spare, "inside").unwrap();
                fs::rename(&spare, &place).unwrap();
            }
        });
        let (mut served, mut refused) = (0, 0);
        while served < 500 || refused < 500 {
            match skills.reload() {
                Ok(_) => served += 1,
                Err(_) => refused += 1,
            }
            let read = skills.read("skill://a/x.md").unwrap();
            let text = serde_json::to_string(&read.contents).unwrap();
            if !text.contains("inside") {
                is_over.store(true, Ordering::Relaxed);
                panic!("{text}");
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
