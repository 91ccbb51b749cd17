use std::path::Path;

use super::*;
use crate::schema;

impl Search {
    /// All tasks with these words.
    pub(crate) fn words(query: &str) -> Self {
        Self {
            query: query.to_owned(),
            status: None,
            most: 50,
        }
    }
}

fn store() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    schema::prepare(&connection, Path::new("memory")).unwrap();
    connection
}

fn add(connection: &Connection, description: &str) -> Task {
    let task = NewTask {
        description: description.to_owned(),
        ..NewTask::default()
    };
    create(connection, &task).unwrap()
}

fn found(connection: &Connection, query: &str) -> Vec<String> {
    let tasks = search(connection, &Search::words(query)).unwrap();
    tasks.into_iter().map(|task| task.description).collect()
}

#[test]
fn a_task_begins_pending_and_without_haste() {
    let task = add(&store(), "Fix parser bug");
    assert_eq!(task.id, TaskId(1));
    assert_eq!(
        (task.status, task.priority),
        (Status::Pending, Priority::Normal)
    );
    assert_eq!(task.created_at, task.updated_at);
    assert_eq!(
        (task.due, task.notes, task.completed_at),
        (None, None, None)
    );
}

#[test]
fn words_are_found_in_part_in_any_case_and_without_accents() {
    let store = store();
    add(&store, "Fix the Café parser");
    add(&store, "Buy coffee");
    assert_eq!(found(&store, "PARS fix"), ["Fix the Café parser"]);
    assert_eq!(found(&store, "cafe"), ["Fix the Café parser"]);
    assert_eq!(found(&store, "parser coffee"), [""; 0]);
}

#[test]
fn no_query_is_a_program() {
    let store = store();
    add(
        &store,
        "say \"hi\" AND leave OR (stay) NEAR notes:x -y ^z it's 50% C++",
    );
    for query in [
        "\"hi\"",
        "AND",
        "OR",
        "NOT say",
        "(stay",
        "NEAR(say hi)",
        "notes:x",
        "-y",
        "^z",
        "it's",
        "50%",
        "C++",
        "say\0hi",
        "\"",
        "hi\" OR \"x",
        "*",
        "say*",
        "{description}: say",
        "';--a",
    ] {
        match search(&store, &Search::words(query)) {
            Ok(_) | Err(TaskError::NothingToSearch) => {}
            Err(error) => panic!("{query:?}: {error:?}"),
        }
    }
    assert_eq!(found(&store, "\"hi\" AND (stay)").len(), 1);
    assert_eq!(found(&store, "it's 50% C++").len(), 1);
    let error = search(&store, &Search::words(" - \" ")).unwrap_err();
    assert!(matches!(error, TaskError::NothingToSearch));
}

#[test]
fn the_words_follow_the_task() {
    let store = store();
    let task = add(&store, "alpha");
    let change = Change {
        description: Some("beta".to_owned()),
        notes: Some("gamma".to_owned()),
        ..Change::default()
    };
    update(&store, task.id, &change).unwrap().unwrap();
    assert_eq!(found(&store, "alpha"), [""; 0]);
    assert_eq!(found(&store, "beta gamma"), ["beta"]);
    delete(&store, task.id).unwrap().unwrap();
    assert_eq!(found(&store, "beta"), [""; 0]);
    assert_eq!(delete(&store, task.id).unwrap(), None);
    assert!(add(&store, "next").id > task.id, "ids are not used again");
}

#[test]
fn a_completed_task_stays_as_it_was_completed() {
    let store = store();
    let task = add(&store, "once");
    let first = complete(&store, task.id).unwrap().unwrap();
    assert!(first.completed_at.is_some());
    assert_eq!(complete(&store, task.id).unwrap().unwrap(), first);
    let reopened = Change {
        status: Some(Status::Pending),
        ..Change::default()
    };
    let again = update(&store, task.id, &reopened).unwrap().unwrap();
    assert_eq!(again.completed_at, None);
}
