//! Collectors that do not take what they are sent.

use std::time::{Duration, Instant};

use switchboard_hub::Metrics;
use switchboard_telemetry::Telemetry;

use crate::collector::Collector;
use crate::{LONG, call, listen, meter, settings, spans};

#[tokio::test]
async fn one_that_is_busy_is_asked_again() {
    for status in ["429", "502", "503", "504"] {
        let collector = Collector::start(&[status, status, "200"]).await;
        let telemetry = Telemetry::start(spans(&collector.origin), None).unwrap();
        let listening = listen(&telemetry);
        call(&meter(), "add");
        drop(listening);
        let counts = telemetry.close(LONG).await;
        assert_eq!((counts.sent, counts.failed), (1, 0), "{status}");
        assert_eq!(collector.arrived().len(), 3);
        for request in collector.arrived() {
            assert_eq!(request.count("mcp.github.add"), 1);
        }
    }
}

#[tokio::test]
async fn one_that_says_how_long_to_wait_is_left_alone_for_so_long() {
    let collector = Collector::start(&["503 retry-after: 1", "200"]).await;
    let mut settings = spans(&collector.origin);
    settings.batch = 1;
    let telemetry = Telemetry::start(settings, None).unwrap();
    let listening = listen(&telemetry);
    let began = Instant::now();
    call(&meter(), "add");
    collector.wait_for(2).await;
    assert!(began.elapsed() >= Duration::from_secs(1));
    drop(listening);
    let counts = telemetry.close(LONG).await;
    assert_eq!((counts.sent, counts.failed), (1, 0));
}

#[tokio::test]
async fn one_that_wants_too_long_a_pause_loses_what_it_refused() {
    let collector = Collector::start(&["503 retry-after: 3600"]).await;
    let telemetry = Telemetry::start(spans(&collector.origin), None).unwrap();
    let listening = listen(&telemetry);
    call(&meter(), "add");
    drop(listening);
    let counts = telemetry.close(LONG).await;
    assert_eq!((counts.sent, counts.failed), (0, 1));
    assert_eq!(collector.arrived().len(), 1);
}

#[tokio::test]
async fn one_that_wants_too_long_a_pause_has_it_before_the_next() {
    let collector = Collector::start(&["503 retry-after: 3600", "200"]).await;
    let mut settings = spans(&collector.origin);
    settings.batch = 1;
    let telemetry = Telemetry::start(settings, None).unwrap();
    let listening = listen(&telemetry);
    let meter = meter();
    call(&meter, "first");
    collector.wait_for(1).await;
    call(&meter, "second");
    drop(listening);
    // Only the end cuts it short.
    let counts = telemetry.close(LONG).await;
    assert_eq!((counts.sent, counts.failed), (1, 1));
    let arrived = collector.arrived();
    assert_eq!(arrived.len(), 2);
    assert_eq!(arrived[1].count("mcp.github.second"), 1);
}

#[tokio::test]
async fn one_that_refuses_for_good_is_not_asked_again() {
    for status in ["400", "401", "404", "413", "500", "307 location: /other"] {
        let collector = Collector::start(&[status]).await;
        let metrics = Metrics::new();
        let meter = metrics.server("github");
        let telemetry = Telemetry::start(settings(&collector.origin), Some(metrics)).unwrap();
        let listening = listen(&telemetry);
        call(&meter, "add");
        drop(listening);
        let counts = telemetry.close(LONG).await;
        assert_eq!((counts.sent, counts.failed), (0, 1), "{status}");
        assert_eq!((counts.metrics_sent, counts.metrics_failed), (0, 1));
        assert_eq!(collector.arrived().len(), 2);
    }
}

#[tokio::test]
async fn one_that_answers_without_end_is_not_heard_out() {
    let collector = Collector::start(&["large"]).await;
    let telemetry = Telemetry::start(spans(&collector.origin), None).unwrap();
    let listening = listen(&telemetry);
    call(&meter(), "add");
    drop(listening);
    // It has taken it, as its status says; what else it says is not read.
    let counts = telemetry.close(LONG).await;
    assert_eq!((counts.sent, counts.rejected, counts.failed), (1, 0, 0));
}

#[tokio::test]
async fn one_that_never_answers_is_given_up() {
    let collector = Collector::start(&["silence"]).await;
    let mut settings = spans(&collector.origin);
    settings.retry.total = Duration::from_millis(200);
    if let Some(traces) = &mut settings.traces {
        traces.timeout = Duration::from_millis(20);
    }
    let telemetry = Telemetry::start(settings, None).unwrap();
    let listening = listen(&telemetry);
    call(&meter(), "add");
    drop(listening);
    let counts = telemetry.close(LONG).await;
    assert_eq!((counts.sent, counts.failed), (0, 1));
    assert!(collector.arrived().len() > 1);
}

#[tokio::test]
async fn one_that_is_not_there_is_given_up() {
    // A port that was free a moment ago.
    let origin = Collector::start(&[]).await.origin.clone();
    let mut settings = spans(&origin);
    settings.retry.total = Duration::from_millis(50);
    let telemetry = Telemetry::start(settings, None).unwrap();
    let listening = listen(&telemetry);
    call(&meter(), "add");
    drop(listening);
    let counts = telemetry.close(LONG).await;
    assert_eq!((counts.sent, counts.failed), (0, 1));
}

#[tokio::test]
async fn one_that_does_not_want_all_says_how_many() {
    let collector = Collector::start(&["partial"]).await;
    let telemetry = Telemetry::start(spans(&collector.origin), None).unwrap();
    let listening = listen(&telemetry);
    let meter = meter();
    for _ in 0..3 {
        call(&meter, "add");
    }
    drop(listening);
    let counts = telemetry.close(LONG).await;
    assert_eq!((counts.sent, counts.rejected, counts.failed), (2, 1, 0));
}
