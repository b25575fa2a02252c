"""What is told of a request:
ids, metrics, charts, the audit log, the log, traces. Never what memory says.
"""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Iterator
from contextlib import redirect_stderr
from dataclasses import dataclass

import httpx2
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.surfaces.http.running import running

from engrams.engine import MemoryEngine
from engrams.program.registry import create_app
from engrams.testing import temp_engine

SECRET = "The xylophone hangs in the cellar."


@dataclass
class Watched:
    url: str
    engine: MemoryEngine
    spans: InMemorySpanExporter

    def traced(self, number: int) -> list[ReadableSpan]:
        for _ in range(3000):
            if len(self.spans.get_finished_spans()) >= number:
                break
            time.sleep(0.01)
        return list(self.spans.get_finished_spans())


def read_log(log: io.StringIO, number: int) -> str:
    """Wait for so many lines of a log: the last comes a moment after its answer."""
    for _ in range(3000):
        text = log.getvalue()
        # Other threads may warn on the same stream.
        if len([line for line in text.split("\n")[:-1] if line.startswith("{")]) >= number:
            break
        time.sleep(0.01)
    return text


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    from opentelemetry import trace

    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(trace, "get_tracer", lambda *names, **_: provider.get_tracer(*names))
    with (
        temp_engine(user="ann", serve__log="json") as engine,
        running(create_app(engine, engine.settings)) as url,
    ):
        yield Watched(url, engine, spans)


def test_every_answer_has_an_id(watched: Watched) -> None:
    """The client's own where it has a sane form, else a new one;
    a stranger's header cannot write into the log.
    """
    given = httpx2.get(watched.url + "/v1/stats", headers={"x-request-id": "abc-1.2"}).headers[
        "x-request-id"
    ]
    made = [
        httpx2.get(watched.url + "/v1/stats", headers={"x-request-id": bad}).headers["x-request-id"]
        for bad in ("", "a b", "x" * 200)
    ]
    assert given == "abc-1.2"
    assert len(set(made)) == 3 and all(re.fullmatch(r"[0-9a-z]{26}", each) for each in made)
    assert httpx2.get(watched.url + "/v1/memories/nothing-here").headers["x-request-id"]


def test_the_log_says_what_happened_and_no_text(watched: Watched) -> None:
    """A line of JSON per request:
    when, what, with which outcome and how long; neither a query nor a memory.
    """
    # Captured standard error loses what is written while it is read.
    log = io.StringIO()
    with redirect_stderr(log):
        httpx2.post(
            watched.url + "/v1/memories", json={"text": SECRET}, headers={"x-request-id": "one"}
        )
        httpx2.get(watched.url + "/v1/memories", params={"text": "xylophone"})
        httpx2.post(watched.url + "/v1/search", json={"query": "xylophone"})
        raw = read_log(log, 3)
    lines = [json.loads(line) for line in raw.splitlines() if line.startswith("{")]
    assert "xylophone" not in raw
    assert [(line["route"], line["status"], line["level"]) for line in lines] == [
        ("/v1/memories", 201, "info"),
        ("/v1/memories", 200, "info"),
        ("/v1/search", 200, "info"),
    ]
    assert lines[0]["request"] == "one" and lines[0]["milliseconds"] > 0


def test_metrics_count_by_route_never_by_person(watched: Watched) -> None:
    """Requests, times, memories and jobs for Prometheus; ids, users and texts are in no label."""
    one = httpx2.post(watched.url + "/v1/memories", json={"text": SECRET}).json()["results"][0][
        "id"
    ]
    for path in (f"/v1/memories/{one}", "/v1/memories/none-of-these", "/not/ours", "/v1/jobs/x/y"):
        httpx2.get(watched.url + path, headers={"x-engrams-user": "ann"})
    httpx2.post(watched.url + "/v1/search", json={"query": "xylophone"})
    answer = httpx2.get(watched.url + "/metrics")
    text = answer.text
    assert answer.headers["content-type"].startswith("text/plain")
    assert (
        'engrams_http_requests_total{method="GET",route="/v1/memories/{id}",status="200"} 1.0'
        in text
    )
    assert (
        'engrams_http_requests_total{method="GET",route="/v1/memories/{id}",status="404"} 1.0'
        in text
    )
    assert 'route="proxy"' in text and 'route="other"' in text
    assert "engrams_search_duration_seconds_count 1.0" in text
    assert 'engrams_memories{status="active"} 1.0' in text
    assert (
        "engrams_up 1.0" in text
        and "engrams_store_bytes" in text
        and "engrams_job_lag_seconds" in text
    )
    assert one not in text and "ann" not in re.sub(r"#.*", "", text) and "xylophone" not in text


