//! Documents of servers, and where their challenges say they are.

use super::Stage;
use crate::authority::HeaderUrl;

/// What is said of a document in which one member is wrong.
#[tokio::test]
async fn a_document_of_a_server_that_is_wrong_is_refused_before_an_issuer_is_asked() {
    let many = format!("[{}]", vec!["\"javascript:alert(1)\""; 1000].join(","));
    for (member, value, says) in [
        // Of another origin, another path, a part of a word.
        (
            "resource",
            r#""http://canary/mcp""#,
            "it is about \"http://canary/mcp\", and the server is http://server/mcp",
        ),
        (
            "resource",
            r#""http://127.0.0.1:1/mcp""#,
            "it is about \"http://127.0.0.1:1/mcp\", and the server is http://server/mcp",
        ),
        (
            "resource",
            r#""http://server/mcp/other""#,
            "it is about \"http://server/mcp/other\", and the server is http://server/mcp",
        ),
        (
            "resource",
            r#""http://server/mc""#,
            "it is about \"http://server/mc\", and the server is http://server/mcp",
        ),
        (
            "resource",
            r#""http://server/MCP""#,
            "it is about \"http://server/MCP\", and the server is http://server/mcp",
        ),
        (
            "resource",
            r#""http://server/mcp#part""#,
            "in its resource, the URL \"http://server/mcp#part\" is not used: it has a fragment",
        ),
        (
            "resource",
            r#""http://somebody@server/mcp""#,
            "in its resource, the URL \"http://somebody@server/mcp\" is not used: it has a user \
             in it",
        ),
        (
            "resource",
            r#""file:///etc/passwd""#,
            "in its resource, the URL \"file:///etc/passwd\" is not used: it is neither https nor \
             http",
        ),
        (
            "resource",
            r#""urn:mcp""#,
            "in its resource, the URL \"urn:mcp\" is not used: it is neither https nor http",
        ),
        ("resource", "7", "its resource is not a text"),
        ("authorization_servers", "", NONE),
        ("authorization_servers", "[]", NONE),
        ("authorization_servers", "null", NONE),
        ("authorization_servers", r#""http://issuer""#, NONE),
        ("authorization_servers", "[1,null,{}]", NONE),
        (
            "authorization_servers",
            r#"["issuer"]"#,
            "in its authorization_servers, the URL \"issuer\" is not used: it is neither https \
             nor http",
        ),
        (
            "authorization_servers",
            r#"["javascript:alert(1)"]"#,
            "in its authorization_servers, the URL \"javascript:alert(1)\" is not used: it is \
             neither https nor http",
        ),
        (
            "authorization_servers",
            r#"["file:///etc/passwd"]"#,
            "in its authorization_servers, the URL \"file:///etc/passwd\" is not used: it is \
             neither https nor http",
        ),
        (
            "authorization_servers",
            r#"["data:text/html,x"]"#,
            "in its authorization_servers, the URL \"data:text/html,x\" is not used: it is \
             neither https nor http",
        ),
        (
            "authorization_servers",
            r#"["http://as.example"]"#,
            "in its authorization_servers, the URL \"http://as.example\" is not used: it is not \
             https, which only this machine itself may do without",
        ),
        (
            "authorization_servers",
            r#"["http://169.254.169.254/"]"#,
            "in its authorization_servers, the URL \"http://169.254.169.254/\" is not used: it is \
             not https, which only this machine itself may do without",
        ),
        (
            "authorization_servers",
            r#"["http://[fe80::1]/"]"#,
            "in its authorization_servers, the URL \"http://[fe80::1]/\" is not used: it is not \
             https, which only this machine itself may do without",
        ),
        (
            "authorization_servers",
            r#"["http://127.0.0.1@as.example/"]"#,
            "in its authorization_servers, the URL \"http://127.0.0.1@as.example/\" is not used: \
             it has a user in it",
        ),
        (
            "authorization_servers",
            r#"["http://127.0.0.1.as.example/"]"#,
            "in its authorization_servers, the URL \"http://127.0.0.1.as.example/\" is not used: \
             it is not https, which only this machine itself may do without",
        ),
        (
            "authorization_servers",
            r#"["https://a.example\\@127.0.0.1/"]"#,
            "in its authorization_servers, the URL \"https://a.example\\\\@127.0.0.1/\" is not \
             used: it has characters that do not belong in a URL",
        ),
        (
            "authorization_servers",
            r#"["https://a.example/\r\nx: y"]"#,
            "in its authorization_servers, the URL \"https://a.example/\\r\\nx: y\" is not used: \
             it has characters that do not belong in a URL",
        ),
        (
            "authorization_servers",
            r#"["https://a.example/#x"]"#,
            "in its authorization_servers, the URL \"https://a.example/#x\" is not used: it has a \
             fragment",
        ),
        // One that is good does not make up for one that is not.
        (
            "authorization_servers",
            r#"["http://issuer","http://as.example"]"#,
            "in its authorization_servers, the URL \"http://as.example\" is not used: it is not \
             https, which only this machine itself may do without",
        ),
        (
            "authorization_servers",
            &many,
            "in its authorization_servers, the URL \"javascript:alert(1)\" is not used: it is \
             neither https nor http",
        ),
    ] {
        let stage = Stage::new().await;
        let edit = stage.edit(member, value);
        stage.protected.change(|knobs| knobs.metadata = edit);
        let start = "the metadata at http://server/.well-known/oauth-protected-resource/mcp is \
                     not used: ";
        assert_eq!(stage.refusal().await, format!("{start}{says}"), "{value}");
        stage.check_asked(value, &[]);
    }
}

#[tokio::test]
async fn of_a_thousand_issuers_only_the_first_is_asked() {
    let stage = Stage::new().await;
    let issuer = format!("{}/issuer/", stage.canary.origin());
    let mut issuers: Vec<String> = (0..1000)
        .map(|number| format!("{issuer}{number}"))
        .collect();
    issuers.insert(0, "http://issuer".to_owned());
    let edit = stage.edit("authorization_servers", &format!("{issuers:?}"));
    stage.protected.change(|knobs| knobs.metadata = edit);
    assert!(
        super::bounded(Box::pin(stage.login().login()))
            .await
            .is_ok()
    );
    assert_eq!(stage.canary.lines(), [""; 0]);
}

#[tokio::test]
async fn a_challenge_that_leads_elsewhere_is_not_followed() {
    for (url, says) in [
        (
            "http://canary/.well-known/oauth-protected-resource",
            "the metadata at http://canary/.well-known/oauth-protected-resource is not used: it \
             has another origin than the server, http://server",
        ),
        (
            "http://issuer/.well-known/oauth-protected-resource",
            "the metadata at http://issuer/.well-known/oauth-protected-resource is not used: it \
             has another origin than the server, http://server",
        ),
        (
            "http://169.254.169.254/latest/meta-data",
            "the resource_metadata of the server is not asked: the URL \
             \"http://169.254.169.254/latest/meta-data\" is not used: it is not https, which only \
             this machine itself may do without",
        ),
        (
            "https://169.254.169.254/latest/meta-data",
            "the metadata at https://169.254.169.254/latest/meta-data is not used: it has another \
             origin than the server, http://server",
        ),
        (
            "https://127.0.0.1/x",
            "the metadata at https://127.0.0.1/x is not used: it has another origin than the \
             server, http://server",
        ),
        (
            "javascript:alert(1)",
            "the resource_metadata of the server is not asked: the URL \"javascript:alert(1)\" is \
             not used: it is neither https nor http",
        ),
        (
            "file:///etc/passwd",
            "the resource_metadata of the server is not asked: the URL \"file:///etc/passwd\" is \
             not used: it is neither https nor http",
        ),
        (
            "/.well-known/oauth-protected-resource/mcp",
            "the resource_metadata of the server is not asked: the URL \
             \"/.well-known/oauth-protected-resource/mcp\" is not used: it is neither https nor \
             http",
        ),
        (
            "//canary/x",
            "the resource_metadata of the server is not asked: the URL \"//canary/x\" is not \
             used: it is neither https nor http",
        ),
        (
            "http://somebody@127.0.0.1/x",
            "the resource_metadata of the server is not asked: the URL \
             \"http://somebody@127.0.0.1/x\" is not used: it has a user in it",
        ),
        (
            "http://server/x#y",
            "the resource_metadata of the server is not asked: the URL \"http://server/x#y\" is \
             not used: it has a fragment",
        ),
        (
            "http://server\\\\@canary/x",
            "the resource_metadata of the server is not asked: the URL \
             \"http://server\\\\@canary/x\" is not used: it has characters that do not belong in \
             a URL",
        ),
        (
            "http://server/nothing",
            "the metadata at http://server/nothing is not used: the server names it, but it is \
             not there",
        ),
    ] {
        let stage = Stage::new().await;
        let place = stage.with_places(url);
        stage
            .protected
            .change(|knobs| knobs.header_url = HeaderUrl::Other(place));
        assert_eq!(stage.refusal().await, says, "{url}");
        stage.check_asked(url, &[]);
    }
}

const NONE: &str = "its authorization_servers names none, expected at least one";
