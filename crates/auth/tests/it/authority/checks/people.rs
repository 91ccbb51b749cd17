//! Who sits at the browser.

use switchboard_auth::{AuthError, Interaction as _, LoginPage, Place, Scopes};

use super::{BACK, visit, with_app};
use crate::authority::{Authority, Conduct, Fields, ScriptedPerson};

fn page(authority: &Authority) -> LoginPage {
    let url = format!("{}?{}", authority.url("/authorize"), visit("app").text());
    LoginPage::new(
        Place::parse(&url).unwrap(),
        Place::parse("https://example.com/mcp").unwrap(),
        authority.issuer(),
        Scopes::parse("read write"),
    )
}

async fn go(person: &ScriptedPerson, page: &LoginPage) -> Result<String, AuthError> {
    let mut visit = person.prepare(&[]).await?;
    assert_eq!(visit.redirect_uri(), BACK);
    let came_back = visit.go(page).await?;
    Ok(came_back.reveal().to_owned())
}

fn fields(came_back: &str) -> Fields {
    Fields::parse(came_back.split_once('?').unwrap().1)
}

#[tokio::test]
async fn a_person_agrees_or_does_not() {
    let authority = with_app().await;
    let page = page(&authority);
    let person = ScriptedPerson::new(Conduct::Agrees);
    let came_back = go(&person, &page).await.unwrap();
    assert!(came_back.starts_with(BACK));
    assert!(fields(&came_back).find("code").is_some());
    assert_eq!(person.pages()[0].issuer, authority.issuer());
    let came_back = go(&ScriptedPerson::new(Conduct::Denies), &page)
        .await
        .unwrap();
    assert_eq!(fields(&came_back).find("error"), Some("access_denied"));
    assert_eq!(fields(&came_back).find("code"), None);
}

#[tokio::test]
async fn what_a_person_brings_back_may_not_be_the_answer() {
    let authority = with_app().await;
    let page = page(&authority);
    let tampers = ScriptedPerson::new(Conduct::Tampers("mine & yours".to_owned()));
    let came_back = fields(&go(&tampers, &page).await.unwrap());
    assert_eq!(came_back.find("state"), Some("mine & yours"));
    assert!(came_back.find("code").is_some());
    let brings = ScriptedPerson::new(Conduct::Brings("code=1".to_owned()));
    assert_eq!(go(&brings, &page).await.unwrap(), "code=1");
    assert_eq!(authority.count("/authorize"), 1);
    let never = ScriptedPerson::new(Conduct::NeverComesBack);
    let waiting = go(&never, &page);
    tokio::select! {
        biased;
        _ = waiting => panic!("came back"),
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(never.pages().len(), 1);
}

#[tokio::test]
async fn a_page_that_sends_nobody_back_is_the_end_of_a_login() {
    let authority = with_app().await;
    let page = page(&authority);
    authority.forget_clients();
    let person = ScriptedPerson::new(Conduct::Agrees);
    let error = go(&person, &page).await.unwrap_err();
    assert!(matches!(error, AuthError::LoginAborted { .. }), "{error}");
}

#[tokio::test]
async fn a_person_comes_back_to_where_the_client_is_known() {
    let elsewhere = "http://127.0.0.1:1/elsewhere";
    let person = ScriptedPerson::new(Conduct::Agrees).redirect_uri(elsewhere);
    let visit = person.prepare(&[]).await.unwrap();
    assert_eq!(visit.redirect_uri(), elsewhere);
    let known = [BACK.to_owned()];
    let visit = person.prepare(&known).await.unwrap();
    assert_eq!(visit.redirect_uri(), BACK);
    assert!(!person.prefers_code() && person.codes().is_empty());
    assert!(person.preferring_code().prefers_code());
}
