//! Too much, and too late.

use std::time::{Duration, Instant};

use switchboard_telemetry::Telemetry;

use crate::collector::Collector;
use crate::{LONG, call, listen, meter, spans};

#[tokio::test]
async fn of_what_does_not_fit_the_oldest_go_and_no_call_waits() {
    let collector = Collector::start(&["silence"]).await;
    let mut settings = spans(&collector.origin);
    settings.queue = 100;
    settings.batch = 10;
    let telemetry = Telemetry::start(settings, None).unwrap();
    let listening = listen(&telemetry);
    let meter = meter();
    // The first ten are on their way, and never taken.
    for number in 0..10 {
        call(&meter, &format!("first{number}"));
    }
    collector.wait_for(1).await;
    for number in 0..5000 {
        call(&meter, &format!("tool{number}"));
    }
    assert_eq!(telemetry.counts().dropped, 4900);
    drop(listening);
    let counts = telemetry.close(Duration::from_millis(10)).await;
    assert_eq!(counts.dropped, 4900);
    assert_eq!((counts.sent, counts.failed), (0, 110));
}

#[tokio::test]
async fn the_newest_are_those_that_stay() {
    let collector = Collector::start(&["200"]).await;
    let mut settings = spans(&collector.origin);
    settings.queue = 3;
    let telemetry = Telemetry::start(settings, None).unwrap();
    let listening = listen(&telemetry);
    let meter = meter();
    // Nothing is sent meanwhile: the task has no turn.
    for number in 0..5 {
        call(&meter, &format!("tool{number}"));
    }
    drop(listening);
    let counts = telemetry.close(LONG).await;
    assert_eq!((counts.sent, counts.dropped), (3, 2));
    let arrived = collector.arrived();
    for (tool, expected) in [("tool1", 0), ("tool2", 1), ("tool4", 1)] {
        let name = format!("mcp.github.{tool}");
        assert_eq!(arrived[0].count(&name), expected, "{tool}");
    }
}

#[tokio::test]
async fn closing_takes_no_longer_than_it_may() {
    let collector = Collector::start(&["silence"]).await;
    let telemetry = Telemetry::start(spans(&collector.origin), None).unwrap();
    let listening = listen(&telemetry);
    let meter = meter();
    for number in 0..700 {
        call(&meter, &format!("tool{number}"));
    }
    drop(listening);
    let began = Instant::now();
    let counts = telemetry.close(Duration::from_millis(100)).await;
    // The limits of a request are ten seconds and more.
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!((counts.sent, counts.failed), (0, 700));
}

#[tokio::test]
async fn closing_does_not_sit_out_a_pause() {
    let collector = Collector::start(&["503 retry-after: 50", "200"]).await;
    let mut settings = spans(&collector.origin);
    settings.batch = 1;
    let telemetry = Telemetry::start(settings, None).unwrap();
    let listening = listen(&telemetry);
    call(&meter(), "add");
    collector.wait_for(1).await;
    drop(listening);
    let began = Instant::now();
    let counts = telemetry.close(LONG).await;
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!((counts.sent, counts.failed), (1, 0));
}

#[tokio::test]
async fn dropped_without_an_end_it_sends_no_more() {
    let collector = Collector::start(&["200"]).await;
    let mut settings = spans(&collector.origin);
    settings.batch = 1;
    let telemetry = Telemetry::start(settings, None).unwrap();
    let _listening = listen(&telemetry);
    let meter = meter();
    call(&meter, "before");
    collector.wait_for(1).await;
    drop(telemetry);
    // Whoever still listens does no harm.
    for _ in 0..5000 {
        call(&meter, "after");
    }
    assert_eq!(collector.arrived().len(), 1);
}
