"""What is tried again, after how long, and what an error says."""

from __future__ import annotations

import logging

import pytest

from engrams.errors import ModelError
from engrams.models.http_errors import error_code, parse_retry_after, status_error
from engrams.models.retry import RetryPolicy
from engrams.testing import SettableClock

CLOCK = SettableClock("2026-11-21T12:00:00")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:30 GMT"}, 30),
        ({"retry-after": "Sat, 21 Nov 2026 11:00:00 GMT"}, 0),
        ({"retry-after": "999999999"}, 86_400),
        ({"retry-after": "-5"}, 0),
        ({"retry-after": "inf"}, 0),
        ({"retry-after": "nan"}, 0),
        ({"retry-after": "soon"}, 0),
        ({"retry-after": "9" * 400}, 0),
    ],
)
def test_the_server_says_how_long(headers: dict[str, str], seconds: float) -> None:
    """Retry-After is read as seconds, milliseconds or a date;
    nonsense is no wait, and no wait is over a day.
    """
    assert parse_retry_after(headers, CLOCK) == seconds


def test_waits_grow_and_are_spread() -> None:
    """Each wait is between half and all of a doubling bound, and never shorter than what the server
    asked for.
    """
    policy = RetryPolicy(first_wait=1.0, max_wait=10.0)
    plain = ModelError("x")
    for attempt, bound in enumerate((1, 2, 4, 8, 10, 10)):
        waits = {policy.wait_seconds(attempt, plain) for _ in range(50)}
        assert bound / 2 <= min(waits) < max(waits) <= bound
    assert policy.wait_seconds(0, ModelError("x", retry_after=42)) == 42
    assert policy.wait_seconds(5000, plain) <= 10


@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        (308, False),
        (400, False),
        (401, False),
        (403, False),
        (404, False),
        (408, True),
        (413, False),
        (422, False),
        (429, True),
        (500, True),
        (503, True),
        (529, True),
    ],
)
def test_which_failures_waiting_cures(status: int, retryable: bool) -> None:
    """Client errors are permanent, time-outs, limits and server errors pass;
    what can be mended has a hint.
    """
    problem = status_error("m", status, {}, None, CLOCK)
    assert problem.retryable is retryable
    assert problem.hint or status not in (308, 400, 401, 403, 404, 413, 429)


def test_an_empty_account_is_permanent() -> None:
    """A 429 that says the credit is used up is not repeated."""
    assert not status_error(
        "m", 429, {}, {"error": {"code": "insufficient_quota"}}, CLOCK
    ).retryable


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "x",
        {},
        {"error": None},
        {"error": "text with words"},
        {"error": {"code": 7, "type": "a b"}},
        {"error": {"code": "x" * 99}},
    ],
)
def test_only_a_word_is_taken_from_an_error(body: object) -> None:
    """The server's prose never becomes part of our error, only a short code does."""
    assert error_code(body) == ""
    assert (
        error_code({"error": {"code": None, "type": "invalid_request_error", "message": "prose"}})
        == "invalid_request_error"
    )


def test_the_server_decides_how_long_to_wait(connect, ask, server) -> None:
    """A 429 that asks for more time than there is fails at once and hands the time on."""
    server.fail("http_429", seconds=3600)
    with pytest.raises(ModelError) as caught:
        connect(server).ask(ask())
    assert (caught.value.retryable, caught.value.retry_after) == (True, 3600)
    assert len(server.requests) == 1


def test_a_permanent_error_is_logged_once_and_without_text(connect, ask, server, caplog) -> None:
    """The same refusal is logged once until a call succeeds;
    neither log nor error holds a word of the prompt.
    """
    caplog.set_level(logging.DEBUG)
    model = connect(server, key="sk-very-secret")
    problems = []
    server.fail("http_401", times=3)
    for _ in range(3):
        with pytest.raises(ModelError) as caught:
            model.ask(ask("My PIN is 4711"))
        problems.append(caught.value)
    ours = [entry for entry in caplog.records if entry.name.startswith("engrams")]
    assert len(ours) == 1
    model.ask(ask("My PIN is 4711"))
    server.fail("http_401").fail("http_500", times=9)
    for _ in range(2):
        with pytest.raises(ModelError) as caught:
            model.ask(ask("My PIN is 4711"))
        problems.append(caught.value)
    ours = [entry for entry in caplog.records if entry.name.startswith("engrams")]
    assert len(ours) == 2
    everything = caplog.text + "".join(problem.message + problem.hint for problem in problems)
    assert "4711" not in everything
    assert "very-secret" not in everything
    assert server.requests[0].headers["authorization"] == "Bearer sk-very-secret"
