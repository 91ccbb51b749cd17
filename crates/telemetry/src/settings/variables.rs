//! The variables that OpenTelemetry names for what we can do.
//!
//! An empty variable is one that is not set.

use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Destination, METRICS, Settings, SettingsError, TRACES};

/// Where values come from.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

pub(super) fn read(value: Lookup<'_>) -> Result<Option<Settings>, SettingsError> {
    let set = |name: &str| value(name).map(|text| text.trim().to_owned());
    let set = move |name: &str| set(name).filter(|text| !text.is_empty());
    let variables = Variables { set: &set };
    if set("OTEL_SDK_DISABLED").is_some_and(|word| word.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    let mut settings = Settings::nowhere();
    settings.traces = variables.destination("TRACES", TRACES)?;
    match set(SAMPLER).as_deref() {
        None | Some("parentbased_always_on") => {}
        Some("always_off") => settings.traces = None,
        Some(_) => return Err(wrong(SAMPLER, "parentbased_always_on or always_off")),
    }
    settings.metrics = variables.destination("METRICS", METRICS)?;
    if settings.traces.is_none() && settings.metrics.is_none() {
        return Ok(None);
    }
    if let Some(list) = set("OTEL_RESOURCE_ATTRIBUTES") {
        for (key, value) in pairs("OTEL_RESOURCE_ATTRIBUTES", &list)? {
            settings.set_resource(&key, &value);
        }
    }
    if let Some(name) = set("OTEL_SERVICE_NAME") {
        settings.set_resource("service.name", &name);
    }
    if let Some(file) = set("OTEL_EXPORTER_OTLP_CERTIFICATE") {
        settings.http.roots.files.push(PathBuf::from(file));
    }
    variables.number("OTEL_BSP_MAX_QUEUE_SIZE", &mut settings.queue)?;
    variables.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", &mut settings.batch)?;
    variables.millis("OTEL_BSP_SCHEDULE_DELAY", &mut settings.delay)?;
    variables.millis(
        "OTEL_METRIC_EXPORT_INTERVAL",
        &mut settings.metrics_interval,
    )?;
    Ok(Some(settings))
}

struct Variables<'a> {
    set: Lookup<'a>,
}

impl Variables<'_> {
    /// Where one kind of telemetry goes. What is said of it alone counts more.
    fn destination(&self, kind: &str, path: &str) -> Result<Option<Destination>, SettingsError> {
        let exporter = format!("OTEL_{kind}_EXPORTER");
        match (self.set)(&exporter).as_deref() {
            None | Some("otlp") => {}
            Some("none") => return Ok(None),
            Some(_) => return Err(wrong(&exporter, "otlp or none")),
        }
        let own = format!("OTEL_EXPORTER_OTLP_{kind}_ENDPOINT");
        let named = |name: &str, made: Result<Destination, SettingsError>| {
            made.map_err(|_| wrong(name, "a URL such as http://localhost:4318"))
        };
        let mut destination = match ((self.set)(&own), (self.set)(ENDPOINT)) {
            (Some(url), _) => named(&own, Destination::new(&url))?,
            (None, Some(url)) => named(ENDPOINT, Destination::below(&url, path))?,
            (None, None) => return Ok(None),
        };
        if let Some((name, protocol)) = self.of(kind, "PROTOCOL")
            && protocol != "http/protobuf"
        {
            return Err(wrong(&name, "http/protobuf, or not set"));
        }
        if let Some((name, list)) = self.of(kind, "HEADERS") {
            destination.headers = headers(&name, &list)?;
        }
        if let Some((name, _)) = self.of(kind, "TIMEOUT") {
            self.millis(&name, &mut destination.timeout)?;
        }
        Ok(Some(destination))
    }

    /// A variable for one kind of telemetry, or else that for all.
    fn of(&self, kind: &str, what: &str) -> Option<(String, String)> {
        let names = [
            format!("OTEL_EXPORTER_OTLP_{kind}_{what}"),
            format!("OTEL_EXPORTER_OTLP_{what}"),
        ];
        names
            .into_iter()
            .find_map(|name| (self.set)(&name).map(|value| (name, value)))
    }

    fn number(&self, name: &str, to: &mut usize) -> Result<(), SettingsError> {
        if let Some(text) = (self.set)(name) {
            let number = text
                .parse()
                .ok()
                .filter(|number| (1..=MOST).contains(number));
            *to = number.ok_or_else(|| wrong(name, "a number from 1 to 1000000"))?;
        }
        Ok(())
    }

    fn millis(&self, name: &str, to: &mut Duration) -> Result<(), SettingsError> {
        if let Some(text) = (self.set)(name) {
            let millis = text
                .parse()
                .ok()
                .filter(|millis| (1..=LONGEST).contains(millis));
            let millis =
                millis.ok_or_else(|| wrong(name, "a number of milliseconds, within a day"))?;
            *to = Duration::from_millis(millis);
        }
        Ok(())
    }
}

