//! A person, a browser, and everything else that happens to a port of this machine.

use std::future::ready;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, yield_now};

use super::*;
use crate::interaction::visit::{MOST_LINES, PATIENCE};
use crate::scope::Scopes;

const ANSWER: &str = "code=c0de&state=s1";

fn page() -> LoginPage {
    let place = |text| Place::parse(text).unwrap();
    LoginPage::new(
        place("https://login.example/authorize?client_id=a&state=s1"),
        place("https://mcp.example/mcp"),
        "https://login.example",
        Scopes::default(),
    )
}

/// Tells somebody, and opens nothing.
fn quiet() -> Browser {
    Browser::new().announce(|_| {}).without_browser()
}

/// A login that has begun: where the browser is to come back to, and what will come of it.
async fn begin(browser: &Browser) -> (String, JoinHandle<Result<Secret, AuthError>>) {
    let mut visit = browser.prepare(&[]).await.unwrap();
    let redirect_uri = visit.redirect_uri().to_owned();
    let going = tokio::spawn(async move { visit.go(&page()).await });
    (redirect_uri, going)
}

async fn prepare(browser: &Browser, known: &[&str]) -> Result<String, AuthError> {
    let known: Vec<String> = known.iter().map(|text| (*text).to_owned()).collect();
    let visit = browser.prepare(&known).await?;
    Ok(visit.redirect_uri().to_owned())
}

/// A port that was let go may be held for a moment by a program that another test starts.
async fn check_place(browser: &Browser, known: &[&str], expected: &str) {
    for _ in 0..10_000 {
        if prepare(browser, known)
            .await
            .is_ok_and(|found| found == expected)
        {
            return;
        }
        yield_now().await;
    }
    panic!("{expected} is free and not used");
}

/// What a browser does at this address. The answer as a text.
async fn get(url: &str) -> String {
    let place = Place::parse(url).unwrap();
    let authority = place.uri().authority().unwrap().as_str();
    let target = place.uri().path_and_query().unwrap().as_str();
    get_as(authority, target, authority).await
}

async fn get_as(authority: &str, target: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(authority).await.unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn authority(redirect_uri: &str) -> String {
    let place = Place::parse(redirect_uri).unwrap();
    place.uri().authority().unwrap().to_string()
}

/// A line that is pasted at once.
fn line(text: &str) -> Asking<'static, Option<Secret>> {
    Box::pin(ready(Ok(Some(Secret::new(text)))))
}

#[tokio::test]
async fn a_browser_comes_back_and_is_told_so() {
    let (redirect_uri, going) = begin(&quiet()).await;
    assert!(redirect_uri.starts_with("http://127.0.0.1:"));
    assert!(redirect_uri.ends_with("/callback"));
    let answer = get(&format!("{redirect_uri}?{ANSWER}")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.contains("You can close this window"));
    assert_eq!(going.await.unwrap().unwrap().reveal(), ANSWER);
}

