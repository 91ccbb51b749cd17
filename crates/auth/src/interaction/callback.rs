//! What a browser that comes back is told.
//!
//! One request of one connection. Only the answer that is waited for is taken; whatever else
//! reaches the port (icons, guesses, pages of others) gets an error and changes nothing. No
//! page repeats what was asked, runs a script, or loads, keeps or passes on anything.
//!
//! Specification: RFC 8252, sections 7.3 and 8.3; basic/security_best_practices.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::time::timeout;

use crate::interaction::answer::Expected;
use crate::interaction::head::{BadHead, Head};
use crate::interaction::site::Site;
use crate::secret::Secret;

/// Reads a request and answers it. If it brought what is expected, that.
pub(super) async fn receive<S>(stream: S, site: &Site, expected: &Expected) -> Option<Secret>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut stream = BufReader::new(stream);
    let head = timeout(FOR_HEAD, Head::read(&mut stream)).await.ok()?;
    let (page, answer) = match head {
        Ok(head) => judge(&head, site, expected),
        Err(BadHead::Gone) => return None,
        Err(BadHead::LongLine) => (&LONG_LINE, None),
        Err(BadHead::Large) => (&LARGE, None),
    };
    // The answer counts even if nobody reads the page.
    let _ = timeout(FOR_PAGE, async {
        stream.write_all(page.text().as_bytes()).await?;
        stream.shutdown().await
    })
    .await;
    answer
}

fn judge(head: &Head, site: &Site, expected: &Expected) -> (&'static Page, Option<Secret>) {
    let Some((method, target)) = head.request() else {
        return (&NOT_UNDERSTOOD, None);
    };
    // The page of a stranger whose name leads to this machine has that name here.
    if !head.host().is_some_and(|host| site.is_host(host)) {
        return (&OTHER_HOST, None);
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if path != site.path() {
        return (&NOTHING_HERE, None);
    }
    if method != "GET" {
        return (&OTHER_METHOD, None);
    }
    match expected.check(query) {
        Ok(()) => (&DONE, Some(Secret::new(query))),
        Err(reason) => {
            tracing::debug!(
                reason,
                "a request to the port of the login is not its answer"
            );
            (&NOT_EXPECTED, None)
        }
    }
}

/// Says something to a person who looks at the browser.
struct Page {
    status: &'static str,
    title: &'static str,
    words: &'static str,
}

impl Page {
    fn text(&self) -> String {
        let Self {
            status,
            title,
            words,
        } = self;
        let body = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title>\
             <style>{STYLE}</style></head>\
             <body><h1>{title}</h1><p>{words}</p></body></html>\n"
        );
        let length = body.len();
        format!("HTTP/1.1 {status}\r\n{HEADERS}Content-Length: {length}\r\n\r\n{body}")
    }
}

// Neither "done" nor "failed": what the issuer makes of the code is not known yet.
const DONE: Page = Page {
    status: "200 OK",
    title: "Back to the program",
    words: "The program that asked for this login has its answer. You can close this window.",
};
const NOT_EXPECTED: Page = Page {
    status: "400 Bad Request",
    title: "Not expected",
    words: "This is not the answer to the login that waits here. Please use the address that \
            the program showed last.",
};
const NOT_UNDERSTOOD: Page = Page {
    status: "400 Bad Request",
    title: "Not understood",
    words: "This is not a request that can be answered here.",
};
const OTHER_HOST: Page = Page {
    status: "403 Forbidden",
    title: "Not here",
    words: "Nobody of this name answers here.",
};
const NOTHING_HERE: Page = Page {
    status: "404 Not Found",
    title: "Nothing here",
    words: "There is nothing at this address.",
};
// With the header that belongs to this status.
const OTHER_METHOD: Page = Page {
    status: "405 Method Not Allowed\r\nAllow: GET",
    title: "Not here",
    words: "Only GET is answered here.",
};
const LONG_LINE: Page = Page {
    status: "414 URI Too Long",
    title: "Too long",
    words: "The address is too long to be read.",
};
const LARGE: Page = Page {
    status: "431 Request Header Fields Too Large",
    title: "Too many cookies",
    words: "The browser sent more than is read here. Please delete the cookies of this address, \
            or open the address that the program showed in a private window.",
};

const STYLE: &str = "body{max-width:34rem;margin:18vh auto;padding:0 1.5rem;font:1.1rem/1.6 system-ui,sans-serif}\
    h1{font-size:1.6rem;margin-bottom:.4rem}";

// With the hash of the style: no other one, and no script.
const HEADERS: &str = "Content-Type: text/html; charset=utf-8\r\n\
    Cache-Control: no-store\r\n\
    Content-Security-Policy: default-src 'none'; \
    style-src 'sha256-jMenT69epN8bH05zgKkrMhxaIqoB1kbB37X+VegE4QI='; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
    Referrer-Policy: no-referrer\r\n\
    X-Content-Type-Options: nosniff\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Connection: close\r\n";