fn headers(variable: &str, list: &str) -> Result<HeaderMap, SettingsError> {
    let mut headers = HeaderMap::new();
    for (key, value) in pairs(variable, list)? {
        let (Ok(name), Ok(mut value)) = (
            HeaderName::try_from(key.as_str()),
            HeaderValue::try_from(value.as_str()),
        ) else {
            return Err(wrong(variable, PAIRS));
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// A list such as `key=value,key=value`, its values percent-encoded.
fn pairs(variable: &str, list: &str) -> Result<Vec<(String, String)>, SettingsError> {
    let members = list
        .split(',')
        .map(str::trim)
        .filter(|text| !text.is_empty());
    members
        .map(|member| {
            let (key, value) = member.split_once('=')?;
            let (key, value) = (key.trim(), decode(value.trim())?);
            (!key.is_empty()).then(|| (key.to_owned(), value))
        })
        .collect::<Option<_>>()
        .ok_or_else(|| wrong(variable, PAIRS))
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match (byte, behind) {
            (b'%', [high, low, behind @ ..]) => {
                let digit = |letter: u8| char::from(letter).to_digit(16);
                let byte = digit(*high)? * 16 + digit(*low)?;
                bytes.push(u8::try_from(byte).ok()?);
                rest = behind;
            }
            (b'%', _) => return None,
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok()
}

fn wrong(name: &str, expected: &'static str) -> SettingsError {
    SettingsError::Variable {
        name: name.to_owned(),
        expected,
    }
}

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const SAMPLER: &str = "OTEL_TRACES_SAMPLER";
const PAIRS: &str = "a list such as key=value,key=value, its values percent-encoded";
const MOST: usize = 1_000_000;
const LONGEST: u64 = 24 * 60 * 60 * 1000;

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(lines: &str) -> Result<Option<Settings>, String> {
        let value = |name: &str| {
            let mut lines = lines.lines().filter_map(|line| line.trim().split_once('='));
            let found = lines.find(|(known, _)| *known == format!("OTEL_{name}") || *known == name);
            found.map(|(_, value)| value.to_owned())
        };
        Settings::from_variables(value).map_err(|error| error.to_string())
    }

    fn urls(lines: &str) -> (Option<String>, Option<String>) {
        let settings = settings(lines).unwrap().unwrap();
        let url = |found: Option<Destination>| found.map(|found| found.url.to_string());
        (url(settings.traces), url(settings.metrics))
    }

    #[test]
    fn nothing_is_sent_unless_somebody_says_where() {
        for lines in [
            "",
            "OTEL_EXPORTER_OTLP_ENDPOINT=",
            "OTEL_SERVICE_NAME=x",
            "OTEL_EXPORTER_OTLP_ENDPOINT=http://a\nOTEL_SDK_DISABLED=True",
            "OTEL_EXPORTER_OTLP_ENDPOINT=http://a\nOTEL_TRACES_EXPORTER=none\nOTEL_METRICS_EXPORTER=none",
        ] {
            assert!(settings(lines).unwrap().is_none(), "{lines}");
        }
    }

    #[test]
    fn a_collector_has_a_place_for_each_kind() {
        let both = |traces: &str, metrics: &str| (Some(traces.into()), Some(metrics.into()));
        assert_eq!(
            urls("OTEL_EXPORTER_OTLP_ENDPOINT=http://a:4318"),
            both("http://a:4318/v1/traces", "http://a:4318/v1/metrics")
        );
        assert_eq!(
            urls("OTEL_EXPORTER_OTLP_ENDPOINT= https://a/otlp/ "),
            both("https://a/otlp/v1/traces", "https://a/otlp/v1/metrics")
        );
        // A place of its own is taken as it is.
        assert_eq!(
            urls(
                "OTEL_EXPORTER_OTLP_ENDPOINT=http://a\nOTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://b/x"
            ),
            both("http://b/x", "http://a/v1/metrics")
        );
        assert_eq!(
            urls("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://b"),
            (None, Some("http://b/".to_owned()))
        );
        assert_eq!(
            urls("OTEL_EXPORTER_OTLP_ENDPOINT=http://a\nOTEL_TRACES_SAMPLER=always_off"),
            (None, Some("http://a/v1/metrics".to_owned()))
        );
        assert_eq!(
            urls("OTEL_EXPORTER_OTLP_ENDPOINT=http://a\nOTEL_METRICS_EXPORTER=none"),
            (Some("http://a/v1/traces".to_owned()), None)
        );
    }

    #[test]
    fn everything_else_can_be_set() {
        let settings = settings(
            "OTEL_EXPORTER_OTLP_ENDPOINT=http://a
             OTEL_EXPORTER_OTLP_HEADERS=api-key=a%20b, x = y
             OTEL_EXPORTER_OTLP_TRACES_HEADERS=other=1
             OTEL_EXPORTER_OTLP_TIMEOUT=2500
             OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
             OTEL_EXPORTER_OTLP_CERTIFICATE=/etc/ca.pem
             OTEL_SERVICE_NAME=mine
             OTEL_RESOURCE_ATTRIBUTES=service.name=other,host.name=h%2C1
             OTEL_BSP_MAX_QUEUE_SIZE=10
             OTEL_BSP_MAX_EXPORT_BATCH_SIZE=5
             OTEL_BSP_SCHEDULE_DELAY=100
             OTEL_METRIC_EXPORT_INTERVAL=1000",
        );
        let settings = settings.unwrap().unwrap();
        let resource: Vec<_> = settings
            .resource
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        assert_eq!(resource, [("service.name", "mine"), ("host.name", "h,1")]);
        let metrics = settings.metrics.unwrap();
        assert_eq!(metrics.headers["api-key"], "a b");
        assert_eq!(metrics.headers["x"], "y");
        assert_eq!(metrics.timeout, Duration::from_millis(2500));
        assert!(!format!("{metrics:?}").contains("a b"), "{metrics:?}");
        let traces = settings.traces.unwrap();
        assert_eq!(traces.headers.len(), 1);
        assert_eq!(traces.headers["other"], "1");
        assert_eq!((settings.queue, settings.batch), (10, 5));
        assert_eq!(settings.delay, Duration::from_millis(100));
        assert_eq!(settings.metrics_interval, Duration::from_secs(1));
        assert_eq!(settings.http.roots.files.len(), 1);
    }

    #[test]
    fn a_number_or_a_time_that_makes_no_sense_is_refused() {
        for (line, is_taken) in [
            ("OTEL_BSP_MAX_QUEUE_SIZE=1000000", true),
            ("OTEL_BSP_MAX_QUEUE_SIZE=1000001", false),
            ("OTEL_METRIC_EXPORT_INTERVAL=86400000", true),
            ("OTEL_METRIC_EXPORT_INTERVAL=86400001", false),
            ("OTEL_METRIC_EXPORT_INTERVAL=0", false),
        ] {
            let lines = format!("OTEL_EXPORTER_OTLP_ENDPOINT=http://a\n{line}");
            assert_eq!(settings(&lines).is_ok(), is_taken, "{line}");
        }
    }

    #[test]
    fn a_variable_that_is_wrong_is_named_and_its_value_is_not() {
        for (line, variable) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT=secret", ENDPOINT),
            ("OTEL_EXPORTER_OTLP_ENDPOINT=ftp://secret", ENDPOINT),
            ("OTEL_EXPORTER_OTLP_ENDPOINT=http:///secret", ENDPOINT),
            (
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=secret",
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            ),
            (
                "OTEL_EXPORTER_OTLP_HEADERS=secret",
                "OTEL_EXPORTER_OTLP_HEADERS",
            ),
            (
                "OTEL_EXPORTER_OTLP_HEADERS==secret",
                "OTEL_EXPORTER_OTLP_HEADERS",
            ),
            (
                "OTEL_EXPORTER_OTLP_HEADERS=a=secret%0a",
                "OTEL_EXPORTER_OTLP_HEADERS",
            ),
            (
                "OTEL_EXPORTER_OTLP_HEADERS=a=secret%2",
                "OTEL_EXPORTER_OTLP_HEADERS",
            ),
            (
                "OTEL_EXPORTER_OTLP_TIMEOUT=secret",
                "OTEL_EXPORTER_OTLP_TIMEOUT",
            ),
            (
                "OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
                "OTEL_EXPORTER_OTLP_PROTOCOL",
            ),
            ("OTEL_TRACES_EXPORTER=secret", "OTEL_TRACES_EXPORTER"),
            ("OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER"),
            ("OTEL_BSP_MAX_QUEUE_SIZE=0", "OTEL_BSP_MAX_QUEUE_SIZE"),
            (
                "OTEL_RESOURCE_ATTRIBUTES=secret",
                "OTEL_RESOURCE_ATTRIBUTES",
            ),
        ] {
            let lines = format!("{line}\nOTEL_EXPORTER_OTLP_ENDPOINT=http://a");
            let error = settings(&lines).unwrap_err();
            assert!(error.starts_with(variable), "{line}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