#[tokio::test]
async fn what_else_comes_to_the_port_does_not_disturb_the_login() {
    let (redirect_uri, going) = begin(&quiet()).await;
    let authority = authority(&redirect_uri);
    for target in [
        "/favicon.ico",
        "/callback",
        "/callback?error=access_denied",
        "/callback?code=evil&state=guess",
    ] {
        let answer = get_as(&authority, target, &authority).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    let target = format!("/callback?{ANSWER}");
    let answer = get_as(&authority, &target, "evil.example").await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    // Connected, and gone.
    drop(TcpStream::connect(&authority).await.unwrap());
    assert!(!going.is_finished());
    get_as(&authority, &target, &authority).await;
    assert_eq!(going.await.unwrap().unwrap().reveal(), ANSWER);
}

#[tokio::test]
async fn silent_connections_do_not_keep_the_browser_out() {
    let (redirect_uri, going) = begin(&quiet()).await;
    let authority = authority(&redirect_uri);
    let mut silent = Vec::new();
    for number in 0..150 {
        let mut stream = TcpStream::connect(&authority).await.unwrap();
        if number % 2 == 0 {
            stream.write_all(b"GET /callback?code=").await.unwrap();
        }
        silent.push(stream);
    }
    let answer = get(&format!("{redirect_uri}?{ANSWER}")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert_eq!(going.await.unwrap().unwrap().reveal(), ANSWER);
    // Those that were there first were let go before.
    let mut end = Vec::new();
    assert_eq!(silent[1].read_to_end(&mut end).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn a_pasted_address_counts_before_the_browser_comes() {
    let browser = quiet().paste(|| line(&format!("http://127.0.0.1:1/callback?{ANSWER}")));
    let (_, going) = begin(&browser).await;
    assert_eq!(going.await.unwrap().unwrap().reveal(), ANSWER);
}

#[tokio::test]
async fn a_browser_that_comes_ends_the_asking_for_a_line() {
    let (asked, mut is_asked) = mpsc::channel(1);
    let browser = quiet().paste(move || {
        let (held, is_dropped) = oneshot::channel::<()>();
        asked.try_send(is_dropped).unwrap();
        Box::pin(async move {
            let _held = held;
            pending().await
        })
    });
    let (redirect_uri, going) = begin(&browser).await;
    let is_dropped = is_asked.recv().await.unwrap();
    get(&format!("{redirect_uri}?{ANSWER}")).await;
    assert_eq!(going.await.unwrap().unwrap().reveal(), ANSWER);
    assert!(is_dropped.await.is_err());
}

#[tokio::test]
async fn a_line_that_is_of_no_use_is_asked_for_again() {
    let lines = Mutex::new(vec![
        format!("?{ANSWER}"),
        "https://login.example/authorize?client_id=a&state=s1".to_owned(),
        "http://127.0.0.1:1/callback?code=c0de&state=yesterday".to_owned(),
        "c0de".to_owned(),
        String::new(),
    ]);
    let reasons = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&reasons);
    let browser = quiet()
        .paste(move || line(&lines.lock().unwrap().pop().unwrap()))
        .explain(move |reason| heard.lock().unwrap().push(reason));
    let (_, going) = begin(&browser).await;
    assert_eq!(going.await.unwrap().unwrap().reveal(), ANSWER);
    let reasons = reasons.lock().unwrap();
    assert_eq!(reasons.len(), 4, "{reasons:?}");
    assert!(reasons[2].contains("another login"));
}

#[tokio::test]
async fn the_browser_may_come_when_nothing_more_is_pasted() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let none = quiet().paste(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        Box::pin(ready(Ok(None)))
    });
    let counter = Arc::clone(&asked);
    let noise = quiet().paste(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        line("noise")
    });
    for (browser, times) in [(none, 1), (noise, MOST_LINES)] {
        asked.store(0, Ordering::Relaxed);
        let (redirect_uri, going) = begin(&browser).await;
        while asked.load(Ordering::Relaxed) < times {
            yield_now().await;
        }
        get(&format!("{redirect_uri}?{ANSWER}")).await;
        assert_eq!(going.await.unwrap().unwrap().reveal(), ANSWER);
        assert_eq!(asked.load(Ordering::Relaxed), times);
    }
}

#[tokio::test]
async fn a_person_can_give_up() {
    let browser = quiet().paste(|| {
        let reason = "interrupted".to_owned();
        Box::pin(ready(Err(AuthError::LoginAborted { reason })))
    });
    let (_, going) = begin(&browser).await;
    let error = going.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the login was given up: interrupted");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_waited_for_forever() {
    let began = tokio::time::Instant::now();
    let (_, going) = begin(&quiet()).await;
    let error = going.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "nobody logged in within 300 s");
    assert_eq!(began.elapsed(), PATIENCE);
    let (_, going) = begin(&quiet().timeout(Duration::from_secs(7))).await;
    let error = going.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "nobody logged in within 7 s");
}

#[tokio::test]
async fn a_known_place_is_used_again_to_the_letter_if_its_port_is_free() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let taken = format!("http://127.0.0.1:{}/back", taken_port(&taken));
    let free = prepare(&quiet(), &["http://localhost/oauth/callback"]).await;
    let free = free.unwrap();
    assert!(free.starts_with("http://localhost:") && free.ends_with("/oauth/callback"));
    let known = ["https://app.example/callback", &taken, &free];
    check_place(&quiet(), &known, &free).await;
}

#[tokio::test]
async fn a_known_place_moves_to_another_port_if_its_own_is_taken() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let taken = format!("http://127.0.0.1:{}/back", taken_port(&listener));
    let moved = prepare(&quiet(), &[&taken]).await.unwrap();
    assert_ne!(moved, taken);
    assert!(moved.starts_with("http://127.0.0.1:") && moved.ends_with("/back"));
    // What cannot be listened at is not known.
    let usual = prepare(&quiet(), &["https://app.example/callback", "app:/x"]).await;
    assert!(usual.unwrap().ends_with("/callback"));
}

