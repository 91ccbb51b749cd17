//! A token, its server, and where it comes from.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use http::Request;
use switchboard_transport::http::client::{ClientSettings, HttpClient};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use super::*;

const URL: &str = "https://mcp.example/mcp";

fn server() -> Place {
    Place::parse(URL).unwrap()
}

fn fixed(token: &str) -> Bearer {
    Bearer::new(&server(), TokenSource::fixed(token))
}

fn of_file(path: &Path) -> Bearer {
    Bearer::new(&server(), TokenSource::file(path))
}

fn of_command<const N: usize>(program: &str, arguments: [&str; N]) -> Bearer {
    Bearer::new(&server(), TokenSource::command(program, arguments))
}

/// The headers that a request to a URL gets.
async fn headers(bearer: &Bearer, url: &str) -> Result<HashMap<String, String>, CredentialsError> {
    let (mut head, ()) = Request::get(url).body(()).unwrap().into_parts();
    bearer.authorize(&mut head).await?;
    let texts = head.headers.iter().map(|(name, value)| {
        assert!(value.is_sensitive());
        (name.to_string(), value.to_str().unwrap().to_owned())
    });
    Ok(texts.collect())
}

/// What a request to the server is authorized with.
async fn sent(bearer: &Bearer) -> String {
    let mut headers = headers(bearer, URL).await.unwrap();
    headers.remove("authorization").unwrap()
}

async fn error(bearer: &Bearer) -> String {
    let error = headers(bearer, URL).await;
    error.unwrap_err().to_string()
}

/// The refusal of a request that was sent with this.
fn refusal(url: &str, status: StatusCode, sent: Option<&str>, attempt: u32) -> Refusal {
    let sent = sent.map(|text| HeaderValue::from_str(text).unwrap());
    let uri = url.parse().unwrap();
    Refusal::new(uri, status, http::HeaderMap::new(), sent, attempt)
}

/// Is there another token after what was sent was refused?
async fn is_renewed(bearer: &Bearer, sent: &str) -> bool {
    let url = URL;
    let refusal = refusal(url, StatusCode::UNAUTHORIZED, Some(sent), 1);
    bearer.refused(&refusal).await.unwrap()
}

/// A file that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("switchboard-bearer-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn holding(text: &str) -> Self {
        let scratch = Self::new();
        fs::write(&scratch.0, text).unwrap();
        scratch
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[tokio::test]
async fn a_token_is_sent_to_its_server_and_to_nobody_else() {
    let bearer = fixed("t0ken");
    for url in [
        URL,
        "https://mcp.example:443/other?x=y",
        "https://MCP.example/",
    ] {
        let headers = headers(&bearer, url).await.unwrap();
        assert_eq!(headers["authorization"], "Bearer t0ken", "{url}");
    }
    for url in [
        "http://mcp.example/mcp",
        "https://mcp.example:8443/mcp",
        "https://mcp.example.evil.example/mcp",
        "https://other.example/mcp",
        "/mcp",
    ] {
        assert!(headers(&bearer, url).await.unwrap().is_empty(), "{url}");
    }
}

#[tokio::test]
async fn a_token_may_be_sent_as_it_is_in_another_header() {
    let bearer = fixed("t0ken").header(HeaderName::from_static("x-api-key"));
    let headers = headers(&bearer, URL).await.unwrap();
    assert_eq!(headers.len(), 1);
    assert_eq!(headers["x-api-key"], "t0ken");
    for value in ["Basic YTpi", "Bearer t0ken", "t0ken"] {
        let bearer = fixed(value).header(AUTHORIZATION);
        assert_eq!(sent(&bearer).await, value);
    }
}

#[tokio::test]
async fn a_token_that_was_copied_with_its_scheme_is_sent_with_one() {
    for text in ["t0ken", "Bearer t0ken", "bearer  t0ken "] {
        let bearer = fixed(text);
        assert_eq!(sent(&bearer).await, "Bearer t0ken", "{text}");
    }
}

#[tokio::test]
async fn a_header_of_the_caller_is_left_alone() {
    let bearer = fixed("t0ken").header(HeaderName::from_static("x-api-key"));
    let request = Request::get(URL).header("x-api-key", "own");
    let (mut head, ()) = request.body(()).unwrap().into_parts();
    bearer.authorize(&mut head).await.unwrap();
    assert_eq!(head.headers["x-api-key"], "own");
}

