"""A collector that reads OTLP with the messages that OpenTelemetry itself gives out.

It prints one line of JSON when it answers, and ends with its standard input.

- `POST /v1/traces`, `POST /v1/metrics`: a request as a collector takes it. The first of each is
  answered 503, so that it has to be sent again.
- `GET /seen`: what was read since the beginning, as JSON.
- `POST /extract`: a trace context, as JSON, read by OpenTelemetry's own propagator.
"""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry import trace
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

KINDS = {
    "/v1/traces": (ExportTraceServiceRequest, ExportTraceServiceResponse),
    "/v1/metrics": (ExportMetricsServiceRequest, ExportMetricsServiceResponse),
}

lock = threading.Lock()
seen: list[dict] = []


def unknown(message) -> int:
    """How many fields of a message, and of those within it, nobody knows."""
    count = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            parts = value if field.is_repeated else [value]
            count += sum(unknown(part) for part in parts)
    return count


def read(path: str, body: bytes) -> dict:
    message = KINDS[path][0]()
    message.ParseFromString(body)
    return {
        "path": path,
        "unknown": unknown(message),
        # The same in their own words: nothing is said twice, or in a longer way.
        "same_size": len(message.SerializeToString()) == len(body),
        "content": spans(message) if path == "/v1/traces" else metrics(message),
    }


def attributes(pairs) -> dict:
    """By name, each with its type and value, such as `{"string_value": "a"}`."""
    found = {pair.key: as_dict(pair.value) for pair in pairs}
    assert len(found) == len(pairs), "a name stands there twice"
    return found


def as_dict(message) -> dict:
    return MessageToDict(message, preserving_proto_field_name=True)


def spans(message) -> list[dict]:
    return [
        {
            "resource": attributes(group.resource.attributes),
            "scope": as_dict(scope.scope),
            "trace_id": span.trace_id.hex(),
            "span_id": span.span_id.hex(),
            "parent_span_id": span.parent_span_id.hex(),
            "trace_state": span.trace_state,
            "flags": span.flags,
            "name": span.name,
            "kind": span.SpanKind.Name(span.kind),
            "status": span.status.StatusCode.Name(span.status.code),
            "nanos": span.end_time_unix_nano - span.start_time_unix_nano,
            "age": time.time() - span.start_time_unix_nano / 1e9,
            "attributes": attributes(span.attributes),
        }
        for group in message.resource_spans
        for scope in group.scope_spans
        for span in scope.spans
    ]


def metrics(message) -> list[dict]:
    found = []
    for group in message.resource_metrics:
        for scope in group.scope_metrics:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                data = getattr(metric, kind)
                found.append(
                    {
                        "resource": attributes(group.resource.attributes),
                        "name": metric.name,
                        "unit": metric.unit,
                        "kind": kind,
                        "temporality": getattr(data, "aggregation_temporality", None),
                        "monotonic": getattr(data, "is_monotonic", None),
                        "points": [point(kind, found) for found in data.data_points],
                    }
                )
    return found


def point(kind: str, found) -> dict:
    shown = {
        "attributes": attributes(found.attributes),
        "seconds": (found.time_unix_nano - found.start_time_unix_nano) / 1e9,
    }
    if kind == "histogram":
        shown["count"] = found.count
        shown["sum"] = found.sum
        shown["buckets"] = list(found.bucket_counts)
        shown["bounds"] = list(found.explicit_bounds)
    else:
        shown["value"] = found.as_int
    return shown


def extract(carrier: dict) -> dict:
    context = TraceContextTextMapPropagator().extract(carrier)
    span = trace.get_current_span(context).get_span_context()
    return {
        "valid": span.is_valid,
        "trace_id": trace.format_trace_id(span.trace_id),
        "span_id": trace.format_span_id(span.span_id),
        "sampled": span.trace_flags.sampled,
        "state": span.trace_state.to_header(),
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with lock:
            self.answer(200, "application/json", json.dumps(seen).encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/extract":
            answer = json.dumps(extract(json.loads(body))).encode()
            return self.answer(200, "application/json", answer)
        if self.path not in KINDS:
            return self.answer(404, "text/plain", b"")
        try:
            entry = read(self.path, body)
        except (AssertionError, DecodeError) as error:
            entry = {"path": self.path, "error": str(error)}
        entry["headers"] = {name.lower(): value for name, value in self.headers.items()}
        with lock:
            entry["again"] = any(before["path"] == self.path for before in seen)
            seen.append(entry)
        if not entry["again"]:
            return self.answer(503, "text/plain", b"not yet")
        answer = KINDS[self.path][1]().SerializeToString()
        self.answer(200, "application/x-protobuf", answer)

    def answer(self, status: int, kind: str, body: bytes):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def end_with_input():
    sys.stdin.read()
    os._exit(0)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=end_with_input, daemon=True).start()
print(json.dumps({"url": f"http://127.0.0.1:{server.server_address[1]}"}), flush=True)
server.serve_forever()