#[tokio::test]
async fn a_port_that_was_asked_for_is_used_or_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken_port(&listener);
    let browser = quiet().port(port);
    let error = prepare(&browser, &[]).await.unwrap_err().to_string();
    assert!(error.contains(&format!("port {port}")), "{error}");
    drop(listener);
    for (known, expected) in [
        (vec![], format!("http://127.0.0.1:{port}/callback")),
        (
            vec!["http://localhost:1/a", "http://localhost/b"],
            format!("http://localhost:{port}/b"),
        ),
        (
            vec!["http://localhost:1/a"],
            format!("http://localhost:{port}/a"),
        ),
    ] {
        check_place(&browser, &known, &expected).await;
    }
}

#[tokio::test]
async fn a_place_that_was_asked_for_is_used_or_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://127.0.0.1:{}/x", taken_port(&listener));
    let browser = quiet().redirect_uri(Place::parse(&url).unwrap());
    let error = prepare(&browser, &[]).await.unwrap_err().to_string();
    assert!(error.contains(&url), "{error}");
    drop(listener);
    let known = ["http://127.0.0.1:1/callback"];
    check_place(&browser, &known, &url).await;
}

fn taken_port(listener: &TcpListener) -> u16 {
    listener.local_addr().unwrap().port()
}

#[tokio::test]
async fn from_a_place_elsewhere_the_address_is_pasted() {
    let url = "https://app.example/done";
    let elsewhere = quiet().redirect_uri(Place::parse(url).unwrap());
    let error = prepare(&elsewhere, &[]).await.unwrap_err().to_string();
    assert!(error.contains(url) && error.contains("paste"), "{error}");
    let pasted = elsewhere.clone().paste(|| line(&format!("?{ANSWER}")));
    let (redirect_uri, going) = begin(&pasted).await;
    assert_eq!(redirect_uri, url);
    assert_eq!(going.await.unwrap().unwrap().reveal(), ANSWER);
    let silent = elsewhere.paste(|| Box::pin(ready(Ok(None))));
    let (_, going) = begin(&silent).await;
    let error = going.await.unwrap().unwrap_err();
    assert!(matches!(error, AuthError::LoginAborted { .. }), "{error}");
}

#[tokio::test]
async fn an_own_opener_gets_the_address_after_it_was_announced() {
    let (told, mut hears) = mpsc::unbounded_channel();
    let opened = told.clone();
    let browser = Browser::new()
        .announce(move |page| {
            told.send(format!("announced {}", page.url.as_str()))
                .unwrap()
        })
        .opener(move |place| {
            opened.send(format!("opened {}", place.as_str())).unwrap();
            Err(io::Error::other("no browser"))
        });
    let (redirect_uri, going) = begin(&browser).await;
    let url = page().url.as_str().to_owned();
    assert_eq!(hears.recv().await.unwrap(), format!("announced {url}"));
    assert_eq!(hears.recv().await.unwrap(), format!("opened {url}"));
    // That it could not be opened ends nothing: the address was announced.
    get(&format!("{redirect_uri}?{ANSWER}")).await;
    assert_eq!(going.await.unwrap().unwrap().reveal(), ANSWER);
}

#[tokio::test]
async fn where_nothing_is_opened_and_nothing_announced_nobody_is_waited_for() {
    let nowhere = Browser {
        opener: Opener::Fake(Surroundings::default()),
        ..Browser::new()
    };
    let broken = Browser::new().opener(|_| panic!("broken"));
    for browser in [nowhere, Browser::new().without_browser(), broken] {
        let (_, going) = begin(&browser).await;
        let error = going.await.unwrap().unwrap_err();
        assert!(error.to_string().contains("no browser"), "{error}");
    }
}

#[tokio::test]
async fn a_code_is_preferred_where_there_is_no_browser() {
    let code = DeviceCode {
        user_code: "ABCD-EFGH".to_owned(),
        page: page().url,
        complete_page: None,
        lifetime: PATIENCE,
        server: page().server,
    };
    let (told, mut hears) = mpsc::unbounded_channel();
    let shows = quiet().announce_code(move |code| told.send(code.user_code.clone()).unwrap());
    assert!(shows.prefers_code());
    assert!(!quiet().prefers_code());
    assert!(!shows.clone().opener(|_| Ok(())).prefers_code());
    shows.show_code(&code).await.unwrap();
    assert_eq!(hears.recv().await.unwrap(), "ABCD-EFGH");
    let error = quiet().show_code(&code).await.unwrap_err();
    assert!(matches!(error, AuthError::NoInteraction));
}

