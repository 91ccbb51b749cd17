//! Where a token comes from.
//!
//! Reading is bounded in bytes and time, and no error says what was read.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::future::{Future, poll_fn};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Command;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use zeroize::Zeroizing;

use crate::error::AuthError;
use crate::secret::Secret;

/// Where a token comes from.
#[derive(Clone)]
pub struct TokenSource(Kind);

#[derive(Clone)]
enum Kind {
    Fixed(Secret),
    Environment(OsString),
    File(PathBuf),
    Command {
        program: OsString,
        arguments: Vec<OsString>,
    },
}

impl TokenSource {
    /// This token.
    pub fn fixed(token: impl Into<Secret>) -> Self {
        Self(Kind::Fixed(token.into()))
    }

    /// The value of an environment variable.
    pub fn environment(name: impl Into<OsString>) -> Self {
        Self(Kind::Environment(name.into()))
    }

    /// The first line of a file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Kind::File(path.into()))
    }

    /// The first line that a program prints. No shell starts it, it has no input, what it says
    /// about errors is not seen, and after 30 seconds it is ended.
    pub fn command<A: Into<OsString>>(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        Self(Kind::Command {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
        })
    }

    /// Can it never give another?
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self.0, Kind::Fixed(_))
    }

    /// The token as it is now.
    ///
    /// # Errors
    /// When there is none, with the reason.
    pub(crate) async fn read(&self) -> Result<Secret, AuthError> {
        let bytes = match &self.0 {
            Kind::Fixed(token) => Zeroizing::new(token.reveal().as_bytes().to_vec()),
            Kind::Environment(name) => {
                let value = env::var_os(name).ok_or_else(|| self.error("it is not set"))?;
                Zeroizing::new(value.into_encoded_bytes())
            }
            Kind::File(path) => {
                let path = path.clone();
                let reading = spawn_blocking(move || read_file(&path));
                let read = within(FOR_FILE, "it cannot be read", async {
                    let read = reading.await;
                    read.unwrap_or_else(|_| Err("reading it was interrupted".to_owned()))
                });
                read.await.map_err(|reason| self.error(reason))?
            }
            Kind::Command { program, arguments } => {
                let printed = run(program, arguments);
                let printed = within(FOR_COMMAND, "it does not end", printed);
                printed.await.map_err(|reason| self.error(reason))?
            }
        };
        first_line(&bytes).map_err(|reason| self.error(reason))
    }

    pub(crate) fn error(&self, reason: impl Into<String>) -> AuthError {
        AuthError::Source {
            what: self.to_string(),
            reason: reason.into(),
        }
    }
}

/// Arguments of a program may be secret.
impl fmt::Display for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Fixed(_) => f.write_str("the settings"),
            Kind::Environment(name) => write!(f, "the environment variable {name:?}"),
            Kind::File(path) => write!(f, "the file {path:?}"),
            Kind::Command { program, .. } => write!(f, "the output of {program:?}"),
        }
    }
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

type Bytes = Zeroizing<Vec<u8>>;

async fn within<F>(limit: Duration, otherwise: &str, reading: F) -> Result<Bytes, String>
where
    F: Future<Output = Result<Bytes, String>>,
{
    let outcome = timeout(limit, reading).await;
    outcome.unwrap_or_else(|_| Err(format!("{otherwise} within {} s", limit.as_secs())))
}

fn read_file(path: &Path) -> Result<Bytes, String> {
    let reason = |error: io::Error| error.to_string();
    // A pipe would be waited for, and a device has no end.
    if !path.metadata().map_err(reason)?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(USUAL));
    let file = File::open(path).map_err(reason)?;
    let mut file = file.take(LARGEST as u64 + 1);
    file.read_to_end(&mut bytes).map_err(reason)?;
    Ok(bytes)
}

/// The first line that a program prints, if it ends well.
async fn run(program: &OsString, arguments: &[OsString]) -> Result<Bytes, String> {
    let reason = |error: io::Error| error.to_string();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(reason)?;
    let Some(stdout) = child.stdout.take() else {
        return Err("it has no output".to_owned());
    };
    let mut stdout = BufReader::new(stdout);
    let line = read_line(&mut stdout).await.map_err(reason)?;
    if line.len() > LARGEST {
        return Err(TOO_LARGE.to_owned());
    }
    // What else it prints must not hold it up, and whoever else holds its output must not hold
    // us up.
    let mut rest = stdout.take(LARGEST_REST);
    let mut sink = tokio::io::sink();
    let mut skipping = pin!(tokio::io::copy(&mut rest, &mut sink));
    let mut has_skipped = false;
    let mut waiting = pin!(child.wait());
    let status = poll_fn(|cx| {
        has_skipped = has_skipped || skipping.as_mut().poll(cx).is_ready();
        waiting.as_mut().poll(cx)
    });
    let status = status.await.map_err(reason)?;
    match status.success() {
        true => Ok(line),
        false => Err(format!("it ended with {status}")),
    }
}

/// Up to the end of a line, or more than is allowed.
async fn read_line<R: AsyncBufRead + Unpin>(reader: &mut R) -> io::Result<Bytes> {
    let mut line = Zeroizing::new(Vec::with_capacity(USUAL));
    let mut reader = reader.take(LARGEST as u64 + 1);
    reader.read_until(b'\n', &mut line).await?;
    Ok(line)
}

/// The token in what was read.
fn first_line(bytes: &[u8]) -> Result<Secret, &'static str> {
    if bytes.len() > LARGEST {
        return Err(TOO_LARGE);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not text")?;
    // Editors of Windows put a mark in front.
    let text = text.trim_start_matches('\u{feff}');
    let line = text.lines().next().unwrap_or_default().trim();
    match line.is_empty() {
        true => Err("it is empty"),
        false => Ok(Secret::new(line)),
    }
}

const TOO_LARGE: &str = "it is longer than 64 KiB";
// Tokens that list a person's groups have 10 KiB; no server takes a header of this size.
const LARGEST: usize = 64 * 1024;
// What else a program may print.
const LARGEST_REST: u64 = 1024 * 1024;
// Enough for a token not to be copied while it is read.
const USUAL: usize = 16 * 1024;
const FOR_FILE: Duration = Duration::from_secs(10);
// A program may ask a vault, and that a person.
const FOR_COMMAND: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_token() {
        let read = |text: &str| first_line(text.as_bytes()).map(|token| token.reveal().to_owned());
        for text in ["t0ken", "t0ken\n", "  t0ken \r\nmore\n", "\u{feff}t0ken"] {
            assert_eq!(read(text).unwrap(), "t0ken", "{text:?}");
        }
        for text in ["", "\n", "  \nt0ken"] {
            assert_eq!(read(text).unwrap_err(), "it is empty", "{text:?}");
        }
        assert!(first_line(&[0xff, 0xfe]).is_err());
        assert!(read(&"a".repeat(LARGEST)).is_ok());
        assert_eq!(read(&"a".repeat(LARGEST + 1)).unwrap_err(), TOO_LARGE);
    }
}
