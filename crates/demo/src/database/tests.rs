use tokio::sync::oneshot;

use super::*;
use crate::store::{self, NewTask};
use crate::tests::Scratch;

/// Runs until it is interrupted.
fn run_away(connection: &Connection) -> Result<i64, TaskError> {
    let endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                   SELECT count(*) FROM n";
    Ok(connection.query_row(endless, [], |row| row.get(0))?)
}

fn count(connection: &Connection) -> Result<i64, TaskError> {
    Ok(connection.query_row("SELECT count(*) FROM task", [], |row| row.get(0))?)
}

fn add(connection: &Connection) -> Result<(), TaskError> {
    let task = NewTask {
        description: "x".to_owned(),
        ..NewTask::default()
    };
    store::create(connection, &task).map(drop)
}

#[tokio::test]
async fn a_query_that_runs_away_delays_nobody_and_ends_when_it_is_cancelled() {
    let scratch = Scratch::new("runaway");
    let database = Database::open(&scratch.file()).unwrap();
    let mut running = Vec::new();
    for _ in 1..READERS {
        let (begun, has_begun) = oneshot::channel();
        let database = database.clone();
        running.push(tokio::spawn(async move {
            let work = move |connection: &Connection| {
                begun.send(()).unwrap();
                run_away(connection)
            };
            database.read(work).await
        }));
        has_begun.await.unwrap();
    }
    database.write(add, |()| ()).await.unwrap();
    assert_eq!(database.read(count).await.unwrap(), 1);
    for query in running {
        query.abort();
    }
    // Every reader is free again, or this would wait for ever.
    let permits = &Lane::readers_of(&database).permits;
    let all = u32::try_from(READERS).unwrap();
    drop(permits.acquire_many(all).await.unwrap());
    assert_eq!(database.read(count).await.unwrap(), 1);
}

#[tokio::test]
async fn a_cancelled_write_changes_nothing_and_frees_the_writer() {
    let scratch = Scratch::new("cancelled");
    let database = Database::open(&scratch.file()).unwrap();
    let (begun, has_begun) = oneshot::channel();
    let writing = database.write(
        move |connection| {
            add(connection)?;
            begun.send(()).unwrap();
            run_away(connection)
        },
        |_| panic!("nothing was done"),
    );
    tokio::select! {
        _ = writing => panic!("it does not end by itself"),
        begun = has_begun => begun.unwrap(),
    }
    database.write(add, |()| ()).await.unwrap();
    assert_eq!(database.read(count).await.unwrap(), 1);
}

#[tokio::test]
async fn a_writer_of_another_process_keeps_only_writers_waiting() {
    let scratch = Scratch::new("busy");
    let database = Database::open(&scratch.file()).unwrap();
    let other = Connection::open(scratch.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let writing = tokio::spawn({
        let database = database.clone();
        async move { database.write(add, |()| ()).await }
    });
    assert_eq!(database.read(count).await.unwrap(), 0);
    other.execute_batch("COMMIT").unwrap();
    writing.await.unwrap().unwrap();
    assert_eq!(database.read(count).await.unwrap(), 1);
}

#[tokio::test]
async fn work_that_panics_takes_nothing_with_it() {
    let scratch = Scratch::new("panic");
    let database = Database::open(&scratch.file()).unwrap();
    let panicking = tokio::spawn({
        let database = database.clone();
        let work = |connection: &Connection| -> Result<(), TaskError> {
            add(connection)?;
            panic!("a test wants this");
        };
        async move { database.write(work, |()| ()).await }
    });
    assert!(panicking.await.unwrap_err().is_panic());
    database.write(add, |()| ()).await.unwrap();
    assert_eq!(database.read(count).await.unwrap(), 1);
}

#[test]
fn a_file_that_is_no_database_is_named_and_left_alone() {
    let scratch = Scratch::new("foreign");
    std::fs::write(
        scratch.file(),
        "Dear diary, this is no database at all.".repeat(40),
    )
    .unwrap();
    let Err(error) = Database::open(&scratch.file()) else {
        panic!("it is no database");
    };
    let text = error.to_string();
    assert!(text.contains("tasks.sqlite is not a database"), "{text}");
}

impl Lane {
    fn readers_of(database: &Database) -> &Self {
        &database.0.readers
    }
}
