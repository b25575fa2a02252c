"""GET /metrics for Prometheus; labels never name users or memories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import Response

from engrams import __version__
from engrams.engine import MemoryEngine
from engrams.errors import EngramsError
from engrams.surfaces.http.telemetry import ObservedRequest

_MEDIA = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


class RequestMetrics:
    """Counters and histograms of requests, with the collector of the store."""

    def __init__(self, engine: MemoryEngine) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter("engrams_http_requests", "Requests.", ["route", "method", "status"], registry=self._registry)
        self._seconds = Histogram(
            "engrams_http_request_duration_seconds", "Until the last byte.", ["route"], buckets=_BUCKETS, registry=self._registry
        )
        self._search = Histogram("engrams_search_duration_seconds", "Searches.", buckets=_BUCKETS, registry=self._registry)
        self._registry.register(StoreCollector(engine))

    def record(self, seen: ObservedRequest) -> None:
        method = seen.method if seen.method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS") else "other"
        self._requests.labels(seen.permission.path, method, str(seen.status)).inc()
        self._seconds.labels(seen.permission.path).observe(seen.seconds)
        if seen.permission.is_search:
            self._search.observe(seen.seconds)

    def render(self) -> bytes:
        return generate_latest(self._registry)

    def router(self) -> APIRouter:
        routes = APIRouter()

        @routes.get("/metrics", include_in_schema=False)
        def metrics() -> Response:
            return Response(self.render(), media_type=_MEDIA)

        return routes


class StoreCollector(Collector):
    """Collector of the store's numbers and its reachability."""

    def __init__(self, engine: MemoryEngine) -> None:
        self._engine = engine

    def describe(self) -> Iterator[Metric]:
        """Describe nothing: registering must not read the store."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("engrams", "What runs here.", value={"version": __version__, "embedder": self._engine.embedder.card.id})
        try:
            work, counts = self._engine.status(), self._engine.stats()
        except EngramsError:
            yield GaugeMetricFamily("engrams_up", "Whether the store answers.", value=0)
            return
        yield GaugeMetricFamily("engrams_up", "Whether the store answers.", value=1)
        jobs = GaugeMetricFamily("engrams_jobs", "Background work.", labels=["kind", "state"])
        for kind, states in work["jobs"].items():
            for state, number in states.items():
                jobs.add_metric([kind, state], number)
        yield jobs
        yield GaugeMetricFamily("engrams_job_lag_seconds", "Age of the oldest job that is due.", value=work["lag_seconds"])
        memories = GaugeMetricFamily("engrams_memories", "Memories.", labels=["status"])
        for status, number in counts["status"].items():
            memories.add_metric([status], number)
        yield memories
        yield GaugeMetricFamily("engrams_store_bytes", "Size of the database's files.", value=_store_bytes(self._engine))
        yield from _model_metrics(self._engine)


def _store_bytes(engine: MemoryEngine) -> int:
    home = engine.settings.home.expanduser()
    base = Path(engine.settings.store.url) if engine.settings.store.url else home / "memory.db"
    return sum(file.stat().st_size for file in base.parent.glob(f"{base.name}*") if file.is_file())


def _model_metrics(engine: MemoryEngine) -> Iterator[Metric]:
    """Yield calls and tokens of the language model by purpose."""
    meter = getattr(engine.chat_model, "meter", None)
    if meter is None:
        return
    calls = GaugeMetricFamily("engrams_llm_calls", "Calls since the start.", labels=["purpose"])
    tokens = GaugeMetricFamily("engrams_llm_tokens", "Tokens since the start.", labels=["purpose"])
    for purpose, usage in meter.snapshot().items():
        calls.add_metric([purpose], usage.calls)
        tokens.add_metric([purpose], usage.tokens)
    yield calls
    yield tokens