// A browser sends its request at once; it connects ahead of time and says nothing, too.
const FOR_HEAD: Duration = Duration::from_secs(10);
// The page fits into what the system holds for a connection.
const FOR_PAGE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::place::Place;

    fn site() -> Site {
        Site::parse("http://127.0.0.1:7/callback").unwrap()
    }

    fn expected() -> Expected {
        Expected::of(&Place::parse("https://login.example/?state=s1").unwrap())
    }

    /// What a request is answered, and what is taken from it.
    async fn ask(request: &str) -> (String, Option<String>) {
        let (mut here, there) = tokio::io::duplex(1 << 20);
        here.write_all(request.as_bytes()).await.unwrap();
        let taken = receive(there, &site(), &expected()).await;
        let mut answer = String::new();
        here.read_to_string(&mut answer).await.unwrap();
        (answer, taken.map(|taken| taken.reveal().to_owned()))
    }

    async fn ask_with(target: &str, host: &str) -> (String, Option<String>) {
        ask(&format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n")).await
    }

    #[tokio::test]
    async fn the_answer_is_taken_as_it_is() {
        let (page, taken) = ask_with("/callback?code=a%2Bb&state=s1", "127.0.0.1:7").await;
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        assert_eq!(taken.unwrap(), "code=a%2Bb&state=s1");
        let (page, taken) = ask_with("/callback?error=no&state=s1", "127.0.0.1:7").await;
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        assert_eq!(taken.unwrap(), "error=no&state=s1");
    }

    #[tokio::test]
    async fn nothing_else_is_taken() {
        for (status, target, host) in [
            ("404", "/favicon.ico", "127.0.0.1:7"),
            ("404", "/", "127.0.0.1:7"),
            ("404", "/callback/?code=a&state=s1", "127.0.0.1:7"),
            (
                "404",
                "http://127.0.0.1:7/callback?code=a&state=s1",
                "127.0.0.1:7",
            ),
            ("400", "/callback", "127.0.0.1:7"),
            ("400", "/callback?state=s1", "127.0.0.1:7"),
            ("400", "/callback?code=a&state=other", "127.0.0.1:7"),
            ("400", "/callback?error=access_denied", "127.0.0.1:7"),
            ("403", "/callback?code=a&state=s1", "127.0.0.1"),
            ("403", "/callback?code=a&state=s1", "127.0.0.1:8"),
            ("403", "/callback?code=a&state=s1", "evil.example:7"),
            (
                "403",
                "/callback?code=a&state=s1",
                "127.0.0.1:7.evil.example",
            ),
            ("403", "/favicon.ico", "evil.example"),
        ] {
            let (page, taken) = ask_with(target, host).await;
            assert!(
                page.starts_with(&format!("HTTP/1.1 {status} ")),
                "{target} {page}"
            );
            assert_eq!(taken, None, "{target} {host}");
        }
        for (status, request) in [
            ("403", "GET /callback?code=a&state=s1 HTTP/1.0\r\n\r\n"),
            (
                "403",
                "GET /callback?code=a&state=s1 HTTP/1.1\r\nHost: 127.0.0.1:7\r\nHost: 127.0.0.1:7\r\n\r\n",
            ),
            (
                "405",
                "POST /callback?code=a&state=s1 HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n",
            ),
            (
                "405",
                "HEAD /callback?code=a&state=s1 HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n",
            ),
            ("400", "\u{16}\u{3}\u{1}\r\n\r\n"),
        ] {
            let (page, taken) = ask(request).await;
            assert!(page.starts_with(&format!("HTTP/1.1 {status} ")), "{page}");
            assert_eq!(taken, None, "{request}");
        }
    }

    #[tokio::test]
    async fn pages_have_no_script_are_not_kept_and_do_not_repeat_what_was_asked() {
        for target in [
            "/callback?code=c0de&state=s1&x=<script>alert(1)</script>",
            "/callback?code=c0de&state=%3Cscript%3E",
            "/<script>c0de",
        ] {
            let (page, _) = ask_with(target, "127.0.0.1:7").await;
            let (head, body) = page.split_once("\r\n\r\n").unwrap();
            assert!(!page.contains("c0de") && !page.contains("script"), "{page}");
            assert!(head.contains("Cache-Control: no-store\r\n"));
            assert!(head.contains("Content-Security-Policy: default-src 'none';"));
            assert!(head.contains("frame-ancestors 'none'\r\n"));
            assert!(head.contains("Referrer-Policy: no-referrer\r\n"));
            assert!(head.ends_with(&format!("Content-Length: {}", body.len())));
            assert!(!body.contains("http") && !body.contains("href"), "{body}");
        }
    }

    #[test]
    fn the_style_is_the_one_that_the_policy_allows() {
        let digest = ring::digest::digest(&ring::digest::SHA256, STYLE.as_bytes());
        let hash = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, digest);
        assert!(
            HEADERS.contains(&format!("style-src 'sha256-{hash}';")),
            "{hash}"
        );
    }

    #[tokio::test]
    async fn an_answer_counts_although_nobody_reads_the_page() {
        let (mut here, there) = tokio::io::duplex(256);
        let request = "GET /callback?code=a&state=s1 HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n";
        here.write_all(request.as_bytes()).await.unwrap();
        drop(here);
        let taken = receive(there, &site(), &expected()).await;
        assert_eq!(taken.unwrap().reveal(), "code=a&state=s1");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_says_nothing_or_reads_nothing_is_left() {
        let (mut here, there) = tokio::io::duplex(64);
        here.write_all(b"GET /callback?code=a").await.unwrap();
        let began = tokio::time::Instant::now();
        assert!(receive(there, &site(), &expected()).await.is_none());
        assert_eq!(began.elapsed(), FOR_HEAD);

        let (mut here, there) = tokio::io::duplex(128);
        here.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n")
            .await
            .unwrap();
        let began = tokio::time::Instant::now();
        assert!(receive(there, &site(), &expected()).await.is_none());
        assert_eq!(began.elapsed(), FOR_PAGE);
    }
}
