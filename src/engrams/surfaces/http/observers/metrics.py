"""Metrics for Prometheus: requests and searches, the store's numbers, calls of the model.

`RequestMetrics` is the observer; it also renders ``GET /metrics``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.responses import Response

from engrams import __version__
from engrams.engine import MemoryEngine
from engrams.errors import EngramsError
from engrams.surfaces.http.telemetry import ObservedRequest

MULTIPROCESS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Variable that names the folder in which several server processes share their counts."""

_MEDIA = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
"""Upper ends of the histograms' buckets, in seconds."""
_MEMORY_RESULTS = ("used", "partial", "none", "skipped")
_REASON = re.compile(r"[a-z_]{0,20}")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class RequestMetrics:
    """Counters and histograms of requests, with the collector of the store."""

    def __init__(self, engine: MemoryEngine) -> None:
        # Two registries: counts of requests are summed over the server's processes, while each
        # process reads the store's numbers for itself.
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
        self._refused_keys = Counter(
            "engrams_keys_refused", "Requests with a wrong key.", registry=self._registry
        )
        self._search_seconds = Histogram(
            "engrams_search_duration_seconds",
            "Searches.",
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._chats = Counter(
            "engrams_chat_memory",
            "Chats through the proxy, by the result of the search and its reason.",
            ["result", "reason"],
            registry=self._registry,
        )
        self._labelled: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._store_registry = CollectorRegistry()
        self._store_registry.register(StoreMetricsCollector(engine))

    def record(self, request: ObservedRequest) -> None:
        """Count a finished request."""
        route = request.permission.path
        method = request.method if request.method in _METHODS else "other"
        labels = (route, method, request.status)
        counters = self._labelled.get(labels)
        if counters is None:
            # Methods, routes of the table and statuses: few, and the library looks them up more
            # slowly.
            counters = (
                self._requests.labels(route, method, str(request.status)),
                self._seconds.labels(route),
            )
            self._labelled[labels] = counters
        requests, seconds = counters
        requests.inc()
        seconds.observe(request.seconds)
        if request.refused_key:
            self._refused_keys.inc()
        if request.memory:
            self._chats.labels(*_split_outcome(request.memory)).inc()
        if request.permission.is_search:
            self._search_seconds.observe(request.seconds)

    def render(self) -> bytes:
        """Render all metrics; those of requests are sums over the server's processes."""
        requests = self._registry
        if os.environ.get(MULTIPROCESS_FOLDER) is not None:
            requests = CollectorRegistry()
            MultiProcessCollector(requests)  # type: ignore[no-untyped-call]
        return generate_latest(requests) + generate_latest(self._store_registry)

    def router(self) -> APIRouter:
        """Make the router of ``GET /metrics``."""
        routes = APIRouter()

        @routes.get("/metrics", include_in_schema=False)
        def metrics() -> Response:
            return Response(self.render(), media_type=_MEDIA)

        return routes


def _split_outcome(memory: str) -> tuple[str, str]:
    """Split the header of a chat into result and reason, without numbers."""
    result, _, detail = memory.partition(":")
    reason = detail.rpartition(":")[2]
    if reason.isdecimal():
        reason = ""
    # An upstream may send the header too, and labels must stay few.
    is_known = result in _MEMORY_RESULTS and _REASON.fullmatch(reason) is not None
    return (result, reason) if is_known else ("other", "")


class StoreMetricsCollector(Collector):
    """Collector of the store's numbers and its reachability."""

    def __init__(self, engine: MemoryEngine) -> None:
        self._engine = engine

    def describe(self) -> Iterator[Metric]:
        """Describe nothing: registering must not read the store."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Read the store's numbers; ``engrams_up`` is 0 and alone where it does not answer."""
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
            for state, count in states.items():
                jobs.add_metric([kind, state], count)
        yield jobs
        yield GaugeMetricFamily(
            "engrams_job_lag_seconds",
            "Age of the oldest job that is due.",
            value=work["lag_seconds"],
        )
        memories = GaugeMetricFamily("engrams_memories", "Memories.", labels=["status"])
        for status, count in counts["status"].items():
            memories.add_metric([status], count)
        yield memories
        if "://" not in self._engine.settings.store.url:
            yield GaugeMetricFamily(
                "engrams_store_bytes",
                "Size of the database's files.",
                value=_count_store_bytes(self._engine),
            )
        yield from _model_metrics(self._engine)


def _count_store_bytes(engine: MemoryEngine) -> int:
    """Sum the sizes of an SQLite database and the files beside it (``memory.db-wal``)."""
    home = engine.settings.home.expanduser()
    url = engine.settings.store.url
    database = Path(url) if url else home / "memory.db"
    files = database.parent.glob(f"{database.name}*")
    return sum(file.stat().st_size for file in files if file.is_file())


def _model_metrics(engine: MemoryEngine) -> Iterator[Metric]:
    """Yield calls and tokens of the language model by purpose."""
    meter = getattr(engine.chat_model, "meter", None)
    if meter is None:
        return
    labels = ["purpose", "pid"]
    calls = GaugeMetricFamily("engrams_llm_calls", "Calls since the start.", labels=labels)
    tokens = GaugeMetricFamily("engrams_llm_tokens", "Tokens since the start.", labels=labels)
    for purpose, usage in meter.snapshot().items():
        calls.add_metric([purpose, str(os.getpid())], usage.calls)
        tokens.add_metric([purpose, str(os.getpid())], usage.tokens)
    yield calls
    yield tokens
