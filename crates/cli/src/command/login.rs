//! `switchboard login`: a person logs in to a server.
//!
//! The address is always shown, because the browser may be on another machine; then the address
//! that it ends at is pasted here.

use std::io::BufRead;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_auth::{Browser, DeviceCode, LoginPage, Scopes, Secret, Status};
use tokio::sync::{Mutex, mpsc};

use crate::app::App;
use crate::args::login::Login as Args;
use crate::exit::Failure;
use crate::logins::{Login, failure};
use crate::output::{Line, Outcome, Page};

pub(crate) async fn run(args: &Args, app: &App) -> Result<Outcome, Failure> {
    let login = Login::of(app, &args.server, &args.scope).await?;
    let server = login.server.clone();
    let (says, mut said) = mpsc::channel(MOST_WORDS);
    let builder = match login.is_machine {
        true => login.builder,
        false => {
            let browser = browser(args, app, says);
            login.builder.interaction(match login.callback_port {
                Some(port) => browser.port(port),
                None => browser,
            })
        }
    };
    let oauth = builder.build().map_err(|error| failure(&server, &error))?;
    let mut work = std::pin::pin!(oauth.login());
    let status = loop {
        tokio::select! {
            biased;
            Some(page) = said.recv() => app.output.ask(&page),
            done = &mut work => break done.map_err(|error| failure(&server, &error))?,
        }
    };
    let page = || {
        let line = Line::new().plain("logged in to ").strong(&server);
        Page::new().line(line.plain(format!(" at {}{}", status.issuer, until(&status))))
    };
    Ok(Outcome::of(app, page, || document(&server, &status)))
}

/// What a person is shown goes through one who may print.
fn browser(args: &Args, app: &App, says: mpsc::Sender<Page>) -> Browser {
    let tells = |page: Page, says: &mpsc::Sender<Page>| {
        // Nobody waits for more than a page or two.
        let _ = says.try_send(page);
    };
    let can_paste = !app.global.no_input && !args.device;
    let says_page = says.clone();
    let mut browser = Browser::new().announce(move |page| {
        tells(login_page(page, can_paste), &says_page);
    });
    if !args.no_browser {
        let says = says.clone();
        browser = browser.announce_code(move |code| tells(code_page(code), &says));
    }
    if args.no_browser || args.device {
        browser = browser.without_browser();
    }
    if let Some(timeout) = app.global.timeout {
        browser = browser.timeout(timeout);
    }
    if can_paste {
        let lines: Arc<Mutex<Option<mpsc::Receiver<String>>>> = Arc::default();
        browser = browser.paste(move || {
            let lines = Arc::clone(&lines);
            Box::pin(async move {
                let mut lines = lines.lock().await;
                let lines = lines.get_or_insert_with(read_lines);
                Ok(lines.recv().await.map(Secret::new))
            })
        });
        browser = browser.explain(move |reason| tells(Page::new().line(reason), &says));
    }
    browser
}

fn login_page(page: &LoginPage, can_paste: bool) -> Page {
    let mut shown = Page::new()
        .line(format!("To log in to {}, open", page.server))
        .blank()
        .line(Line::new().plain("  ").strong(page.url.as_str()))
        .blank();
    if !page.scopes.is_empty() {
        shown = shown.line(format!("It asks for: {}", page.scopes));
    }
    match can_paste {
        true => shown.line("If the browser is on another machine, paste the URL that it ends at."),
        false => shown,
    }
}

fn code_page(code: &DeviceCode) -> Page {
    let complete = code.complete_page.as_ref();
    let line = Line::new().plain("enter the code ").strong(&code.user_code);
    let shown = Page::new()
        .line(format!("To log in to {}, open", code.server))
        .blank()
        .line(Line::new().plain("  ").strong(code.page.as_str()))
        .blank()
        .line(line.plain(format!(
            "; it counts for {} minutes",
            code.lifetime.as_secs() / 60
        )));
    match complete {
        Some(page) => shown.line(format!("or open {}", page.as_str())),
        None => shown,
    }
}

/// Lines that are typed. The thread cannot be stopped while it waits for one, and ends with the
/// process.
fn read_lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    let work = move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else {
                return;
            };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    };
    // Without it nothing can be pasted, and the browser still comes back.
    let _ = std::thread::Builder::new()
        .name("paste".to_owned())
        .spawn(work);
    receiver
}

/// What is known about a login, without its secrets.
pub(super) fn document(server: &str, status: &Status) -> Value {
    json!({
        "server": server,
        "issuer": status.issuer,
        "clientId": status.client_id,
        "scopes": words(&status.scopes),
        "expiresAt": status.expires_at,
        "renewable": status.is_renewable,
    })
}

pub(super) fn words(scopes: &Scopes) -> Vec<&str> {
    scopes.iter().collect()
}

fn until(status: &Status) -> String {
    match status.scopes.is_empty() {
        true => String::new(),
        false => format!(", for {}", status.scopes),
    }
}

const MOST_WORDS: usize = 16;
