//! The gateway's side: listens on a socket, and answers who comes.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_hub::nearest;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Answers, Line, Request, place};
use crate::exit::Failure;
use crate::journal::Journal;

/// A socket of this gateway's own. It is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Desk {
    listener: UnixListener,
    path: PathBuf,
}

impl Desk {
    /// Makes the socket.
    ///
    /// # Errors
    /// When it cannot be made so that only the user can open it.
    pub(crate) fn open() -> io::Result<Self> {
        let path = place::own(&place::folder()?);
        // A process of the same number is long gone.
        let _ = fs::remove_file(&path);
        let desk = Self {
            listener: UnixListener::bind(&path)?,
            path,
        };
        place::close_to_others(&desk.path)?;
        Ok(desk)
    }

    /// Answers who comes, for ever.
    pub(crate) async fn run(&self, answers: Arc<impl Answers>) {
        let mut visits = JoinSet::new();
        loop {
            let stream = tokio::select! {
                Some(_) = visits.join_next() => continue,
                accepted = self.listener.accept(), if visits.len() < MOST_VISITS => accepted,
            };
            match stream {
                Ok((stream, _)) => {
                    let answers = Arc::clone(&answers);
                    visits.spawn(async move {
                        // Whoever leaves early is not missed.
                        let _ = visit(stream, &*answers).await;
                    });
                }
                // There are too many open files; some will be closed.
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

async fn visit(stream: UnixStream, answers: &impl Answers) -> io::Result<()> {
    let (read, write) = stream.into_split();
    let mut visitor = Visitor { write };
    let mut read = BufReader::new(read.take(LONGEST_REQUEST));
    let mut line = Vec::new();
    timeout(PATIENCE, read.read_until(b'\n', &mut line)).await??;
    let request: Request = match serde_json::from_slice(&line) {
        Ok(request) => request,
        Err(error) => {
            let failure = Failure::usage(format!("not understood: {error}"))
                .hint("the gateway may be of another version");
            return visitor.say(&Line::Error(failure)).await;
        }
    };
    let said = match request {
        Request::About => Ok(answers.about()),
        Request::Status => Ok(answers.status()),
        Request::Restart { server } => answers.restart(server).await,
        Request::Reload => answers.reload().await,
        Request::Logs {
            server,
            follow,
            last,
        } => {
            if let Some(failure) = unknown(answers, server.as_deref()) {
                return visitor.say(&Line::Error(failure)).await;
            }
            // Somebody who follows and goes says so by closing.
            let mut rest = [0; 1];
            return tokio::select! {
                told = tell(&mut visitor, answers.journal(), server.as_deref(), follow, last) => told,
                _ = read.read(&mut rest), if follow => Ok(()),
            };
        }
    };
    let line = match said {
        Ok(result) => Line::Result(result),
        Err(failure) => Line::Error(failure),
    };
    visitor.say(&line).await
}

/// Why there is nothing to tell of a server: there is none of this name, and there was none.
fn unknown(answers: &impl Answers, server: Option<&str>) -> Option<Failure> {
    let name = server?;
    let servers = answers.servers();
    let (entries, _) = answers.journal().since(0);
    let was_there = entries
        .iter()
        .any(|entry| entry.server.as_deref() == server);
    if was_there || servers.iter().any(|known| known == name) {
        return None;
    }
    let failure = Failure::usage(format!("the gateway has no server {name:?}"));
    let near = nearest(name, servers.iter().map(String::as_str));
    Some(match near.first() {
        Some(near) => failure.hint(format!("did you mean {near:?}?")),
        None => failure.hint("`switchboard status` shows the servers that it has"),
    })
}

/// Tells what was said, and what will be.
async fn tell(
    visitor: &mut Visitor,
    journal: &Journal,
    server: Option<&str>,
    follow: bool,
    last: Option<usize>,
) -> io::Result<()> {
    let mut number = 0;
    let mut last = last;
    loop {
        let (mut entries, next) = journal.since(number);
        entries.retain(|entry| server.is_none() || entry.server.as_deref() == server);
        let skipped = last
            .take()
            .map_or(0, |last| entries.len().saturating_sub(last));
        for entry in entries.iter().skip(skipped) {
            visitor.say(&Line::Entry(entry.json())).await?;
        }
        if !follow {
            return Ok(());
        }
        number = next;
        journal.reached(number).await;
    }
}

struct Visitor {
    write: tokio::net::unix::OwnedWriteHalf,
}

impl Visitor {
    async fn say(&mut self, line: &Line) -> io::Result<()> {
        let text = format!("{}\n", line.json());
        timeout(PATIENCE, self.write.write_all(text.as_bytes())).await?
    }
}

const MOST_VISITS: usize = 32;
const LONGEST_REQUEST: u64 = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::args::Global;
    use crate::json::Json;
    use crate::output::Output;

    /// Somebody who has nothing to tell.
    struct Nobody(Journal);

    impl Answers for Nobody {
        fn about(&self) -> Json {
            "nobody".into()
        }

        fn status(&self) -> Json {
            "none".into()
        }

        fn servers(&self) -> Vec<String> {
            Vec::new()
        }

        fn journal(&self) -> &Journal {
            &self.0
        }

        async fn restart(&self, _: String) -> Result<Json, Failure> {
            Ok(self.status())
        }

        async fn reload(&self) -> Result<Json, Failure> {
            Ok(self.status())
        }
    }

    fn nobody() -> Nobody {
        let global = Global {
            quiet: true,
            ..Global::default()
        };
        Nobody(Journal::new(Arc::new(Output::new(&global))))
    }

    async fn ask(mut stream: UnixStream, request: &str) -> String {
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).await.unwrap();
        answer
    }

    /// A socket for one test.
    fn desk(name: &str) -> Desk {
        let name = format!("switchboard-desk-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        Desk { listener, path }
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_are_listened_to_at_once_and_others_wait() {
        let desk = desk("visits");
        let path = desk.path.clone();
        let running = tokio::spawn(async move { desk.run(Arc::new(nobody())).await });
        let mut silent = Vec::new();
        for _ in 0..MOST_VISITS {
            silent.push(UnixStream::connect(&path).await.unwrap());
        }
        let last = UnixStream::connect(&path).await.unwrap();
        let mut asking = std::pin::pin!(ask(last, "{\"do\":\"about\"}\n"));
        timeout(PATIENCE / 10, &mut asking).await.unwrap_err();
        silent.pop();
        let answer = timeout(PATIENCE / 10, asking).await.unwrap();
        assert!(answer.contains("nobody"), "{answer}");
        running.abort();
        let _ = running.await;
        assert!(!path.exists());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_says_nothing_or_reads_nothing_is_left() {
        let began = Instant::now();
        let (_near, far) = UnixStream::pair().unwrap();
        let error = visit(far, &nobody()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed(), PATIENCE);

        let (_near, far) = UnixStream::pair().unwrap();
        let (_, write) = far.into_split();
        let mut visitor = Visitor { write };
        let line = Line::Entry("x".repeat(64 << 10).as_str().into());
        let mut last = Instant::now();
        while visitor.say(&line).await.is_ok() {
            last = Instant::now();
        }
        assert_eq!(last.elapsed(), PATIENCE);
    }

    #[tokio::test]
    async fn a_request_that_is_too_long_is_read_no_further() {
        let check = async |length: usize, expected: &str| {
            let request = format!("{{\"do\":\"about\",\"x\":\"{}\"}}\n", "x".repeat(length));
            let (near, far) = UnixStream::pair().unwrap();
            let nobody = nobody();
            let (answer, _) = tokio::join!(ask(near, &request), visit(far, &nobody));
            assert!(answer.contains(expected), "{length}: {answer}");
        };
        let most = usize::try_from(LONGEST_REQUEST).unwrap();
        check(most / 2, "nobody").await;
        check(most, "not understood").await;
    }
}