#[tokio::test]
async fn a_variable_is_read_when_it_is_needed() {
    // One that every process has.
    let bearer = Bearer::new(&server(), TokenSource::environment("PATH"));
    let path = std::env::var("PATH").unwrap();
    assert_eq!(sent(&bearer).await, format!("Bearer {path}"));
    assert!(!is_renewed(&bearer, &format!("Bearer {path}")).await);
    let bearer = Bearer::new(
        &server(),
        TokenSource::environment("SWITCHBOARD_NO_SUCH_VARIABLE"),
    );
    let error = error(&bearer).await;
    assert!(error.contains("SWITCHBOARD_NO_SUCH_VARIABLE"), "{error}");
    assert!(error.contains("it is not set"), "{error}");
}

#[tokio::test]
async fn a_file_is_read_again_after_a_refusal() {
    let file = Scratch::holding("one\n");
    let bearer = of_file(file.path());
    assert_eq!(sent(&bearer).await, "Bearer one");
    fs::write(file.path(), "two\n").unwrap();
    assert_eq!(sent(&bearer).await, "Bearer one");
    assert!(is_renewed(&bearer, "Bearer one").await);
    assert_eq!(sent(&bearer).await, "Bearer two");
    // Another request was on its way with the old one.
    assert!(is_renewed(&bearer, "Bearer one").await);
    assert!(!is_renewed(&bearer, "Bearer two").await);
}

#[tokio::test]
async fn a_file_that_says_the_same_is_no_reason_to_try_again() {
    let file = Scratch::holding("one");
    let bearer = of_file(file.path());
    assert_eq!(sent(&bearer).await, "Bearer one");
    assert!(!is_renewed(&bearer, "Bearer one").await);
    fs::remove_file(file.path()).unwrap();
    let url = URL;
    let refusal = refusal(url, StatusCode::UNAUTHORIZED, Some("Bearer one"), 1);
    bearer.refused(&refusal).await.unwrap_err();
    // What it had is still there.
    assert_eq!(sent(&bearer).await, "Bearer one");
}

#[tokio::test(start_paused = true)]
async fn in_another_header_a_refusal_just_after_a_change_is_no_end() {
    let file = Scratch::holding("one");
    let bearer = of_file(file.path());
    let bearer = bearer.header(HeaderName::from_static("x-api-key"));
    let url = URL;
    let attempt = |number| refusal(url, StatusCode::UNAUTHORIZED, None, number);
    headers(&bearer, url).await.unwrap();
    assert!(!bearer.refused(&attempt(1)).await.unwrap());
    fs::write(file.path(), "two").unwrap();
    assert!(bearer.refused(&attempt(1)).await.unwrap());
    // Another request was on its way with the old one.
    assert!(bearer.refused(&attempt(1)).await.unwrap());
    // This one was sent again, with the new one.
    assert!(!bearer.refused(&attempt(2)).await.unwrap());
    tokio::time::advance(RECENT).await;
    assert!(!bearer.refused(&attempt(1)).await.unwrap());
    assert_eq!(headers(&bearer, url).await.unwrap()["x-api-key"], "two");
}

#[tokio::test]
async fn what_is_not_about_the_token_is_left_alone() {
    let file = Scratch::holding("one");
    let bearer = of_file(file.path());
    sent(&bearer).await;
    fs::write(file.path(), "two").unwrap();
    for (url, status) in [
        (URL, StatusCode::FORBIDDEN),
        ("https://other.example/mcp", StatusCode::UNAUTHORIZED),
    ] {
        let refusal = refusal(url, status, Some("Bearer one"), 1);
        assert!(!bearer.refused(&refusal).await.unwrap());
    }
    assert_eq!(sent(&bearer).await, "Bearer one");
    assert!(!is_renewed(&fixed("t0ken"), "Bearer t0ken").await);
}

