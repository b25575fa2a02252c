"""Observer that makes an OpenTelemetry span of each operation on memory, and their export.

Both need the extra ``otel``; without it nothing is traced.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

from engrams import __version__
from engrams.surfaces.http.telemetry import ObservedRequest, Observer

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
STORE = "gen_ai.memory.store.id"
RECORD = "gen_ai.memory.record.id"
ERROR = "error.type"
"""The conventions are in development and not in the Python package yet; their names stand here
only.
"""

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def trace_observer() -> Observer | None:
    """Create an observer that makes spans; None without the SDK."""
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        return None
    from opentelemetry import propagate, trace

    tracer = trace.get_tracer("engrams", __version__)

    def observe(request: ObservedRequest) -> None:
        operation = request.permission.operation
        if not operation:
            return
        context = propagate.extract({"traceparent": request.parent}) if request.parent else None
        attributes: dict[str, str | int] = {
            OPERATION: operation,
            PROVIDER: "engrams",
            STORE: request.owner,
            "http.response.status_code": request.status,
        }
        if request.target:
            attributes[RECORD] = request.target
        if request.status >= 400:
            attributes[ERROR] = str(request.status)
        span = tracer.start_span(
            f"{operation} engrams",
            context,
            kind=trace.SpanKind.CLIENT,
            attributes=attributes,
            start_time=request.start,
        )
        if request.status >= 500:
            span.set_status(trace.StatusCode.ERROR)
        span.end(request.start + int(request.seconds * 1e9))

    return observe


def start_export() -> bool:
    """Export spans to the OTLP endpoint of the environment.

    False: none is set, or the exporter is not installed.
    """
    if not any(os.environ.get(name) for name in _ENDPOINTS):
        return False
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.exporter") is None:
        return False
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create({"service.name": "engrams", "service.version": __version__})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return True