def test_metrics_report_a_closed_store(watched: Watched) -> None:
    """The numbers of requests are there, and that the store does not answer."""
    watched.engine.close()
    assert "engrams_up 0.0" in httpx2.get(watched.url + "/metrics").text


def test_spans_follow_the_conventions(watched: Watched) -> None:
    """Each operation on memory is a client span with its name, store and record;
    a failure has its type; no text is in it.
    """
    one = httpx2.post(watched.url + "/v1/memories", json={"text": SECRET}).json()["results"][0][
        "id"
    ]
    parent = f"00-{'a' * 32}-{'b' * 16}-01"
    httpx2.post(
        watched.url + "/v1/search", json={"query": "xylophone"}, headers={"traceparent": parent}
    )
    httpx2.patch(watched.url + f"/v1/memories/{one}", json={"text": "The xylophone is sold."})
    httpx2.delete(watched.url + "/v1/memories/" + "0" * 26)
    httpx2.get(watched.url + "/v1/stats")
    spans = watched.traced(4)
    named = [span.attributes["gen_ai.operation.name"] for span in spans if span.attributes]
    assert named == ["create_memory", "search_memory", "update_memory", "delete_memory"]
    assert all(
        span.kind.name == "CLIENT" and span.attributes["gen_ai.memory.store.id"] == "user/ann"
        for span in spans
        if span.attributes
    )
    assert f"{spans[1].context.trace_id:x}" == "a" * 32
    assert spans[2].attributes and spans[2].attributes["gen_ai.memory.record.id"] == one
    assert spans[3].attributes and spans[3].attributes["error.type"] == "404"
    assert not any("xylophone" in str(dict(span.attributes or {})) for span in spans)
    assert all((span.end_time or 0) >= (span.start_time or 1) for span in spans)


def test_charts_show_only_ones_own_requests(watched: Watched) -> None:
    """Requests, writes and times of search by minute; another person sees none of them."""
    httpx2.post(watched.url + "/v1/memories", json={"text": SECRET})
    httpx2.post(watched.url + "/v1/search", json={"query": "xylophone"})
    told = httpx2.get(watched.url + "/v1/stats/series", params={"minutes": 5}).json()
    assert sum(point["writes"] for point in told["points"]) == 1
    assert sum(point["searches"] for point in told["points"]) == 1
    assert max(point["search_p95"] for point in told["points"]) > 0
    assert told["spent"] == {"calls": 0, "tokens": 0}
    other = httpx2.get(watched.url + "/v1/stats/series", headers={"x-engrams-user": "bob"}).json()
    assert other["points"] == []


@pytest.mark.covers("S3.71")
def test_the_audit_log_has_who_did_what(watched: Watched) -> None:
    """Writes and reads with their outcome and ids, newest first, one's own only; never a text."""
    one = httpx2.post(
        watched.url + "/v1/memories", json={"text": SECRET}, headers={"x-request-id": "r-1"}
    ).json()["results"][0]["id"]
    httpx2.delete(watched.url + f"/v1/memories/{one}")
    httpx2.patch(watched.url + f"/v1/memories/{one}", json={})
    httpx2.post(
        watched.url + "/v1/search", json={"query": "xylophone"}, headers={"x-engrams-user": "bob"}
    )
    httpx2.delete(watched.url + "/v1/memories/my-xylophone-lesson")
    entries = httpx2.get(watched.url + "/v1/audit", params={"action": "memory."}).json()["entries"]
    assert [(each["action"], each["target"], each["outcome"]) for each in entries] == [
        ("memory.forget", "", "refused"),
        ("memory.edit", one, "refused"),
        ("memory.forget", one, "done"),
        ("memory.add", "", "done"),
    ]
    assert entries[-1]["request"] == "r-1"
    folder = watched.engine.settings.home / "audit"
    assert "xylophone" not in "".join(path.read_text() for path in folder.iterdir())


@pytest.mark.covers("S3.71")
def test_stats_count_by_category_scope_and_vectors(watched: Watched) -> None:
    """Counts by kind and scope, how many are active, and the share that has a vector."""
    httpx2.post(watched.url + "/v1/memories", json={"text": "The gate is green."})
    httpx2.post(
        watched.url + "/v1/memories", json={"text": "The kiln is hot."}, params={"project": "x"}
    )
    told = httpx2.get(watched.url + "/v1/stats").json()
    assert told["kind"]["note"] == 2
    assert set(told["scope"]) == {"user/ann", "user/ann/project/x"}
    assert told["active"] == sum(told["scope"].values()) == sum(told["kind"].values())
    assert told["embedded"] == 1.0
    assert set(told["product"]) <= {"facts", "sessions", "rules"}
