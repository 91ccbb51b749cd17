//! Documents of issuers.

use super::Stage;

const DOCUMENT: &str = "GET /.well-known/oauth-authorization-server";

#[tokio::test]
async fn a_document_of_an_issuer_that_is_wrong_is_refused_before_anybody_is_sent_there() {
    for (member, value, says) in [
        (
            "issuer",
            "",
            "its issuer is nobody, expected \"http://issuer\"",
        ),
        (
            "issuer",
            "null",
            "its issuer is nobody, expected \"http://issuer\"",
        ),
        (
            "issuer",
            r#"["http://issuer"]"#,
            "its issuer is nobody, expected \"http://issuer\"",
        ),
        // Nothing is normalized: each of these may be another issuer.
        (
            "issuer",
            r#""http://issuer/""#,
            "its issuer is \"http://issuer/\", expected \"http://issuer\"",
        ),
        (
            "issuer",
            r#""http://issuer?""#,
            "its issuer is \"http://issuer?\", expected \"http://issuer\"",
        ),
        (
            "issuer",
            r#""http://issuer/.""#,
            "its issuer is \"http://issuer/.\", expected \"http://issuer\"",
        ),
        (
            "issuer",
            r#""HTTP://issuer""#,
            "its issuer is \"HTTP://issuer\", expected \"http://issuer\"",
        ),
        (
            "issuer",
            r#"" http://issuer""#,
            "its issuer is \" http://issuer\", expected \"http://issuer\"",
        ),
        (
            "issuer",
            r#""http://canary""#,
            "its issuer is \"http://canary\", expected \"http://issuer\"",
        ),
        (
            "issuer",
            r#""\u001b[2J\u202ehttp://issuer""#,
            "its issuer is \"\\\\x1b[2J\\\\u{202e}http://issuer\", expected \"http://issuer\"",
        ),
        (
            "authorization_endpoint",
            r#""javascript:alert(document.domain)//""#,
            "in its authorization_endpoint, the URL \"javascript:alert(document.domain)//\" is \
             not used: it is neither https nor http",
        ),
        (
            "authorization_endpoint",
            r#""file:///bin/sh""#,
            "in its authorization_endpoint, the URL \"file:///bin/sh\" is not used: it is neither \
             https nor http",
        ),
        (
            "authorization_endpoint",
            r#""data:text/html,<script>x</script>""#,
            "in its authorization_endpoint, the URL \"data:text/html,<script>x</script>\" is not \
             used: it has characters that do not belong in a URL",
        ),
        (
            "authorization_endpoint",
            r#""http://a.example/$(calc.exe)""#,
            "in its authorization_endpoint, the URL \"http://a.example/$(calc.exe)\" is not used: \
             it is not https, which only this machine itself may do without",
        ),
        (
            "authorization_endpoint",
            r#""https://a.example/`id`""#,
            "in its authorization_endpoint, the URL \"https://a.example/`id`\" is not used: it \
             has characters that do not belong in a URL",
        ),
        (
            "authorization_endpoint",
            r#""https://a.example/\" & calc.exe & \"""#,
            "in its authorization_endpoint, the URL \"https://a.example/\\\" & calc.exe & \\\"\" \
             is not used: it has characters that do not belong in a URL",
        ),
        (
            "authorization_endpoint",
            r#""https://a.example/a\r\nHost: b""#,
            "in its authorization_endpoint, the URL \"https://a.example/a\\r\\nHost: b\" is not \
             used: it has characters that do not belong in a URL",
        ),
        (
            "authorization_endpoint",
            r#""https://a.example\\b""#,
            "in its authorization_endpoint, the URL \"https://a.example\\\\b\" is not used: it \
             has characters that do not belong in a URL",
        ),
        (
            "authorization_endpoint",
            r#""https://user:word@a.example/""#,
            "in its authorization_endpoint, the URL \"https://user:word@a.example/\" is not used: \
             it has a user in it",
        ),
        (
            "authorization_endpoint",
            r#""https://a.example/#x""#,
            "in its authorization_endpoint, the URL \"https://a.example/#x\" is not used: it has \
             a fragment",
        ),
        (
            "authorization_endpoint",
            r#""-oProxyCommand=x""#,
            "in its authorization_endpoint, the URL \"-oProxyCommand=x\" is not used: it is \
             neither https nor http",
        ),
        (
            "authorization_endpoint",
            r#""/authorize""#,
            "in its authorization_endpoint, the URL \"/authorize\" is not used: it is neither \
             https nor http",
        ),
        (
            "authorization_endpoint",
            "7",
            "its authorization_endpoint is not a text",
        ),
        ("token_endpoint", "", "its token_endpoint is missing"),
        ("token_endpoint", r#""""#, "its token_endpoint is missing"),
        (
            "token_endpoint",
            r#""http://169.254.169.254/""#,
            "in its token_endpoint, the URL \"http://169.254.169.254/\" is not used: it is not \
             https, which only this machine itself may do without",
        ),
        (
            "token_endpoint",
            r#""http://a.example/token""#,
            "in its token_endpoint, the URL \"http://a.example/token\" is not used: it is not \
             https, which only this machine itself may do without",
        ),
        (
            "token_endpoint",
            r#""https://user@a.example/token""#,
            "in its token_endpoint, the URL \"https://user@a.example/token\" is not used: it has \
             a user in it",
        ),
        (
            "token_endpoint",
            r#""https:///token""#,
            "in its token_endpoint, the URL \"https:///token\" is not used: it is not a URL",
        ),
        ("token_endpoint", "{}", "its token_endpoint is not a text"),
        (
            "registration_endpoint",
            r#""http://192.168.0.1/""#,
            "in its registration_endpoint, the URL \"http://192.168.0.1/\" is not used: it is not \
             https, which only this machine itself may do without",
        ),
        (
            "revocation_endpoint",
            r#""file:///""#,
            "in its revocation_endpoint, the URL \"file:///\" is not used: it is neither https \
             nor http",
        ),
        (
            "device_authorization_endpoint",
            r#""data:,""#,
            "in its device_authorization_endpoint, the URL \"data:,\" is not used: it is neither \
             https nor http",
        ),
    ] {
        let stage = Stage::new().await;
        let edit = stage.edit(member, value);
        stage.authority.change(|knobs| knobs.metadata = edit);
        let start = "the metadata at http://issuer/.well-known/oauth-authorization-server is not \
                     used: ";
        assert_eq!(stage.refusal().await, format!("{start}{says}"), "{value}");
        stage.check_asked(value, &[DOCUMENT]);
    }
}

#[tokio::test]
async fn without_s256_or_a_login_page_nobody_is_sent_there() {
    for (member, value, says) in [
        (
            "code_challenge_methods_supported",
            "",
            "its code_challenge_methods_supported is missing, expected S256",
        ),
        (
            "code_challenge_methods_supported",
            "[]",
            "its code_challenge_methods_supported is \"\", expected S256",
        ),
        (
            "code_challenge_methods_supported",
            r#"["plain"]"#,
            "its code_challenge_methods_supported is \"plain\", expected S256",
        ),
        (
            "code_challenge_methods_supported",
            r#"["s256","S512","\u001b"]"#,
            "its code_challenge_methods_supported is \"s256 S512 \\\\x1b\", expected S256",
        ),
        (
            "code_challenge_methods_supported",
            r#""S256""#,
            "its code_challenge_methods_supported is missing, expected S256",
        ),
        (
            "authorization_endpoint",
            "",
            "it names no authorization_endpoint, so nobody can log in there",
        ),
    ] {
        let stage = Stage::new().await;
        let edit = stage.edit(member, value);
        stage.authority.change(|knobs| knobs.metadata = edit);
        let start = "the metadata at http://issuer is not used: ";
        assert_eq!(stage.refusal().await, format!("{start}{says}"), "{value}");
        stage.check_asked(value, &[DOCUMENT]);
    }
}

#[tokio::test]
async fn an_issuer_that_is_nowhere_is_looked_for_at_its_own_places_only() {
    let stage = Stage::new().await;
    let edit = stage.edit("authorization_servers", r#"["http://issuer/tenant"]"#);
    stage.protected.change(|knobs| knobs.metadata = edit);
    assert_eq!(
        stage.refusal().await,
        "the metadata at http://issuer/tenant is not used: none of the well-known places of \
             this authorization server has any"
    );
    let places = [
        "GET /.well-known/oauth-authorization-server/tenant",
        "GET /.well-known/openid-configuration/tenant",
        "GET /tenant/.well-known/openid-configuration",
    ];
    stage.check_asked("tenant", &places);
}

#[tokio::test]
async fn one_tenant_cannot_speak_for_another() {
    let stage = Stage::new().await;
    let edit = stage.edit(
        "authorization_servers",
        r#"["http://issuer/","http://issuer"]"#,
    );
    stage.protected.change(|knobs| knobs.metadata = edit);
    assert_eq!(
        stage.refusal().await,
        "the metadata at http://issuer/.well-known/oauth-authorization-server is not used: \
             its issuer is \"http://issuer\", expected \"http://issuer/\""
    );
    stage.check_asked("slash", &[DOCUMENT]);
}
