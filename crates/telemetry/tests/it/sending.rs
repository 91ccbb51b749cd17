//! What is sent when all goes well.

use std::time::Duration;

use switchboard_hub::{CallTrace, Metrics, Outcome, Subject, TraceContext};
use switchboard_telemetry::{Settings, Telemetry};
use switchboard_transport::http::client::ProxyChoice;
use tracing::{info_span, span_enabled};

use crate::collector::Collector;
use crate::{LONG, call, listen, meter, settings, spans};

#[tokio::test]
async fn spans_and_metrics_arrive_where_the_variables_say() {
    let collector = Collector::start(&["200"]).await;
    let origin = collector.origin.clone();
    let value = |name: &str| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(format!("{origin}/base")),
        "OTEL_EXPORTER_OTLP_HEADERS" => Some("api-key=a%20secret".to_owned()),
        "OTEL_SERVICE_NAME" => Some("my-gateway".to_owned()),
        _ => None,
    };
    let mut settings = Settings::from_variables(value).unwrap().unwrap();
    settings.http.proxy = ProxyChoice::Never;
    let metrics = Metrics::new();
    let meter = metrics.server("github");
    let telemetry = Telemetry::start(settings, Some(metrics)).unwrap();
    let listening = listen(&telemetry);
    call(&meter, "create_issue");
    drop(listening);
    let counts = telemetry.close(LONG).await;
    assert_eq!((counts.sent, counts.metrics_sent), (1, 1));
    assert_eq!((counts.failed, counts.metrics_failed), (0, 0));
    let mut arrived = collector.arrived();
    arrived.sort_by(|a, b| a.head.cmp(&b.head));
    let [numbers, spans] = &arrived[..] else {
        panic!("{arrived:?}");
    };
    for (request, path) in [(spans, "/base/v1/traces"), (numbers, "/base/v1/metrics")] {
        assert!(
            request
                .head
                .starts_with(&format!("post {path} http/1.1\r\n"))
        );
        assert!(request.head.contains("\r\napi-key: a secret\r\n"));
        assert!(
            request
                .head
                .contains("\r\ncontent-type: application/x-protobuf\r\n")
        );
        assert_eq!(request.count("my-gateway"), 1);
        assert_eq!(request.count("switchboard-hub"), 1);
    }
    assert_eq!(spans.count("mcp.github.create_issue"), 1);
    assert_eq!(numbers.count("mcp.client.operation.duration"), 1);
}

#[tokio::test]
async fn as_many_as_fit_are_sent_at_once_and_the_rest_after_a_while() {
    let collector = Collector::start(&["200"]).await;
    let mut settings = spans(&collector.origin);
    settings.batch = 3;
    let telemetry = Telemetry::start(settings.clone(), None).unwrap();
    let listening = listen(&telemetry);
    let meter = meter();
    for number in 0..3 {
        call(&meter, &format!("tool{number}"));
    }
    let arrived = collector.wait_for(1).await;
    assert_eq!(arrived[0].count("mcp.github.tool"), 3);
    drop((listening, telemetry));
    settings.delay = Duration::from_millis(1);
    let telemetry = Telemetry::start(settings, None).unwrap();
    let _listening = listen(&telemetry);
    call(&meter, "alone");
    let arrived = collector.wait_for(2).await;
    assert_eq!(arrived[1].count("mcp.github.alone"), 1);
}

#[tokio::test]
async fn very_many_all_arrive_once() {
    let collector = Collector::start(&["200"]).await;
    let mut settings = spans(&collector.origin);
    settings.queue = 20_000;
    let telemetry = Telemetry::start(settings, None).unwrap();
    let listening = listen(&telemetry);
    let meter = meter();
    for number in 0..10_000 {
        call(&meter, &format!("<{number}>"));
    }
    drop(listening);
    let counts = telemetry.close(LONG).await;
    assert_eq!((counts.sent, counts.dropped, counts.failed), (10_000, 0, 0));
    let arrived = collector.arrived();
    assert_eq!(arrived.len(), 10_000usize.div_ceil(512));
    let names: usize = arrived
        .iter()
        .map(|request| request.count("mcp.github.<"))
        .sum();
    assert_eq!(names, 10_000);
}

#[tokio::test]
async fn metrics_are_sent_again_and_again() {
    let collector = Collector::start(&["200"]).await;
    let mut settings = settings(&collector.origin);
    settings.traces = None;
    settings.metrics_interval = Duration::from_millis(1);
    let metrics = Metrics::new();
    let meter = metrics.server("github");
    meter.restarted();
    meter.reached("items");
    let telemetry = Telemetry::start(settings, Some(metrics)).unwrap();
    let arrived = collector.wait_for(3).await;
    for request in arrived {
        assert_eq!(request.count("switchboard.server.restarts"), 1);
        assert_eq!(request.count("switchboard.server.over_limit"), 1);
        assert_eq!(request.count("switchboard.events.missed"), 1);
        // Without a call there is nothing to say of calls.
        assert_eq!(request.count("mcp.client.operation.duration"), 0);
    }
    assert!(telemetry.close(LONG).await.metrics_sent >= 3);
}

#[tokio::test]
async fn only_calls_of_recorded_traces_are_sent() {
    let collector = Collector::start(&["200"]).await;
    let telemetry = Telemetry::start(spans(&collector.origin), None).unwrap();
    let listening = listen(&telemetry);
    let meter = meter();
    let quiet = TraceContext::begin().with_sampled(false);
    CallTrace::begin(&meter, Subject::Tool("quiet"), Some(&quiet)).end(&Outcome::Done);
    // Of the same name, but not of the hub; and what nobody listens to costs nothing.
    let other = info_span!("mcp.call", trace_flags = 1);
    assert!(other.is_disabled());
    assert!(!span_enabled!(tracing::Level::ERROR));
    call(&meter, "loud");
    drop(listening);
    let counts = telemetry.close(LONG).await;
    assert_eq!((counts.sent, counts.dropped), (1, 0));
    let arrived = collector.arrived();
    assert_eq!(arrived.len(), 1);
    assert_eq!(arrived[0].count("mcp.github.loud"), 1);
    assert_eq!(arrived[0].count("quiet"), 0);
}
