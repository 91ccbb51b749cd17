//! Configurations: the first byte of the input chooses the syntax, as the name of a file does:
//! `t` TOML, `y` YAML, anything else JSON with comments. The rest is the file.

mod import;

use switchboard_hub::{AuthConfig, Config, ConfigError, Origin, ServerConfig, TransportConfig};

/// What is wrong is said with a place in the file; a server that can be used is written so that it
/// is read as the same server, and as the same text from then on.
pub fn config(data: &[u8]) {
    let Some((syntax, text)) = data.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(text);
    let origin = Origin::text("file");
    let (text, origin) = match syntax {
        b't' | b'y' => {
            let read = match import::read(*syntax, &text) {
                Ok(read) => read,
                Err(line) => return check_place(&text, line),
            };
            let (json, places, dialect) = read;
            assert!(serde_json::from_str::<serde::de::IgnoredAny>(&json).is_ok());
            assert_eq!(json.lines().count(), places.len(), "{json}");
            (json.into(), origin.dialect(dialect).places(places))
        }
        _ => (text, origin),
    };
    let config = match Config::read(&text, &origin) {
        Ok(config) => config,
        Err(ConfigError::Syntax { position, .. }) => return check_place(&text, position.line),
        Err(ConfigError::NotAnObject { .. }) => return,
        Err(error) => panic!("{error}"),
    };
    for problem in &config.problems {
        assert!(!problem.to_string().is_empty());
    }
    let broken = config.errors().count();
    assert!(broken >= config.broken.len(), "{:?}", config.broken);
    for server in &config.servers {
        assert!(!config.broken.contains(&server.name));
        check_written(server);
    }
}

fn check_place(text: &str, line: u32) {
    // To YAML a carriage return ends a line as well.
    let ends = text.bytes().filter(|byte| matches!(byte, b'\n' | b'\r'));
    let lines = ends.count() as u32 + 1;
    assert!((1..=lines).contains(&line), "line {line} of {lines}");
}

fn check_written(server: &ServerConfig) {
    let written = server.to_json(None);
    let mut again = read_one(&server.name, &written);
    assert_eq!(again.to_json(None), written);
    // Of a member that is known only in part, the rest is not written.
    again.unknown = server.unknown.clone();
    // A token is written as the header that every host knows.
    if let TransportConfig::Http(http) | TransportConfig::Sse(http) = &server.transport
        && matches!(http.auth, AuthConfig::Bearer(_))
    {
        again.transport = server.transport.clone();
    }
    assert_eq!(again, *server, "{written}");
}

fn read_one(name: &str, written: &str) -> ServerConfig {
    let name = serde_json::Value::from(name);
    let text = format!(r#"{{"mcpServers": {{{name}: {written}}}}}"#);
    let config = Config::read(&text, &Origin::text("written")).expect("what we write is JSON");
    let mut servers = config.servers.into_iter();
    let first = servers.next();
    first.unwrap_or_else(|| panic!("{text}: {:?}", config.problems))
}
