//! The visitor's side: finds the gateways that run, and asks one.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::{Line, Request, place};
use crate::exit::{Exit, Failure};
use crate::json::Json;

/// A gateway that runs.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    socket: PathBuf,
    /// What it says of itself.
    about: Json,
}

/// All gateways of this user that run; the one at this socket, if one is named.
///
/// # Errors
/// When there is none.
pub(crate) async fn find_all(
    socket: Option<&Path>,
    config: Option<&Path>,
) -> Result<Vec<Visit>, Failure> {
    if let Some(socket) = socket {
        return match Visit::to(socket).await {
            Ok(visit) => Ok(vec![visit]),
            Err(error) => {
                let reason = format!("no gateway answers at {}: {error}", socket.display());
                Err(Failure::new(Exit::Unreachable, reason))
            }
        };
    }
    let mut found = Vec::new();
    for socket in place::sockets() {
        match Visit::to(&socket).await {
            Ok(visit) => found.push(visit),
            // Nobody listens: it was killed before it could tidy up.
            Err(error)
                if error.kind() == io::ErrorKind::ConnectionRefused
                    && place::is_left_over(&socket) =>
            {
                let _ = std::fs::remove_file(&socket);
            }
            Err(_) => {}
        }
    }
    if let Some(config) = config {
        let wanted = std::fs::canonicalize(config).unwrap_or_else(|_| config.to_owned());
        found.retain(|visit| {
            visit
                .text("config")
                .is_some_and(|file| Path::new(file) == wanted)
        });
    }
    if found.is_empty() {
        let of = config.map(|file| format!(" with {}", file.display()));
        let reason = format!("no gateway{} is running", of.unwrap_or_default());
        return Err(Failure::new(Exit::Unreachable, reason)
            .hint("`switchboard serve --http 8000` starts one"));
    }
    Ok(found)
}

/// The one gateway that is meant.
///
/// # Errors
/// When there is none, or which one is not clear.
pub(crate) async fn choose(socket: Option<&Path>, config: Option<&Path>) -> Result<Visit, Failure> {
    let mut found = find_all(socket, config).await?;
    match (found.pop(), found.as_slice()) {
        (Some(visit), []) => Ok(visit),
        (last, others) => {
            let mut message = "several gateways are running:".to_owned();
            for visit in others.iter().chain(&last) {
                message.push_str(&format!("\n  {}", visit.words()));
            }
            Err(Failure::usage(message).hint("say which one with --socket or --config"))
        }
    }
}

impl Visit {
    async fn to(socket: &Path) -> io::Result<Self> {
        let mut visit = Self {
            socket: socket.to_owned(),
            about: Json::Null,
        };
        let mut about = None;
        let asked = visit.each(&Request::About, |line| {
            about.get_or_insert(line);
            Ok(())
        });
        timeout(PATIENCE, asked).await??;
        match about {
            Some(Line::Result(about)) => {
                visit.about = about;
                Ok(visit)
            }
            _ => Err(io::Error::other("it is no gateway, or of another version")),
        }
    }

    /// Asks for one thing.
    ///
    /// # Errors
    /// When it is not done.
    pub(crate) async fn ask(&self, request: &Request) -> Result<Json, Failure> {
        let mut answer = None;
        let asked = self.each(request, |line| {
            answer.get_or_insert(line);
            Ok(())
        });
        asked.await.map_err(|error| self.gone(&error))?;
        match answer {
            Some(Line::Result(result)) => Ok(result),
            Some(Line::Error(failure)) => Err(failure),
            _ => Err(self.gone(&io::ErrorKind::UnexpectedEof.into())),
        }
    }

    /// Asks for many things, each told as it comes.
    ///
    /// # Errors
    /// When it is not done, or `tell` says so.
    pub(crate) async fn follow(
        &self,
        request: &Request,
        mut tell: impl FnMut(Json) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut failure = None;
        let mut broken = None;
        let asked = self.each(request, |line| match line {
            Line::Entry(entry) | Line::Result(entry) => tell(entry).inspect_err(|error| {
                broken = Some(error.kind());
            }),
            Line::Error(error) => {
                failure = Some(error);
                Ok(())
            }
        });
        let asked = asked.await;
        match (failure, broken, asked) {
            (Some(failure), ..) => Err(failure),
            // Whoever read us has seen enough.
            (None, Some(io::ErrorKind::BrokenPipe), _) | (None, None, Ok(())) => Ok(()),
            (None, Some(_), Err(error)) => {
                Err(Failure::unexpected(format!("standard output: {error}")))
            }
            (None, _, Err(error)) => Err(self.gone(&error)),
            (None, Some(_), Ok(())) => Ok(()),
        }
    }

    /// Where it is asked.
    pub(crate) fn socket(&self) -> String {
        self.socket.display().to_string()
    }

    /// Which one it is, in words.
    fn words(&self) -> String {
        let text = |name: &str| self.text(name).unwrap_or("-");
        format!(
            "{}: {}, {}",
            self.socket.display(),
            text("config"),
            text("address")
        )
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.about.get(name).and_then(Json::as_str)
    }

    fn gone(&self, error: &io::Error) -> Failure {
        let reason = format!("the gateway at {}: {error}", self.socket.display());
        Failure::new(Exit::Unreachable, reason)
    }

    async fn each(
        &self,
        request: &Request,
        mut take: impl FnMut(Line) -> io::Result<()>,
    ) -> io::Result<()> {
        let stream = UnixStream::connect(&self.socket).await?;
        let (read, mut write) = stream.into_split();
        let text = serde_json::to_string(request).map_err(io::Error::other)?;
        write.write_all(format!("{text}\n").as_bytes()).await?;
        let mut lines = BufReader::new(read);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).await? > 0 {
            let read = Line::read(&line);
            take(read.ok_or_else(|| io::Error::other("an answer that is not understood"))?)?;
            line.clear();
        }
        Ok(())
    }
}

const PATIENCE: Duration = Duration::from_secs(3);
