//! A home and a project of their own, and the binary run in them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that goes away, with a home and a project in it.
#[derive(Debug)]
pub(crate) struct Place {
    root: PathBuf,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("switchboard-config-{}-{number}", std::process::id());
        let root = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("home")).unwrap();
        fs::create_dir_all(root.join("project")).unwrap();
        // As programs see it, links followed.
        let root = root.canonicalize().unwrap();
        Self { root }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        put(&self.project().join(path), text)
    }

    /// Writes a file of the user.
    pub(crate) fn write_home(&self, path: &str, text: &str) -> PathBuf {
        put(&self.home().join(path), text)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.project().join(path)).unwrap()
    }

    pub(crate) fn read_home(&self, path: &str) -> String {
        fs::read_to_string(self.home().join(path)).unwrap()
    }

    /// Runs the binary in the project. Paths of this place are shown as `…`.
    pub(crate) fn run(&self, words: &[&str]) -> Ended {
        self.run_with(words, "", &[])
    }

    pub(crate) fn run_with(
        &self,
        words: &[&str],
        input: &str,
        variables: &[(&str, &str)],
    ) -> Ended {
        let mut command = self.command(words);
        command.envs(variables.iter().copied());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // One that does not read is gone by then.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).unwrap();
            text.replace(&*self.root.to_string_lossy(), "…")
        };
        Ended {
            code: output.status.code().unwrap_or(-1),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
        let home = self.home();
        command
            .args(words)
            .current_dir(self.project())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            // Whether files are agreed to is another test's matter.
            .env("SWITCHBOARD_TRUST", "1")
            .env("HOME", &home)
            .env("USERPROFILE", &home)
            .env("APPDATA", home.join("AppData"))
            .env("LOCALAPPDATA", home.join("AppData/Local"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

impl Ended {
    /// It ended well and said this.
    #[track_caller]
    pub(crate) fn done(&self, out: &str) {
        assert_eq!((self.code, self.out.as_str()), (0, out), "{}", self.err);
    }

    /// It ended with this code and said why.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32, err: &str) {
        assert_eq!((self.code, self.err.as_str()), (code, err), "{}", self.out);
    }

    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

fn put(path: &Path, text: &str) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    path.to_owned()
}

/// A file that looks like one of some program.
pub(crate) fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    fs::read_to_string(folder.join(name)).unwrap()
}
