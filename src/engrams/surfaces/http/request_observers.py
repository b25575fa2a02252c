"""Observers of requests: charts, metrics, traces, audit and request log."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.responses import Response

from engrams import __version__
from engrams.core.process_peers import ProcessPeers
from engrams.engine import MemoryEngine
from engrams.errors import EngramsError
from engrams.frozen_data import dataclass
from engrams.ports import Clock
from engrams.surfaces.http.permissions import OPEN, PROXY
from engrams.surfaces.http.telemetry import ObservedRequest, Observer

if TYPE_CHECKING:
    from engrams.admin import AuditLog


MINUTES = 24 * 60
_OWNERS = 1000
_TIMES = 500


_MEDIA = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
STORE = "gen_ai.memory.store.id"
RECORD = "gen_ai.memory.record.id"
ERROR = "error.type"
"""The conventions are in development and not in the Python package yet; their names stand here
only.
"""

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def chart_observer(chart: OwnerActivityChart, clock: Clock) -> Observer:
    """Create an observer that fills the owner's activity chart."""

    def note(seen: ObservedRequest) -> None:
        if seen.owner:
            act = seen.permission
            milliseconds = seen.seconds * 1000
            minute = int(clock().timestamp() // 60)
            chart.record(
                seen.owner,
                minute,
                status=seen.status,
                search=act.is_search,
                write=act.right == "write",
                milliseconds=milliseconds,
            )

    return note


def audit_observer(log: AuditLog, *, reads: bool) -> Observer:
    """Create an observer that writes the audit log.

    It notes changes and exports, with ``reads`` also reads; refusals are noted by the key
    middleware.
    """

    def note(seen: ObservedRequest) -> None:
        if (
            seen.permission.right in (OPEN, PROXY)
            or not seen.owner
            or seen.status in (401, 403, 429)
        ):
            return
        if reads or not seen.permission.is_read or seen.permission.name == "memory.export":
            if seen.status < 400:
                outcome = "done"
            elif seen.status < 500:
                outcome = "refused"
            else:
                outcome = "failed"
            # Reads are many, and change nothing: theirs are written together.
            soon = seen.permission.is_read and seen.permission.name != "memory.export"
            log.note(
                seen.permission.name,
                actor=seen.actor,
                owner=seen.owner,
                target=seen.target,
                outcome=outcome,
                request=seen.id,
                can_wait=soon,
            )

    return note


def log_observer(clock: Clock) -> Observer:
    """Create an observer that logs a JSON line per request to stderr."""

    def note(seen: ObservedRequest) -> None:
        line: dict[str, Any] = {
            "at": clock().isoformat(),
            "level": "error" if seen.status >= 500 else "info",
            "request": seen.id,
            "method": seen.method,
            "route": seen.permission.path,
            "action": seen.permission.name,
            "status": seen.status,
            "milliseconds": round(seen.seconds * 1000, 3),
            "actor": seen.actor,
        }
        sys.stderr.write(json.dumps(line) + "\n")

    return note


@dataclass(slots=True)
class ActivityMinuteCounts:
    """Requests, errors, writes and search times of one minute."""

    at: int
    requests: int = 0
    errors: int = 0
    writes: int = 0
    searches: int = 0
    times: list[float] = field(default_factory=list)

    def percentile(self, part: float) -> float:
        """Return the search time below which ``part`` of the searches stayed.

        ``part``: 0..1. Milliseconds; 0 without searches.
        """
        return (
            sorted(self.times)[min(len(self.times) - 1, int(part * len(self.times)))]
            if self.times
            else 0.0
        )


class OwnerActivityChart:
    """Requests and search times by minute for the last day, per owner."""

    def __init__(self, peers: ProcessPeers | None = None) -> None:
        self._lock = threading.Lock()
        self._owners: OrderedDict[str, deque[ActivityMinuteCounts]] = OrderedDict()
        self._tell = (peers or ProcessPeers()).share("activity", self._record, can_wait=True)

    def record(
        self,
        owner: str,
        minute: int,
        *,
        status: int,
        search: bool,
        write: bool,
        milliseconds: float,
    ) -> None:
        """Count a request, here and in the server's other processes."""
        self._record(owner, minute, status, search, write, milliseconds)
        self._tell(owner, minute, status, search, write, milliseconds)

    def _record(
        self, owner: str, minute: int, status: int, search: bool, write: bool, milliseconds: float
    ) -> None:
        with self._lock:
            held = self._owners.setdefault(owner, deque(maxlen=MINUTES))
            self._owners.move_to_end(owner)
            while len(self._owners) > _OWNERS:
                self._owners.popitem(last=False)
            # A clock that goes backwards adds to the minute that is there.
            if not held or held[-1].at < minute:
                held.append(ActivityMinuteCounts(minute))
            now = held[-1]
            now.requests += 1
            now.errors += status >= 500
            now.writes += write
            now.searches += search
            if search and len(now.times) < _TIMES:
                now.times.append(milliseconds)

    def minutes_since(self, owner: str, since: int) -> Sequence[ActivityMinuteCounts]:
        """The minutes from ``since`` on in which there was something."""
        with self._lock:
            return [minute for minute in self._owners.get(owner, ()) if minute.at >= since]


class RequestMetrics:
    """Counters and histograms of requests, with the collector of the store."""

    def __init__(self, engine: MemoryEngine) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "engrams_http_requests",
            "Requests.",
            ["route", "method", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "engrams_http_request_duration_seconds",
            "Until the last byte.",
            ["route"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._refused = Counter(
            "engrams_keys_refused", "Requests with a wrong key.", registry=self._registry
        )
        self._search = Histogram(
            "engrams_search_duration_seconds",
            "Searches.",
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._own = CollectorRegistry()
        self._own.register(StoreMetricsCollector(engine))

    def record(self, seen: ObservedRequest) -> None:
        method = (
            seen.method
            if seen.method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
            else "other"
        )
        path = seen.permission.path
        key = (seen.permission.path, method, seen.status)
        if (counters := self._known.get(key)) is None:
            # Methods, paths of the table and statuses: few, and the library looks them up more
            # slowly.
            counters = self._known[key] = (
                self._requests.labels(path, method, str(seen.status)),
                self._seconds.labels(path),
            )
        counters[0].inc()
        counters[1].observe(seen.seconds)
        if seen.refused_key:
            self._refused.inc()
        if seen.permission.is_search:
            self._search.observe(seen.seconds)

    def render(self) -> bytes:
        """Render all metrics; those of requests are sums over the server's processes."""
        if os.environ.get("PROMETHEUS_MULTIPROC_DIR") is None:
            return generate_latest(self._registry) + generate_latest(self._own)
        summed = CollectorRegistry()
        MultiProcessCollector(summed)  # type: ignore[no-untyped-call]
        return generate_latest(summed) + generate_latest(self._own)

    def router(self) -> APIRouter:
        routes = APIRouter()

        @routes.get("/metrics", include_in_schema=False)
        def metrics() -> Response:
            return Response(self.render(), media_type=_MEDIA)

        return routes


class StoreMetricsCollector(Collector):
    """Collector of the store's numbers and its reachability."""

    def __init__(self, engine: MemoryEngine) -> None:
        self._engine = engine

    def describe(self) -> Iterator[Metric]:
        """Describe nothing: registering must not read the store."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily(
            "engrams",
            "What runs here.",
            value={"version": __version__, "embedder": self._engine.embedder.card.id},
        )
        try:
            work = self._engine.status()
            counts = self._engine.stats()
        except EngramsError:
            yield GaugeMetricFamily("engrams_up", "Whether the store answers.", value=0)
            return
        yield GaugeMetricFamily("engrams_up", "Whether the store answers.", value=1)
        jobs = GaugeMetricFamily("engrams_jobs", "Background work.", labels=["kind", "state"])
        for kind, states in work["jobs"].items():
            for state, number in states.items():
                jobs.add_metric([kind, state], number)
        yield jobs
        yield GaugeMetricFamily(
            "engrams_job_lag_seconds",
            "Age of the oldest job that is due.",
            value=work["lag_seconds"],
        )
        memories = GaugeMetricFamily("engrams_memories", "Memories.", labels=["status"])
        for status, number in counts["status"].items():
            memories.add_metric([status], number)
        yield memories
        if "://" not in self._engine.settings.store.url:
            yield GaugeMetricFamily(
                "engrams_store_bytes",
                "Size of the database's files.",
                value=_store_bytes(self._engine),
            )
        yield from _model_metrics(self._engine)


def _store_bytes(engine: MemoryEngine) -> int:
    home = engine.settings.home.expanduser()
    url = engine.settings.store.url
    base = Path(url) if url else home / "memory.db"
    return sum(file.stat().st_size for file in base.parent.glob(f"{base.name}*") if file.is_file())


def _model_metrics(engine: MemoryEngine) -> Iterator[Metric]:
    """Yield calls and tokens of the language model by purpose."""
    meter = getattr(engine.chat_model, "meter", None)
    if meter is None:
        return
    calls = GaugeMetricFamily(
        "engrams_llm_calls", "Calls since the start.", labels=["purpose", "pid"]
    )
    tokens = GaugeMetricFamily(
        "engrams_llm_tokens", "Tokens since the start.", labels=["purpose", "pid"]
    )
    for purpose, usage in meter.snapshot().items():
        calls.add_metric([purpose, str(os.getpid())], usage.calls)
        tokens.add_metric([purpose, str(os.getpid())], usage.tokens)
    yield calls
    yield tokens


def trace_observer() -> Observer | None:
    """Create an observer that makes spans; None without the SDK."""
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        return None
    from opentelemetry import propagate, trace

    tracer = trace.get_tracer("engrams", __version__)

    def note(seen: ObservedRequest) -> None:
        if not seen.permission.operation:
            return
        context = propagate.extract({"traceparent": seen.parent}) if seen.parent else None
        attributes: dict[str, str | int] = {
            OPERATION: seen.permission.operation,
            PROVIDER: "engrams",
            STORE: seen.owner,
            "http.response.status_code": seen.status,
        }
        if seen.target:
            attributes[RECORD] = seen.target
        if seen.status >= 400:
            attributes[ERROR] = str(seen.status)
        name = f"{seen.permission.operation} engrams"
        span = tracer.start_span(
            name, context, kind=trace.SpanKind.CLIENT, attributes=attributes, start_time=seen.start
        )
        if seen.status >= 500:
            span.set_status(trace.StatusCode.ERROR)
        span.end(seen.start + int(seen.seconds * 1e9))

    return note


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

    provider = TracerProvider(
        resource=Resource.create({"service.name": "engrams", "service.version": __version__})
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return True
