//! A server that wants a login, and who gives it: as little as a correct client needs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// Both on one port of this machine. Its thread ends with the process.
#[derive(Clone, Debug)]
pub(crate) struct Issuer {
    pub(crate) origin: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Issuer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = Self {
            origin: format!("http://{}", listener.local_addr().unwrap()),
            seen: Arc::default(),
        };
        let serving = issuer.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = serving.clone();
                thread::spawn(move || serving.serve(&stream));
            }
        });
        issuer
    }

    /// The server that wants a login.
    pub(crate) fn server(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    /// What was asked of it, such as `POST /token`, and with which token.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// One request for each connection.
    fn serve(&self, stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut words = line.split_whitespace();
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut length = 0;
        let mut token = String::new();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            let header = header.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if let Some(value) = header.strip_prefix("authorization:") {
                token = format!(" with{value}");
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let asked = format!("{method} {path}{token}");
        self.seen.lock().unwrap().push(asked);
        let answer = match path == "/mcp" && !token.is_empty() {
            // It knows who it is, and nothing else.
            true => reply("503 Service Unavailable", &json!({})),
            false => self.answer(&path, &String::from_utf8_lossy(&body)),
        };
        let mut stream = stream;
        stream.write_all(answer.as_bytes()).ok()
    }

    fn answer(&self, path: &str, body: &str) -> String {
        let at = |path: &str| format!("{}{path}", self.origin);
        let document = match path {
            "/.well-known/oauth-protected-resource/mcp" => json!({
                "resource": self.server(),
                "authorization_servers": [self.origin],
                "scopes_supported": ["read"],
            }),
            "/.well-known/oauth-authorization-server" => json!({
                "issuer": self.origin,
                "authorization_endpoint": at("/authorize"),
                "token_endpoint": at("/token"),
                "registration_endpoint": at("/register"),
                "device_authorization_endpoint": at("/device"),
                "revocation_endpoint": at("/revoke"),
                "response_types_supported": ["code"],
                "grant_types_supported": [
                    "authorization_code",
                    "refresh_token",
                    "urn:ietf:params:oauth:grant-type:device_code",
                ],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
                "authorization_response_iss_parameter_supported": true,
            }),
            "/register" => {
                let mut client: Value = serde_json::from_str(body).unwrap();
                client["client_id"] = "registered".into();
                return reply("201 Created", &client);
            }
            "/device" => json!({
                "device_code": "device-secret",
                "user_code": "ABCD-EFGH",
                "verification_uri": at("/enter"),
                "expires_in": 600,
                "interval": 1,
            }),
            "/token" => json!({
                "access_token": "access-secret",
                "refresh_token": "refresh-secret",
                "token_type": "Bearer",
                "expires_in": 3600,
                "scope": "read",
            }),
            "/revoke" => json!({}),
            "/mcp" => {
                let where_to = at("/.well-known/oauth-protected-resource/mcp");
                return format!(
                    "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer \
                     resource_metadata=\"{where_to}\"\r\ncontent-length: 0\r\nconnection: \
                     close\r\n\r\n"
                );
            }
            _ => return reply("404 Not Found", &json!({})),
        };
        reply("200 OK", &document)
    }
}

fn reply(status: &str, document: &Value) -> String {
    let text = document.to_string();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: \
         close\r\n\r\n{text}",
        text.len()
    )
}
