//! When keys are fetched, with a source that does as it is told and a paused clock.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::sync::Notify;
use tokio::time::advance;

use crate::access::jwt::Fault;
use crate::access::test_issuer::{Signer, check, claims, key_set, refuses, resource, takes};
use crate::access::{Denied, Jwt};

use super::*;

/// A source that gives what it was told to, in turn, and counts.
#[derive(Clone, Default)]
struct Fake(Arc<FakeState>);

#[derive(Default)]
struct FakeState {
    answers: Mutex<VecDeque<Answer>>,
    fetches: AtomicUsize,
    problems: Mutex<Vec<String>>,
    gate: Notify,
}

enum Answer {
    Keys(FetchedKeys),
    Error,
    /// Keys, once the gate is opened.
    Late(FetchedKeys),
    Silence,
    Panic,
}

impl KeySource for Fake {
    fn fetch(&self) -> Fetching<'_> {
        Box::pin(async {
            self.0.fetches.fetch_add(1, Ordering::Relaxed);
            let answer = self.0.answers.lock().unwrap().pop_front();
            match answer {
                Some(Answer::Keys(keys)) => Ok(keys),
                Some(Answer::Late(keys)) => {
                    self.0.gate.notified().await;
                    Ok(keys)
                }
                Some(Answer::Silence) => std::future::pending().await,
                Some(Answer::Panic) => panic!("the source panics"),
                Some(Answer::Error) | None => Err("no route".into()),
            }
        })
    }

    fn report(&self, problem: &KeyProblem) {
        self.0.problems.lock().unwrap().push(problem.to_string());
    }
}

impl Fake {
    fn access(&self) -> Jwt {
        Jwt::new(&resource(), TokenKeys::from_source(self.clone()))
    }

    fn then(&self, answer: Answer) {
        self.0.answers.lock().unwrap().push_back(answer);
    }

    fn fetches(&self) -> usize {
        self.0.fetches.load(Ordering::Relaxed)
    }
}

/// A key set of one key, with this id.
fn published(signer: &Signer, id: &str) -> FetchedKeys {
    FetchedKeys::new(key_set(&[signer.jwk(json!({"kid": id}))]))
}