#[tokio::test]
async fn a_file_that_holds_no_token_is_named() {
    let folder = std::env::temp_dir();
    let large = Scratch::holding(&"a".repeat(70_000));
    let empty = Scratch::holding("\n");
    let missing = Scratch::new();
    let binary = Scratch::holding("s3cr\u{1}et");
    for (path, reason) in [
        (missing.path(), "(os error 2)"),
        (empty.path(), "it is empty"),
        (large.path(), "longer than 64 KiB"),
        (binary.path(), "cannot stand in a header"),
        (&folder, "not a regular file"),
    ] {
        let error = error(&of_file(path)).await;
        assert!(error.contains(&format!("{path:?}")), "{error}");
        assert!(error.contains(reason), "{error}");
        assert!(!error.contains("s3cr"), "{error}");
    }
}

/// Answers one request after the other, each on its own connection. What they were authorized
/// with.
async fn serve(listener: TcpListener, answers: &[&str]) -> Vec<Option<String>> {
    let mut seen = Vec::new();
    for answer in answers {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut authorization = None;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(": ")
                && name.eq_ignore_ascii_case("authorization")
            {
                authorization = Some(value.to_owned());
            }
        }
        seen.push(authorization);
        let answer = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
    }
    seen
}

#[tokio::test]
async fn a_client_sends_again_with_the_token_that_is_there_now() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let file = Scratch::holding("one");
    let bearer = Bearer::new(&Place::parse(&url).unwrap(), TokenSource::file(file.path()));
    let mut settings = ClientSettings::default();
    settings.credentials = Some(Arc::new(bearer));
    let client = HttpClient::new(settings).unwrap();
    let answers = ["200 OK", "401 Unauthorized", "200 OK", "401 Unauthorized"];
    let serving = tokio::spawn(async move { serve(listener, &answers).await });
    let send = || client.send(Request::get(&url).body(bytes::Bytes::new()).unwrap());
    assert_eq!(send().await.unwrap().status, StatusCode::OK);
    fs::write(file.path(), "two").unwrap();
    assert_eq!(send().await.unwrap().status, StatusCode::OK);
    assert_eq!(send().await.unwrap().status, StatusCode::UNAUTHORIZED);
    let seen: Vec<String> = serving.await.unwrap().into_iter().flatten().collect();
    assert_eq!(
        seen,
        ["Bearer one", "Bearer one", "Bearer two", "Bearer two"]
    );
}

#[test]
fn nothing_prints_a_token() {
    let fixed = fixed("t0ken");
    let command = of_command("vault", ["--password", "t0ken"]);
    assert!(!format!("{fixed:?} {command:?}").contains("t0ken"));
    assert!(format!("{command:?}").contains("vault"));
}

#[cfg(unix)]
mod commands {
    use super::*;

    fn shell(script: &str) -> Bearer {
        of_command("/bin/sh", ["-c", script])
    }

