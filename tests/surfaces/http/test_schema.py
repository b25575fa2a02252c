"""The description of the API is true:
whatever is sent, no answer is a fault, and none is another than described.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import CHECKS
from tests.surfaces.http.running import list_operations, running

from engrams.program.registry import create_app
from engrams.testing import temp_engine

OWNER = "schema"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with temp_engine(
        user=OWNER,
        serve__allow_reset=True,
        limits__text_bytes=70_000,
        limits__meta_bytes=2000,
        jobs__workers=1,
    ) as engine:
        scope = ("user", OWNER)
        for number in range(5):
            engine.add(f"Crate {number} stands in hall {number % 2}.", scope=scope)
        engine.add("I live in Paris.", scope=scope)
        with running(create_app(engine, engine.settings)) as found:
            yield found


def _holds(case: Any, known: list[str], turn: int) -> None:
    names = case.path_parameters or {}
    if "id" in names and known and turn % 2:
        names["id"] = known[turn % len(known)]
    # What no schema can say (a scope's labels, an offset that fits) is refused with a 400 that is
    # described.
    case.call_and_validate(excluded_checks=[CHECKS.get_one("positive_data_acceptance")])


def _tried(url: str, examples: int) -> list[str]:
    """What failed, by operation; every second request names a memory that there is."""
    rule = settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
        derandomize=True,
        database=None,
    )
    failed = []
    for found in schemathesis.openapi.from_url(url + "/openapi.json").get_all_operations():
        operation = found.ok()
        known = [each["id"] for each in httpx2.get(url + "/v1/memories").json()["memories"]]
        turns = count()
        body = rule(
            given(case=operation.as_strategy())(lambda case: _holds(case, known, next(turns)))  # noqa: B023 - called at once
        )
        try:
            body()
        except (Exception, BaseExceptionGroup) as fault:  # every failure is wanted, not the first
            failed.append(f"{operation.label}: {str(fault)[:800]}")
    return failed


@pytest.mark.slow
def test_generated_requests_get_described_answers(url: str) -> None:
    """A few generated requests to every operation: no 5xx, no undescribed status, form or body."""
    assert _tried(url, 2) == []


@pytest.mark.slow
def test_many_generated_requests_get_described_answers(url: str) -> None:
    """Many generated requests to every operation."""
    assert _tried(url, 150) == []


@pytest.mark.parametrize("method", ["QUERY", "TRACE", "PROPFIND"])
def test_a_wrong_method_of_an_own_path_is_405(url: str, method: str) -> None:
    """A method that a path of ours does not have is a 405 that names those it has, never a request
    to a model server.
    """
    with httpx2.Client(base_url=url, timeout=60) as client:
        for path, held in client.get("/openapi.json").json()["paths"].items():
            answer = client.request(method, path.replace("{", "").replace("}", ""))
            assert answer.status_code == 405, path
            assert {name.upper() for name in held} <= set(answer.headers["allow"].split(", ")), path


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/search", {"query": "x", "as_of": 2024}),
        ("/v1/search", {"query": "x", "as_of": "2024"}),
        ("/v1/search", {"query": "x", "history": 1}),
        ("/v1/search", {"query": "x", "limit": "5"}),
        ("/v1/context", {"query": "x", "tokens": True}),
        ("/v3/memories/search/", {"query": "x", "filters": {"user_id": "a"}, "threshold": False}),
    ],
)
def test_values_of_a_wrong_type_are_refused_not_guessed(
    url: str, path: str, body: dict[str, Any]
) -> None:
    """A number where a time is asked for is no second of 1970, and a text is no number:

    422, not a guess.
    """
    assert httpx2.post(url + path, json=body).status_code == 422


def test_every_operation_has_its_right(url: str) -> None:
    """The table of rights and names has every operation that is described, and nothing that is not
    there.
    """
    paths = httpx2.get(url + "/openapi.json", timeout=60).json()["paths"]
    there = {
        (method.upper(), path.rstrip("/") or "/") for path, held in paths.items() for method in held
    }
    known = {(method, path.rstrip("/") or "/") for method, path in list_operations()}
    assert there - known == set(), "add a row to permissions.py beside the routes"
    assert known - there == {
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
        ("GET", "/"),
        ("POST", "/ui/share"),
    }
