//! Requests and answers of HTTP/1.1, as much of them as a well-behaved client needs: whole
//! bodies with a length.

use std::io;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    pub(crate) query: Fields,
    /// Of a form. Empty if the body is none.
    pub(crate) form: Fields,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Asked {
    /// A header that came once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let first = values.next()?.to_str().ok()?;
        values.next().is_none().then_some(first)
    }

    pub(crate) fn is_form(&self) -> bool {
        let kind = self.header("content-type").unwrap_or_default();
        kind.split(';').next().unwrap_or_default().trim() == "application/x-www-form-urlencoded"
    }

    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.body).ok()
    }
}

/// The fields of a form or a query, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(crate) fn parse(text: &str) -> Self {
        let fields = form_urlencoded::parse(text.as_bytes());
        Self(fields.into_owned().collect())
    }

    /// The first of this name. An empty one counts as none: RFC 6749, section 3.1.
    pub(crate) fn find(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(found, _)| found == name)?;
        (!value.is_empty()).then_some(value.as_str())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A name that stands there twice.
    pub(crate) fn repeated(&self) -> Option<&str> {
        let mut names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let pair = names.windows(2).find(|pair| pair[0] == pair[1])?;
        Some(pair[0])
    }
}

/// What is answered.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn new(status: u16) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: String::new(),
        }
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::new(status).body("application/json", &body.to_string())
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().unwrap();
        self.headers
            .append(name, HeaderValue::from_str(value).unwrap());
        self
    }

    pub(crate) fn body(mut self, kind: &str, body: &str) -> Self {
        self.body = body.to_owned();
        self.header("content-type", kind)
    }
}

/// The next request of a connection. None: it ended, or is no HTTP.
pub(crate) async fn read_request(stream: &mut TcpStream) -> Option<Asked> {
    let (head, body) = read_message(stream).await?;
    let (line, headers) = head.split_once("\r\n").unwrap_or((&head, ""));
    let mut words = line.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut asked = Asked {
        method: method.to_owned(),
        path: path.to_owned(),
        query: Fields::parse(query),
        form: Fields::default(),
        headers: parse_headers(headers)?,
        body,
    };
    if asked.is_form() {
        asked.form = Fields::parse(&asked.body);
    }
    Some(asked)
}

pub(crate) async fn write_reply(stream: &mut TcpStream, reply: &Reply) -> io::Result<()> {
    let mut text = format!("HTTP/1.1 {} Said\r\n", reply.status);
    for (name, value) in &reply.headers {
        text += &format!("{name}: {}\r\n", value.to_str().unwrap_or_default());
    }
    text += &format!("content-length: {}\r\n\r\n{}", reply.body.len(), reply.body);
    stream.write_all(text.as_bytes()).await
}

/// Asks over a connection of its own, and follows nothing.
pub(crate) async fn ask(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let uri: http::Uri = url.parse().unwrap();
    let authority = uri.authority().unwrap().as_str();
    let target = uri.path_and_query().unwrap().as_str();
    let length = body.len();
    let mut text = format!(
        "{method} {target} HTTP/1.1\r\nhost: {authority}\r\n\
         connection: close\r\ncontent-length: {length}\r\n"
    );
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    let mut stream = TcpStream::connect(authority).await.unwrap();
    let message = format!("{text}\r\n{body}");
    stream.write_all(message.as_bytes()).await.unwrap();
    let (head, body) = read_message(&mut stream).await.expect("an answer");
    let (line, headers) = head.split_once("\r\n").unwrap_or((&head, ""));
    Reply {
        status: line.split(' ').nth(1).unwrap().parse().unwrap(),
        headers: parse_headers(headers).unwrap(),
        body,
    }
}

/// Head and body of a message.
async fn read_message(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if bytes.len() > LONGEST_HEAD || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let (_, headers) = head.split_once("\r\n").unwrap_or_default();
    let headers = parse_headers(headers)?;
    let length = headers.get("content-length").map(HeaderValue::to_str);
    let length: usize = length.map_or(Ok("0"), |text| text).ok()?.parse().ok()?;
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some((head, String::from_utf8(body).ok()?))
}

fn parse_headers(text: &str) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for line in text.split("\r\n").filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        let name: HeaderName = name.parse().ok()?;
        headers.append(name, HeaderValue::from_str(value.trim()).ok()?);
    }
    Some(headers)
}

const LONGEST_HEAD: usize = 64 * 1024;