fn signed(signer: &Signer, id: &str) -> String {
    let header = json!({"alg": "EdDSA", "kid": id});
    signer.sign(&header.to_string(), &claims().to_string())
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn keys_are_fetched_once_and_again_when_they_are_old() {
    let (fake, signer) = (Fake::default(), Signer::ed25519());
    let (access, token) = (fake.access(), signed(&signer, "a"));
    fake.then(Answer::Keys(published(&signer, "a")));
    fake.then(Answer::Keys(
        published(&signer, "a").with_max_age(seconds(100)),
    ));
    fake.then(Answer::Keys(published(&signer, "b")));
    for (wait, fetches) in [(0, 1), (599, 1), (2, 2), (98, 2)] {
        advance(seconds(wait)).await;
        takes(&access, &token).await;
        assert_eq!(fake.fetches(), fetches);
    }
    // Withdrawn by the issuer, so withdrawn here.
    advance(seconds(3)).await;
    refuses(&access, &token, Fault::UnknownKey).await;
    assert_eq!(fake.fetches(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_new_key_is_fetched_when_a_token_names_it() {
    let (fake, old, new) = (Fake::default(), Signer::ed25519(), Signer::ed25519());
    let access = fake.access();
    fake.then(Answer::Keys(published(&old, "a")));
    fake.then(Answer::Keys(published(&new, "b")));
    takes(&access, &signed(&old, "a")).await;
    advance(seconds(31)).await;
    takes(&access, &signed(&new, "b")).await;
    assert_eq!(fake.fetches(), 2);
    refuses(&access, &signed(&old, "a"), Fault::UnknownKey).await;
}

#[tokio::test(start_paused = true)]
async fn made_up_keys_cause_one_fetch_in_half_a_minute() {
    let (fake, signer) = (Fake::default(), Signer::ed25519());
    let access = fake.access();
    for _ in 0..4 {
        fake.then(Answer::Keys(published(&signer, "a")));
    }
    for round in 1..=3 {
        for id in 0..100 {
            refuses(
                &access,
                &signed(&signer, &id.to_string()),
                Fault::UnknownKey,
            )
            .await;
        }
        assert_eq!(fake.fetches(), round);
        advance(seconds(30)).await;
    }
    takes(&access, &signed(&signer, "a")).await;
    // A wrong signature under a known id is no reason to fetch.
    advance(seconds(30)).await;
    refuses(&access, &signed(&Signer::ed25519(), "a"), Fault::Signature).await;
    assert_eq!(fake.fetches(), 3);
}

#[tokio::test(start_paused = true)]
async fn all_who_wait_share_one_fetch() {
    let (fake, signer) = (Fake::default(), Signer::ed25519());
    let access = Arc::new(fake.access());
    fake.then(Answer::Late(published(&signer, "a")));
    let token = signed(&signer, "a");
    let calls: Vec<_> = (0..200)
        .map(|_| {
            let (access, token) = (access.clone(), token.clone());
            tokio::spawn(async move { check(&access, &token).await.is_ok() })
        })
        .collect();
    // The first one leaves; the others are served all the same.
    tokio::task::yield_now().await;
    calls[0].abort();
    tokio::task::yield_now().await;
    fake.0.gate.notify_one();
    for call in calls.into_iter().skip(1) {
        assert!(call.await.unwrap());
    }
    assert_eq!(fake.fetches(), 1);
}

#[tokio::test(start_paused = true)]
async fn old_keys_are_used_for_a_day_while_fetching_fails() {
    let (fake, signer) = (Fake::default(), Signer::ed25519());
    let (access, token) = (fake.access(), signed(&signer, "a"));
    fake.then(Answer::Keys(published(&signer, "a")));
    takes(&access, &token).await;
    fake.then(Answer::Error);
    fake.then(Answer::Keys(FetchedKeys::new("<html>")));
    fake.then(Answer::Panic);
    fake.then(Answer::Silence);
    advance(seconds(600)).await;
    for fetches in [2, 3, 4, 5] {
        // The second one finds an attempt that has just failed.
        takes(&access, &token).await;
        takes(&access, &token).await;
        assert_eq!(fake.fetches(), fetches);
        advance(seconds(5)).await;
    }
    let problems = fake.0.problems.lock().unwrap().clone();
    assert_eq!(
        problems,
        [
            "the key set could not be fetched",
            "what was fetched is not a key set",
            "the key set did not arrive within 10s"
        ]
    );
    advance(seconds(24 * 60 * 60)).await;
    assert_eq!(check(&access, &token).await, Err(Denied::Unavailable));
}

#[tokio::test(start_paused = true)]
async fn without_keys_the_service_is_unavailable_until_there_are_some() {
    let (fake, signer) = (Fake::default(), Signer::ed25519());
    let (access, token) = (fake.access(), signed(&signer, "a"));
    fake.then(Answer::Error);
    fake.then(Answer::Keys(published(&signer, "a")));
    assert_eq!(check(&access, &token).await, Err(Denied::Unavailable));
    assert_eq!(check(&access, &token).await, Err(Denied::Unavailable));
    assert_eq!(fake.fetches(), 1);
    advance(seconds(5)).await;
    takes(&access, &token).await;
}

#[tokio::test(start_paused = true)]
async fn a_token_that_cannot_be_read_causes_no_fetch() {
    let fake = Fake::default();
    refuses(&fake.access(), "a.b.c", Fault::Malformed).await;
    assert_eq!(fake.fetches(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_empty_key_set_withdraws_all_keys() {
    let (fake, signer) = (Fake::default(), Signer::ed25519());
    let (access, token) = (fake.access(), signed(&signer, "a"));
    fake.then(Answer::Keys(published(&signer, "a")));
    fake.then(Answer::Keys(FetchedKeys::new(r#"{"keys":[]}"#)));
    takes(&access, &token).await;
    advance(seconds(600)).await;
    refuses(&access, &token, Fault::UnknownKey).await;
}

#[test]
fn a_problem_names_its_cause() {
    let problem = KeyProblem::Document(JwkSetError::NotAKeySet);
    assert!(problem.source().is_some());
}
