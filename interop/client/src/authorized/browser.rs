//! A browser as far as a login needs one: it keeps cookies, follows redirects, sends forms.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use switchboard_transport::http::client::HttpClient;

use crate::page::{Form, link};
use crate::redirects;

/// What a person does on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Fills in every form and sends it.
    Agrees,
    /// Takes the first way out.
    Refuses,
}

/// Opens a page with a browser that was just installed, and goes on until it is sent to `back`;
/// gives the whole address of that. Without a `back` it goes on until nothing is left to fill
/// in, and gives that page's text.
pub(crate) async fn visit(
    url: &str,
    back: Option<&str>,
    manner: Manner,
    name: &str,
) -> Result<String, String> {
    let mut browser = Browser {
        client: redirects::client()?,
        cookies: Vec::new(),
    };
    browser.visit(url, back, manner, name).await
}

/// A browser, and what it keeps from one page to the next.
#[derive(Debug)]
struct Browser {
    client: HttpClient,
    cookies: Vec<Cookie>,
}

#[derive(Debug)]
struct Cookie {
    name: String,
    path: String,
    value: String,
}

/// Where a browser stands.
#[derive(Debug)]
enum Stand {
    /// On a page.
    Page { url: Uri, text: String },
    /// Where it was to come back to, or so it would be if anybody were there.
    Back(String),
}

impl Browser {
    async fn visit(
        &mut self,
        url: &str,
        back: Option<&str>,
        manner: Manner,
        name: &str,
    ) -> Result<String, String> {
        let mut stand = self.go(parse(url)?, None, back).await?;
        for _ in 0..MOST_PAGES {
            let (url, text) = match stand {
                Stand::Page { url, text } => (url, text),
                Stand::Back(address) => return Ok(address),
            };
            let next = match manner {
                Manner::Agrees => Form::find(&text)
                    .map(|form| (form.filled(name), form.action))
                    .map(|(body, action)| (action, Some(body))),
                Manner::Refuses => link(&text, "/abort").map(|address| (address, None)),
            };
            let Some((address, body)) = next else {
                return match back {
                    None => Ok(text),
                    Some(back) => Err(format!("no way on to {back} from {url}: {text}")),
                };
            };
            stand = self.go(resolve(&url, &address)?, body, back).await?;
        }
        Err(format!("{url} does not come to an end"))
    }

    /// One request, and those that it redirects to.
    async fn go(
        &mut self,
        mut url: Uri,
        mut body: Option<String>,
        back: Option<&str>,
    ) -> Result<Stand, String> {
        for _ in 0..MOST_REDIRECTS {
            let received = self.client.send(self.request(&url, body.take()));
            let received = received.await.map_err(|error| error.to_string())?;
            self.keep(&url, &received.headers);
            if !received.status.is_redirection() {
                let text = received.body.collect().await;
                let text = text.map_err(|error| error.to_string())?;
                let text = String::from_utf8_lossy(&text).into_owned();
                return match received.status.is_success() {
                    true => Ok(Stand::Page { url, text }),
                    false => Err(format!("{url} answered {}: {text}", received.status)),
                };
            }
            let location = redirects::location(&received.headers)?;
            if back.is_some_and(|back| is_below(location, back)) {
                return Ok(Stand::Back(location.to_owned()));
            }
            url = resolve(&url, location)?;
        }
        Err(format!("{url} redirects without an end"))
    }

    fn request(&self, url: &Uri, body: Option<String>) -> Request<Bytes> {
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = url.clone();
        let fitting = self
            .cookies
            .iter()
            .filter(|cookie| url.path().starts_with(&cookie.path));
        let cookies: Vec<String> = fitting
            .map(|cookie| format!("{}={}", cookie.name, cookie.value))
            .collect();
        if let Ok(value) = HeaderValue::from_str(&cookies.join("; "))
            && !cookies.is_empty()
        {
            request.headers_mut().insert(COOKIE, value);
        }
        if let Some(body) = body {
            *request.method_mut() = Method::POST;
            *request.body_mut() = body.into();
            let form = HeaderValue::from_static("application/x-www-form-urlencoded");
            request.headers_mut().insert(CONTENT_TYPE, form);
        }
        request
    }

    /// Keeps the cookies of an answer. An empty one is the end of the one before.
    fn keep(&mut self, url: &Uri, headers: &HeaderMap) {
        for cookie in headers.get_all(SET_COOKIE) {
            let Some(cookie) = cookie
                .to_str()
                .ok()
                .and_then(|text| Cookie::parse(url, text))
            else {
                continue;
            };
            self.cookies
                .retain(|kept| kept.name != cookie.name || kept.path != cookie.path);
            if !cookie.value.is_empty() {
                self.cookies.push(cookie);
            }
        }
    }
}

impl Cookie {
    fn parse(url: &Uri, text: &str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let (name, value) = parts.next()?.split_once('=')?;
        let path = parts.find_map(|part| part.strip_prefix("path="));
        Some(Self {
            name: name.to_owned(),
            path: path.unwrap_or_else(|| url.path()).to_owned(),
            value: value.to_owned(),
        })
    }
}

fn is_below(address: &str, back: &str) -> bool {
    let rest = address.strip_prefix(back);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('?'))
}

/// An address that stands on a page, or in a redirect from there.
fn resolve(page: &Uri, address: &str) -> Result<Uri, String> {
    match (address.starts_with('/'), page.authority()) {
        (true, Some(authority)) => parse(&format!("http://{authority}{address}")),
        _ => parse(address),
    }
}

fn parse(address: &str) -> Result<Uri, String> {
    let uri = address.parse::<Uri>();
    uri.map_err(|error| format!("{address} is no address: {error}"))
}

// Login, consent, and for another device the code and its confirmation.
const MOST_PAGES: usize = 8;
const MOST_REDIRECTS: usize = 8;