    /// Has as many tasks do something at once: what each of them got.
    async fn all<F>(number: usize, begin: impl Fn() -> F) -> Vec<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let tasks: Vec<_> = (0..number).map(|_| tokio::spawn(begin())).collect();
        let mut outcomes = Vec::new();
        for task in tasks {
            outcomes.push(task.await.unwrap());
        }
        outcomes
    }

    #[tokio::test]
    async fn a_program_prints_the_token() {
        for script in [
            "echo t0ken",
            "printf t0ken",
            "echo t0ken; echo more; echo loud >&2",
            // More than a pipe holds.
            "echo t0ken; head -c 300000 /dev/zero",
        ] {
            assert_eq!(sent(&shell(script)).await, "Bearer t0ken", "{script}");
        }
    }

    #[tokio::test]
    async fn a_program_is_no_shell_and_gets_its_arguments_as_they_are() {
        let bearer = of_command("printf", ["%s", "$(id);`id`"]);
        assert_eq!(sent(&bearer).await, "Bearer $(id);`id`");
    }

    #[tokio::test]
    async fn a_program_that_prints_no_token_is_named_with_the_reason() {
        for (script, reason) in [
            ("true", "it is empty"),
            ("echo; echo t0ken", "it is empty"),
            ("echo t0ken; exit 3", "exit status: 3"),
            ("echo t0ken >&2; exit 1", "exit status: 1"),
            ("kill -9 $$", "signal: 9"),
            ("head -c 70000 /dev/zero | tr '\\0' a", "longer than 64 KiB"),
            ("printf 's3cr\\001et'", "cannot stand in a header"),
            ("printf '\\377'", "it is not text"),
        ] {
            let error = error(&shell(script)).await;
            assert!(error.contains("\"/bin/sh\""), "{error}");
            assert!(error.contains(reason), "{script}: {error}");
            assert!(
                !error.contains("s3cr") && !error.contains("t0ken"),
                "{error}"
            );
        }
        let missing = of_command("/nowhere/vault", [""; 0]);
        let error = error(&missing).await;
        assert!(error.contains("/nowhere/vault"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_that_does_not_end_is_ended() {
        for script in ["exec sleep 1000", "echo t0ken; exec sleep 1000"] {
            let error = error(&shell(script)).await;
            assert!(error.contains("it does not end within 30 s"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_program_runs_once_for_all_who_ask_and_once_for_all_who_were_refused() {
        let runs = Scratch::holding("");
        let script = format!("echo run >> {0}; wc -l < {0}", runs.path().display());
        let bearer = Arc::new(shell(&script));
        let asking = all(8, || {
            let bearer = Arc::clone(&bearer);
            async move { sent(&bearer).await }
        });
        assert_eq!(asking.await, ["Bearer 1"; 8]);
        let refused = all(8, || {
            let bearer = Arc::clone(&bearer);
            async move { is_renewed(&bearer, "Bearer 1").await }
        });
        assert_eq!(refused.await, [true; 8]);
        assert_eq!(sent(&bearer).await, "Bearer 2");
    }

    #[tokio::test]
    async fn a_program_that_says_the_same_runs_once_for_all_who_were_refused() {
        let runs = Scratch::holding("");
        let bearer = shell(&format!("echo run >> {}; echo 1", runs.path().display()));
        let bearer = Arc::new(bearer);
        assert_eq!(sent(&bearer).await, "Bearer 1");
        let refused = all(8, || {
            let bearer = Arc::clone(&bearer);
            async move { is_renewed(&bearer, "Bearer 1").await }
        });
        assert_eq!(refused.await, [false; 8]);
        assert_eq!(fs::read_to_string(runs.path()).unwrap(), "run\nrun\n");
    }

    #[tokio::test]
    async fn a_program_that_fails_runs_once_for_all_who_waited() {
        let runs = Scratch::holding("");
        let file = Scratch::holding("exit 1");
        let script = format!(
            "echo run >> {}; . {}",
            runs.path().display(),
            file.path().display()
        );
        let bearer = Arc::new(shell(&script));
        let asking = all(8, || {
            let bearer = Arc::clone(&bearer);
            async move { error(&bearer).await }
        });
        for error in asking.await {
            assert!(error.contains("exit status: 1"), "{error}");
        }
        assert_eq!(fs::read_to_string(runs.path()).unwrap(), "run\n");
        // Who comes later tries again; who is refused then shares the next failure.
        fs::write(file.path(), "echo 1").unwrap();
        assert_eq!(sent(&bearer).await, "Bearer 1");
        fs::write(file.path(), "exit 2").unwrap();
        let refused = all(8, || {
            let bearer = Arc::clone(&bearer);
            async move {
                let refusal = refusal(URL, StatusCode::UNAUTHORIZED, Some("Bearer 1"), 1);
                bearer.refused(&refusal).await.unwrap_err().to_string()
            }
        });
        for error in refused.await {
            assert!(error.contains("exit status: 2"), "{error}");
        }
        assert_eq!(fs::read_to_string(runs.path()).unwrap(), "run\nrun\nrun\n");
    }

    #[tokio::test]
    async fn whoever_gives_up_asking_leaves_the_turn_to_the_next() {
        let bearer = shell("echo t0ken");
        let (mut head, ()) = Request::get(URL).body(()).unwrap().into_parts();
        let mut asking = bearer.authorize(&mut head);
        let once = std::future::poll_fn(|cx| std::task::Poll::Ready(asking.as_mut().poll(cx)));
        assert!(once.await.is_pending());
        drop(asking);
        assert_eq!(sent(&bearer).await, "Bearer t0ken");
    }
}