#[cfg(unix)]
mod programs {
    use std::path::{Path, PathBuf};

    use super::*;

    /// A folder with a pipe, and a script that is the browser.
    struct Desk(PathBuf);

    impl Desk {
        fn new(name: &str, script: &str) -> Self {
            let name = format!("switchboard-desk-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            let made = std::process::Command::new("mkfifo")
                .arg(folder.join("pipe"))
                .status();
            assert!(made.unwrap().success());
            std::fs::write(folder.join("script"), script).unwrap();
            Self(folder)
        }

        fn pipe(&self) -> PathBuf {
            self.0.join("pipe")
        }

        /// The shell runs the script: a file that was just written may not be started while
        /// another test starts a program.
        fn browser(&self, first: &str) -> Browser {
            let script = self.0.join("script");
            let entry = format!("{first}/bin/sh {} %s", script.display());
            Browser {
                opener: Opener::Fake(Surroundings::with_browser(entry)),
                ..Browser::new()
            }
        }
    }

    impl Drop for Desk {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    async fn read(pipe: &Path) -> String {
        let pipe = pipe.to_owned();
        let read = spawn_blocking(move || std::fs::read_to_string(pipe));
        read.await.unwrap().unwrap()
    }

    const RECORD: &str = "printf '%s\\n' \"$#\" \"$@\" > \"${0%/*}/pipe\"\n";

    #[tokio::test]
    async fn a_browser_gets_the_address_as_its_only_argument() {
        let desk = Desk::new("arguments", RECORD);
        let (redirect_uri, going) = begin(&desk.browser("")).await;
        let said = read(&desk.pipe()).await;
        assert_eq!(said, format!("1\n{}\n", page().url.as_str()));
        get(&format!("{redirect_uri}?{ANSWER}")).await;
        assert_eq!(going.await.unwrap().unwrap().reveal(), ANSWER);
    }

    #[tokio::test]
    async fn a_browser_that_does_not_start_is_followed_by_the_next() {
        let desk = Desk::new("next", RECORD);
        let browser = desk.browser("/nowhere/browser:false:");
        let (redirect_uri, going) = begin(&browser).await;
        assert!(read(&desk.pipe()).await.starts_with("1\n"));
        get(&format!("{redirect_uri}?{ANSWER}")).await;
        assert_eq!(going.await.unwrap().unwrap().reveal(), ANSWER);
    }

    #[tokio::test]
    async fn an_address_is_never_read_by_a_shell() {
        let desk = Desk::new("shell", RECORD);
        let mut page = page();
        let marker = desk.0.join("marker");
        let url = format!(
            "https://login.example/?a=$(touch$IFS{0});touch${{IFS}}{0}&state=s1|'--x'",
            marker.display()
        );
        page.url = Place::parse(&url).unwrap();
        let mut visit = desk.browser("").prepare(&[]).await.unwrap();
        let going = tokio::spawn(async move { visit.go(&page).await.map(drop) });
        assert_eq!(read(&desk.pipe()).await, format!("1\n{url}\n"));
        assert!(!marker.exists());
        going.abort();
    }

    #[tokio::test]
    async fn a_browser_that_stays_in_front_is_not_waited_for() {
        // It ends when somebody has written into the pipe.
        let script = "echo $$ > \"${0%/*}/id\"; cat \"${0%/*}/pipe\"\n";
        let desk = Desk::new("front", script);
        let (redirect_uri, going) = begin(&desk.browser("")).await;
        get(&format!("{redirect_uri}?{ANSWER}")).await;
        assert_eq!(going.await.unwrap().unwrap().reveal(), ANSWER);
        let pipe = desk.pipe();
        let written = spawn_blocking(move || std::fs::write(pipe, "end"));
        written.await.unwrap().unwrap();
        // Nothing is left of it, although nobody waits for it any more.
        let id = std::fs::read_to_string(desk.0.join("id")).unwrap();
        let process = Path::new("/proc").join(id.trim());
        while process.exists() {
            yield_now().await;
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn an_interrupt_at_the_terminal_does_not_reach_the_browser() {
        let script = "cut -d ' ' -f 1,5 /proc/$$/stat > \"${0%/*}/pipe\"\n";
        let desk = Desk::new("group", script);
        let (_, going) = begin(&desk.browser("")).await;
        let said = read(&desk.pipe()).await;
        let (own, group) = said.trim().split_once(' ').unwrap();
        assert_eq!(own, group);
        going.abort();
    }
}
